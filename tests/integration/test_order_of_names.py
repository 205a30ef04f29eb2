# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which an inventory lists hosts and groups changes no plan, no verdict and no gate."""

from __future__ import annotations

import random
import shutil
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import StepInput
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import Inventory, nodes_of
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

from .conftest import RACKS, Pod, alike

pytestmark = pytest.mark.exhaustive

SIZE: dict[str, t.Any] = {"racks": 3, "hosts_per_rack": 4, "spines": 4}


def shuffled(inventory: Path, seed: int) -> None:
    """List the hosts, the groups and the gate groups of an inventory in another order, host by host as AWX does."""
    order = random.Random(seed)
    raw = yaml.safe_load((inventory / "hosts.yml").read_text())
    groups = raw["all"]["children"]
    racks = list(groups["gpu_hosts"]["children"])
    size = SIZE["hosts_per_rack"]
    of_rack = {rack: [f"gpu{number * size + place:02}" for place in range(1, size + 1)] for number, rack in enumerate(racks)}
    groups["gpu_hosts"]["children"] = {rack: {"hosts": {host: {} for host in order.sample(of_rack[rack], size)}} for rack in order.sample(racks, len(racks))}
    for role in ("leaves", "spines"):
        hosts = groups[role]["hosts"]
        groups[role]["hosts"] = {name: hosts[name] for name in order.sample(sorted(hosts), len(hosts))}
    raw["all"]["children"] = {name: groups[name] for name in order.sample(sorted(groups), len(groups))}
    (inventory / "hosts.yml").write_text(yaml.safe_dump(raw, sort_keys=False))
    values = yaml.safe_load((inventory / "group_vars" / "all" / "size.yml").read_text())
    values["pod_gate_groups"] = order.sample(values["pod_gate_groups"], len(racks))
    (inventory / "group_vars" / "all" / "size.yml").write_text(yaml.safe_dump(values))


def planned(plan: Plan) -> dict[str, t.Any]:
    """What a run plans of a pod: who pings whom, and the first step of every layer's loads."""
    hosts = [name for name, node in plan.nodes.items() if node.role == "host"]
    steps = {layer: planner(StepInput(plan, hosts, 0, {}, {})) for layer, planner in PLANNERS.items()}
    schedules = {layer: step.dump() for layer, step in steps.items() if step is not None}
    # Layer 2 is loaded on request only.
    assert set(schedules) == set(PLANNERS) - {"routing"} and all(one["jobs"] for one in schedules.values())
    return {"meshes": plan.meshes(hosts), "items": {name: plan.items(name) for name in plan.nodes}, **schedules}


@pytest.mark.parametrize("seed", [0, *map(alike, range(1, 5))])
def test_plans_verdicts_and_gates_are_those_of_the_names(seed: int, tmp_path: Path) -> None:
    first = layout.write(tmp_path / "first", **SIZE, expectations={"pod_name": "order"})
    other = Path(shutil.copytree(first, tmp_path / "other"))
    shuffled(other, seed)
    faults = ["uplink_down"]
    (plan, pod), (again, same) = inprocess.pod_of(first, faults), inprocess.pod_of(other, faults)
    assert list(again.nodes) == list(plan.nodes) and again.groups == plan.groups
    assert planned(again) == planned(plan)
    for layer in inprocess.LAYERS:
        verdicts = inprocess.judge(plan, pod, layer)
        assert [one.record() for one in inprocess.judge(again, same, layer)] == [one.record() for one in verdicts], layer
        assert inprocess.decide(again, inprocess.judge(again, same, layer), layer) == inprocess.decide(plan, verdicts, layer)


def test_ten_comes_after_nine() -> None:
    names = [f"gpu{number}" for number in (10, 9, 1, 2)]
    assert list(nodes_of(Inventory({"gpu_hosts": names}, {}))) == ["gpu1", "gpu2", "gpu9", "gpu10"]


@pytest.mark.long
def test_a_climb_by_a_shuffled_inventory_ends_as_by_the_sorted_one(tmp_path: Path) -> None:
    pod = Pod(tmp_path, **SIZE, pod_to_layer="congestion", pod_idle_seconds=1, pod_incast_seconds=2)
    # The nodes answer as the pod is; the run is started with its hosts in another order.
    listed = Path(shutil.copytree(pod.inventory, tmp_path / "listed"))
    shuffled(listed, 7)
    climb = pod.playbook("-i", str(listed), simulated_inventory=str(pod.inventory))
    assert climb.rc == 0 and climb.report is not None, climb.output
    assert {climb.gate("congestion", rack) for rack in [*RACKS, "rack_03"]} == {"open"}
