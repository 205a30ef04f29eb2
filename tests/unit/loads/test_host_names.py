# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host of a job a log means by a name or an address."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.host_names import HostNames

NAMES = HostNames(
    ["gpu01", "gpu02"], {"10.51.0.1": ("gpu01", "mlx5_0"), "10.51.0.2": ("gpu02", "mlx5_0"), "192.0.2.2": ("gpu02", None), "fd00::9": ("gpu09", None)}
)


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("gpu02", "gpu02"),
        ("gpu02.pod.site", "gpu02"),
        ("10.51.0.1", "gpu01"),
        ("::ffff:10.51.0.2", "gpu02"),
        ("192.0.2.2", "gpu02"),
        ("10.51.0.3", None),
        # A host of the pod that is not of the job.
        ("fd00::9", None),
        ("gpu03", None),
    ],
)
def test_a_host_by_its_name_or_address(name: str, host: str | None) -> None:
    assert NAMES.host(name) == host


@pytest.mark.parametrize(
    ("line", "peers"),
    [
        (
            "Got completion from peer 192.0.2.2<55921> with status=12 vendor err 129 localGid ::ffff:10.51.0.1 remoteGids::ffff:10.51.0.2 hca mlx5_0",
            {"gpu02": {"mlx5_0"}},
        ),
        ("[gloo/transport/tcp/pair.cc:534] Connection closed by peer [192.0.2.2]:16062", {"gpu02": set()}),
        ("pair.cc:589] Read error [10.51.0.2]:25266: Connection reset by peer", {"gpu02": {"mlx5_0"}}),
        ("socketProgress: Connection closed by remote peer gpu02.pod.site<42830>", {"gpu02": set()}),
        ("socketStartConnect: Connect to 10.51.0.1<43111> failed : Connection refused", {"gpu01": {"mlx5_0"}}),
        ("local GID ::ffff:10.51.0.1, remote GID ::ffff:10.51.0.2", {"gpu02": {"mlx5_0"}}),
        # The store at which ranks meet ends with its host, and says nothing of a path.
        ("[c10d] recvValue failed on SocketImpl(fd=30, addr=[gpu02]:54736, remote=[gpu01]:29500): Failed to recv, got 0 bytes", {}),
        ("Got completion from peer 198.51.100.7<1> with status=12", {}),
    ],
)
def test_the_other_ends_that_a_line_names(line: str, peers: dict[str, set[str]]) -> None:
    assert NAMES.peers(line) == peers


def test_words_name_the_host_beside_its_address_but_not_that_of_a_rail() -> None:
    names = HostNames(
        ["gpu01", "gpu02"], {"192.0.2.2": ("gpu02", None), "bmc-7.site": ("gpu01", None), "10.51.0.2": ("gpu02", "mlx5_0"), "192.0.2.9": ("gpu09", None)}
    )
    assert names.in_words("ssh: connect to host 192.0.2.2 port 22: Connection timed out") == (
        "ssh: connect to host gpu02 (192.0.2.2) port 22: Connection timed out"
    )
    assert names.in_words("Connection to bmc-7.site closed by remote host.") == "Connection to gpu01 (bmc-7.site) closed by remote host."
    # The rail of an address says more than its host; another host of the pod is none of the job.
    alike = "from peer 10.51.0.2<55921>, 192.0.2.21, 192.0.2.9, 192.0.2.2:29500, /data/192.0.2.2/x"
    assert names.in_words(alike) == alike.replace(" 192.0.2.2:29500", " gpu02 (192.0.2.2):29500")
