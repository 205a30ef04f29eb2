# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE without PFC, and with packets out of order: a healthy pod climbs to go, and what breaks it is found at its layer."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import typed
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Pod

from .conftest import ROOT, more

pytestmark = pytest.mark.exhaustive

PROFILES = {path.stem: path for path in sorted((ROOT / "inventories" / "profiles").glob("*.yml"))}
OF_PFC = {"pfc_brief", "slow_receiver", "pauses_stay_local", "headroom_covers_cables", "pause_storms", "pauses_under_load", "switch_pauses_under_load"}


def profile(name: str) -> dict[str, t.Any]:
    """The expectations of a shipped profile."""
    return dict(yaml.safe_load(PROFILES[name].read_text(encoding="utf-8")))


def pods_of(into: Path, name: str, **more: object) -> inprocess.Pods:
    """A pod of two racks of four hosts with a profile."""
    return inprocess.Pods(
        layout.write(into, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small", "pod_to_layer": "training", **profile(name), **more})
    )


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod whose RoCE is planned lossy."""
    return pods_of(tmp_path_factory.mktemp("lossy"), "lossy_roce")


def without_pfc(pod: Pod) -> Pod:
    """PFC off at every NIC and port."""
    for host in pod.hosts.values():
        for rail in host.rails:
            rail.pfc = []
    for switch in pod.switches.values():
        switch.lossless = []
        for port in switch.ports:
            port.pfc = []
    return pod


def found(report: dict[str, t.Any]) -> set[tuple[str, str, str]]:
    """Check, node and place of what is not well in a report."""
    judged = [one for one in report["verdicts"] if one["verdict"] not in ("pass", "skip")]
    return {(one["check"], finding["host"], finding["where"]) for one in judged for finding in one["findings"]}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_holds_expectations_that_exist(name: str) -> None:
    values, wrong = typed(profile(name))
    assert profile(name) and not wrong
    assert {key: values[key] for key in profile(name)} == profile(name)


def test_a_healthy_lossy_pod_goes_and_is_judged_by_what_it_has(lossy: inprocess.Pods, tmp_path: Path) -> None:
    report = lossy.climb(without_pfc(lossy.pod()), tmp_path)
    assert found(report) == set()
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    skipped = {one["check"] for one in report["verdicts"] if one["verdict"] == "skip" and one["words"] == "pod_pfc is not set"}
    assert skipped == OF_PFC
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {"roce_qos", "qos_agrees", "no_drops", "switch_drops", "ecn_marks_under_load", "dcqcn_backs_off", "losses_under_load"} <= proved


@pytest.mark.exhaustive
def test_a_healthy_pod_of_packets_sprayed_over_all_paths_goes(tmp_path: Path) -> None:
    pods = pods_of(tmp_path / "pod", "multipath_best_effort")
    pod = without_pfc(pods.pod())
    for host in pod.hosts.values():
        for rail in host.rails:
            rail.grow_in = {layer: {"out_of_sequence": 5000} for layer in ("collectives", "training")}
    report = pods.climb(pod, tmp_path / "run")
    assert (report["verdict"], report["up_to_layer"], found(report)) == ("go", "training", set()), report["reasons"]


def test_the_same_pod_is_no_lossless_one(tmp_path: Path) -> None:
    pods = pods_of(tmp_path / "pod", "lossless_roce", pod_to_layer="preflight")
    report = pods.climb(without_pfc(pods.pod()), tmp_path / "run")
    assert {(check, finding.partition(" ")[2]) for check, _host, finding in found(report)} == {("roce_qos", "PFC")}


def pfc_of_a_nic(pod: Pod) -> None:
    pod.hosts["gpu03"].rails[2].pfc = [3]


def pfc_of_a_port(pod: Pod) -> None:
    next(port for port in pod.switches["leaf03"].ports if port.peer == "gpu02").pfc = [3]


def full_before_it_marks(pod: Pod) -> None:
    pod.switches["leaf03"].drop_bytes = 120_000


def never_marks(pod: Pod) -> None:
    pod.switches["leaf03"].marking = False


def reacts_to_no_mark(pod: Pod) -> None:
    pod.hosts["gpu05"].rails[2].dcqcn_rp = []


# The check and the node that say why, with words of the finding; and the checks of the layer that find what comes of it elsewhere.
FAULTS: dict[Callable[[Pod], None], tuple[str, str, str, str, set[str]]] = {
    pfc_of_a_nic: ("preflight", "roce_qos", "gpu03", "RoCE is lossy", set()),
    pfc_of_a_port: ("congestion", "qos_agrees", "leaf03", "RoCE is lossy", set()),
    full_before_it_marks: ("congestion", "switch_drops", "leaf03", "marks begin too late", {"no_drops", "switch_marks", "ecn_marks_under_load"}),
    never_marks: ("congestion", "qos_agrees", "leaf03", "marking is not enabled", {"no_drops", "switch_drops", "switch_marks", "ecn_marks_under_load"}),
    reacts_to_no_mark: ("preflight", "dcqcn_running", "gpu05", "DCQCN is off", set()),
}


FIRST, *OTHERS = FAULTS


@pytest.mark.parametrize("fault", [FIRST, *(more(one) for one in OTHERS)], ids=lambda fault: fault.__name__)
def test_a_fault_of_a_lossy_pod_is_found(fault: Callable[[Pod], None], lossy: inprocess.Pods, tmp_path: Path) -> None:
    layer, check, node, words, others = FAULTS[fault]
    pod = without_pfc(lossy.pod())
    fault(pod)
    report = lossy.climb(pod, tmp_path)
    judged = [one for one in report["verdicts"] if one["layer"] == layer and one["verdict"] not in ("pass", "skip")]
    named = {one["check"]: {finding["host"] for finding in one["findings"]} for one in judged}
    assert (report["verdict"], set(named)) == ("no_go", {check, *others})
    assert named[check] == {node}
    assert words in str([one for one in judged if one["check"] == check])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "expected"), [("adaptive_routing", set()), ("lossless_roce", {"losses_under_load"})])
def test_packets_out_of_order_are_no_finding_where_routing_is_adaptive(name: str, expected: set[str], tmp_path: Path) -> None:
    pods = pods_of(tmp_path / "pod", name)
    pod = pods.pod()
    pod.hosts["gpu02"].rails[1].grow_in = {layer: {"out_of_sequence": 5000} for layer in ("collectives", "training")}
    report = pods.climb(pod, tmp_path / "run")
    assert {check for check, _host, _where in found(report)} == expected
    assert report["verdict"] == "go"
