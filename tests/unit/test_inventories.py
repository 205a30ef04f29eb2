# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventories that people copy: each is a pod that a run accepts."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible.vars.manager import VariableManager
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import Inventory, planned_pod

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
NAMES = sorted(path.parent.name for path in INVENTORIES.glob("*/hosts.yml"))


def loaded(name: str) -> tuple[InventoryManager, VariableManager, DataLoader]:
    loader = DataLoader()
    manager = InventoryManager(loader, [str(INVENTORIES / name / "hosts.yml")])
    return manager, VariableManager(loader, manager), loader


@pytest.mark.parametrize("name", NAMES)
def test_a_run_accepts_it(name: str) -> None:
    manager, variables, loader = loaded(name)
    groups = {group: [host.name for host in manager.groups[group].get_hosts()] for group in manager.groups}
    values = {}
    for host in manager.get_hosts():
        raw = variables.get_vars(host=host)
        values[host.name] = Templar(loader, raw).template({key: one for key, one in raw.items() if key.startswith(("pod_", "bgp_", "ansible_network"))})
    plan, _waivers = planned_pod(Inventory(groups, values), (INVENTORIES / name / PLACE).read_text())
    roles = {node.role for node in plan.nodes.values()}
    assert roles == {"host", "leaf", "spine", *(["super_spine"] if "three_tiers" in name else [])}
    assert set(plan.groups) == set(values[next(iter(values))]["pod_gate_groups"])
    assert set(plan.planes.values()) == ({1, 2} if "planes" in name else set())


def test_the_manifest_makes_a_test_pod_of_every_host() -> None:
    manager, variables, loader = loaded("kubernetes")
    values = variables.get_vars(host=manager.get_hosts()[0])
    text = Templar(loader, values).template(trust_as_template((INVENTORIES / "kubernetes" / "manifest.yml.j2").read_text()))
    made = [one for one in yaml.safe_load_all(text) if one]
    assert [one["metadata"]["name"] for one in made] == [f"pyramid-gpu{number:02}" for number in range(1, 5)]
    limits = made[0]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/gpu"] == 8 and len(limits) == 9
    assert made[0]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].count(",") == 7
