# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What leads upwards from leaves and, where there are super-spines, from spines: how much it carries, who meets over it, and how many flows judge it."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass, field

from ..pod.names import rated
from ..pod.plan import Plan
from ..pod.tiers import SPINE
from .types import Incast

# Gb/s by leaf and spine.
Spines = t.Mapping[t.Any, t.Mapping[str, float]]
# The spines of a leaf: leaves that have the same are a scalable unit.
Unit = frozenset[str]
# So many flows a port leave none of them unused by chance.
FLOWS_TO_USE = 16


def flows_needed(uplinks: int) -> int:
    """How many flows show whether hashing over some uplinks is fair: 512 for 4, 4096 for 16; then the fullest of them has at most 1.2 of the mean."""
    return math.ceil(64 * uplinks * math.log2(uplinks)) if uplinks > 1 else uplinks


@dataclass(frozen=True)
class Core:
    """The third tier of a pod; without super-spines it is empty.

    units: by leaf its spines; supers: by spine its super-spines; cables, gbit_s: how many cables each spine has to these, and what they carry in Gb/s.
    """

    units: t.Mapping[str, Unit] = field(default_factory=dict)
    supers: t.Mapping[str, Unit] = field(default_factory=dict)
    cables: t.Mapping[str, int] = field(default_factory=dict)
    gbit_s: t.Mapping[str, float] = field(default_factory=dict)

    def unit(self, leaf: str) -> Unit:
        """The spines of a leaf."""
        return self.units.get(leaf, frozenset())

    def crosses(self, leaf: str, other: str) -> bool:
        """Whether what goes from one leaf to another goes over super-spines."""
        own, far = self.unit(leaf), self.unit(other)
        return own.isdisjoint(far) and not self._tops(own).isdisjoint(self._tops(far))

    def _tops(self, unit: Unit) -> frozenset[str]:
        return frozenset().union(*(self.supers[spine] for spine in unit))

    @property
    def super_spines(self) -> frozenset[str]:
        """All of them."""
        return frozenset().union(*self.supers.values())

    def carries(self, unit: Unit) -> float:
        """What leads from the spines of a unit to super-spines, in Gb/s."""
        return sum(self.gbit_s[spine] for spine in unit)

    def flows(self, leaf: str) -> int:
        """How many flows from the unit of a leaf use every uplink of its spines."""
        unit = self.unit(leaf)
        return FLOWS_TO_USE * len(unit) * max((self.cables[spine] for spine in unit), default=0)

    def narrow(self, pairs: t.Sequence[Incast], leaves: Spines, takes: t.Mapping[str, float]) -> float | None:
        """What each receiver of a round gets at least of what crosses super-spines, where these carry less than the leaves take; None where they do not.

        pairs: the tests of one round; leaves: Gb/s from each leaf to each spine; takes: by leaf, what its receivers take in that round.
        """
        crossing = [pair for pair in pairs if self.crosses(pair["sender"]["leaf"], pair["receiver"]["leaf"])]
        units = {self.unit(pair["receiver"]["leaf"]) for pair in crossing}
        carried = min((self.carries(self.unit(pair[end]["leaf"])) for pair in crossing for end in ("sender", "receiver")), default=0.0)
        shares = []
        for unit in units:
            into = {pair["receiver"]["leaf"] for pair in crossing if self.unit(pair["receiver"]["leaf"]) == unit}
            ends = {(pair["receiver"]["host"], pair["receiver"]["device"]) for pair in crossing if pair["receiver"]["leaf"] in into}
            if sum(min(takes[leaf], sum(leaves[leaf].values())) for leaf in into) > carried:
                shares.append(carried / len(ends))
        return min(shares, default=None)


def core_of(plan: Plan) -> Core:
    """The third tier of a plan."""
    if not plan.has_super_spines:
        return Core()
    units = {name: plan.uppers(name) for name, node in plan.nodes.items() if node.role == "leaf"}
    supers = {name: plan.uppers(name) for name, node in plan.nodes.items() if node.role == SPINE}
    up = {name: [near for near in (plan.near(name, cable) for cable in plan.at[name]) if near["peer"] in its] for name, its in supers.items()}
    gbit_s = {name: sum(rated(cable, plan.nodes[name].values["pod_link_gbit_s"]) for cable in cables) for name, cables in up.items()}
    return Core(units, supers, {name: len(cables) for name, cables in up.items()}, gbit_s)


def flows_over_core(pairs: t.Iterable[Incast], core: Core) -> tuple[dict[tuple[int, str], float], dict[tuple[int, str], float]]:
    """By round and spine, the flows that it sends to super-spines and that it gets from them, where each spine of a unit has its part."""
    out: dict[tuple[int, str], float] = {}
    into: dict[tuple[int, str], float] = {}
    for pair in pairs:
        ends = (pair["sender"]["leaf"], pair["receiver"]["leaf"])
        for leaf, counts in zip(ends, (out, into)) if core.crosses(*ends) else ():
            for spine in core.unit(leaf):
                counts[pair["round"], spine] = counts.get((pair["round"], spine), 0.0) + pair["qps"] / len(core.unit(leaf))
    return out, into
