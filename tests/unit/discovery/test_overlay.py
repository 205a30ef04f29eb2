# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The VRF of the rails and its VNI are proposed as most leaves have them; a leaf that differs is named."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.overlay import overlay_of

LEAVES = [f"leaf{number}" for number in range(1, 5)]
ROLES = {"gpu1": "host", **dict.fromkeys(LEAVES, "leaf"), "spine1": "spine"}
CABLES = [*((("gpu1", f"eth{leaf}"), (leaf, "Ethernet1")) for leaf in LEAVES), *(((leaf, "Ethernet33"), ("spine1", leaf)) for leaf in LEAVES)]
Rows = list[dict[str, t.Any]]
ROUTED = [{"port": "Ethernet1", "vrf": "RAILS"}, {"port": "Ethernet33", "vrf": "default"}]
OF_VLAN = [{"port": "Vlan10", "vrf": "RAILS"}, {"port": "Vlan99", "vrf": "MGMT"}, {"port": "Ethernet33", "vrf": "default"}]


def found(of_one: dict[str, Rows], of_others: dict[str, Rows]) -> tuple[dict[str, t.Any], dict[str, str], list[str]]:
    result = overlay_of(ROLES, {LEAVES[0]: of_one, **dict.fromkeys(LEAVES[1:], of_others)}, CABLES)
    return {one.name: one.value for one in result.proposals}, {one.place: one.words for one in result.outliers}, result.blanks


def vni(number: int, vrf: str = "RAILS") -> Rows:
    return [{"vni": 10010, "kind": "L2", "vrf": vrf}, {"vni": number, "kind": "L3", "vrf": vrf}]


@pytest.mark.parametrize(
    "rows", [ROUTED, [{"port": "Eth1.10", "vrf": "RAILS"}], OF_VLAN, [{"port": "vlan10", "vrf": "RAILS"}, {"port": "swp33", "vrf": "default"}]]
)
def test_the_vrf_of_ports_or_of_the_interfaces_of_their_vlans_is_proposed(rows: Rows) -> None:
    own = {"port_vrfs": rows, "interface_status": [{"port": "Ethernet1", "vlan": "10"}]}
    assert found(own, own) == ({"pod_rail_vrf": "RAILS"}, {}, [])


@pytest.mark.parametrize("own", [{}, {"port_vrfs": []}, {"port_vrfs": [{"port": "Ethernet1", "vrf": "default"}]}])
def test_nothing_is_proposed_of_the_default_vrf_and_where_none_is_reported(own: dict[str, Rows]) -> None:
    assert found(own, own) == ({}, {}, [])


def test_two_vlans_in_two_vrfs_are_not_guessed_from() -> None:
    own = {"port_vrfs": OF_VLAN, "interface_status": [{"port": "Ethernet1", "vlan": "trunk"}]}
    assert found(own, own) == ({}, {}, [])


def test_the_vni_of_most_leaves_is_proposed_and_the_leaf_with_another_named() -> None:
    proposed = {"pod_rail_vrf": "RAILS", "pod_overlay": "evpn", "pod_rail_vni": 4001}
    own = {"port_vrfs": ROUTED, "vnis": vni(4001)}
    assert found(own, own) == (proposed, {}, [])
    assert found({**own, "vnis": vni(4002)}, own) == (proposed, {"leaf1": "VNI 4002 of VRF RAILS, and VNI 4001 on 3 of 4 leaves"}, [])
    assert found({**own, "vnis": []}, own) == (proposed, {"leaf1": "no VNI of VRF RAILS, and VNI 4001 on 3 of 4 leaves"}, [])
    assert found({**own, "port_vrfs": []}, own)[1] == {"leaf1": "rails in VRF default, and in VRF RAILS on 3 of 4 leaves"}


def test_a_vni_of_another_vrf_is_no_overlay_of_the_rails() -> None:
    own = {"port_vrfs": ROUTED, "vnis": vni(4001, "STORAGE")}
    assert found(own, own) == ({"pod_rail_vrf": "RAILS"}, {}, [])
