# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible knows of the pod, as plain values."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path

from ansible.errors import AnsibleError

from ..pod.cabling import decode, located
from ..pod.expectations import typed
from ..pod.plan import Plan
from .compiled_templates import compiled_once
from .errors import Refused
from .planned_pod import ROLES, Inventory, nodes_of, planned_pod

ALSO = ("bgp_asn", "ansible_network_os", "ansible_host")
# What cannot be templated of these ends a connection, and no run.
OF_A_CONNECTION = ("ansible_host",)


@compiled_once()
def inventory_of(task_vars: t.Mapping[str, t.Any], steered: t.Mapping[str, t.Any] | None = None) -> Inventory:
    """The inventory's groups and each node's ``pod_*``, templated by Ansible.

    steered: ``pod_*`` of the run that a playbook sets for every node.
    Raises Refused with every value that cannot be templated.
    """
    groups = {str(name): [str(host) for host in hosts] for name, hosts in task_vars["groups"].items()}
    nodes = dict.fromkeys(node for group in ROLES for node in groups.get(group, ()))
    variables: dict[str, dict[str, t.Any]] = {}
    wrong: list[str] = []
    for node in nodes:
        own = task_vars["hostvars"][node]
        variables[node] = {}
        for name in own:
            if name.startswith("pod_") or name in ALSO:
                try:
                    variables[node][str(name)] = own[name]
                except AnsibleError as error:
                    if name in OF_A_CONNECTION:
                        continue
                    wrong.append(f"{name} of {node} cannot be templated: {error}")
        variables[node].update(steered or {})
    if wrong:
        raise Refused(wrong)
    return Inventory(groups, variables)


@dataclass(frozen=True)
class Pod:
    """The plan, what holds for every node of it, the text of its wiring plan (empty where there is none), and where its files are.

    advice: what an operator should change although the pod can be run; empty where there is nothing.
    """

    plan: Plan
    values: dict[str, t.Any]
    cabling: str
    directory: Path
    advice: str


def pod_of(task_vars: t.Mapping[str, t.Any], playbooks: str, steered: t.Mapping[str, t.Any] | None = None) -> Pod:
    """The pod that an inventory and the wiring plan beside it make.

    playbooks: where its files are, where the inventory has no directory; steered: as of ``inventory_of``.
    Raises Refused with every reason why they make none.
    """
    inventory = inventory_of(task_vars, steered)
    first = next(iter(nodes_of(inventory)), None)
    if first is None:
        raise Refused(["the inventory groups gpu_hosts, leaves and spines have no node"])
    values = values_of(inventory, first)
    directory = Path(str(task_vars.get("inventory_dir") or playbooks))
    try:
        name = located(directory, values["pod_cabling_file"])
    except ValueError as error:
        raise Refused([str(error)]) from None
    advice = ""
    if name != values["pod_cabling_file"]:
        new = directory / values["pod_cabling_file"]
        advice = f"the wiring plan is read from {directory / name}; move it to {new}, which Ansible does not take for a list of hosts"
        inventory = inventory_of(task_vars, {**(steered or {}), "pod_cabling_file": name})
    wiring = directory / name
    text, unread = decode(wiring.read_bytes()) if wiring.is_file() else (None, ["the wiring plan does not exist"])
    plan, _waivers = planned_pod(inventory, text, unread)
    return Pod(plan, next(iter(plan.nodes.values())).values, text or "", directory, advice)


def values_of(inventory: Inventory, node: str) -> dict[str, t.Any]:
    """A node's ``pod_*``, typed, before anything is known of the pod.

    Raises Refused with those that are wrong.
    """
    values, wrong = typed({name: value for name, value in inventory.variables[node].items() if name.startswith("pod_")})
    if wrong:
        raise Refused(wrong)
    return values
