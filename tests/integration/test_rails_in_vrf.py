# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod whose rails are in a VRF of its switches: it is judged by what this VRF has, and faults of it are found at their layer."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import answers, inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod, Session
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed, proved

from .first_finding import must_be_first

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("rails_in_vrf")]
VRF, VARIANT = "RAILS", "rails_in_vrf"


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """Two racks of four hosts under EOS leaves and SONiC spines."""
    expectations = {"pod_name": "small", "pod_to_layer": "training", "pod_rail_vrf": VRF}
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=4, spines=4, expectations=expectations))


def session(pod: Pod, switch: str, peer: str) -> Session:
    return next(one for one in pod.switches[switch].sessions if one.peer == peer)


def test_a_healthy_pod_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod([VARIANT]), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    at_both = [(check, node) for check in ("rails_in_vrf", "bgp_established", "bgp_settled") for node in ("leaf03", "spine02")]
    assert {*at_both, ("ecmp_paths", "leaf03"), ("switch_neighbor_entries", "leaf03"), ("kernel_forwards", "spine02")} <= proved(report)


def rail_port_in_another_vrf(pod: Pod) -> None:
    port = next(one for one in pod.switches["leaf03"].ports if one.peer == "gpu03")
    port.vrf, pod.hosts["gpu03"].rails[2].loss_percent = "BLUE", 100


def vlan_in_another_vrf(pod: Pod) -> None:
    pod.switches["leaf03"].vlan_vrf = "BLUE"
    for switch in pod.switches.values():
        switch.prefixes = [one for one in switch.prefixes if one != "10.53.0.0/24" or switch.role == "spine"]


def uplink_in_the_default_vrf(pod: Pod) -> None:
    port = next(one for one in pod.switches["leaf03"].ports if one.peer == "spine02")
    port.vrf = "default"
    session(pod, "leaf03", "spine02").state = session(pod, "spine02", "leaf03").state = "Active"


def session_in_the_default_vrf(pod: Pod) -> None:
    one = session(pod, "leaf03", "spine02")
    one.vrf, one.state = "default", "Active"
    session(pod, "spine02", "leaf03").state = "Active"


def routes_in_the_default_vrf(pod: Pod) -> None:
    pod.switches["leaf03"].routes_in = {"10.52.0.0/24": "default"}


def all_routes_in_the_default_vrf(pod: Pod) -> None:
    pod.switches["leaf03"].routes_in = {"*": "default"}


def paths_lost_in_the_vrf(pod: Pod) -> None:
    leaf = pod.switches["leaf03"]
    leaf.paths, leaf.default_paths = {"*": 1}, dict.fromkeys(leaf.prefixes, 4)


def vrf_missing_on_a_leaf(pod: Pod) -> None:
    leaf = pod.switches["leaf03"]
    for one in leaf.sessions:
        one.vrf = "default"
    for port in leaf.ports:
        port.vrf = "default"
    leaf.vlan_vrf, leaf.routes_in = "default", {"*": "default"}


def kernel_lost_a_route(pod: Pod) -> None:
    pod.switches["spine02"].lost_of_kernel = ["10.53.0.0/24"]


def uplink_of_a_spine_in_another_vrf(pod: Pod) -> None:
    port = next(one for one in pod.switches["spine02"].ports if one.peer == "leaf03")
    port.vrf = "BLUE"
    session(pod, "leaf03", "spine02").state = session(pod, "spine02", "leaf03").state = "Active"


NOT_IN_VRF = "is not in VRF RAILS (in it: the far end, "


@pytest.mark.parametrize(
    ("fault", "where", "got", "cause"),
    [
        (
            rail_port_in_another_vrf, ("rails_in_vrf", "leaf03", "Ethernet3/1 (to gpu03 mlx5_4)"),
            "VRF BLUE; in VRF RAILS: 7 other rail ports of leaf03", "Ethernet3/1 of leaf03 is in VRF BLUE, and the rails are in VRF RAILS",
        ),
        (
            vlan_in_another_vrf, ("rails_in_vrf", "leaf03", "Ethernet5/1 (to gpu05 mlx5_4)"),
            "VRF BLUE, by Vlan10; in VRF RAILS: no rail port of leaf03", "Vlan10 of leaf03 is in VRF BLUE",
        ),
        (
            uplink_in_the_default_vrf, ("rails_in_vrf", "leaf03", "Ethernet34/1 (to spine02 Ethernet16)"),
            "VRF default; in VRF RAILS: the far end, spine02 Ethernet16, and 3 other links of leaf03 to switches", NOT_IN_VRF,
        ),
        (
            uplink_of_a_spine_in_another_vrf, ("rails_in_vrf", "spine02", "Ethernet16 (to leaf03 Ethernet34/1)"),
            "VRF BLUE; in VRF RAILS: the far end, leaf03 Ethernet34/1, and 7 other links of spine02 to switches", NOT_IN_VRF,
        ),
        (vrf_missing_on_a_leaf, ("rails_in_vrf", "leaf03", "VRF RAILS"), "none; its interfaces are in VRF default", "leaf03 has no interface in VRF RAILS"),
        (
            session_in_the_default_vrf, ("bgp_established", "leaf03", "spine02 (10.0.2.7)"),
            "Active with AS 65000 in VRF default", "The port to spine02 is in VRF RAILS of leaf03, and the session is configured in VRF default",
        ),
        (
            routes_in_the_default_vrf, ("ecmp_paths", "leaf03", "rails of leaf02"),
            "no route in VRF RAILS; VRF default has 10.52.0.0/24 over 4 next hops", "its route to these is in VRF default alone",
        ),
        (
            all_routes_in_the_default_vrf, ("ecmp_paths", "leaf03", "rails of leaf08"),
            "no route in VRF RAILS; VRF default has 10.58.0.0/24 over 4 next hops", "its route to these is in VRF default alone",
        ),
        (
            paths_lost_in_the_vrf, ("ecmp_paths", "leaf03", "10.51.0.0/24"),
            "1 next hop in the RIB of VRF RAILS, none over Ethernet34/1 (to spine02), Ethernet35/1 (to spine03), Ethernet36/1 (to spine04); 4 in VRF default",
            "maximum-paths and multipath-relax are settings of each VRF",
        ),
        (kernel_lost_a_route, ("kernel_forwards", "spine02", "10.53.0.0/24"), "no route in the kernel", ""),
    ],
    ids=name_of_fault,
)  # fmt: skip
def test_a_fault_is_found(
    fault: t.Callable[[Pod], None], where: tuple[str, str, str], got: str, cause: str, pods: inprocess.Pods, tmp_path: Path
) -> None:  # fmt: skip
    pod = pods.pod([VARIANT])
    fault(pod)
    must_be_first(where, got, cause, pods, pod, tmp_path)


def test_a_pod_without_a_vrf_is_asked_nothing_about_vrfs(tmp_path: Path) -> None:
    pods = inprocess.Pods(layout.write(tmp_path, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small", "pod_to_layer": "routing"}))
    pod = pods.pod()
    verdicts = inprocess.judge(pods.plan, pod, "routing")
    assert {(one.verdict, one.words) for one in verdicts if one.check == "rails_in_vrf"} == {("skip", "pod_rail_vrf is not set")}
    assert [(one.check, one.host) for one in verdicts if one.verdict not in ("pass", "skip")] == []
    for node in ("leaf03", "spine02"):
        asked = [" ".join(argv) for argv in answers.of_node(pod, pods.plan, node)]
        assert not [one for one in asked if "vrf" in one and one != "show ip bgp summary vrf all"]
