# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the checks of an overlay say of forms of pods that the simulated one does not have."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.routing import overlay

Row = dict[str, t.Any]
SPINES = [{"port": f"swp{number}", "peer": f"spine0{number}", "address": f"172.16.1.{2 * number - 1}", "asn": 65000} for number in (1, 2)]
LEAF: Row = {"pod_role": "leaf", "pod_node": "leaf01", "pod_rail_vrf": "RAILS", "pod_rail_vni": None}
LEAF |= {"pod_same_role": ["leaf02", "leaf03"], "pod_leaf_rails": []}


def session(neighbor: str, state: str = "Established", prefixes: int | None = 6) -> Row:
    return {"vrf": "default", "neighbor": neighbor, "asn": 65000, "state": state, "prefixes_received": prefixes, "up_seconds": 60.0}


def vni(number: int = 4001, **values: t.Any) -> Row:
    return {"vni": number, "kind": "L3", "vrf": "RAILS", "vtep": "10.0.1.1", "device": "vni", "vlan_interface": "Vlan400", "state": "Up", **values}


def sessions(own: list[Row], of_peers: dict[str, list[Row]]) -> list[tuple[str, str]]:
    found = overlay.evpn_established(own, of_peers, SPINES, [{"peer_role": "spine"}], "leaf01", ["leaf02", "leaf03"], "leaf")
    return [(str(one.where), one.actual) for one in found]


def test_sessions_of_loopbacks_are_as_many_as_others_have() -> None:
    two = [session("10.0.0.1"), session("10.0.0.2")]
    assert sessions(two, {"leaf02": two, "leaf03": two}) == []
    assert sessions(two[:1], {"leaf02": two, "leaf03": two}) == [("neighbors of EVPN", "1")]
    assert sessions([], {"leaf02": [], "leaf03": []}) == [("neighbors of EVPN", "none")]
    down = [two[0], session("10.0.0.2", "Active", None)]
    assert sessions(down, {"leaf02": two, "leaf03": two}) == [("10.0.0.2", "Active")]
    # Some spines reflect routes, and no session with the others is expected.
    assert sessions(two[:1], {"leaf02": two[:1], "leaf03": two[:1]}) == []


def test_a_session_whose_routes_are_not_counted_is_unknown() -> None:
    found = list(overlay.evpn_established([session("swp1"), session("swp2", prefixes=None)], {}, SPINES, [], "leaf01", [], "leaf"))
    assert [(str(one.where), one.severity) for one in found] == [("spine02 (172.16.1.3)", "unknown")]


def test_a_switch_without_a_plan_of_neighbors_is_no_pass() -> None:
    with pytest.raises(CannotTell):
        list(overlay.evpn_established([], {}, [], [{"peer_role": "spine"}], "leaf01", [], "leaf"))
    with pytest.raises(NotApplicable):
        list(overlay.evpn_established([], {}, [], [{"peer_role": "host"}], "leaf01", [], "leaf"))


def vnis(own: list[Row] | None, others: dict[str, list[Row]], **values: t.Any) -> list[tuple[str, str, str]]:
    found = overlay.vni_up({**others, "leaf01": own or []}, **{**LEAF, **values}, vnis=own)
    return [(one.expected, one.actual, one.cause or "") for one in found]


def test_without_a_planned_vni_it_is_that_of_most_leaves() -> None:
    others = {name: [vni(vtep=address)] for name, address in (("leaf02", "10.0.1.2"), ("leaf03", "10.0.1.3"))}
    assert vnis([vni()], others) == []
    assert [(wanted, got) for wanted, got, _cause in vnis([vni(4002)], others)] == [("4001 on most leaves", "4002")]
    assert [(wanted, got) for wanted, got, _cause in vnis([vni(4001)], others, pod_rail_vni=4003)] == [("4003 by pod_rail_vni", "4001")]


def test_leaves_to_which_the_same_bonds_lead_share_a_vtep() -> None:
    rails = [{"host": "gpu01", "leaf": "leaf01", "leaves": ["leaf01", "leaf02"], "address": "10.51.0.1"}]
    assert vnis([vni()], {"leaf02": [vni()]}, pod_leaf_rails=rails) == []
    assert [got for _wanted, got, _cause in vnis([vni()], {"leaf02": [vni()]})] == ["also that of leaf02"]


def test_a_vni_that_is_down_where_its_parts_are_not_reported() -> None:
    ((_wanted, got, cause),) = vnis([vni(state="Down", vtep=None, vlan_interface=None)], {})
    assert got == "4001 is Down" and "its VLAN or the interface of that is not up" in cause


def test_a_leaf_that_reports_no_vnis_is_no_pass() -> None:
    with pytest.raises(CannotTell):
        vnis(None, {})
    with pytest.raises(NotApplicable):
        vnis(None, {}, pod_role="spine")
    assert [got for _wanted, got, _cause in vnis([vni(1001, kind="L2")], {})] == ["no VNI of layer 3; its VNIs are 1001"]


def test_room_for_vxlan_is_told_by_what_hosts_have() -> None:
    uplink = {"port": "swp1", "peer": "spine01", "peer_port": "swp9", "peer_role": "spine"}
    cables = [uplink, {"port": "swp5", "peer": "gpu01", "peer_port": "rail0", "peer_role": "host"}]
    own = [{"port": "swp1", "mtu": 9049}]
    found = list(overlay.vxlan_mtu(own, {"gpu01": [{"port": "rail0", "mtu": 9000}]}, cables, None, "leaf"))
    assert [one.actual for one in found] == ["9049"]
    assert list(overlay.vxlan_mtu([{"port": "swp1", "mtu": 9050}], {"gpu01": [{"port": "rail0", "mtu": 9000}]}, cables, None, "leaf")) == []
    assert [one.severity for one in overlay.vxlan_mtu([], {}, cables, 9000, "leaf")] == ["unknown"]
    with pytest.raises(CannotTell):
        list(overlay.vxlan_mtu(own, {}, cables, None, "leaf"))
