# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaves that reach the rails of others by a default route or by aggregates: wide enough they are a go, and what is too narrow is found."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("wide_routes")]
DEFAULT = ["0.0.0.0/0"]
# All networks of the rails, which are 10.51.0.0/24 to 10.58.0.0/24.
AGGREGATES = ["10.48.0.0/14", "10.52.0.0/14", "10.56.0.0/14"]


@pytest.fixture(scope="module", params=["eos", "sonic"])
def pods(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """Two racks of two hosts under leaves of either platform, and SONiC spines."""
    into = tmp_path_factory.mktemp("pod")
    return inprocess.Pods(layout.write(into, racks=2, hosts_per_rack=2, spines=4, expectations={"pod_name": "small"}, leaf_platform=request.param))


def pod_with(pods: inprocess.Pods, prefixes: list[str]) -> Pod:
    """A pod whose leaves have these routes by BGP."""
    pod = pods.pod()
    for switch in pod.switches.values():
        if switch.role == "leaf":
            switch.prefixes = list(prefixes)
    return pod


def found(pods: inprocess.Pods, pod: Pod) -> list[tuple[str, str, str, str, str]]:
    """The findings of layer 2: check, node, place, what was got and the cause where it is the finding's own."""
    return [
        (one.check, str(one.host), str(finding.where), finding.actual, finding.cause or "")
        for one in inprocess.judge(pods.plan, pod, "routing")
        if one.verdict not in ("pass", "skip")
        for finding in one.findings
    ]


@pytest.mark.parametrize("prefixes", [DEFAULT, AGGREGATES, [*DEFAULT, *AGGREGATES[:1]]], ids=["default", "aggregates", "both"])
def test_wide_enough_is_a_go(prefixes: list[str], pods: inprocess.Pods) -> None:
    pod = pod_with(pods, prefixes)
    verdicts = inprocess.judge(pods.plan, pod, "routing")
    assert found(pods, pod) == []
    assert sum(one.check == "ecmp_paths" and one.verdict == "pass" for one in verdicts) == 8
    assert set(inprocess.decide(pods.plan, verdicts, "routing").values()) == {"open"}


def narrow_default(pod: Pod) -> None:
    pod.switches["leaf03"].paths["0.0.0.0/0"] = 3


def narrow_aggregate(pod: Pod) -> None:
    pod.switches["leaf03"].prefixes = AGGREGATES
    pod.switches["leaf03"].paths["10.52.0.0/14"] = 2


def aggregate_missing(pod: Pod) -> None:
    pod.switches["leaf03"].prefixes = AGGREGATES[1:]


def no_default(pod: Pod) -> None:
    pod.switches["leaf03"].prefixes = []


def narrow_route_below(pod: Pod) -> None:
    pod.switches["leaf03"].prefixes = [*DEFAULT, "10.54.0.0/24"]
    pod.switches["leaf03"].paths["10.54.0.0/24"] = 1


@pytest.mark.parametrize(
    ("fault", "where", "got", "cause"),
    [
        (narrow_default, "0.0.0.0/0", "3 next hops, none over Ethernet", "default-originate"),
        (narrow_aggregate, "10.52.0.0/14", "2 next hops, none over Ethernet", "aggregate"),
        (aggregate_missing, "rails of leaf01", "no route", "leaf01 does not announce"),
        (no_default, "rails of leaf01", "no route", "This switch has no route at all"),
        (narrow_route_below, "10.54.0.0/24", "1 next hop, none over Ethernet", ""),
    ],
    ids=name_of_fault,
)
def test_what_is_too_narrow_is_found(fault: t.Callable[[Pod], None], where: str, got: str, cause: str, pods: inprocess.Pods) -> None:
    pod = pod_with(pods, DEFAULT)
    fault(pod)
    its = found(pods, pod)
    assert {finding[:2] for finding in its} == {("ecmp_paths", "leaf03")}
    (one,) = [finding for finding in its if finding[2] == where]
    assert one[3].replace(" in the RIB", "").replace(" in the forwarding table", "").startswith(got) and cause in one[4]


def test_a_default_route_of_the_management_network_reaches_no_rail(pods: inprocess.Pods) -> None:
    pod = pod_with(pods, DEFAULT)
    leaf = pod.switches["leaf03"]
    for number, one in enumerate(leaf.sessions, 1):
        one.port, one.address = "Management1", f"192.0.2.{number}"
    its = [finding for finding in found(pods, pod) if finding[:2] == ("ecmp_paths", "leaf03")]
    assert its and {finding[3] for finding in its} == {"no route"}
