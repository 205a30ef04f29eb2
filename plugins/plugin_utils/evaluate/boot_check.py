# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of boots: whether a node still runs as it did when the gates below were opened."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..checks import Finding
from ..checks.place import at_node
from ..collect.types import Envelope
from ..text.ranges import ranges
from .boots import TOLERANCE_SECONDS, began, boot_of, booted_since, earliest, recorded_boot
from .layer_input import Layer
from .verdicts import Verdict

BOOT_CHECK = "same_boot"
STATEMENT = "The node has not booted since a gate below was opened."
CAUSE = "The node was booted, or has crashed and come up again, while the run was under way or between two runs."
FIX = "Find out why it booted, then start from preflight: what the gates below proved is not proved of the node as it runs now."
# From so many nodes on, booted within TOLERANCE_SECONDS of another one, they have one cause.
MANY_BOOTS = 3
TOGETHER = (
    "{number} nodes booted within a minute of each other ({nodes}): one cause of all of them, and not of each. They share a power feed (a PDU, a breaker, a "
    "circuit of the room), somebody, an update or a controller booted them, or what ran on all of them made them crash."
)
TOGETHER_FIX = (
    "Look at the feed, PDU and breaker that these nodes share, and at who or what booted nodes at that time (show reboot-cause, show system reset-reason, the "
    "management controllers' logs, crash dumps); then start from preflight."
)


def verdicts_of_boots(
    layer: Layer, known: dict[str, dict[str, t.Any]], responses: t.Sequence[t.Mapping[str, Envelope]], by_hand: bool = False
) -> list[Verdict]:
    """A verdict of each member that has booted since a gate below was opened, or of which that is not known; the others' boots are recorded.

    known: each node's first boot as ``Boot.record`` gives it, to which those of new nodes are added;
    responses: the envelopes by node, of each phase and of each step of the loads; by_hand: text captured by hand has no boots.
    """
    found, times = [], {}
    for node in layer.members:
        reported = [boot for envelopes in responses if node in envelopes and (boot := boot_of(envelopes[node])) is not None]
        if not reported:
            continue
        first = known.setdefault(node, earliest(reported).record(layer.name))
        booted = booted_since(recorded_boot(first), reported)
        if booted is False or (booted is None and by_hand):
            continue
        since = f"booted since {first['layer']}"
        if booted and (at := began(reported)) is not None:
            times[node] = at
        words = since if booted else f"whether it {since} is not known: it reports neither a boot id nor an uptime"
        finding = Finding(at_node(node), f"no boot since {first['layer']}", words, "unknown")
        affects = tuple(sorted(layer.plan.affects(node)))
        found.append(
            Verdict(layer.name, BOOT_CHECK, layer.plan.nodes[node].group, node, "unknown", affects, STATEMENT, words, (finding,), cause=CAUSE, fix=FIX)
        )
    together = {node: cluster for cluster in _together(times) for node in cluster}
    return [_named_together(one, together[one.host]) if one.host in together else one for one in found]


def _together(times: t.Mapping[str, float]) -> list[list[str]]:
    """The nodes that booted at the same time, by when each of some did, where they are many."""
    clusters: list[list[str]] = []
    for node in sorted(times, key=times.__getitem__):
        if clusters and times[node] - times[clusters[-1][-1]] <= TOLERANCE_SECONDS:
            clusters[-1].append(node)
        else:
            clusters.append([node])
    return [cluster for cluster in clusters if len(cluster) >= MANY_BOOTS]


def _named_together(verdict: Verdict, nodes: list[str]) -> Verdict:
    return replace(verdict, cause=TOGETHER.format(number=len(nodes), nodes=ranges(sorted(nodes))), fix=TOGETHER_FIX)
