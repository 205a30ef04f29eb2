# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The VLANs of a switch's ports to hosts, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links.vlans import host_vlans_alike


def judged(*vlans: str | None, rails: int = 1, others: t.Sequence[tuple[str | None, ...]] = ()) -> list[tuple[str, str | None]]:
    """What is found of ports with these VLANs, one to each host's rail in turn, and of an uplink; others: the VLANs of the same ports of other leaves."""
    cables = [{"port": f"Ethernet{n}/1", "peer": f"gpu0{n // rails}", "peer_port": f"ens{n % rails}", "peer_role": "host"} for n in range(len(vlans))]
    cables.append({"port": "Ethernet33/1", "peer": "spine01", "peer_port": "Ethernet0", "peer_role": "spine"})
    rows = [{"port": f"Et{n}/1", "vlan": vlan} for n, vlan in enumerate(vlans)] + [{"port": "Et33/1", "vlan": "routed"}]
    of_peers = {f"leaf{number}": [{"port": f"Et{n}/1", "vlan": vlan} for n, vlan in enumerate(its)] for number, its in enumerate(others)}
    return [(str(one), one.severity) for one in host_vlans_alike(rows, of_peers, t.cast(t.Any, cables), list(of_peers))]


def test_more_than_half_are_the_usual_ones_where_other_leaves_have_one_vlan_at_these_ports() -> None:
    split, one = ("10", "1", "10", "1", "10"), ("20",) * 5
    assert [words.partition(":")[0] for words, _severity in judged(*split, others=[one, one, ("10", "10", "10", "10", "30"), ("5", "5")])] == [
        "Ethernet1/1", "Ethernet3/1"
    ]  # fmt: skip
    # Where half of the others are divided as well, where too few are known, and where no VLAN has more than half.
    for vlans, others in ((split, [one, one, split, split]), (split, [one, one]), (split, [one, one, (None,) * 5]), (("10", "10", "1", "1"), [one[:4]] * 3)):
        with pytest.raises(NotApplicable, match="divided among several VLANs"):
            judged(*vlans, others=others)


def test_ports_of_one_vlan_pass_and_the_odd_one_is_named() -> None:
    assert judged("10", "10", "10") == judged("routed", "routed", "routed") == []
    expected = "VLAN 10, as most ports to ens0 of hosts"
    assert judged("10", "30", "10") == [(f"Ethernet1/1: expected {expected}, got VLAN 30 (to gpu01 ens0)", None)]
    assert judged("10", "10", "trunk", "10") == [(f"Ethernet2/1: expected {expected}, got trunk (to gpu02 ens0)", None)]


def test_each_rail_has_a_vlan_of_its_own() -> None:
    assert judged("10", "20", "10", "20", "10", "20", rails=2) == []
    [(words, _severity)] = judged("10", "20", "10", "20", "10", "10", rails=2)
    assert words == "Ethernet5/1: expected VLAN 20, as most ports to ens1 of hosts, got VLAN 10 (to gpu02 ens1)"


def test_a_port_without_a_vlan_beside_others_is_unknown() -> None:
    assert judged("10", None, "10") == [("Ethernet1/1: expected VLAN 10, as most ports to ens0 of hosts, got not reported for the port to gpu01", "unknown")]


@pytest.mark.parametrize(
    ("vlans", "words"),
    [
        (("10", "30"), "no rail of 3 or more hosts"),
        ((None, None, None), "does not report the VLANs"),
        (("10", "10", "20", "20"), "divided among several VLANs"),
        (("10", None, None), "divided among several VLANs"),
    ],
)
def test_what_cannot_be_compared_is_skipped_with_its_reason(vlans: tuple[str | None, ...], words: str) -> None:
    with pytest.raises(NotApplicable, match=words):
        judged(*vlans)
