# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The climb: which nodes go to which layer, from opening to verdict. Its state is one JSON document of the run."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from .checks import LAYERS
from .checks.every import REGISTRY
from .focus import Focus
from .gates import CLOSED, NOT_REACHED, NOT_RUN, OPEN, OUT_OF_SCOPE, Gate
from .opening import Refused, reached
from .plan import Plan
from .readings import catalogue

ONLY_SOAK_SECONDS = 30
# Of each gate group, by layer: an incast to one host takes eight senders; in a ladder two tell a slow host from a slow partner.
ONLY_LOADERS = {"congestion": 8, "rdma": 8, "collectives": 2, "training": 2}


@dataclass
class State:
    """Where a climb stands.

    members: nodes by layer; gates: layer to group to Gate as a dict with its time; quarantined: host to group, layer and check.
    scope: gate group to ``in``, or why it is not; silent: nodes that nobody will ask, and why.
    lent: the hosts that may help others (to be loaded, to tell of their fabric), where ``pod_only`` names some.
    """

    pod: str
    run_id: str
    depth: str
    mode: str
    opened: str
    digest: str
    version: str
    only: str = ""
    focus: Focus | None = None
    layers: list[str] = field(default_factory=list)
    scope: dict[str, str] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    lent: list[str] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=dict)
    gates: dict[str, dict[str, dict[str, t.Any]]] = field(default_factory=dict)
    quarantined: dict[str, dict[str, str]] = field(default_factory=dict)
    replay: str = ""
    check_mode: bool = False
    finished: bool = False

    def dump(self) -> dict[str, t.Any]:
        """As JSON."""
        return asdict(self)


def load(document: dict[str, t.Any]) -> State:
    """The state that ``dump`` wrote."""
    focus = document.pop("focus")
    return State(**document, focus=Focus(**focus) if focus else None)


def scope(plan: Plan, inside: t.Container[str], focus: Focus | None) -> tuple[dict[str, str], dict[str, str]]:
    """Which gate groups are judged (``in``, ``out``, ``partly``), and nodes that are needed and outside ``--limit``.

    A group none of whose hosts is inside is out; one that is partly inside is closed by its own missing hosts.
    """
    groups: dict[str, str] = {}
    silent: dict[str, str] = {}
    for group, hosts in plan.groups.items():
        missing = [host for host in hosts if host not in inside]
        groups[group] = "in" if not missing else "out" if len(missing) == len(hosts) else "partly"
        if groups[group] == "partly":
            silent |= dict.fromkeys(missing, f"outside --limit, and the rest of {group} is inside; add {group} to --limit")
    for node in plan.nodes.values():
        if node.group is None and node.name not in inside and any(groups[group] != "out" for group in plan.affects(node.name)):
            silent[node.name] = "outside --limit; add it, as in --limit rack_01:leaves:spines"
    if focus is not None and focus.nodes:
        touched = frozenset().union(*(plan.affects(node) for node in focus.nodes))
        groups = {group: state if group in touched else "out" for group, state in groups.items()}
        silent = {node: words for node, words in silent.items() if node in focus.nodes}
    return groups, silent


def start(plan: Plan, state: State, values: t.Mapping[str, t.Any], earlier: State | None) -> None:
    """Set who climbs to the first layer, above what an earlier run proved where ``pod_from_layer`` says so.

    Raises Refused where no gate group can climb.
    """
    layers = reached(values)
    if state.focus is not None and state.focus.layers:
        layers = tuple(layer for layer in LAYERS if layer in state.focus.layers)
    state.layers = list(layers)
    groups = [group for group, where in state.scope.items() if where != "out"]
    if layers[0] != LAYERS[0] and state.focus is None:
        groups = _resumed(state, layers[0], groups, _earlier(state, layers[0], earlier), values["pod_gate_max_age_minutes"])
    state.members[layers[0]] = _members(plan, state, groups)


def _earlier(state: State, first: str, earlier: State | None) -> State:
    """The run whose gates a resumed one stands on.

    Raises Refused where there is none of the same pod.
    """
    if earlier is None:
        why = "there is none"
    elif earlier.digest != state.digest:
        why = f"run {earlier.run_id} is of other expectations, members, wiring or version"
    elif earlier.only or earlier.replay:
        why = f"run {earlier.run_id} judged {'only ' + earlier.only if earlier.only else 'kept evidence'}"
    else:
        return earlier
    raise Refused([f"argument 'pod_from_layer': {first} needs the gates below it from the latest run, and {why}; climb from preflight"])


def _resumed(state: State, first: str, groups: list[str], earlier: State, max_age_minutes: int) -> list[str]:
    below = LAYERS[: LAYERS.index(first)]
    climbing: list[str] = []
    reasons: list[str] = []
    for group in groups:
        standing = next((reason for layer in below if (reason := _not_standing(earlier, layer, group, max_age_minutes))), None)
        if standing is None:
            climbing.append(group)
        else:
            reasons.append(standing)
    for layer in below:
        state.gates[layer] = {group: dict(gate) for group, gate in earlier.gates.get(layer, {}).items() if group in groups}
    state.quarantined = {host: dict(out) for host, out in earlier.quarantined.items() if out["layer"] in below}
    if not climbing:
        raise Refused([f"argument 'pod_from_layer': no gate group can climb to {first}: {'; '.join(reasons)}"])
    return climbing


def _not_standing(earlier: State, layer: str, group: str, max_age_minutes: int) -> str | None:
    gate = earlier.gates.get(layer, {}).get(group)
    if gate is None or gate["state"] != OPEN:
        return f"the {layer} gate of {group} was {gate['state'] if gate else 'not judged'} in run {earlier.run_id}"
    age = (datetime.now(UTC) - datetime.fromisoformat(gate["time"])).total_seconds() / 60
    return f"the {layer} gate of {group} was opened {age:.0f} minutes ago, and {max_age_minutes} are allowed" if age > max_age_minutes else None


def _members(plan: Plan, state: State, groups: t.Sequence[str]) -> list[str]:
    """The hosts of some groups that are not quarantined, and the shared nodes that serve any of them."""
    members = [host for group in groups for host in plan.groups[group] if host not in state.quarantined]
    if groups:
        members += [node.name for node in plan.nodes.values() if node.group is None and plan.affects(node.name) & set(groups)]
    if state.focus is not None and state.focus.nodes:
        members = [node for node in members if node in state.focus.nodes]
    return members


def partners(plan: Plan, state: State, members: t.Sequence[str]) -> list[str]:
    """The hosts that members ping: each other; where ``pod_only`` names a node, everyone else that stands in its groups."""
    if state.focus is None or not state.focus.nodes:
        return [node for node in members if plan.nodes[node].role == "host"]
    return [host for group, hosts in plan.groups.items() if state.scope[group] != "out" for host in hosts if host not in state.quarantined]


def loaders(plan: Plan, state: State, layer: str) -> list[str]:
    """Hosts that only help to load a layer's members: where ``pod_only`` names some hosts, others of their groups that are lent."""
    members = state.members.get(layer, [])
    if state.focus is None or not state.focus.nodes:
        return []
    found = []
    for group in dict.fromkeys(plan.nodes[node].group for node in members if plan.nodes[node].role == "host"):
        standing = [host for host in plan.groups[group or ""] if host in state.lent and host not in members and host not in state.quarantined]
        found += standing[: ONLY_LOADERS.get(layer, 0)]
    return found


def readers(plan: Plan, state: State, layer: str) -> list[str]:
    """Hosts that only tell of the members' InfiniBand fabric: where ``pod_only`` names some nodes, those that read it for all, if they are lent."""
    if state.focus is None or not state.focus.nodes or not any(catalogue()[name].of_fabric for one in REGISTRY[layer].values() for name in one.reads):
        return []
    members = state.members.get(layer, [])
    standing = [host for host in state.lent if host not in state.quarantined]
    return [host for host in plan.readers([*members, *standing]) if host not in members] if members else []


def taking_part(plan: Plan, state: State, layer: str) -> list[str]:
    """The members of a layer and the hosts that help them in it."""
    return list(dict.fromkeys((*state.members.get(layer, ()), *loaders(plan, state, layer), *readers(plan, state, layer))))


def unloaded(values: t.Mapping[str, t.Any], check_mode: bool) -> str:
    """Why a run loads nothing, or nothing."""
    if check_mode:
        return "check mode loads nothing"
    if values["pod_mode"] == "passive":
        return "no load in mode passive"
    return "no load at depth quick" if values["pod_depth"] == "quick" else ""


def climbing(plan: Plan, state: State, layer: str) -> list[str]:
    """The gate groups that have climbed to a layer."""
    members = set(state.members.get(layer, ()))
    return [group for group, hosts in plan.groups.items() if state.scope[group] != "out" and (members & set(hosts) or _by_switch(plan, state, group, members))]


def _by_switch(plan: Plan, state: State, group: str, members: set[str]) -> bool:
    """Under pod_only a switch may be judged without its hosts."""
    return state.focus is not None and any(group in plan.affects(node) for node in members)


def hold(plan: Plan, state: State, layer: str, gates: t.Mapping[str, Gate], time: str) -> None:
    """Record a layer's gates, and who climbs past them."""
    state.gates[layer] = {group: {"state": gate.state, "reasons": gate.reasons, "unproved": gate.unproved, "time": time} for group, gate in gates.items()}
    for group, gate in gates.items():
        for host, check in gate.quarantined.items():
            state.quarantined[host] = {"group": group, "layer": layer, "check": check}
    above = state.layers[state.layers.index(layer) + 1 :]
    if above:
        state.members[above[0]] = _members(plan, state, [group for group, gate in gates.items() if gate.state in (OPEN, NOT_RUN)])


def gate_state(state: State, layer: str, group: str) -> str:
    """``open``, ``closed``, ``not_run``, ``not_reached`` or ``out_of_scope``."""
    if state.scope.get(group) == "out":
        return OUT_OF_SCOPE
    gate = state.gates.get(layer, {}).get(group)
    return gate["state"] if gate else NOT_REACHED


def _unproved(state: State, group: str) -> str:
    """What no finding says of a group's closed gates."""
    words = [reason for gates in state.gates.values() for reason in gates.get(group, {}).get("unproved", ())]
    return (f": {'; '.join(words[:3])}" if words else "") + (f"; and {len(words) - 3} more" if len(words) > 3 else "")


def outcome(state: State, left_out: bool, expired: bool) -> tuple[str, list[str]]:
    """``go``, ``no_fault_seen`` or ``no_go``, and why it is not ``go``."""
    judged = {group: [gate_state(state, layer, group) for layer in state.layers] for group, where in state.scope.items() if where != "out"}
    closed = [group for group, states in judged.items() if CLOSED in states]
    short = [group for group, states in judged.items() if group not in closed and not set(states) <= {OPEN, NOT_RUN}]
    reasons = [f"{group} is held at a closed gate{_unproved(state, group)}" for group in closed] + [f"{group} did not reach every layer" for group in short]
    if not state.finished or not judged:
        reasons.append("the run has not ended" if not state.finished else "no gate group was judged")
    reasons += [f"{host} is quarantined by {out['check']}" for host, out in state.quarantined.items()]
    if expired:
        reasons.append("a waiver has expired")
    if reasons:
        return "no_go", reasons
    limits = [f"{group} is out of scope" for group, where in state.scope.items() if where == "out"]
    not_run = [layer for layer in state.layers if NOT_RUN in [gate_state(state, layer, group) for group in judged]]
    limits += [f"{', '.join(not_run)} was not run" if len(not_run) == 1 else f"{', '.join(not_run)} were not run"] * bool(not_run)
    limits += [f"only {state.only} was judged"] * bool(state.only)
    limits += ["kept evidence was judged, and the pod may be another since"] * bool(state.replay)
    limits += [f"depth {state.depth} and mode {state.mode} prove less than a whole climb"] * (left_out or state.depth == "quick" or state.mode == "passive")
    return ("no_fault_seen", limits) if limits else ("go", [])
