# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes are evaluated at a layer, and which only help to load or read them."""

from __future__ import annotations

import typing as t

from ..checks import LAYERS
from ..checks.registry import REGISTRY
from ..evaluate.gates import CLOSED, DECIDED, PASSABLE, Gate
from ..pod.plan import Plan
from ..readings import catalogue
from .planned_pod import layers_to_run
from .resume import resumable_run, take_open_gates
from .state import State

POD_ONLY_SOAK_SECONDS = 30
# Of each gate group, by layer: an incast to one host takes eight senders; in a ladder two separate a slow host from a slow partner.
POD_ONLY_HELPERS = {"congestion": 8, "rdma": 8, "collectives": 2, "training": 2}


def enter_first_layer(plan: Plan, state: State, values: t.Mapping[str, t.Any], earlier: State | None, earlier_plan: Plan | None = None) -> None:
    """Set which nodes take part in the first layer, above what an earlier run proved where ``pod_from_layer`` says so.

    earlier, earlier_plan: the latest run and its plan, where there is one.
    Raises Refused where no gate group can take part.
    """
    layers = layers_to_run(values)
    if state.focus is not None and state.focus.layers:
        layers = tuple(layer for layer in LAYERS if layer in state.focus.layers)
    state.layers = list(layers)
    groups = [group for group, where in state.scope.items() if where != "out"]
    if layers[0] != LAYERS[0] and state.focus is None:
        groups = take_open_gates(state, layers[0], groups, resumable_run(plan, state, layers[0], earlier, earlier_plan), values["pod_gate_max_age_minutes"])
    state.members[layers[0]] = _members(plan, state, groups)


def _members(plan: Plan, state: State, groups: t.Sequence[str]) -> list[str]:
    """The hosts of some groups that are not quarantined, and the shared nodes that serve any of them."""
    members = [host for group in groups for host in plan.groups[group] if host not in state.quarantined]
    if groups:
        members += [node.name for node in plan.nodes.values() if node.group is None and plan.affects(node.name) & set(groups)]
    if state.focus is not None and state.focus.nodes:
        members = [node for node in members if node in state.focus.nodes]
    return members


def ping_partners(plan: Plan, state: State, members: t.Sequence[str]) -> list[str]:
    """The hosts that members ping: each other; where ``pod_only`` names a node, everyone else that stands in its groups."""
    if state.focus is None or not state.focus.nodes:
        return [node for node in members if plan.nodes[node].role == "host"]
    return [host for group, hosts in plan.groups.items() if state.scope[group] != "out" for host in hosts if host not in state.quarantined]


def load_helpers(plan: Plan, state: State, layer: str) -> list[str]:
    """Hosts that only help to load a layer's members: where ``pod_only`` names some hosts, helpers of their groups."""
    members = state.members.get(layer, [])
    if state.focus is None or not state.focus.nodes:
        return []
    found = []
    for group in dict.fromkeys(plan.nodes[node].group for node in members if plan.nodes[node].role == "host"):
        standing = [host for host in plan.groups[group or ""] if host in state.helpers and host not in members and host not in state.quarantined]
        found += standing[: POD_ONLY_HELPERS.get(layer, 0)]
    return found


def fabric_readers(plan: Plan, state: State, layer: str) -> list[str]:
    """Hosts that only read the members' InfiniBand fabric: where ``pod_only`` names some nodes, those that read it for all, if they are helpers."""
    if state.focus is None or not state.focus.nodes or not any(catalogue()[name].of_fabric for one in REGISTRY[layer].values() for name in one.reads):
        return []
    members = state.members.get(layer, [])
    standing = [host for host in state.helpers if host not in state.quarantined]
    return [host for host in plan.readers([*members, *standing]) if host not in members] if members else []


def participants(plan: Plan, state: State, layer: str) -> list[str]:
    """The members of a layer and the hosts that help them in it."""
    return list(dict.fromkeys((*state.members.get(layer, ()), *load_helpers(plan, state, layer), *fabric_readers(plan, state, layer))))


def no_load_reason(values: t.Mapping[str, t.Any], check_mode: bool) -> str:
    """Why a run loads nothing, or nothing."""
    if check_mode:
        return "check mode loads nothing"
    if values["pod_mode"] == "passive":
        return "no load in mode passive"
    return "no load at depth quick" if values["pod_depth"] == "quick" else ""


def groups_at_layer(plan: Plan, state: State, layer: str) -> list[str]:
    """The gate groups that have reached a layer."""
    members = set(state.members.get(layer, ()))
    return [
        group for group, hosts in plan.groups.items() if state.scope[group] != "out" and (members & set(hosts) or _switch_of_group(plan, state, group, members))
    ]


def _switch_of_group(plan: Plan, state: State, group: str, members: set[str]) -> bool:
    """Under pod_only a switch may be judged without its hosts."""
    return state.focus is not None and any(group in plan.affects(node) for node in members)


def record_gates(plan: Plan, state: State, layer: str, gates: t.Mapping[str, Gate], time: str) -> None:
    """Record a layer's gates, and which nodes continue past them."""
    state.gates[layer] = {
        group: {
            "state": gate.state, "reasons": gate.reasons, "found": {reason: list(one) for reason, one in gate.found.items()}, "unproved": gate.unproved,
            "too_few": [list(one) for one in gate.too_few], "time": time, "run": state.run_id,
        }
        for group, gate in gates.items()
    }  # fmt: skip
    for group, gate in gates.items():
        for host, check in gate.quarantined.items():
            state.quarantined[host] = {"group": group, "layer": layer, "check": check}
    above = state.layers[state.layers.index(layer) + 1 :]
    if above:
        state.members[above[0]] = _members(plan, state, [group for group, gate in gates.items() if gate.state in PASSABLE])


def close_below(state: State, layer: str, groups: t.Iterable[str], since: str, words: str) -> None:
    """Close the gates of some groups from the layer ``since`` on and below ``layer``: what they stood on is not known any more."""
    for below in LAYERS[LAYERS.index(since) : LAYERS.index(layer)]:
        for group in groups:
            gate = state.gates.get(below, {}).get(group)
            if gate is not None and gate["state"] in DECIDED:
                unproved = list(dict.fromkeys((*gate.get("unproved", ()), words)))
                state.gates[below][group] = {**gate, "state": CLOSED, "reasons": list(dict.fromkeys((*gate["reasons"], words))), "unproved": unproved}
