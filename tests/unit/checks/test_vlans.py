# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The VLANs of a switch's ports to hosts, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links.vlans import host_vlans_alike


def judged(*vlans: str | None, rails: int = 1) -> list[tuple[str, str | None]]:
    """What is found of ports with these VLANs, one to each host's rail in turn, and of an uplink."""
    cables = [{"port": f"Ethernet{n}/1", "peer": f"gpu0{n // rails}", "peer_port": f"ens{n % rails}", "peer_role": "host"} for n in range(len(vlans))]
    cables.append({"port": "Ethernet33/1", "peer": "spine01", "peer_port": "Ethernet0", "peer_role": "spine"})
    rows = [{"port": f"Et{n}/1", "vlan": vlan} for n, vlan in enumerate(vlans)] + [{"port": "Et33/1", "vlan": "routed"}]
    return [(str(one), one.severity) for one in host_vlans_alike(rows, t.cast(t.Any, cables))]


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
