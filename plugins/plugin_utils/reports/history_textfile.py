# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's history for Prometheus, in the text format of ``textfile.py``: risk, repeats, growth and the days on which limits are reached."""

from __future__ import annotations

import typing as t

from ..history.findings import Findings
from .textfile import Labels, Sample, metric_text

# Of each counter the places that grew fastest: a series a port of a large pod would be too many.
MOST_GROWN = 100


def render_history_textfile(found: Findings) -> str:
    """Every metric with its help and type."""
    pod = {"pod": found.pod}
    return "".join(
        (
            metric_text("history_entries", "Runs, node checks and patrols in the history.", [(pod, found.entries)]),
            metric_text("history_time_seconds", "When the history was evaluated, in seconds since the epoch.", [(pod, found.now)]),
            metric_text("node_risk", "The probability that a node has become bad since it was last well.", _risks(found, pod)),
            metric_text("node_bad", "Whether a node was bad when it was last judged.", [({**pod, "node": one.node}, one.bad) for one in found.nodes.values()]),
            metric_text("node_times_bad", "How often a node became bad within the days that are looked back on.", _times(found, pod)),
            metric_text("counter_times_grown", "How often a counter of errors that had stood still for a day began to grow.", _repeated(found, pod)),
            metric_text("limit_reached_seconds", "When a number is expected to reach its limit, in seconds since the epoch.", _limits(found, pod)),
            metric_text("limit_crossed_seconds", "Since when a number is beyond its limit on every day, in seconds since the epoch.", _crossed(found, pod)),
            metric_text("growth_per_hour", "How fast a counter of a port, NIC or GPU grew in the last week; the fastest of each kind.", _grown(found, pod)),
        )
    )


def _risks(found: Findings, pod: Labels) -> t.Iterator[Sample]:
    for one in found.risks:
        yield {**pod, "node": one.node}, one.probability


def _times(found: Findings, pod: Labels) -> t.Iterator[Sample]:
    for one in found.nodes.values():
        if times := len(one.begun(found.since)):
            yield {**pod, "node": one.node}, times


def _repeated(found: Findings, pod: Labels) -> t.Iterator[Sample]:
    for one in found.repeated:
        yield {**pod, "metric": one.metric, "place": one.place}, one.times


def _limits(found: Findings, pod: Labels) -> t.Iterator[Sample]:
    for one in found.trends:
        if one.crossing:
            labels = {**pod, "metric": one.metric, "place": one.place}
            yield {**labels, "bound": "earliest"}, one.crossing.earliest
            yield {**labels, "bound": "expected"}, one.crossing.expected
            if one.crossing.latest is not None:
                yield {**labels, "bound": "latest"}, one.crossing.latest


def _crossed(found: Findings, pod: Labels) -> t.Iterator[Sample]:
    for one in found.trends:
        if one.crossed:
            yield {**pod, "metric": one.metric, "place": one.place}, one.crossed.since


def _grown(found: Findings, pod: Labels) -> t.Iterator[Sample]:
    counted: dict[str, int] = {}
    for one in found.grown:
        counted[one.metric] = counted.get(one.metric, 0) + 1
        if counted[one.metric] <= MOST_GROWN:
            yield {**pod, "metric": one.metric, "place": one.place}, one.per_hour
