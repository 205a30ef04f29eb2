# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resuming: what has changed since an earlier run of what the gates below a layer stand on."""

from __future__ import annotations

import functools
import json
import typing as t

from ..checks import LAYERS
from ..checks.registry import REGISTRY
from ..pod.cabling import Cable, CableEnd
from ..pod.expectations import DEFAULTS
from ..pod.plan import Plan
from ..text.counting import some_nodes
from ..text.shortened import shortened
from .common_values import STEERING
from .planned_pod import REMEDIATION

# Expectations that no check names, by the first layer whose commands or loads are made of them; a word is the beginning of names.
BY_LAYER = {
    "links": ("pod_soak_seconds", "pod_go_live_soak_seconds"),
    "routing": ("pod_ping_", "pod_path_probe_", "pod_failover"),
    "congestion": ("pod_incast_", "pod_idle_", "pod_load_", "pod_perftest_"),
    "rdma": ("pod_pairing", "pod_write_"),
    "collectives": ("pod_collective_", "pod_mpirun_arguments", "pod_torch_python", "pod_bootstrap_address"),
    "training": ("pod_training_", "pod_go_live_training_", "pod_dataset_"),
}
# Expectations of other playbooks.
ELSEWHERE = ("pod_prometheus_url", "pod_grafana_url", "pod_telemetry_fresh_seconds", "pod_telemetry_signals")
# What plans of lower layers depend on besides the checks that name it.
EVERYWHERE = ("pod_fabric", "pod_topology", "pod_rails")
WAIVERS = "pod_waivers"


@functools.cache
def first_layers() -> dict[str, str]:
    """The lowest layer that uses each expectation; preflight where it is not known, and none where no layer does."""
    named: dict[str, list[str]] = {}
    for layer, checks in REGISTRY.items():
        for check in checks.values():
            by = check.required[0] if isinstance(check.required, tuple) else check.required
            for name in (*check.expectations, *([by] if isinstance(by, str) else ()), *(one for one, _values in check.conditions)):
                named.setdefault(name, []).append(layer)
    for layer, words in BY_LAYER.items():
        for name in DEFAULTS:
            if name.startswith(words):
                named.setdefault(name, []).append(layer)
    unused = {*STEERING, *REMEDIATION, *ELSEWHERE, WAIVERS}
    return {
        name: LAYERS[0] if name in EVERYWHERE else min(named.get(name, [LAYERS[0]]), key=LAYERS.index)
        for name in DEFAULTS
        if name not in unused
    }  # fmt: skip


def changes_since(plan: Plan, earlier: Plan, versions: tuple[str, str], first: str) -> list[str]:
    """What has changed of what the layers below ``first`` use, each as a clause; none where their gates may be built upon.

    versions: the collection's, in the earlier run and now.
    """
    found = [] if versions[0] == versions[1] else [f"the collection was {versions[0]} and is {versions[1]}"]
    found += _nodes(plan, earlier, first)
    found += _cables(plan, earlier, first)
    return found + _expectations(plan, earlier, first)


def _nodes(plan: Plan, earlier: Plan, first: str) -> list[str]:
    found = []
    for words, names in (("is new", set(plan.nodes) - set(earlier.nodes)), ("is no longer in the inventory", set(earlier.nodes) - set(plan.nodes))):
        found += [f"{some_nodes(sorted(names))} {words}"] if names else []
    facts = ("role", "platform", "group", *(("asn",) if _below("routing", first) else ()))
    for fact in facts:
        differing = [name for name, node in plan.nodes.items() if name in earlier.nodes and getattr(node, fact) != getattr(earlier.nodes[name], fact)]
        if differing:
            was, now = (getattr(one.nodes[differing[0]], fact) for one in (earlier, plan))
            found.append(f"the {fact} of {some_nodes(differing)} was {was} and is {now}")
    return found


def _cables(plan: Plan, earlier: Plan, first: str) -> list[str]:
    """Cables that are other ones, by their ends; of what kind they are, links is the first to use."""

    def of(one: Plan) -> dict[tuple[str, str], tuple[t.Any, ...]]:
        return {_place(cable.a): _cable_columns(cable, _below("links", first)) for cable in one.cables}

    was, now = of(earlier), of(plan)
    differing = [":".join(place) for place in dict.fromkeys((*was, *now)) if was.get(place) != now.get(place)]
    return [f"the wiring plan has changed at {some_nodes(differing)}"] if differing else []


def _place(end: CableEnd) -> tuple[str, str]:
    return end.node, end.port


def _cable_columns(cable: Cable, whole: bool) -> tuple[t.Any, ...]:
    ends = (*_place(cable.b), cable.a.address, cable.b.address)
    return (*ends, cable.medium, cable.length_m, cable.gbit_s) if whole else ends


def _expectations(plan: Plan, earlier: Plan, first: str) -> list[str]:
    found = []
    for name, layer in {**first_layers(), WAIVERS: LAYERS[0]}.items():
        if not _below(layer, first):
            continue
        pairs = {node: (_value(earlier, node, name, first), _value(plan, node, name, first)) for node in plan.nodes if node in earlier.nodes}
        differing = [node for node, (was, now) in pairs.items() if was != now]
        if differing:
            was, now = pairs[differing[0]]
            found.append(f"{name} of {some_nodes(differing)} was {shortened(was, 80)} and is {shortened(now, 80)}")
    return found


def _value(plan: Plan, node: str, name: str, first: str) -> str:
    value = plan.nodes[node].values.get(name)
    if name == WAIVERS:
        value = [one for one in value or () if not _only_above(one.get("check"), first)]
    return json.dumps(value, sort_keys=True, default=str)


def _only_above(check: str | None, first: str) -> bool:
    """Whether a check is of layers from ``first`` on only."""
    layers = [layer for layer, checks in REGISTRY.items() if check in checks]
    return bool(layers) and not any(_below(layer, first) for layer in layers)


def _below(layer: str, first: str) -> bool:
    return LAYERS.index(layer) < LAYERS.index(first)
