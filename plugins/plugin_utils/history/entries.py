# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is added to a history at once, as typed rows."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

RUN, NODE_CHECK, PATROL = "run", "node_check", "patrol"


class Outcome(t.NamedTuple):
    """The worst verdict of a node at a layer."""

    layer: str
    node: str
    verdict: str


class FindingRow(t.NamedTuple):
    """A finding that is not a pass; place: the port, rail, GPU or lane."""

    layer: str
    check: str
    node: str
    place: str
    verdict: str
    expected: str
    actual: str


class Number(t.NamedTuple):
    """A number that was measured, and the limits that it was judged by; port: empty where it is no port's."""

    metric: str
    node: str
    port: str
    place: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None


class Part(t.NamedTuple):
    """What a node is made of: ``software``, ``gpu``, ``optic`` or ``cable`` at a place."""

    node: str
    kind: str
    place: str
    value: str


@dataclass(frozen=True)
class Entry:
    """What one run, node check or patrol found; time: when it ended, in seconds since the epoch; the others as the table ``entry`` has them."""

    pod: str
    source: str
    name: str
    node: str
    time: int
    version: str
    verdict: str
    digest: str
    outcomes: list[Outcome] = field(default_factory=list)
    findings: list[FindingRow] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)


def worst_by_node(verdicts: t.Iterable[tuple[str, str, str]]) -> list[Outcome]:
    """The worst verdict of each node at each layer, of (layer, node, verdict); skipped checks judge nothing."""
    order = ("pass", "warn", "unknown", "fail")
    worst: dict[tuple[str, str], int] = {}
    for layer, node, verdict in verdicts:
        if verdict in order:
            worst[layer, node] = max(worst.get((layer, node), 0), order.index(verdict))
    return [Outcome(layer, node, order[number]) for (layer, node), number in worst.items()]
