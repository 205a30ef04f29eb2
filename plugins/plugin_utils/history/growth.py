# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By how much counters grew, where, and between which readings.

Two successive readings of a place give an interval. There is none where the counter went back or the node booted between them: what it grew by is not
known then, and is neither nothing nor less than that. A run ends long after it has read a counter, and a host's own check may read it meanwhile; so each
of the two is compared with its own kind only, and those of runs count for the times of which the host itself noted nothing.
"""

from __future__ import annotations

import bisect
import itertools
import typing as t
from dataclasses import dataclass

from ..evaluate.series import BOOTED, all_series
from .entries import NODE_CHECK
from .store import History
from .times import DAY_SECONDS, HOUR_SECONDS
from .trends import Point

COUNTERS = tuple(name for name, one in all_series().items() if one.counter)
# A counter that grows, stands still for a day, and grows again has grown twice.
REPEATED = 2
# When a node booted is its clock less its uptime: a clock that is set differs by less.
BOOT_SECONDS = 120.0


class Interval(t.NamedTuple):
    """What a counter grew by between two readings, whose times are in seconds since the epoch."""

    since: float
    until: float
    grown: float

    @property
    def hours(self) -> float:
        """How long it was."""
        return (self.until - self.since) / HOUR_SECONDS


@dataclass(frozen=True)
class Counted:
    """A counter of one place, with its intervals, oldest first; usual: it grows where nothing is broken, too."""

    metric: str
    node: str
    port: str
    place: str
    usual: bool
    intervals: tuple[Interval, ...]

    def by_day(self) -> list[Point]:
        """Its growth per hour on each day, oldest first; an interval is of the day on which it ends."""
        days: dict[int, list[Interval]] = {}
        for one in self.intervals:
            days.setdefault(int(one.until // DAY_SECONDS), []).append(one)
        return [Point(own[-1].until, sum(one.grown for one in own) / sum(one.hours for one in own)) for _day, own in sorted(days.items())]

    def begun(self) -> list[float]:
        """When it began to grow: on a day on which it grew, after none or a day on which it did not."""
        days = self.by_day()
        return [day.time for last, day in zip([None, *days], days) if day.value and not (last and last.value)]


class Growth(t.NamedTuple):
    """How much a counter of a place grew, and in how many hours."""

    metric: str
    place: str
    grown: float
    hours: float

    @property
    def per_hour(self) -> float:
        """Its growth per hour."""
        return self.grown / self.hours


class Repeated(t.NamedTuple):
    """A counter of a place that grew again and again; times: how often it began to, last: when it did last, in seconds since the epoch."""

    metric: str
    place: str
    times: int
    last: float


def counted(history: History, pod: str, since: float) -> t.Iterator[Counted]:
    """The counters of every place that were read at least twice since a time."""
    # CROSS JOIN has SQLite begin with the numbers of the metric: the index of numbers has the place before the entry.
    boots = history.rows(
        "SELECT entry, number.node, value FROM number CROSS JOIN entry ON entry.id = number.entry WHERE entry.pod = ? AND entry.time >= ? AND metric = ?",
        pod, since, BOOTED,
    )  # fmt: skip
    booted = {(row["entry"], row["node"]): row["value"] for row in boots}
    rows = history.rows(
        "SELECT metric, number.node, port, place, value, entry, entry.time, entry.source FROM number JOIN entry ON entry.id = number.entry"
        f" WHERE entry.pod = ? AND entry.time >= ? AND metric IN ({', '.join('?' * len(COUNTERS))}) ORDER BY metric, place, entry.time, entry.id",
        pod, since, *COUNTERS,
    )  # fmt: skip
    for (metric, place), own in itertools.groupby(rows, lambda row: (row["metric"], row["place"])):
        read = [{**row, "booted": booted.get((row["entry"], row["node"]))} for row in own]
        checks, runs = ([*_intervals(row for row in read if (row["source"] == NODE_CHECK) is noted)] for noted in (True, False))
        if intervals := sorted([*checks, *_beside(checks, runs)]):
            yield Counted(metric, read[-1]["node"], read[-1]["port"], place, all_series()[metric].usual, tuple(intervals))


def _intervals(read: t.Iterable[dict[str, t.Any]]) -> t.Iterator[Interval]:
    for before, after in itertools.pairwise(read):
        boots = (before["booted"], after["booted"])
        alike = None in boots or abs(boots[1] - boots[0]) <= BOOT_SECONDS
        if alike and after["value"] >= before["value"] and after["time"] > before["time"]:
            yield Interval(before["time"], after["time"], after["value"] - before["value"])


def _beside(checks: t.Sequence[Interval], runs: t.Iterable[Interval]) -> t.Iterator[Interval]:
    """The intervals of runs that overlap none of the host's own checks."""
    starts = [one.since for one in checks]
    for one in runs:
        before = bisect.bisect_left(starts, one.until)
        if not before or checks[before - 1].until <= one.since:
            yield one


def grown(found: t.Iterable[Counted], since: float) -> list[Growth]:
    """The counters that grew since a time: those first that do not where nothing is broken, then the fastest of each."""
    rows = []
    for one in found:
        recent = [own for own in one.intervals if own.until >= since]
        if total := sum(own.grown for own in recent):
            rows.append((one.usual, Growth(one.metric, one.place, total, sum(own.hours for own in recent))))
    return [row for _usual, row in sorted(rows, key=lambda row: (row[0], row[1].metric, -row[1].per_hour, row[1].place))]


def repeated(found: t.Iterable[Counted]) -> list[Repeated]:
    """The counters that grew again and again and do not where nothing is broken, the most frequent first."""
    rows = [Repeated(one.metric, one.place, len(one.begun()), one.begun()[-1]) for one in found if not one.usual and len(one.begun()) >= REPEATED]
    return sorted(rows, key=lambda one: (-one.times, one.metric, one.place))


def errors_seen(found: t.Iterable[Counted]) -> dict[str, list[float]]:
    """By node, when counters that do not grow where nothing is broken were seen to have grown."""
    seen: dict[str, list[float]] = {}
    for one in found:
        if not one.usual:
            seen.setdefault(one.node, []).extend(own.until for own in one.intervals if own.grown)
    return seen
