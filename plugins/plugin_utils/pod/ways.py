# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports of a switch lead to each leaf over the fewest switches, by the wiring plan: the equal-cost paths that its routes must have."""

from __future__ import annotations

import typing as t
from collections import Counter

from .tiers import SPINE, above

# The switches at the other ends of each switch's cables, with the switch's port, in the order of the plan.
Links = t.Mapping[str, t.Sequence[tuple[str, str]]]
FAR = 1 << 30


def planes_of(links: Links, roles: t.Mapping[str, str]) -> dict[str, int]:
    """By leaf the plane that it is in, from 1 in the order of the switches: a part of the fabric with spines of its own that no cable joins to another.

    Empty where all spines are joined, or there are none.
    """
    parts: dict[str, int] = {}
    for first in links:
        waiting = [] if first in parts else [first]
        number = len(set(parts.values()))
        while waiting:
            switch = waiting.pop()
            if switch not in parts:
                parts[switch] = number
                waiting += [peer for peer, _port in links[switch]]
    spined = sorted({part for name, part in parts.items() if roles[name] == SPINE})
    return {name: spined.index(part) + 1 for name, part in parts.items() if len(spined) > 1 and part in spined and roles[name] == "leaf"}


def spines_of_plane(switch: str, links: Links, roles: t.Mapping[str, str]) -> list[str]:
    """The spines that a leaf's plane has: those that its cables lead to, over any number of leaves; of a spine so the super-spines."""
    own = roles[switch]
    found, waiting = {switch}, [switch]
    while waiting:
        for peer, _port in links[waiting.pop()]:
            if peer not in found and roles[peer] in (own, above(own)):
                found.add(peer)
                waiting.append(peer)
    return sorted(name for name in found if roles[name] == above(own))


class Ways:
    """The ways between the switches of a plan.

    Leaves that are cabled to the same switches are reached alike, so that the distance to these is counted once for all of them.
    """

    def __init__(self, links: Links, leaves: t.Sequence[str]) -> None:
        """links: of every switch; leaves: those to which ways are asked for."""
        self._links, self._leaves = links, leaves
        self._distances: dict[frozenset[str], dict[str, int]] = {}

    def from_switch(self, switch: str) -> dict[str, list[str]]:
        """By leaf the ports of a switch that lead to it; a leaf that no way leads to is left out."""
        found: dict[str, list[str]] = {}
        # Of the leaves that are cabled alike, those that are no neighbor of this switch share one list.
        alike: dict[frozenset[str], list[str]] = {}
        beside = Counter(peer for peer, _port in self._links[switch])
        for leaf in self._leaves:
            if leaf == switch:
                continue
            above = frozenset(peer for peer, _port in self._links[leaf])
            if beside[leaf]:
                found[leaf] = [port for peer, port in self._links[switch] if peer == leaf]
                continue
            if above not in alike:
                alike[above] = self._towards(switch, above)
            if alike[above]:
                found[leaf] = alike[above]
        return found

    def _towards(self, switch: str, above: frozenset[str]) -> list[str]:
        """The ports that lead a switch nearer to some others."""
        distances = self._distance_to(above)
        own = distances.get(switch, FAR)
        return [port for peer, port in self._links[switch] if distances.get(peer, FAR) < own]

    def _distance_to(self, targets: frozenset[str]) -> dict[str, int]:
        """How many cables each switch is from the nearest of some others."""
        if targets not in self._distances:
            found, edge = dict.fromkeys(targets, 0), list(targets)
            while edge:
                beyond = []
                for switch in edge:
                    for peer, _port in self._links[switch]:
                        if peer not in found:
                            found[peer] = found[switch] + 1
                            beyond.append(peer)
                edge = beyond
            self._distances[targets] = found
        return self._distances[targets]
