# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host a launcher's refusals are about that name none, by the runs that it did start."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.refusals import only_refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.collective_runs import LADDER, LAUNCHER, NODE


def run(status: str, hosts: str, kind: str = LADDER) -> dict[str, t.Any]:
    return {"role": LAUNCHER, "kind": kind, "status": status, "hosts": list(hosts)}


@pytest.mark.parametrize(
    ("runs", "host"),
    [
        ([run("ok", "ab"), run("unknown", "cd"), run("ok", "ac"), run("unknown", "abcd")], "d"),
        # Either of two, a partner that no run with was started, a host that a run with was, and none that is refused.
        ([run("ok", "ab"), run("unknown", "cd")], None),
        ([run("unknown", "cd"), run("unknown", "bd")], None),
        ([run("ok", "ad"), run("ok", "bc"), run("unknown", "cd")], None),
        ([run("ok", "ab"), run("unknown", "d", NODE)], None),
        ([], None),
    ],
)
def test_the_one_host_with_which_no_run_is_started(runs: list[dict[str, t.Any]], host: str | None) -> None:
    assert only_refused({"a": runs}) == host
