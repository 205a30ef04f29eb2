# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an inventory's pod, read as Ansible reads it but without a run."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.vars.manager import VariableManager

from ...plugins.plugin_utils.pod.cabling import PLACE, located
from ...plugins.plugin_utils.pod.plan import Plan
from ...plugins.plugin_utils.run.compiled_templates import compiled_once
from ...plugins.plugin_utils.run.planned_pod import ROLES, Inventory, planned_pod
from . import changes, healthy, wiring
from .model import Pod

ALSO = ("bgp_asn", "ansible_network_os", "ansible_host")


@compiled_once()
def plan_of(directory: Path) -> Plan:
    """The plan of ``hosts.yml``, the group variables and the wiring plan of a directory."""
    loader = DataLoader()
    manager = InventoryManager(loader=loader, sources=[str(directory / "hosts.yml")])
    variables = VariableManager(loader=loader, inventory=manager)
    groups = {name: [host.name for host in group.get_hosts()] for name, group in manager.groups.items()}
    values = {}
    for name in dict.fromkeys(node for group in ROLES for node in groups.get(group, ())):
        raw = variables.get_vars(host=manager.get_host(name), include_hostvars=False)
        templar = Templar(loader=loader, variables=raw)
        values[name] = {key: templar.template(value) for key, value in raw.items() if key.startswith("pod_") or key in ALSO}
    plan, _waivers = planned_pod(Inventory(groups, values), (directory / located(directory, PLACE)).read_text(encoding="utf-8-sig"))
    return plan


def limited(directory: Path, limit: str) -> list[str] | None:
    """The hosts of an inventory that are inside a limit, as Ansible takes it; None where all are."""
    manager = InventoryManager(loader=DataLoader(), sources=[str(directory / "hosts.yml")])
    everyone = [host.name for host in manager.get_hosts("gpu_hosts")]
    manager.subset(limit or None)
    inside = [host.name for host in manager.get_hosts("gpu_hosts")]
    return None if len(inside) == len(everyone) else inside


def made(directory: Path, faults: t.Sequence[str], seed: int, loaded: list[str] | None = None) -> tuple[Plan, Pod]:
    """The plan and the pod of an inventory, with some faults and variants in force; loaded: as of ``Pod``."""
    pod = healthy.pod(wiring.load(directory), seed)
    changes.apply(pod, faults)
    pod.loaded = loaded
    return plan_of(directory), pod
