# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening a run: the inventory and the plan become a pod, or every reason why not is named."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import typing as t
from dataclasses import dataclass

from ..checks import LAYERS
from ..checks.registry import REGISTRY
from ..evaluate.baselines import BASELINE_CHECK
from ..evaluate.waivers import Waiver, waivers, wrong_waivers
from ..pod.cabling import read_cabling
from ..pod.expectations import typed
from ..pod.names import node_name, parse_place
from ..pod.plan import SHARED, Node, Plan
from ..pod.rail_errors import rail_errors
from ..pod.tiers import SPINE, SUPER_SPINE
from ..readings import KINDS
from ..readings.cells import CONVERT
from ..text.counting import some_nodes
from ..text.sorting import natural_key
from .common_values import STEERING, disagreements
from .errors import Refused
from .routing_expectations import wrong_routing
from .tier_errors import SUPER_SPINES, apart_from_spines, cabled_past_spines

ROLES = {"gpu_hosts": "host", "leaves": "leaf", "spines": "spine"}
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# Who repairs a host does not change what it proves either.
REMEDIATION = (
    "pod_scheduler", "pod_scheduler_host", "pod_scheduler_node", "pod_readmit_reasons", "pod_remediate_max", "pod_allow_nic_reset", "pod_allow_reboot",
    "pod_remediate_to_layer", "pod_patrol_hosts", "pod_patrol_free_hosts", "pod_patrol_minutes", "pod_patrol_partition", "pod_patrol_qos",
    "pod_patrol_namespace", "pod_patrol_image", "pod_patrol_priority_class",
)  # fmt: skip
FILE = re.compile(r"/[\w.@+/~-]+", re.ASCII)
IMAGE = re.compile(r"[a-zA-Z0-9][\w.-]*(?::\d+)?(?:/[\w.-]+)*(?::\w[\w.-]{0,127})?(?:@sha256:[\da-f]{64})?", re.ASCII)
GUID = re.compile(r"^(?:0x)?[\da-fA-F]{16}$")


@dataclass(frozen=True)
class Inventory:
    """What Ansible knows: groups with their nodes, each node's ``pod_*`` and ``bgp_asn``, and its ``ansible_network_os`` and ``ansible_host``."""

    groups: t.Mapping[str, t.Sequence[str]]
    variables: t.Mapping[str, t.Mapping[str, t.Any]]


def nodes_of(inventory: Inventory) -> dict[str, str]:
    """The role of every node that a pod has, in the order of their names: an inventory's own order must not change what is planned."""
    top = set(inventory.groups.get(SUPER_SPINES, ()))
    return {
        node: SUPER_SPINE if role == SPINE and node in top else role
        for group, role in ROLES.items()
        for node in sorted(inventory.groups.get(group, ()), key=natural_key)
    }


def _one_role_each(inventory: Inventory) -> list[str]:
    """Nodes in several role groups: a host that is judged as a switch too is asked nothing at preflight."""
    found: dict[tuple[str, ...], list[str]] = {}
    for node in nodes_of(inventory):
        groups = tuple(group for group in ROLES if node in inventory.groups.get(group, ()))
        if len(groups) > 1:
            found.setdefault(groups, []).append(node)
    return [
        f"every node must be in one role group of the inventory, not in {' and '.join(groups)}: {some_nodes(nodes)}; remove it from all but one"
        for groups, nodes in found.items()
    ] + apart_from_spines(inventory.groups)


def planned_pod(inventory: Inventory, cabling_text: str | None, unread: t.Sequence[str] = ("the wiring plan does not exist",)) -> tuple[Plan, list[Waiver]]:
    """The pod's plan and its waivers.

    unread: why there is no text of the wiring plan.
    Raises Refused with every reason: wrong roles, expectations, gate groups, wiring plan, or nodes that the plan names and the inventory lacks.
    """
    wrong = _one_role_each(inventory)
    if wrong:
        # All else follows from a node's role.
        raise Refused(wrong)
    values: dict[str, dict[str, t.Any]] = {}
    roles = nodes_of(inventory)
    messages: dict[str, list[str]] = {}
    for node in roles:
        values[node], problems = _typed_once(inventory.variables[node])
        for problem in problems:
            messages.setdefault(problem, []).append(node)
    wrong += [f"{problem} ({some_nodes(nodes)})" for problem, nodes in messages.items()]
    hosts = {name for name, role in roles.items() if role == "host"}
    if not hosts:
        raise Refused([*wrong, "the inventory group gpu_hosts has no host"])
    wrong += [
        *disagreements(values, [node for node, role in roles.items() if role == "host"]),
        *_unusable_names(next(iter(values.values()))["pod_name"], roles),
        *_ambiguous(roles),
    ]
    first = next(iter(values.values()))
    groups, problems = _gate_groups(inventory, first["pod_gate_groups"])
    wrong += problems
    checks = {check for layer in REGISTRY.values() for check in layer} | {"answered", BASELINE_CHECK}
    wrong += wrong_waivers(first["pod_waivers"], checks, roles, datetime.datetime.now(datetime.UTC).date())
    cables, problems = read_cabling(cabling_text, roles, hosts) if cabling_text is not None else ([], list(unread))
    wrong += [f"{first['pod_cabling_file']}: {problem}" for problem in problems]
    # What lacks a cable in a plan that could not be read whole says nothing more.
    cabled = not problems
    nodes, problems = _nodes(inventory, roles, values, groups)
    wrong += problems
    plan = Plan(nodes, groups, cables if cabled else [])
    wrong += [*_platforms(plan), *_counts(plan, first), *cabled_past_spines(plan), *rail_errors(plan, cabled), *_readers(plan, first)]
    wrong += [*wrong_routing(plan, first), *_containers(plan)]
    if wrong:
        raise Refused(wrong, [*roles, *inventory.groups])
    return plan, waivers(first["pod_waivers"])


def _unusable_names(pod: str, nodes: t.Iterable[str]) -> list[str]:
    """Names that are no names of files: the pod's and every node's become those of directories."""
    wrong = [] if NAME.fullmatch(pod) else [f"argument 'pod_name' must be letters, digits and '_.-', not {pod!r}: its runs are kept under it"]
    unfit = [node for node in nodes if not NAME.fullmatch(node)]
    return wrong + ([f"nodes must be called by letters, digits and '_.-', since files are called by them, not {some_nodes(unfit)}"] if unfit else [])


def _ambiguous(nodes: t.Iterable[str]) -> list[str]:
    """Nodes that a neighbor, who may report a name with or without its domain, cannot distinguish."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(node_name(node), []).append(node)
    alike = [node for same in found.values() if len(same) > 1 for node in same]
    return [f"nodes must differ without their domains, since neighbors are reported without them: {some_nodes(alike)}"] if alike else []


_TYPED: dict[str, tuple[dict[str, t.Any], list[str]]] = {}


def _typed_once(raw: t.Mapping[str, t.Any]) -> tuple[dict[str, t.Any], list[str]]:
    """As ``typed``; equal values are typed once, since a pod's nodes differ in few of them."""
    shared = {name: value for name, value in raw.items() if name.startswith("pod_") and name != "pod_rails"}
    key = json.dumps(shared, sort_keys=True, default=str)
    if key not in _TYPED:
        _TYPED[key] = typed(shared)
    values, wrong = _TYPED[key]
    rails, wrong_rails = typed({"pod_rails": raw["pod_rails"]}) if "pod_rails" in raw else (values, [])
    return {**values, "pod_rails": rails.get("pod_rails", [])}, [*wrong, *wrong_rails]


def _gate_groups(inventory: Inventory, names: t.Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    hosts = sorted(inventory.groups.get("gpu_hosts", ()), key=natural_key)
    groups: dict[str, list[str]] = {}
    wrong = [] if names else ["argument 'pod_gate_groups' must name the inventory groups of GPU hosts that pass or stop together, not []"]
    for name in sorted(names, key=natural_key):
        members = [host for host in hosts if host in inventory.groups.get(name, ())]
        others = [node for node in inventory.groups.get(name, ()) if node not in hosts]
        if name == SHARED:
            wrong.append(f"gate group {SHARED!r} is the name of the row of shared nodes; rename the group")
        elif name not in inventory.groups:
            wrong.append(f"gate group {name!r} is not a group of the inventory")
        elif not members:
            wrong.append(f"gate group {name!r} has no GPU host")
        elif others:
            wrong.append(
                f"gate group {name!r} must have GPU hosts only, and these are not in gpu_hosts: {some_nodes(others)}; add them there, or remove them here"
            )
        groups[name] = members
    homes: dict[tuple[str, ...], list[str]] = {}
    for host in hosts if names else ():
        homes.setdefault(tuple(name for name in names if host in groups[name]), []).append(host)
    for its, whose in homes.items():
        if len(its) != 1:
            wrong.append(f"GPU hosts in {'no gate group' if not its else 'the gate groups ' + ' and '.join(its)}, not in exactly one: {some_nodes(whose)}")
    return groups, wrong


def _nodes(
    inventory: Inventory, roles: t.Mapping[str, str], values: t.Mapping[str, dict[str, t.Any]], groups: t.Mapping[str, list[str]]
) -> tuple[dict[str, Node], list[str]]:  # fmt: skip
    group_of = {host: name for name, members in groups.items() for host in members}
    nodes, wrong = {}, []
    for name, role in roles.items():
        stated = inventory.variables[name].get("bgp_asn")
        try:
            asn = CONVERT["asn"](stated) if stated is not None else None
        except ValueError:
            asn = None
            wrong.append(f"bgp_asn of {name} must be an autonomous system, not {stated!r}")
        platform = platform_of(role, values[name], str(inventory.variables[name].get("ansible_network_os") or ""))
        address = str(inventory.variables[name].get("ansible_host") or "") if role == "host" else ""
        nodes[name] = Node(name, role, platform, group_of.get(name), values[name], asn, address)
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
            stated = node.platform or "unset"
            wrong.append(f"argument 'pod_platform' of {node.name} must be one of {', '.join(fitting)}, not {stated!r} (or set ansible_network_os)")
    return wrong


def _readers(plan: Plan, values: t.Mapping[str, t.Any]) -> list[str]:
    wrong = []
    for stated in values["pod_fabric_reader"]:
        reader = parse_place(stated)
        node = plan.nodes.get(reader.node)
        if node is None or node.role != "host":
            wrong.append(f"argument 'pod_fabric_reader' must name GPU hosts, not {reader.node!r}")
        elif reader.port is None:
            wrong.append(f"argument 'pod_fabric_reader' must be host or host:device, not {stated!r}")
    guids: dict[str, list[str]] = {}
    for node in plan.nodes.values():
        guid = node.values["pod_node_guid"]
        if guid and not GUID.match(guid):
            wrong.append(f"argument 'pod_node_guid' of {node.name} must be 16 hexadecimal digits, not {guid!r}")
        elif guid:
            guids.setdefault(guid.lower().removeprefix("0x"), []).append(node.name)
    return wrong + [f"argument 'pod_node_guid' is {guid} of {some_nodes(names)}" for guid, names in guids.items() if len(names) > 1]


def _containers(plan: Plan) -> list[str]:
    """What runs in containers needs a runtime and an image, and a launcher that can start containers."""
    wrong = []
    values = next(node.values for node in plan.nodes.values() if node.role == "host")
    # One that is wrong by itself is not there.
    if not {"pod_container_runtime", "pod_container_image", "pod_launcher"} <= values.keys():
        return []
    runtime, image = values["pod_container_runtime"], values["pod_container_image"]
    if (runtime == "none") != (image == ""):
        stated = f"pod_container_runtime {runtime!r} and pod_container_image {image!r}"
        wrong.append(f"arguments 'pod_container_runtime' and 'pod_container_image' go together, not {stated}")
    if image and runtime == "enroot" and not FILE.fullmatch(image):
        wrong.append(f"argument 'pod_container_image' must be the path of a squashfs file with pod_container_runtime 'enroot', not {image!r}")
    elif image and runtime != "enroot" and not IMAGE.fullmatch(image):
        wrong.append(f"argument 'pod_container_image' must be NAME, NAME:TAG or NAME@sha256:DIGEST, not {image!r}")
    if runtime != "none" and values["pod_launcher"] == "kubernetes":
        wrong.append(
            "argument 'pod_container_runtime' must be 'none' with pod_launcher 'kubernetes': a test pod is a container, and its image is the manifest's"
        )
    return wrong


def _counts(plan: Plan, values: t.Mapping[str, t.Any]) -> list[str]:
    wrong = []
    for role, argument in (("host", "pod_hosts_count"), ("leaf", "pod_leaves_count"), (SPINE, "pod_spines_count")):
        have = sum(node.role in (role, SUPER_SPINE if role == SPINE else role) for node in plan.nodes.values())
        if values[argument] is not None and have != values[argument]:
            wrong.append(f"the inventory has {have} nodes of role {role}, and {argument} is {values[argument]}")
    uncabled = [name for name in plan.nodes if not plan.at[name]]
    if plan.cables and uncabled:
        wrong.append(f"the wiring plan has no cable of {some_nodes(uncabled)}")
    return wrong


def expectations_digest(plan: Plan, cabling_text: str, version: str) -> str:
    """What a gate's proof stands on: expectations, waivers, members, wiring and the collection's version."""
    stated = {
        name: [node.role, node.platform, node.group, node.asn, {key: value for key, value in node.values.items() if key not in STEERING + REMEDIATION}]
        for name, node in plan.nodes.items()
    }
    return hashlib.sha256(json.dumps([stated, cabling_text, version], sort_keys=True, default=str).encode()).hexdigest()


def layers_to_run(values: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    """The layers between ``pod_from_layer`` and ``pod_to_layer``.

    Raises Refused where there is none.
    """
    first, last = LAYERS.index(values["pod_from_layer"]), LAYERS.index(values["pod_to_layer"])
    if first > last:
        raise Refused([f"argument 'pod_from_layer' ({LAYERS[first]}) is above 'pod_to_layer' ({LAYERS[last]})"])
    return LAYERS[first : last + 1]
