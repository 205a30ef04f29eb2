# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated NVL72 racks: healthy ones are a go through all layers, each fault is found in its layer, on its tray."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import grouping
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import changes, inprocess, layout

from .conftest import RACKS, not_well

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("simulated_nvl72")]

FAULTS = {name: fault for name, fault in changes.known().items() if name.startswith("nvl_")}
EXPECTATIONS = yaml.safe_load((changes.HERE / "variants" / "gb200_trays.yml").read_text(encoding="utf-8"))["expectations"]
PodsOf = t.Callable[..., inprocess.Pods]


@pytest.fixture(scope="module")
def pods_of(tmp_path_factory: pytest.TempPathFactory) -> PodsOf:
    """Two racks of four trays, climbed to a layer."""
    made: dict[str, inprocess.Pods] = {}

    def get(to_layer: str, **expectations: t.Any) -> inprocess.Pods:
        key = to_layer + repr(expectations)
        if key not in made:
            values = {"pod_name": "nvl72", "pod_soak_seconds": 1, "pod_to_layer": to_layer, **EXPECTATIONS, **expectations}
            made[key] = inprocess.Pods(layout.write(tmp_path_factory.mktemp("racks"), racks=2, hosts_per_rack=4, spines=4, expectations=values))
        return made[key]

    return get


def output(report: dict[str, t.Any]) -> str:
    sentences = [f"{one['where']}: expected {one['expected']}, got {one['actual']}" for verdict in report["verdicts"] for one in verdict["findings"]]
    return "\n".join([*sentences, *(verdict["words"] for verdict in report["verdicts"])])


def test_healthy_racks_are_a_go_through_all_layers(pods_of: PodsOf, tmp_path: Path) -> None:
    pods = pods_of("training")
    report = pods.climb(pods.pod(["gb200_trays"]), tmp_path)
    assert not_well(report) == {} and report["verdict"] == "go", output(report)
    passed = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {
        "nvlink_clique",
        "imex_ready",
        "fabric_state",
        "fabric_health",
        "node_all_reduce",
        "node_nics_all_reduce",
        "all_reduce_bandwidth",
        "clique_all_reduce",
    } <= passed


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_on_its_tray(name: str, pods_of: PodsOf, tmp_path: Path) -> None:
    expected = FAULTS[name]["expect"]
    pods = pods_of(expected["layer"])
    faulty = pods.pod([name])
    assert faulty != pods.pod(), "the fault is not in force"
    report = pods.climb(faulty, tmp_path)
    assert not_well(report) == expected["checks"], output(report)
    ill = [one for one in report["verdicts"] if one["verdict"] in ("warn", "unknown", "fail")]
    assert {one["layer"] for one in ill} == {expected["layer"]}
    accused = {finding.get("host") or one["host"] for one in ill for finding in one["findings"]} - {None}
    assert accused == ({expected["node"]} if "node" in expected else set()), output(report)
    causes = [entry.cause for entry in grouping.entries(report, ("fail", "unknown", "warn"))]
    assert expected["words"] in output(report) and expected["cause"] in "\n".join(causes)
    gates = next(one["groups"] for one in report["layers"] if one["layer"] == expected["layer"])
    assert [rack for rack in RACKS if gates[rack]["gate"] == "closed"] == expected["groups"]


def test_nvlink_within_a_rack_does_not_hide_its_nics(pods_of: PodsOf, tmp_path: Path) -> None:
    """A tray of which one NIC is not used is as fast as the others over NVLink: the runs of layer 5 must leave NVLink to a run of its own."""
    pods = pods_of("collectives")
    pod = pods.pod()
    pod.hosts["gpu05"].stack["rails_used"] = 3
    report = pods.climb(pod, tmp_path)
    assert not_well(report).get("all_reduce_bandwidth") == "fail", output(report)


def test_a_domain_of_each_job_is_not_judged(pods_of: PodsOf, tmp_path: Path) -> None:
    pods = pods_of("preflight", pod_imex_domain="per_job")
    report = pods.climb(pods.pod(), tmp_path)
    assert not_well(report) == {}
    assert {one["verdict"] for one in report["verdicts"] if one["check"] == "imex_ready"} == {"skip"}


def test_racks_of_which_the_reach_of_nvlink_is_not_stated_are_unknown(pods_of: PodsOf, tmp_path: Path) -> None:
    pods = pods_of("preflight")
    assert not_well(pods_of("preflight", pod_nvlink_domain="auto").climb(pods.pod(), tmp_path)) == {"nvlink_clique": "unknown"}


def test_gpus_of_which_no_rate_is_known_are_compared_with_their_group_and_not_proved(pods_of: PodsOf, tmp_path: Path) -> None:
    pods = pods_of("training")
    pod = pods.pod()
    for host in pod.hosts.values():
        host.stack["device"] = "NVIDIA GB300"
    report = pods.climb(pod, tmp_path / "alike")
    assert report["verdict"] == "no_fault_seen" and not_well(report) == {}, output(report)
    assert any("no rate is known for NVIDIA GB300: set pod_node_busbw_gbyte_s" in reason for reason in report["reasons"]), report["reasons"]

    pod.hosts["gpu02"].stack["node_gbyte_s"] = 500.0
    report = pods.climb(pod, tmp_path / "slower")
    assert report["verdict"] == "no_fault_seen" and not_well(report) == {"node_all_reduce_alike": "warn"}, output(report)


def test_one_host_of_which_no_rate_is_known_is_not_proved_by_the_others(pods_of: PodsOf, tmp_path: Path) -> None:
    pods = pods_of("collectives")
    pod = pods.pod()
    pod.hosts["gpu02"].stack["device"] = "NVIDIA GB300"
    assert pods.climb(pod, tmp_path)["verdict"] == "no_fault_seen"
