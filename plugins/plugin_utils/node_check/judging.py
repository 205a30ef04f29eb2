# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts of a host about itself, by the checks of a validation."""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import replace

from ..checks.needed_readings import needed_readings
from ..checks.registry import REGISTRY
from ..collect.queries import queries_for
from ..collect.responses import kept_rows, reading_result
from ..collect.types import CommandResult, Envelope, KeptReading, Query, ReadingResult
from ..evaluate.layer import verdicts_of_checks
from ..evaluate.layer_input import Layer
from ..evaluate.series import readings_of_hosts
from ..evaluate.verdicts import Verdict
from ..pod.plan import Plan
from .node_plan import NodePlan

# What a host can answer about itself without load and without its neighbors.
LAYERS = ("preflight", "links")


class Readings(t.NamedTuple):
    """What a host is asked for: the queries, and the readings that do not apply to it."""

    queries: list[Query]
    apart: dict[str, ReadingResult]


def own_readings(mine: NodePlan) -> Readings:
    """The readings of its layers that the host itself answers, and those of the series that its journal keeps."""
    place = mine.plan.nodes[mine.node]
    names = dict.fromkeys(
        name for layer in LAYERS for phase in ("before", "now") for name in needed_readings(layer, "host", place.values, phase)
    )  # fmt: skip
    names |= dict.fromkeys(readings_of_hosts(place.values["pod_fabric"]))
    # It reads no fabric for others.
    return Readings(*queries_for(names, {"platform": place.platform, "values": place.values, "items": mine.plan.items(mine.node, ())}))


def envelope(mine: NodePlan, asked: Readings, results: t.Mapping[str, list[CommandResult]], boot_id: str | None, uptime: float, at: float) -> Envelope:
    """The readings as a run keeps them, from what the host's commands gave; at: when, in seconds since the epoch."""
    platform = mine.plan.nodes[mine.node].platform
    read = {one.reading.name: _kept(one, reading_result(one, platform, results[one.reading.name])) for one in asked.queries}
    apart = {name: _reading(one) for name, one in asked.apart.items()}
    return {"answered": True, "words": "", "boot_id": boot_id, "uptime_seconds": uptime, "asked_at": at, "contacted": True, "readings": {**read, **apart}}


def _kept(query: Query, result: ReadingResult) -> KeptReading:
    return _reading(replace(result, rows=kept_rows(query.reading, result.rows)))


def _reading(result: ReadingResult) -> KeptReading:
    return {
        "status": result.status, "words": result.words, "rows": result.rows, "lost": result.lost, "evidence": None, "unparsed": result.unparsed,
        "error": result.error,
    }  # fmt: skip


def own_verdicts(mine: NodePlan, now: Envelope, before: Envelope | None, today: datetime.date) -> list[Verdict]:
    """The verdicts of the checks of one host, without those that compare hosts; before: an earlier reading of its counters, if there is one."""
    verdicts: list[Verdict] = []
    usual = {str(mine.plan.nodes[mine.node].group): mine.usual_driver}
    for name in LAYERS:
        plan = mine.plan if before is not None else _without_soak(mine)
        layer = Layer(
            name, plan, [mine.node], [mine.node], {mine.node: now}, {mine.node: before} if before else {}, {}, mine.waivers, today, usual_drivers=usual
        )
        verdicts += [one for one in verdicts_of_checks(layer) if one.host == mine.node and one.check not in _of_others(name)]
    return verdicts


def _of_others(layer: str) -> set[str]:
    return {one.id for one in REGISTRY[layer].values() if one.of_pod}


def _without_soak(mine: NodePlan) -> Plan:
    host = mine.plan.nodes[mine.node]
    quick = replace(host, values={**host.values, "pod_depth": "quick"})
    return Plan({**mine.plan.nodes, mine.node: quick}, mine.plan.groups, mine.plan.cables)
