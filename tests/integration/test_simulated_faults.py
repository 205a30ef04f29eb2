# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault as a real climb: found in its layer, by its checks, in its groups, and nothing climbed past it."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.every import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import folding
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import answers, inprocess

from .conftest import RACKS, ROOT, Climb, Pod

LAYERS = ["preflight", "links", "routing"]
FAULTS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "tests" / "simulated_pod" / "faults").glob("*.yml"))}


def differing(pod: Pod, name: str) -> set[str]:
    """The nodes whose answers are not those of the healthy pod."""
    plan, healthy = inprocess.pod_of(pod.inventory)
    _plan, faulty = inprocess.pod_of(pod.inventory, [name])
    return {node for node in plan.nodes if _all(plan, healthy, node) != _all(plan, faulty, node)}


def _all(plan: inprocess.Plan, pod: inprocess.Pod, node: str) -> list[object]:
    """All that a node says, and whether it says it."""
    missing = [tool.name for tool in pod.nodes[node].tools if tool.how == "missing"]
    return [pod.nodes[node].unreachable, missing, answers.of_node(pod, plan, node), _scripts(pod, node)]


def _scripts(pod: inprocess.Pod, node: str) -> dict[str, str]:
    return answers.scripts(pod.hosts[node]) if node in pod.hosts else {}


def in_force(changes: list[dict], nodes: set[str]) -> bool:
    """Whether the nodes that say something else are those that the changes name."""
    named = {change.get("host") or change.get("switch") for change in changes}
    return named - {"*"} <= nodes if "*" in named else named == nodes


def test_every_check_has_a_fault() -> None:
    tripped = {check for fault in FAULTS.values() for check in fault["expect"]["checks"]}
    declared = {name for layer in LAYERS for name in REGISTRY[layer]} | {"answered"}
    assert declared == tripped


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_where_it_is(name: str, tmp_path) -> None:
    fault = FAULTS[name]
    pod = Pod(tmp_path, **fault.get("expectations", {}))
    assert in_force(fault["changes"], differing(pod, name)), "the fault is not in force, or not there alone"

    climb = pod.climb("-e", f"simulated_faults={name}")

    expected = fault["expect"]
    assert climb.not_well() == expected["checks"], climb.output
    assert {one["layer"] for one in climb.report["verdicts"] if one["verdict"] in ("warn", "unknown", "fail")} == {expected["layer"]}
    assert expected["words"] in said(climb) and expected["cause"] in causes(climb)
    closed = {rack for rack in RACKS if climb.gate(expected["layer"], rack) == "closed"}
    assert closed == set(expected["groups"])
    assert climb.rc == (2 if closed else 0) and climb.report["verdict"] == ("no_go" if closed else "go")
    for rack in RACKS:
        for layer in LAYERS[LAYERS.index(expected["layer"]) + 1 :]:
            assert climb.gate(layer, rack) == ("not_reached" if rack in closed else "open")
            assert rack not in closed or not [one for one in climb.report["verdicts"] if one["layer"] == layer and one["group"] == rack]


def said(climb: Climb) -> str:
    """Every finding's sentence, and the words of what was not told."""
    sentences = [f"{one['where']}: expected {one['expected']}, got {one['actual']}" for verdict in climb.report["verdicts"] for one in verdict["findings"]]
    return "\n".join([*sentences, *(verdict["words"] for verdict in climb.report["verdicts"])])


def causes(climb: Climb) -> str:
    """The causes as a person reads them, of folded findings."""
    return "\n".join(entry.cause for entry in folding.entries(climb.report, ("fail", "unknown", "warn")))
