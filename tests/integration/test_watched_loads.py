# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What grows or is logged during a load is found in that load's layer, and in no other: in process, through the loads of layers 4 to 6."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import grouping
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import changes, inprocess, layout

from .conftest import RACKS, not_well

pytestmark = pytest.mark.xdist_group("watched_loads")

FAULTS = {name: fault for name, fault in changes.known().items() if "expect" in fault and fault.get("loads") == "in_process" and not name.startswith("nvl_")}
ABOVE = ("collectives", "training")
OF_AMD = {"amd_gpus_under_load", "amd_slowdown_under_load"}
PodsOf = t.Callable[..., inprocess.Pods]
# One of each layer; the others are exhaustive.
OFTEN = {"link_lost_in_bandwidth_tests", "class_of_collectives_wrong", "xid_in_training"}
# These, at each kind of node and load, and the others only in `make long`.
MORE = {
    "amd_hot_in_collectives", "gpu_braked_in_collectives", "leaf_drops_in_all_reduce", "links_of_a_leaf_lost_in_bandwidth_tests", "nic_hot_in_training",
    "spine_drops_in_bandwidth_tests",
}  # fmt: skip


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    """In which runs of the tests a fault is looked for."""
    return [] if name in OFTEN else [pytest.mark.exhaustive] if name in MORE else [pytest.mark.exhaustive, pytest.mark.long]


@pytest.fixture(scope="module")
def pods_of(tmp_path_factory: pytest.TempPathFactory) -> PodsOf:
    """The small pod with some expectations, climbed to a layer."""
    made: dict[str, inprocess.Pods] = {}
    kept: dict[str, inprocess.Kept] = {}

    def get(to_layer: str, **expectations: t.Any) -> inprocess.Pods:
        own = repr(expectations)
        if own + to_layer not in made:
            values = {"pod_name": "small", "pod_soak_seconds": 1, "pod_to_layer": to_layer, **expectations}
            inventory = layout.write(tmp_path_factory.mktemp("inventory"), racks=2, hosts_per_rack=4, spines=4, expectations=values)
            made[own + to_layer] = inprocess.Pods(inventory, kept.setdefault(own, {}))
        return made[own + to_layer]

    return get


def watched(layer: str) -> set[str]:
    """The checks of a layer that judge what was read around its loads."""
    return {name for name, check in REGISTRY[layer].items() if ".checks.watched." in check.judge.__module__ and check.fabric != "infiniband"}


def test_a_healthy_pod_passes_every_check(pods_of: PodsOf, tmp_path: Path) -> None:
    pods = pods_of("training")
    report = pods.climb(pods.pod(), tmp_path)
    assert report["verdict"] == "go" and not_well(report) == {}
    for layer in inprocess.LOADED:
        passed = {one["check"] for one in report["verdicts"] if (one["layer"], one["verdict"]) == (layer, "pass")}
        assert watched(layer) - OF_AMD and watched(layer) - OF_AMD <= passed


def test_every_check_of_the_loads_of_ranks_has_a_fault() -> None:
    tripped = {check for fault in FAULTS.values() for check in fault["expect"]["checks"]}
    assert {name for layer in ABOVE for name in watched(layer)} <= tripped


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in FAULTS])
def test_a_fault_is_found_in_the_layer_of_its_load(name: str, pods_of: PodsOf, tmp_path: Path) -> None:
    expected = FAULTS[name]["expect"]
    pods = pods_of(expected["layer"], **FAULTS[name].get("expectations", {}))
    faulty, healthy = pods.pod([name]), pods.pod()
    named = {changes.node_of(change) for change in FAULTS[name]["changes"]}
    assert {node for node in pods.plan.nodes if faulty.nodes[node] != healthy.nodes[node]} == named, "the fault is not in force"

    report = pods.climb(faulty, tmp_path)

    found = [one for one in report["verdicts"] if one["verdict"] in ("warn", "unknown", "fail")]
    assert {one["check"]: one["verdict"] for one in found} == expected["checks"]
    # A finding of a whole gate group is on no node.
    on = {(one["layer"], finding["host"]) for one in found for finding in one["findings"] if finding["host"] or not one["group"]}
    assert on == {(expected["layer"], host) for host in expected.get("on", named)}
    assert expected["words"] in output(found)
    assert expected["cause"] in "\n".join(entry.cause for entry in grouping.entries(report))
    gates = next(layer["groups"] for layer in report["layers"] if layer["layer"] == expected["layer"])
    assert {rack for rack in RACKS if gates[rack]["gate"] == "closed"} == set(expected["groups"]) and report["verdict"] == "no_go"


def output(verdicts: list[dict[str, t.Any]]) -> str:
    """The findings as sentences."""
    return "\n".join(f"{one['where']}: expected {one['expected']}, got {one['actual']}" for verdict in verdicts for one in verdict["findings"])
