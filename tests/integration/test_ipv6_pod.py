# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod of IPv6 alone with unnumbered BGP sessions: a healthy one climbs to go, and faults are found at their layer."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod, Session
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("ipv6_pod")]
Found = list[tuple[str, str, str]]


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """Two racks of four hosts under EOS leaves and SONiC spines."""
    expectations = {"pod_name": "small", "pod_to_layer": "training"}
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=4, spines=4, expectations=expectations, ipv6=True))


def found(pods: inprocess.Pods, pod: Pod, layer: str) -> Found:
    """The findings of a layer: check, node and place."""
    return [
        (one.check, str(finding.host or one.host), str(finding.where))
        for one in inprocess.judge(pods.plan, pod, layer)
        if one.verdict not in ("pass", "skip")
        for finding in one.findings
    ]


def session(pod: Pod, switch: str, name: str) -> Session:
    return next(one for one in pod.switches[switch].sessions if one.port == name)


def test_a_healthy_pod_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    pod = pods.pod()
    assert not any(one.address for switch in pod.switches.values() for one in switch.sessions)
    report = pods.climb(pod, tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    routing = {"bgp_established", "ecmp_paths", "kernel_forwards", "rails_reachable", "path_carries_full_size"}
    assert routing | {"gid_index", "gid_index_uniform", "address_plan", "identities_unique", "cabling_as_planned"} <= proved


def no_address(pod: Pod) -> None:
    pod.hosts["gpu03"].rails[2].gid_address = ""


def moved_index(pod: Pod) -> None:
    pod.hosts["gpu03"].rails[2].gid_first_index = 2


def other_prefix_length(pod: Pod) -> None:
    pod.hosts["gpu03"].rails[2].prefix_length = 128


def address_twice(pod: Pod) -> None:
    pod.hosts["gpu03"].rails[2].address = pod.hosts["gpu04"].rails[2].address


def session_down(pod: Pod) -> None:
    session(pod, "leaf03", "Ethernet34/1").state = "Active"


def session_not_configured(pod: Pod) -> None:
    session(pod, "spine02", "Ethernet16").configured = False


def one_path(pod: Pod) -> None:
    pod.switches["leaf03"].paths["*"] = 1


def kernel_lost_a_route(pod: Pod) -> None:
    pod.switches["spine02"].lost_of_kernel = ["fd00:33::/64"]


def rail_silent(pod: Pod) -> None:
    pod.hosts["gpu03"].rails[2].loss_percent = 100


@pytest.mark.parametrize(
    ("fault", "layer", "wanted"),
    [
        (no_address, "preflight", ("gid_index", "gpu03", "mlx5_4")),
        (moved_index, "preflight", ("gid_index", "gpu03", "mlx5_4")),
        (other_prefix_length, "preflight", ("address_plan", "gpu03", "enp79s0np0")),
        (address_twice, "preflight", ("identities_unique", "gpu03", "enp79s0np0 address fd00:35::4")),
        (session_down, "routing", ("bgp_established", "leaf03", "spine02 (Ethernet34/1)")),
        (session_not_configured, "routing", ("bgp_established", "spine02", "leaf03 (Ethernet16)")),
        (one_path, "routing", ("ecmp_paths", "leaf03", "fd00:33::/64")),
        (kernel_lost_a_route, "routing", ("kernel_forwards", "spine02", "fd00:33::/64")),
        (rail_silent, "routing", ("rails_reachable", "gpu03", "mlx5_4 to gpu04 mlx5_4 (fd00:35::4)")),
    ],
    ids=name_of_fault,
)
def test_a_fault_is_found_at_its_layer(fault: t.Callable[[Pod], None], layer: str, wanted: tuple[str, str, str], pods: inprocess.Pods) -> None:
    pod = pods.pod()
    fault(pod)
    its = found(pods, pod, layer)
    assert wanted in its
    # Nobody else is accused, but those at the other end of what is broken.
    assert {node for _check, node, _where in its} <= {wanted[1], "gpu04", "leaf02", "leaf03", "spine02", *(("leaf01", "leaf04") if fault is one_path else ())}
