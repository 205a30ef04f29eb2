# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run is narrowed to: what ``pod_only`` names, as nodes, a check, a layer or places."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from ..checks import LAYERS
from ..checks.registry import REGISTRY
from ..pod.names import parse_place
from ..pod.plan import Plan
from ..pod.rail_ports import members_of
from .errors import Refused


@dataclass
class Selection:
    """What ``pod_only`` names: nodes (none means all), one check, one layer, or places as ``node:port``."""

    nodes: list[str] = field(default_factory=list)
    check: str | None = None
    layers: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


def parse_pod_only(plan: Plan, only: str) -> Selection | None:
    """What ``pod_only`` names.

    Raises Refused where it is nothing of this pod.
    """
    if not only:
        return None
    node, port = parse_place(only)
    if port and node in plan.nodes:
        ends = [cable.seen_from(node) for cable in plan.at[node]]
        peers = [far for near, far in ends if near.port == port]
        if not peers:
            ports = ", ".join(sorted(near.port for near, _far in ends))
            raise Refused([f"argument 'pod_only': {node} has no cable on port {port!r}; its ports are {ports}"])
        return Selection(nodes=[node, *(peer.node for peer in peers)], places=[only, *(f"{peer.node}:{peer.port}" for peer in peers)])
    nodes = [name.strip() for name in only.split(",")]
    if all(name in plan.nodes for name in nodes):
        return Selection(nodes=nodes)
    if only in LAYERS:
        return Selection(layers=[only])
    for layer in LAYERS:
        if only in REGISTRY[layer]:
            return Selection(check=only, layers=[layer])
    rail = _rail(plan, only)
    if rail is not None:
        return rail
    unknown = [node] if port else [name for name in nodes if name not in plan.nodes]
    near = difflib.get_close_matches(unknown[0], [*plan.nodes, *LAYERS, *(check for layer in LAYERS for check in REGISTRY[layer])], 3, 0.75)
    found = f"nothing of this pod is called {unknown[0]!r}" + (f" (near it: {', '.join(near)})" if near else "")
    raise Refused([f"argument 'pod_only': {found}; it takes a node, several with commas, node:port, a rail's device, a check or a layer"])


def _rail(plan: Plan, device: str) -> Selection | None:
    nodes, places = [], []
    for node in plan.nodes.values():
        for rail in node.values["pod_rails"] if node.role == "host" else ():
            if device in (rail["device"], rail.get("netdev")):
                own = [name for name in (rail["device"], rail.get("netdev"), *members_of(rail)) if name]
                ends = [far for cable in plan.at[node.name] for near, far in [cable.seen_from(node.name)] if near.port in own]
                nodes += [node.name, rail["leaf"], *(far.node for far in ends)]
                places += [f"{node.name}:{name}" for name in own]
                places += [f"{far.node}:{far.port}" for far in ends]
    return Selection(nodes=list(dict.fromkeys(nodes)), places=places) if nodes else None
