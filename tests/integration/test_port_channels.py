# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod whose leaves and spines are joined by port-channels: a healthy one climbs to go, and a member that carries nothing is named."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed, proved

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("port_channels")]


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """Two racks of four hosts under EOS leaves, each with port-channels of two members to four SONiC spines."""
    expectations = {"pod_name": "small", "pod_to_layer": "training"}
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=4, spines=4, expectations=expectations, members=2))


def test_a_healthy_pod_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    pod = pods.pod()
    assert {one.port for one in pod.switches["leaf03"].sessions} == {f"Port-Channel{number}" for number in (1, 2, 3, 4)}
    report = pods.climb(pod, tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    assert {(check, node) for check in ("channel_members", "bgp_established") for node in ("leaf03", "spine02")} <= proved(report)
    assert {("ecmp_paths", "leaf03"), ("ecmp_balanced", "leaf03"), ("spines_balanced", "spine02")} <= proved(report)


def not_bundled(pod: Pod) -> None:
    pod.port("leaf03", "Ethernet35/1").unbundled = "waiting for LACP response"


def far_end_alone(pod: Pod) -> None:
    pod.port("leaf03", "Ethernet35/1").unbundled = "waiting for LACP response"
    pod.port("spine02", "Ethernet32").unbundled = "alone"


def alone(pod: Pod) -> None:
    pod.port("leaf03", "Ethernet35/1").unbundled = "alone"


def in_another(pod: Pod) -> None:
    pod.port("leaf03", "Ethernet35/1").unbundled = "Port-Channel3"


def no_link(pod: Pod) -> None:
    pod.port("leaf03", "Ethernet35/1").state = "notconnect"


MEMBER = ("channel_members", "leaf03", "Port-Channel2 Ethernet35/1")


@pytest.mark.parametrize(
    ("fault", "got", "cause"),
    [
        (not_bundled, "waiting for LACP response", ""),
        (far_end_alone, "waiting for LACP response", "The far end, spine02 Ethernet32, is a member of no port-channel"),
        (alone, "no member of any port-channel", "channel group was removed"),
        (in_another, "a member of Port-Channel3", "another port-channel than the plan's"),
        (no_link, "link down in LACP negotiation", "spine02 Ethernet32 is down"),
    ],
    ids=name_of_fault,
)
def test_a_member_that_carries_nothing_is_named(fault: t.Callable[[Pod], None], got: str, cause: str, pods: inprocess.Pods) -> None:
    pod = pods.pod()
    fault(pod)
    its = inprocess.findings_by_place(pods.plan, pod, "links")
    assert its[MEMBER][0] == got and cause in its[MEMBER][1]
    assert {node for _check, node, _where in its} <= {"leaf03", "spine02"}
    assert inprocess.findings_by_place(pods.plan, pod, "routing") == {}


def test_a_port_channel_without_a_session_is_a_path_less(pods: inprocess.Pods) -> None:
    pod = pods.pod()
    next(one for one in pod.switches["leaf03"].sessions if one.peer == "spine02").state = "Active"
    its = inprocess.findings_by_place(pods.plan, pod, "routing")
    assert ("bgp_established", "leaf03", "spine02 (10.0.2.7)") in its
    assert its["ecmp_paths", "leaf03", "10.51.0.0/24"][0] == "3 next hops in the RIB, none over Port-Channel2 (to spine02)"


def test_a_finding_at_a_port_channel_is_of_the_groups_behind_it(pods: inprocess.Pods) -> None:
    assert pods.plan.affects("spine02", "PortChannel0003") == pods.plan.affects("leaf03") == {"rack_01", "rack_02"}
