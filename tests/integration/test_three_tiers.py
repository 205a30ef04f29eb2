# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod of scalable units that meet over super-spines: a healthy one climbs to go, and faults of the third tier are found at their layer."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed, proved

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("three_tiers")]
FIRST_UNIT = {"rack_01", "rack_02"}
EVERY_UNIT = FIRST_UNIT | {"rack_03", "rack_04"}


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """Two units of two racks of three hosts, each with eight EOS leaves and four SONiC spines; four super-spines, two cables from each spine to each."""
    expectations = {"pod_name": "small", "pod_to_layer": "training"}
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("pod"), racks=4, hosts_per_rack=3, spines=4, expectations=expectations, units=2))


def test_a_healthy_pod_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod(), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    for node in ("leaf03", "spine02"):
        assert {(check, node) for check in ("bgp_established", "ecmp_paths", "ecmp_balanced", "oversubscription", "qos_agrees")} <= proved(report)
    for node in ("spine02", "superspine03"):
        assert {(check, node) for check in ("ecmp_paths", "spines_balanced", "pauses_stay_local", "switch_drops", "cabling_as_planned")} <= proved(report)


Found = dict[tuple[str, str, str], str]


# spine02 Ethernet128 is cabled to superspine01 Ethernet16.
def link_down(pod: Pod) -> None:
    pod.port("spine02", "Ethernet128").state = pod.port("superspine01", "Ethernet16").state = "notconnect"


def session_down(pod: Pod) -> None:
    for node, port in (("spine02", "Ethernet128"), ("superspine01", "Ethernet16")):
        next(one for one in pod.switches[node].sessions if one.port == port).state = "Active"


def fewer_next_hops(pod: Pod) -> None:
    pod.switches["spine02"].paths["*"] = 4


def no_route_to_a_leaf(pod: Pod) -> None:
    del pod.switches["superspine02"].ways["10.53.0.0/24"]


def not_lossless(pod: Pod) -> None:
    pod.switches["superspine03"].lossless = []
    for port in pod.switches["superspine03"].ports:
        port.pfc = []


def not_marking(pod: Pod) -> None:
    pod.switches["superspine03"].marking = False


def cables_swapped(pod: Pod) -> None:
    one, other = pod.port("spine02", "Ethernet128"), pod.port("spine03", "Ethernet128")
    far, further = pod.port("superspine01", "Ethernet16"), pod.port("superspine01", "Ethernet32")
    one.lldp_port, other.lldp_port = other.lldp_port, one.lldp_port
    far.lldp_peer, further.lldp_peer = further.lldp_peer, far.lldp_peer


def daemon_dead(pod: Pod) -> None:
    for one in pod.switches["superspine03"].sessions:
        one.state = "Active"
    for switch in pod.switches.values():
        for one in switch.sessions:
            one.state = "Active" if one.peer == "superspine03" else one.state


def avoided(pod: Pod) -> None:
    for number in range(1, 9):
        pod.switches[f"spine{number:02}"].uplink_weights["superspine03"] = 0.0


def hashes_over_half(pod: Pod) -> None:
    pod.switches["spine02"].hashes_over = 4


def drops(pod: Pod) -> None:
    pod.port("superspine01", "Ethernet16").grow_loaded["dropped"] = 90


@pytest.mark.parametrize(
    ("fault", "layer", "expected", "closed"),
    [
        (
            link_down, "links",
            {("port_speed", "spine02", "Ethernet128"): "notconnect", ("port_speed", "superspine01", "Ethernet16"): "notconnect"}, FIRST_UNIT,
        ),
        (
            cables_swapped, "links",
            {("cabling_as_planned", "spine02", "Ethernet128"): "superspine01 Ethernet32",
             ("cabling_as_planned", "spine03", "Ethernet128"): "superspine01 Ethernet16",
             ("cabling_as_planned", "superspine01", "Ethernet16"): "spine03 Ethernet128",
             ("cabling_as_planned", "superspine01", "Ethernet32"): "spine02 Ethernet128"}, FIRST_UNIT,
        ),
        (
            session_down, "routing",
            {("bgp_established", "spine02", "superspine01 (10.200.2.1)"): "Active with AS 64900",
             ("bgp_established", "superspine01", "spine02 (10.200.2.0)"): "Active with AS 65000",
             **{("ecmp_paths", "spine02", f"10.{number}.0.0/24"): "7 next hops in the forwarding table, none over Ethernet128 (to superspine01)"
                for number in range(59, 67)},
             **{("ecmp_paths", "superspine01", f"10.{number}.0.0/24"): "7 next hops in the forwarding table, none over Ethernet16 (to spine02)"
                for number in range(51, 59)}}, FIRST_UNIT,
        ),
        (
            fewer_next_hops, "routing",
            {("ecmp_paths", "spine02", f"10.{number}.0.0/24"): "4 next hops in the forwarding table" for number in range(59, 67)}, FIRST_UNIT,
        ),
        (no_route_to_a_leaf, "routing", {("ecmp_paths", "superspine02", "rails of leaf03"): "no route"}, FIRST_UNIT),
        (
            not_lossless, "congestion",
            {("qos_agrees", "superspine03", f"Ethernet{8 * number} PFC"): "on none, and on 3 at spine" for number in range(16)}, EVERY_UNIT,
        ),
        (not_marking, "congestion", {("qos_agrees", "superspine03", "ECN"): "marking is not enabled"}, EVERY_UNIT),
        (
            hashes_over_half, "congestion",
            {("ecmp_balanced", "spine02", f"Ethernet{160 + 8 * number}"): "0 GB: the uplink is not used" for number in range(4)}, FIRST_UNIT,
        ),
        (drops, "congestion", {("switch_drops", "superspine01", "Ethernet16"): "90 packets of UC3"}, FIRST_UNIT),
    ],
    ids=name_of_fault,
)  # fmt: skip
def test_a_fault_of_the_third_tier_is_found(fault: t.Callable[[Pod], None], layer: str, expected: Found, closed: set[str], pods: inprocess.Pods) -> None:
    pod = pods.pod()
    fault(pod)
    verdicts = inprocess.judge(pods.plan, pod, layer)
    its = {(one.check, one.host, str(finding.where)): finding.actual for one in verdicts if one.verdict not in ("pass", "skip") for finding in one.findings}
    assert its.keys() == expected.keys()
    assert all(words in its[place] for place, words in expected.items()), its
    # What is found at a link to a super-spine is of the unit below it, and the others go on.
    assert {group for group, state in inprocess.decide(pods.plan, verdicts, layer).items() if state != "open"} == closed


def test_the_link_comes_before_what_follows_from_it(pods: inprocess.Pods, tmp_path: Path) -> None:
    pod = pods.pod()
    session_down(pod)
    report = pods.climb(pod, tmp_path, pod_to_layer="routing")
    its = [
        (one["check"], finding.get("follows")) for one in report["verdicts"] for finding in one["findings"] if one["check"] in ("bgp_established", "ecmp_paths")
    ]
    assert {(check, follows) for check, follows in its if check == "ecmp_paths"} == {("ecmp_paths", True)}
    assert report["verdict"] == "no_go" and {check for check, _follows in its} == {"bgp_established", "ecmp_paths"}


def test_a_dead_super_spine_is_blamed_by_all_its_spines(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    daemon_dead(pod)
    its = inprocess.findings_by_place(pods.plan, pod, "routing")
    causes = {cause for (check, _node, _where), (_got, cause) in its.items() if check == "bgp_established"}
    assert len(causes) == 1 and next(iter(causes)).startswith("No session of superspine03 is up")
    assert {node for check, node, _where in its if check == "ecmp_paths"} == {"superspine03", *(f"spine{number:02}" for number in range(1, 9))}


def test_a_super_spine_that_no_spine_uses_is_named(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    avoided(pod)
    its = inprocess.findings_by_place(pods.plan, pod, "congestion")
    got, cause = its["spines_balanced", "superspine03", "traffic of spines"]
    assert got == "0.00 times as much, of the median of 8 spines: no spine uses it"
    assert cause.startswith("Spines send less over superspine03 than over other super-spines")


def test_planes_are_judged_each_by_itself(tmp_path: Path) -> None:
    """Spine i of each unit leads to super-spine i alone, with eight cables."""
    values = {"pod_name": "small", "pod_to_layer": "training"}
    pods = inprocess.Pods(layout.write(tmp_path, racks=2, hosts_per_rack=3, spines=4, expectations=values, units=2, planes=True))
    pod = pods.pod()
    verdicts = [one for layer in ("links", "routing", "congestion") for one in inprocess.judge(pods.plan, pod, layer)]
    assert [(one.check, one.host, one.words, one.findings) for one in verdicts if one.verdict not in ("pass", "skip")] == []
    passed = {(one.check, one.host) for one in verdicts if one.verdict == "pass"}
    assert {("ecmp_paths", "superspine02"), ("ecmp_paths", "spine06"), ("ecmp_balanced", "spine06"), ("spines_balanced", "spine06")} <= passed
    # There is no other super-spine below which the same spines are.
    assert ("spines_balanced", "superspine02") not in passed
    for one in pod.switches["superspine02"].sessions:
        one.state = "Active" if one.peer == "spine02" else one.state
    for one in pod.switches["spine02"].sessions:
        one.state = "Active" if one.peer == "superspine02" else one.state
    judged = inprocess.judge(pods.plan, pod, "routing")
    assert {one.host for one in judged if one.verdict not in ("pass", "skip")} == {"spine02", "superspine02"}
    assert inprocess.decide(pods.plan, judged, "routing") == {"rack_01": "closed", "rack_02": "open"}
