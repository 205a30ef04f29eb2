# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod whose rails are routed by EVPN over VXLAN: it is a go through all layers, and faults of its overlay and its underlay are told apart."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod, Session
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed, proved

from .first_finding import must_be_first

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("evpn_pod")]
VARIANT, VRF, LEAF, NETWORK = "rails_in_evpn", "RAILS", "leaf03", "10.53.0.0/24"
OF_OVERLAY = ("evpn_established", "vni_up", "vteps_reached", "vxlan_mtu")


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """Two racks of four hosts under SONiC leaves and spines."""
    expectations = {"pod_name": "small", "pod_to_layer": "training", "pod_rail_vrf": VRF, "pod_overlay": "evpn", "pod_rail_vni": 4001}
    into = tmp_path_factory.mktemp("pod")
    return inprocess.Pods(layout.write(into, racks=2, hosts_per_rack=4, spines=4, expectations=expectations, leaf_platform="sonic"))


def session(pod: Pod, switch: str, peer: str) -> Session:
    return next(one for one in pod.switches[switch].sessions if one.peer == peer)


def withdrawn(pod: Pod) -> None:
    """No other leaf has a route to the rails of the leaf."""
    for switch in pod.switches.values():
        switch.prefixes = [one for one in switch.prefixes if one != NETWORK]


def test_a_healthy_pod_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod([VARIANT]), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    at_both = {(check, node) for check in ("bgp_established", "evpn_established", "kernel_forwards") for node in (LEAF, "spine02")}
    assert at_both | {(check, LEAF) for check in (*OF_OVERLAY, "ecmp_paths", "rails_in_vrf", "ecmp_balanced")} <= proved(report)


def family_not_activated(pod: Pod) -> None:
    session(pod, LEAF, "spine02").evpn_prefixes, session(pod, "spine02", LEAF).evpn_prefixes = 0, None


def family_not_configured(pod: Pod) -> None:
    session(pod, LEAF, "spine02").evpn_prefixes, session(pod, "spine02", LEAF).evpn_prefixes = None, 0


def without_a_vni(pod: Pod) -> None:
    pod.switches[LEAF].vni = None
    withdrawn(pod)


def another_vni(pod: Pod) -> None:
    pod.switches[LEAF].vni = 4002


def without_a_device(pod: Pod) -> None:
    pod.switches[LEAF].vni_state, pod.switches[LEAF].vni_lacks = "Down", ["device"]
    withdrawn(pod)


def vlan_interface_down(pod: Pod) -> None:
    pod.switches[LEAF].vni_state, pod.switches[LEAF].vni_lacks = "Down", ["vlan_interface"]
    withdrawn(pod)


def loopback_not_announced(pod: Pod) -> None:
    for switch in pod.switches.values():
        switch.vteps = {leaf: its for leaf, its in switch.vteps.items() if leaf != LEAF or switch.name == LEAF}


def one_path_of_the_underlay(pod: Pod) -> None:
    pod.switches[LEAF].paths["*"] = 1


def same_vtep(pod: Pod) -> None:
    for switch in pod.switches.values():
        switch.vteps[LEAF] = switch.vteps["leaf04"]


def route_targets_differ(pod: Pod) -> None:
    withdrawn(pod)


def uplink_without_room_for_vxlan(pod: Pod) -> None:
    for node, peer in ((LEAF, "spine02"), ("spine02", LEAF)):
        next(one for one in pod.switches[node].ports if one.peer == peer).mtu = 9000


def kernel_lost_a_vtep(pod: Pod) -> None:
    pod.switches["spine02"].lost_of_kernel = [f"{pod.switches[LEAF].router_id}/32"]


AT_SPINE, OF_VNI = "spine02 (10.0.2.7)", f"VNI of VRF {VRF}"


@pytest.mark.parametrize(
    ("fault", "where", "got", "cause"),
    [
        (family_not_activated, ("evpn_established", LEAF, AT_SPINE), "Established and brings no route of EVPN", "is not activated for this neighbor"),
        (family_not_configured, ("evpn_established", LEAF, AT_SPINE), "no such neighbor of EVPN", "has no session of the family L2VPN EVPN with spine02"),
        (without_a_vni, ("vni_up", LEAF, OF_VNI), "no VNI of layer 3", "no route of its rails is announced"),
        (another_vni, ("vni_up", LEAF, OF_VNI), "4002", "packets arrive with a VNI that the other end does not know"),
        (without_a_device, ("vni_up", LEAF, OF_VNI), "4001 is Down", "No VXLAN device on leaf03 carries VNI 4001"),
        (vlan_interface_down, ("vni_up", LEAF, OF_VNI), "4001 is Down", "has no interface of its VLAN that is up"),
        (loopback_not_announced, ("vteps_reached", LEAF, "own VTEP 10.255.0.3"), "no switch has one", "leaf03 does not announce this loopback"),
        (
            one_path_of_the_underlay, ("vteps_reached", LEAF, "VTEP 10.255.0.4 of leaf04"),
            "1 next hop, none over Ethernet264 (to spine02), Ethernet272 (to spine03), Ethernet280 (to spine04)", "",
        ),
        (same_vtep, ("vni_up", LEAF, "VTEP 10.255.0.4"), "also that of leaf04", "arrives at one of them alone"),
        (route_targets_differ, ("ecmp_paths", "leaf01", "rails of leaf03"), "no route in VRF RAILS", "the route targets of the two leaves differ"),
        (uplink_without_room_for_vxlan, ("vxlan_mtu", LEAF, "Ethernet264"), "9000", ""),
        (kernel_lost_a_vtep, ("kernel_forwards", "spine02", "10.255.0.3/32"), "no route in the kernel", ""),
    ],
    ids=name_of_fault,
)  # fmt: skip
def test_a_fault_is_found(
    fault: t.Callable[[Pod], None], where: tuple[str, str, str], got: str, cause: str, pods: inprocess.Pods, tmp_path: Path
) -> None:  # fmt: skip
    pod = pods.pod([VARIANT])
    fault(pod)
    must_be_first(where, got, cause, pods, pod, tmp_path)


def test_paths_of_a_rail_are_those_to_its_vtep(pods: inprocess.Pods) -> None:
    pod = pods.pod([VARIANT])
    one_path_of_the_underlay(pod)
    got, _cause = inprocess.findings_by_place(pods.plan, pod, "routing")["ecmp_paths", LEAF, "10.54.0.0/24"]
    assert got.startswith("1 next hop in the forwarding table to VTEP 10.255.0.4, the next hop, of VRF RAILS, none over Ethernet264 (to spine02)")


def test_leaves_that_do_not_report_their_vteps_are_judged_by_next_hops(tmp_path: Path) -> None:
    """EOS leaves, which report neither the address of a VTEP nor the state of a VNI."""
    expectations = {"pod_name": "small", "pod_to_layer": "routing", "pod_rail_vrf": VRF, "pod_overlay": "evpn"}
    pods = inprocess.Pods(layout.write(tmp_path, racks=2, hosts_per_rack=4, spines=4, expectations=expectations))
    assert inprocess.findings_by_place(pods.plan, pods.pod([VARIANT]), "routing") == {}
    for fault, where in (
        (family_not_activated, ("evpn_established", LEAF, AT_SPINE)),
        (without_a_vni, ("vni_up", LEAF, OF_VNI)),
        (another_vni, ("vni_up", LEAF, OF_VNI)),
        (one_path_of_the_underlay, ("vteps_reached", LEAF, "VTEP 10.255.0.4 of leaf04")),
        (route_targets_differ, ("ecmp_paths", "leaf05", "rails of leaf03")),
        (uplink_without_room_for_vxlan, ("vxlan_mtu", LEAF, "Ethernet34/1")),
    ):
        pod = pods.pod([VARIANT])
        fault(pod)
        found = inprocess.findings_by_place(pods.plan, pod, "routing")
        assert where in found, (fault.__name__, found)
