# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks a log has lines of, and which hosts these are on as far as its lines tell."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.deciding_lines import deciding_line
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.host_names import HostNames
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.site_log import said_lines
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.speakers import homes, of_several_hosts, speakers


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("step 1\n[rank3]: KeyError: 'qux'\n[rank1]: x\n", ["1", "3"]),
        ("gpu02: [rank9]: KeyError: 'qux'\ngpu01: [rank1]: x\ngpu02: step 1\n", ["1=gpu01", "9=gpu02"]),
        ("gpu02:411:411 [1] NCCL INFO comm 0x55 rank 9 nranks 16 cudaDev 1 nvmlDev 1\n", ["9=gpu02"]),
        ("  time      : 2024-03-05_07:01:51\n  host      : gpu04\n  rank      : 27 (local_rank: 3)\n", ["27=gpu04"]),
        ("step 1\n", []),
    ],
)
def test_the_ranks_of_a_log(log: str, told: list[str]) -> None:
    assert speakers(*said_lines([log], HostNames(["gpu01", "gpu02"]))) == told


def test_a_block_of_ranks_is_on_the_host_that_a_line_names_or_that_logs_no_other() -> None:
    hosts = ["gpu01", "gpu02", "gpu03"]
    assert homes({"gpu01": ["1", "9=gpu02.site"], "gpu03": ["17", "18"]}, HostNames(hosts, {}), 8) == {1: "gpu02", 2: "gpu03"}
    # Of two that are told, and of a log of several hosts that names none, neither is known.
    assert homes({"gpu01": ["1"], "gpu02": ["2"]}, HostNames(hosts, {}), 8) == {} and homes({"gpu01": ["1", "9"]}, HostNames(hosts, {}), 8) == {}
    assert of_several_hosts(["1", "9"], 8) and not of_several_hosts(["1", "7=gpu01"], 8)


def test_a_line_of_a_traceback_behind_the_name_of_its_host_is_no_error() -> None:
    log = (
        "gpu02: [rank9]: Traceback (most recent call last):\n"
        'gpu02: [rank9]:   File "/opt/train/data.py", line 7, in read\n'
        "gpu02: [rank9]:     raise RuntimeError('cannot read')\n"
        "gpu02: [rank9]: OSError: [Errno 5] Input/output error: '/data/7'\n"
    )
    assert deciding_line(*said_lines([log], HostNames(["gpu02"]))) == ("[rank9]: OSError: [Errno 5] Input/output error: '/data/7'", "gpu02", 9)
