# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pod's history comes to: one value, from which page, metrics and texts are rendered."""

from __future__ import annotations

import itertools
import typing as t
from dataclasses import dataclass

from ..evaluate.series import BOOTED
from .growth import COUNTERS, Counted, Growth, Repeated, counted, errors_seen, grown, repeated
from .past import Change, Past, Suspect, Turn, changes, offenders, pasts, suspects, turns
from .risk import Risk, risks
from .store import History
from .times import DAY_SECONDS
from .trends import Crossing, Point, Trend, trend_of

WEEK_SECONDS = 7 * DAY_SECONDS


@dataclass(frozen=True)
class Findings:
    """What is known of a pod at a time; each list begins with what matters most."""

    pod: str
    now: float
    since: float
    entries: int
    first: int | None
    nodes: dict[str, Past]
    offenders: list[Past]
    trends: list[Trend]
    grown: list[Growth]
    repeated: list[Repeated]
    turns: list[Turn]
    changes: list[Change]
    suspects: list[Suspect]
    risks: list[Risk]


def findings_of(
    history: History, pod: str, now: float, days: float, nodes: t.Iterable[str] = (), proof: t.Container[str] | None = None,
    use_hours: t.Mapping[str, float] | None = None,
) -> Findings:  # fmt: skip
    """What a history says of a pod.

    days: how far back offenders, turns and changes count; nodes: those to be ranked by risk, all known ones where there are none; proof: as
    ``pasts`` takes it; use_hours: as ``risks`` takes it.
    """
    since = now - days * DAY_SECONDS
    known = pasts(history, pod, proof)
    changed = changes(history, pod)
    turned = turns(known, changed, since)
    recent = [one for one in changed if one.time >= since]
    exchanged = _exchanges(changed)
    counters = list(counted(history, pod, since))
    series = itertools.chain(_series(history, pod, since), map(_rate, counters))
    trends = [one for metric, place, points in series if (one := trend_of(metric, place.name, _since_exchange(points, place, exchanged)))]
    (count,) = history.rows("SELECT COUNT(*) AS entries, MIN(time) AS first FROM entry WHERE pod = ?", pod)
    return Findings(
        pod, now, since, count["entries"], count["first"], known, offenders(known, since), sorted(trends, key=_soonest),
        grown(counters, now - WEEK_SECONDS), repeated(counters), turned, recent, suspects(recent, turned),
        risks(nodes or known, known, now, use_hours, errors_seen(counters)),
    )  # fmt: skip


def ranked(history: History, pod: str, now: float, days: float, nodes: t.Iterable[str], proof: t.Container[str]) -> list[tuple[Risk, Past | None]]:
    """Some nodes with their risk and past, the riskiest first; days and proof: as ``findings_of`` takes them."""
    known = pasts(history, pod, proof)
    found = risks(nodes, known, now, errors=errors_seen(counted(history, pod, now - days * DAY_SECONDS)))
    return [(one, known.get(one.node)) for one in found]


def _soonest(one: Trend) -> tuple[bool, float, str, str]:
    ends: Crossing | None = one.crossing
    when = one.crossed.since if one.crossed else ends.expected if ends else None
    return when is None, when or 0.0, one.metric, one.place


def _exchanges(changed: t.Iterable[Change]) -> dict[tuple[str, str], int]:
    """When a part of a node's port was exchanged last, and under the port ``""`` when a part of the node itself was."""
    return {(one.node, one.place if one.kind in ("optic", "cable") else ""): one.time for one in changed}


def _since_exchange(points: t.Iterable[Point], place: _Place, exchanged: t.Mapping[tuple[str, str], int]) -> t.Iterator[Point]:
    """The numbers since the parts of their place are what they are: a line over an exchange would be of two things."""
    since = max(exchanged.get((place.node, place.port), 0), exchanged.get((place.node, ""), 0))
    return (one for one in points if one.time >= since)


class _Place(t.NamedTuple):
    """Whose a number is."""

    node: str
    port: str
    name: str


def _series(history: History, pod: str, since: float) -> t.Iterator[tuple[str, _Place, list[Point]]]:
    """The numbers of each place since a time, oldest first, but those of counters."""
    rows = history.rows(
        "SELECT metric, number.node, port, place, value, low, high, entry.time FROM number JOIN entry ON entry.id = number.entry"
        " WHERE entry.pod = ? AND entry.time >= ? ORDER BY metric, place, entry.time", pod, since,
    )  # fmt: skip
    for (metric, name), own in itertools.groupby(rows, lambda row: (row["metric"], row["place"])):
        points = list(own)
        if metric not in (*COUNTERS, BOOTED):
            last = points[-1]
            yield metric, _Place(last["node"], last["port"], name), [Point(row["time"], row["value"], row["low"], row["high"]) for row in points]


def _rate(one: Counted) -> tuple[str, _Place, list[Point]]:
    """What a counter of a place grows by an hour, day by day."""
    return f"{one.metric}_per_hour", _Place(one.node, one.port, one.place), one.by_day()
