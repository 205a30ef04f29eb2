# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening a run: the inventory and the plan become a pod, or every reason why not is named."""

from __future__ import annotations

import hashlib
import json
import re
import typing as t
from dataclasses import dataclass

from . import baselines, cabling
from .checks import LAYERS
from .checks._ports import node_name
from .checks.every import REGISTRY
from .expectations import typed
from .plan import SHARED, Node, Plan
from .rails import some, wrong_rails
from .readings import KINDS
from .readings.cells import CONVERT
from .verdicts import Waiver, waivers

ROLES = {"gpu_hosts": "host", "leaves": "leaf", "spines": "spine"}
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# Who steers a run does not change what it proves.
STEERING = (
    "pod_from_layer", "pod_to_layer", "pod_only", "pod_runs_dir", "pod_textfile_dir", "pod_baseline", "pod_baseline_file", "pod_replay_from",
    "pod_gate_max_age_minutes", "pod_read_timeout_seconds",
)  # fmt: skip
# Who repairs a host does not change what it proves either.
REMEDIATION = (
    "pod_scheduler", "pod_scheduler_host", "pod_scheduler_node", "pod_readmit_reasons", "pod_remediate_max", "pod_allow_nic_reset", "pod_allow_reboot",
    "pod_remediate_to_layer",
)  # fmt: skip
GUID = re.compile(r"^(?:0x)?[\da-fA-F]{16}$")
# Values that are the run's, not a node's: all nodes must agree.
OF_THE_RUN = (
    "pod_name",
    "pod_fabric",
    "pod_fabric_reader",
    "pod_topology",
    "pod_gate_groups",
    "pod_depth",
    "pod_mode",
    "pod_gate_policy",
    "pod_waivers",
    *STEERING,
)


class Refused(Exception):
    """A run that must not start; ``reasons`` are whole sentences."""

    def __init__(self, reasons: t.Sequence[str]) -> None:
        self.reasons = list(reasons)
        super().__init__("; ".join(reasons))


@dataclass(frozen=True)
class Inventory:
    """What Ansible knows: groups with their nodes, each node's ``pod_*`` and ``bgp_asn``, and its ``ansible_network_os``."""

    groups: t.Mapping[str, t.Sequence[str]]
    variables: t.Mapping[str, t.Mapping[str, t.Any]]


def nodes_of(inventory: Inventory) -> dict[str, str]:
    """The role of every node that a pod has."""
    return {node: role for group, role in ROLES.items() for node in inventory.groups.get(group, ())}


def prepare(inventory: Inventory, cabling_text: str | None) -> tuple[Plan, list[Waiver]]:
    """The pod's plan and its waivers.

    Raises Refused with every reason: wrong expectations, gate groups, wiring plan, or nodes that the plan names and the inventory lacks.
    """
    wrong: list[str] = []
    values: dict[str, dict[str, t.Any]] = {}
    roles = nodes_of(inventory)
    messages: dict[str, list[str]] = {}
    for node in roles:
        values[node], problems = _typed(inventory.variables[node])
        for problem in problems:
            messages.setdefault(problem, []).append(node)
    wrong += [f"{problem} ({some(nodes)})" for problem, nodes in messages.items()]
    if not any(role == "host" for role in roles.values()):
        raise Refused([*wrong, "the inventory group gpu_hosts has no host"])
    wrong += [*_disagreements(values), *_unfit(next(iter(values.values()))["pod_name"], roles), *_alike(roles)]
    first = next(iter(values.values()))
    groups, problems = _gate_groups(inventory, first["pod_gate_groups"])
    wrong += problems
    given, problems = waivers(first["pod_waivers"], {check for layer in REGISTRY.values() for check in layer} | {"answered", baselines.CHECK})
    wrong += problems
    cables, problems = cabling.read(cabling_text, roles) if cabling_text is not None else ([], ["the wiring plan does not exist"])
    wrong += [f"{first['pod_cabling_file']}: {problem}" for problem in problems]
    nodes, problems = _nodes(inventory, roles, values, groups)
    wrong += problems
    plan = Plan(nodes, groups, cables)
    wrong += [*_platforms(plan), *_counts(plan, first), *wrong_rails(plan), *_readers(plan, first)]
    if wrong:
        raise Refused(wrong)
    return plan, given


def _unfit(pod: str, nodes: t.Iterable[str]) -> list[str]:
    """Names that are no names of files: the pod's and every node's become those of directories."""
    wrong = [] if NAME.fullmatch(pod) else [f"argument 'pod_name' must be letters, digits and '_.-', not {pod!r}: its runs are kept under it"]
    unfit = [node for node in nodes if not NAME.fullmatch(node)]
    return wrong + ([f"nodes must be called by letters, digits and '_.-', since files are called by them, not {some(unfit)}"] if unfit else [])


def _alike(nodes: t.Iterable[str]) -> list[str]:
    """Nodes that a neighbor, who may tell a name with or without its domain, cannot tell apart."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(node_name(node), []).append(node)
    alike = [node for same in found.values() if len(same) > 1 for node in same]
    return [f"nodes must differ without their domains, since neighbors are told without them: {some(alike)}"] if alike else []


_TYPED: dict[str, tuple[dict[str, t.Any], list[str]]] = {}


def _typed(raw: t.Mapping[str, t.Any]) -> tuple[dict[str, t.Any], list[str]]:
    """As ``typed``; equal values are typed once, since a pod's nodes differ in few of them."""
    shared = {name: value for name, value in raw.items() if name.startswith("pod_") and name != "pod_rails"}
    key = json.dumps(shared, sort_keys=True, default=str)
    if key not in _TYPED:
        _TYPED[key] = typed(shared)
    values, wrong = _TYPED[key]
    rails, wrong_rails = typed({"pod_rails": raw["pod_rails"]}) if "pod_rails" in raw else (values, [])
    return {**values, "pod_rails": rails.get("pod_rails", [])}, [*wrong, *wrong_rails]


def _disagreements(values: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    wrong = []
    for name in OF_THE_RUN:
        said: dict[str, list[str]] = {}
        for node, own in values.items():
            said.setdefault(json.dumps(own.get(name), sort_keys=True, default=str), []).append(node)
        if len(said) > 1:
            wrong.append(
                f"argument {name!r} must be one value for the whole pod, not {' and '.join(f'{value} ({some(nodes)})' for value, nodes in said.items())}"
            )
    return wrong


def _gate_groups(inventory: Inventory, names: t.Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    hosts = list(inventory.groups.get("gpu_hosts", ()))
    groups: dict[str, list[str]] = {}
    wrong = [] if names else ["argument 'pod_gate_groups' must name the inventory groups of GPU hosts that pass or stop together, not []"]
    for name in names:
        members = [host for host in inventory.groups.get(name, ()) if host in hosts]
        if name == SHARED:
            wrong.append(f"gate group {SHARED!r} is the name of the row of shared nodes; rename the group")
        elif name not in inventory.groups:
            wrong.append(f"gate group {name!r} is not a group of the inventory")
        elif not members:
            wrong.append(f"gate group {name!r} has no GPU host")
        groups[name] = members
    homes: dict[tuple[str, ...], list[str]] = {}
    for host in hosts if names else ():
        homes.setdefault(tuple(name for name, members in groups.items() if host in members), []).append(host)
    for its, whose in homes.items():
        if len(its) != 1:
            wrong.append(f"GPU hosts in {'no gate group' if not its else 'the gate groups ' + ' and '.join(its)}, not in exactly one: {some(whose)}")
    return groups, wrong


def _nodes(
    inventory: Inventory, roles: t.Mapping[str, str], values: t.Mapping[str, dict[str, t.Any]], groups: t.Mapping[str, list[str]]
) -> tuple[dict[str, Node], list[str]]:  # fmt: skip
    group_of = {host: name for name, members in groups.items() for host in members}
    nodes, wrong = {}, []
    for name, role in roles.items():
        said = inventory.variables[name].get("bgp_asn")
        try:
            asn = CONVERT["asn"](said) if said is not None else None
        except ValueError:
            asn = None
            wrong.append(f"bgp_asn of {name} must be an autonomous system, not {said!r}")
        platform = platform_of(role, values[name], str(inventory.variables[name].get("ansible_network_os") or ""))
        nodes[name] = Node(name, role, platform, group_of.get(name), values[name], asn)
    return nodes, wrong


def platform_of(role: str, values: t.Mapping[str, t.Any], network_os: str) -> str:
    if values["pod_platform"] != "auto":
        return str(values["pod_platform"])
    if role != "host" and values["pod_fabric"] == "infiniband":
        return "infiniband"
    return "linux" if role == "host" else network_os.rpartition(".")[2]


def _platforms(plan: Plan) -> list[str]:
    wrong = []
    for node in plan.nodes.values():
        fitting = [platform for platform, kind in KINDS.items() if kind == node.kind]
        if node.platform not in fitting:
            said = node.platform or "unset"
            wrong.append(f"argument 'pod_platform' of {node.name} must be one of {', '.join(fitting)}, not {said!r} (or set ansible_network_os)")
    return wrong


def _readers(plan: Plan, values: t.Mapping[str, t.Any]) -> list[str]:
    wrong = []
    for said in values["pod_fabric_reader"]:
        host, colon, device = said.partition(":")
        node = plan.nodes.get(host)
        if node is None or node.role != "host":
            wrong.append(f"argument 'pod_fabric_reader' must name GPU hosts, not {host!r}")
        elif colon and not device:
            wrong.append(f"argument 'pod_fabric_reader' must be host or host:device, not {said!r}")
    guids: dict[str, list[str]] = {}
    for node in plan.nodes.values():
        guid = node.values["pod_node_guid"]
        if guid and not GUID.match(guid):
            wrong.append(f"argument 'pod_node_guid' of {node.name} must be 16 hexadecimal digits, not {guid!r}")
        elif guid:
            guids.setdefault(guid.lower().removeprefix("0x"), []).append(node.name)
    return wrong + [f"argument 'pod_node_guid' is {guid} of {some(names)}" for guid, names in guids.items() if len(names) > 1]


def _counts(plan: Plan, values: t.Mapping[str, t.Any]) -> list[str]:
    wrong = []
    for role, argument in (("host", "pod_hosts_count"), ("leaf", "pod_leaves_count"), ("spine", "pod_spines_count")):
        have = sum(node.role == role for node in plan.nodes.values())
        if values[argument] is not None and have != values[argument]:
            wrong.append(f"the inventory has {have} nodes of role {role}, and {argument} says {values[argument]}")
    uncabled = [name for name in plan.nodes if not plan.at[name]]
    if plan.cables and uncabled:
        wrong.append(f"the wiring plan has no cable of {some(uncabled)}")
    return wrong


def digest(plan: Plan, cabling_text: str, version: str) -> str:
    """What a gate's proof stands on: expectations, waivers, members, wiring and the collection's version."""
    said = {
        name: [node.role, node.platform, node.group, node.asn, {key: value for key, value in node.values.items() if key not in STEERING + REMEDIATION}]
        for name, node in plan.nodes.items()
    }
    return hashlib.sha256(json.dumps([said, cabling_text, version], sort_keys=True, default=str).encode()).hexdigest()


def reached(values: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    """The layers between ``pod_from_layer`` and ``pod_to_layer``.

    Raises Refused where there is none.
    """
    first, last = LAYERS.index(values["pod_from_layer"]), LAYERS.index(values["pod_to_layer"])
    if first > last:
        raise Refused([f"argument 'pod_from_layer' ({LAYERS[first]}) is above 'pod_to_layer' ({LAYERS[last]})"])
    return LAYERS[first : last + 1]
