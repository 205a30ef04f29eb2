# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod whose routes are those of OSPF, or static ones: no BGP is asked for, and faults are found at their layer."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod, Session
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed, proved

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("ospf_pod")]
BY_BGP = {"bgp_established", "bgp_settled"}


def made(into: Path, underlay: str) -> inprocess.Pods:
    """Two racks of four hosts under EOS leaves and SONiC spines."""
    expectations = {"pod_name": "small", "pod_to_layer": "training", "pod_underlay": underlay}
    return inprocess.Pods(layout.write(into, racks=2, hosts_per_rack=4, spines=4, expectations=expectations))


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    return made(tmp_path_factory.mktemp("pod"), "ospf")


def session(pod: Pod, switch: str, peer: str) -> Session:
    return next(one for one in pod.switches[switch].sessions if one.peer == peer)


def test_a_healthy_pod_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod(), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    assert {("ospf_full", "leaf03"), ("ospf_full", "spine02"), ("ecmp_paths", "leaf03"), ("kernel_forwards", "spine02")} <= proved(report)
    assert not BY_BGP & {check for check, _node in proved(report)}


def test_static_routes_are_judged_by_their_paths(tmp_path: Path) -> None:
    pods = made(tmp_path, "static")
    pod = pods.pod()
    verdicts = inprocess.judge(pods.plan, pod, "routing")
    assert [(one.check, one.host) for one in verdicts if one.verdict not in ("pass", "skip")] == []
    proved = {one.check for one in verdicts if one.verdict == "pass"}
    assert {"ecmp_paths", "kernel_forwards", "rails_reachable"} <= proved and not {*BY_BGP, "ospf_full"} & proved
    assert set(inprocess.decide(pods.plan, verdicts, "routing").values()) == {"open"}
    pod.switches["leaf03"].paths["*"] = 3
    got, cause = inprocess.findings_by_place(pods.plan, pod, "routing")["ecmp_paths", "leaf03", "10.51.0.0/24"]
    assert got == "3 next hops in the RIB, none over Ethernet36/1 (to spine04)" and "static routes" in cause


def no_neighbor(pod: Pod) -> None:
    session(pod, "leaf03", "spine02").configured = False


def one_way(pod: Pod) -> None:
    session(pod, "leaf03", "spine02").state = "Init"


def databases_not_exchanged(pod: Pod) -> None:
    session(pod, "leaf03", "spine02").state = "ExStart"


def both_other(pod: Pod) -> None:
    session(pod, "leaf03", "spine02").state = "2-Way"


def few_paths(pod: Pod) -> None:
    pod.switches["leaf03"].paths["*"] = 1


def kernel_lost_a_route(pod: Pod) -> None:
    pod.switches["spine02"].lost_of_kernel = ["10.53.0.0/24"]


def rail_silent(pod: Pod) -> None:
    pod.hosts["gpu03"].rails[2].loss_percent = 100


AT = ("ospf_full", "leaf03", "spine02 (Ethernet34/1)")


@pytest.mark.parametrize(
    ("fault", "where", "got", "cause"),
    [
        (no_neighbor, AT, "no neighbor", ""),
        (one_way, AT, "Init", "spine02 does not hear it"),
        (databases_not_exchanged, AT, "ExStart", "their MTU differs"),
        (both_other, AT, "2-Way", "network type is broadcast"),
        (few_paths, ("ecmp_paths", "leaf03", "10.51.0.0/24"), "1 next hop in the RIB, none over Ethernet34/1 (to spine02), ", "costs of uplinks differ"),
        (kernel_lost_a_route, ("kernel_forwards", "spine02", "10.53.0.0/24"), "no route in the kernel", ""),
        (rail_silent, ("rails_reachable", "gpu03", "mlx5_4 to gpu04 mlx5_4 (10.53.0.4)"), "100 % loss, 0 of 20", ""),
    ],
    ids=name_of_fault,
)
def test_a_fault_is_found(fault: t.Callable[[Pod], None], where: tuple[str, str, str], got: str, cause: str, pods: inprocess.Pods) -> None:
    pod = pods.pod()
    fault(pod)
    its = inprocess.findings_by_place(pods.plan, pod, "routing")
    assert its[where][0].startswith(got) and cause in its[where][1]
    # The pings of its peers are lost on the way to a silent rail; nobody else is in a finding.
    peers = {"gpu01", "gpu02", "gpu04", "gpu05"} if fault is rail_silent else set()
    assert {node for _check, node, _where in its} <= {where[1], *peers}
