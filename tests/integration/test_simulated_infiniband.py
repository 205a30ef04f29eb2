# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated InfiniBand pod: healthy ones are a go, each fault is found in its layer, its checks and its groups."""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import grouping
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import changes, inprocess, layout

from .conftest import RACKS, Pod, not_well
from .test_whole_climb import SHORT

pytestmark = pytest.mark.xdist_group("simulated_infiniband")

FAULTS = {name: fault for name, fault in changes.known().items() if name.startswith("ib_")}
FAULTS_UNDER_LOAD = {name: fault for name, fault in changes.known().items() if fault.get("loads")}
READERS = ["gpu01", "gpu05"]
# What is judged in process.
LAYERS = inprocess.LAYERS
Report = dict[str, t.Any]


class IbPod(Pod):
    """The small pod on InfiniBand: two racks of four hosts, one reader of the fabric in each."""

    def __init__(self, directory: Path, racks: int = 2, hosts_per_rack: int = 4, **expectations: t.Any) -> None:
        self.inventory, self.runs = directory / "inventory", directory / "runs"
        self.inventory.mkdir(parents=True)
        small = {"pod_name": "small", "pod_soak_seconds": 1, "pod_runs_dir": str(self.runs), "pod_fabric_reader": READERS, **expectations}
        layout.write(self.inventory, racks, hosts_per_rack, spines=4, expectations=small, fabric="infiniband")


@pytest.fixture(scope="module")
def pods_of(tmp_path_factory: pytest.TempPathFactory) -> t.Callable[..., inprocess.Pods]:
    """The small pod with some expectations."""
    made: dict[str, inprocess.Pods] = {}

    def get(**expectations: t.Any) -> inprocess.Pods:
        key = json.dumps(expectations)
        if key not in made:
            made[key] = inprocess.Pods(IbPod(tmp_path_factory.mktemp("pod"), **expectations).inventory)
        return made[key]

    return get


def response(report: Report) -> str:
    """Every finding's sentence, the words of what was not told, and the causes as a person reads them."""
    sentences = [f"{one['where']}: expected {one['expected']}, got {one['actual']}" for verdict in report["verdicts"] for one in verdict["findings"]]
    causes = [entry.cause for entry in grouping.entries(report, ("fail", "unknown", "warn"))]
    return "\n".join([*sentences, *(verdict["words"] for verdict in report["verdicts"]), *causes])


def wrong(pods: inprocess.Pods, pod: inprocess.Pod, layer: str) -> dict[str, str]:
    """The checks of a layer that are not well, as if the gates below were open."""
    verdicts = [one.record() for one in inprocess.judge(pods.plan, pod, layer)]
    return not_well({"verdicts": verdicts})


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_where_it_is(name: str, pods_of: t.Callable[..., inprocess.Pods], tmp_path: Path) -> None:
    fault = FAULTS[name]
    expected, pods = fault["expect"], pods_of(**fault.get("expectations", {}))
    healthy, faulty = pods.pod(), pods.pod([name])
    assert healthy != faulty, "the fault is not in force"

    report = pods.climb(faulty, tmp_path)

    assert not_well(report) == expected["checks"], response(report)
    assert {one["layer"] for one in report["verdicts"] if one["verdict"] in ("warn", "unknown", "fail")} == {expected["layer"]}
    assert expected["words"] in response(report) and expected["cause"] in response(report)
    gates = {layer["layer"]: {rack: group["gate"] for rack, group in layer["groups"].items()} for layer in report["layers"]}
    closed = {rack for rack in RACKS if gates[expected["layer"]][rack] == "closed"}
    assert closed == set(expected["groups"]) and report["verdict"] == ("no_go" if closed else "go")
    for layer, checks in expected.get("judged", {}).items():
        assert wrong(pods, faulty, layer) == checks


def test_every_check_of_infiniband_has_a_fault() -> None:
    tripped = {check for fault in FAULTS.values() for checks in (fault["expect"]["checks"], *fault["expect"].get("judged", {}).values()) for check in checks}
    declared = {name for layer in LAYERS for name, check in REGISTRY[layer].items() if check.fabric == "infiniband"}
    assert declared and declared <= tripped


@pytest.mark.exhaustive
@pytest.mark.long
def test_fifty_healthy_pods_raise_no_finding(tmp_path: Path) -> None:
    tiny = layout.write(tmp_path, racks=1, hosts_per_rack=3, spines=2, fabric="infiniband", expectations={"pod_name": "tiny", "pod_fabric_reader": ["gpu01"]})
    pods = inprocess.Pods(tiny)
    for seed in range(50):
        pod = pods.pod(seed=seed)
        for layer in LAYERS:
            verdicts = inprocess.judge(pods.plan, pod, layer)
            assert len(verdicts) > 12 and not [(one.check, one.words, one.findings) for one in verdicts if one.verdict not in ("pass", "skip")], seed
            assert set(inprocess.decide(pods.plan, verdicts, layer).values()) == {"open"}


def test_one_reader_of_two_is_enough(pods_of: t.Callable[..., inprocess.Pods], tmp_path: Path) -> None:
    pods = pods_of()
    pod = copy.deepcopy(pods.pod())
    changes._change(pod, "one_mute", FAULTS["ib_readers_mute"]["changes"][0])
    report = pods.climb(pod, tmp_path)
    assert report["verdict"] == "go", response(report)


def test_a_switch_is_judged_alone_by_what_the_readers_of_the_fabric_tell(tmp_path: Path) -> None:
    climb = IbPod(tmp_path).climb("-e", "simulated_faults=ib_symbol_errors@leaf05", "-e", "pod_only=leaf05")
    assert climb.rc == 2 and climb.report is not None and climb.not_well() == {"ib_errors_clean": "fail"}, climb.output
    judged = {(one["host"], one["check"]) for one in climb.report["verdicts"] if one["verdict"] == "pass"}
    assert {("leaf05", "port_speed"), ("leaf05", "topology_as_planned"), ("leaf05", "subnet_manager_up")} <= judged
    assert {one["host"] for one in climb.report["verdicts"]} == {"leaf05"}, "the readers help, and nothing is said of them"


@pytest.mark.exhaustive
@pytest.mark.long
def test_loads_find_their_partners_by_the_hosts_address(tmp_path: Path) -> None:
    # Rails of this fabric have no address of their own.
    pod = IbPod(tmp_path, racks=1, hosts_per_rack=3, pod_fabric_reader=["gpu01"], pod_to_layer="rdma", **SHORT)
    climb = pod.climb("-e", "simulated_faults=slow_sender")
    assert climb.rc == 2 and climb.report is not None and climb.not_well() == FAULTS_UNDER_LOAD["slow_sender"]["expect"]["checks"], climb.output
    assert (climb.gate("congestion", "rack_01"), climb.gate("rdma", "rack_01")) == ("open", "closed")
    passed = {(one["check"], one["host"]) for one in climb.report["verdicts"] if one["verdict"] == "pass"}
    assert {("write_bw_per_rail", "gpu02"), ("measured_as_asked", "gpu02"), ("incasts_ran", "gpu03"), ("xmit_discards", "gpu03")} <= passed


@pytest.mark.exhaustive
def test_a_climb_is_a_go_and_says_what_was_judged_in_process(tmp_path: Path) -> None:
    pod = IbPod(tmp_path)
    climb = pod.climb()
    assert climb.rc == 0 and climb.report is not None and climb.report["verdict"] == "go", climb.output
    judged = {one["host"] for one in climb.report["verdicts"] if one["check"] == "port_speed" and one["verdict"] == "pass"}
    assert {"gpu03", "leaf08", "spine04"} <= judged
    pods = inprocess.Pods(pod.inventory)
    broken = pod.climb("-e", "simulated_faults=ib_one_lane,ib_symbol_errors@leaf05")
    expected = pods.climb(pods.pod(["ib_one_lane", "ib_symbol_errors@leaf05"]), tmp_path / "in_process")
    assert broken.rc == 2 and broken.report is not None and broken.not_well() == not_well(expected) == {"port_speed": "fail", "ib_errors_clean": "fail"}
    assert {(one["check"], one["host"], one["verdict"]) for one in broken.report["verdicts"]} == {
        (one["check"], one["host"], one["verdict"]) for one in expected["verdicts"]
    }
