# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which uplink is shut under load, by the operator: one of a leaf that has others, and whose rails reach rails of other leaves over the spines."""

from __future__ import annotations

import typing as t

from .types import NearCable, PodRail

Values = dict[str, t.Any]
# What leaf has it and its port, and the other end.
LINK = ("leaf", "port", "spine", "spine_port")


def failover_link(rails: t.Sequence[PodRail], uplinks: t.Mapping[str, t.Sequence[NearCable]]) -> Values:
    """The uplink as ``LINK``, or an empty mapping where the plan has none.

    rails: those of ``Plan.rails``; uplinks: by leaf its cables to spines, as the leaf has them.
    """
    # What bonds carry goes over either of their leaves, by a hash: nothing shows that it crossed an uplink of one of them.
    leaves = dict.fromkeys(rail["leaf"] for rail in rails if rail["address"] and not rail.get("members"))
    for leaf in sorted(leaf for leaf in leaves if len(leaves) > 1 and leaf is not None):
        cables = uplinks.get(leaf, ())
        # A member of a port-channel is no path of its own: without it the others carry its flows, and no route changes.
        alone = next((cable for cable in cables if not cable.get("channel")), None)
        if alone is not None and len({cable["peer"] for cable in cables}) > 1:
            return {"leaf": leaf, "port": alone["port"], "spine": alone["peer"], "spine_port": alone["peer_port"]}
    return {}


def failover_pairs(rails: t.Sequence[PodRail], leaf: str) -> list[tuple[PodRail, PodRail]]:
    """A rail of each host on a leaf, and a rail of another host on another leaf: whatever they exchange crosses an uplink of that leaf.

    rails: those of ``Plan.rails`` of the hosts that take part.
    """
    rails = [rail for rail in rails if rail["address"] and rail["netdev"]]
    near = list({rail["host"]: rail for rail in reversed(rails) if rail["leaf"] == leaf}.values())[::-1]
    pairs = []
    for number, source in enumerate(near):
        far = [rail for rail in rails if rail["leaf"] != leaf and rail["host"] != source["host"]]
        if far:
            pairs.append((source, far[number % len(far)]))
    return pairs
