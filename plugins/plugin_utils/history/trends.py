# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether numbers of one place move towards a limit, and when they would reach it, or since when they are beyond it, whether they move or not.

A straight line is fitted to the median of each day, by least squares. There is a day for a limit only where the line is better than chance: at least
MIN_DAYS days over MIN_SPAN_DAYS, no part of the place exchanged meanwhile, and a slope whose 95 % interval (Student's t) does not contain 0. The day
is an interval too: where the limit meets the 95 % band of the line. Nothing is said about a time that is farther ahead than the numbers reach
back, since a line that held for a month says little about a year.
"""

from __future__ import annotations

import math
import statistics
import typing as t
from dataclasses import dataclass

from .times import DAY_SECONDS

MIN_DAYS, MIN_SPAN_DAYS = 8, 10.0
# Student's t at 97.5 %, by degrees of freedom; beyond the table that of the last row below.
T_975 = {6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 12: 2.179, 14: 2.145, 16: 2.120, 18: 2.101, 20: 2.086, 25: 2.060, 30: 2.042, 40: 2.021, 60: 2.000}
# Of a rate of errors the exponent moves in a line.
LOGARITHMIC = ("pre_fec_ber",)


class Point(t.NamedTuple):
    """One number; time: seconds since the epoch."""

    time: float
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Crossing:
    """When a limit is reached, in seconds since the epoch; latest: None where it may not be reached within what can be said."""

    limit: float
    earliest: float
    expected: float
    latest: float | None


class Crossed(t.NamedTuple):
    """A limit that the median of the last day is beyond; since: the first day from which every one was, in seconds since the epoch."""

    limit: float
    since: float


class Slope(t.NamedTuple):
    """The slope of a line that is better than chance, with its 95 % interval; of a logarithmic metric in decades."""

    per_day: float
    least: float
    most: float


@dataclass(frozen=True)
class Trend:
    """Where the numbers of a place go; slope: None where no line is better than chance, and then they are beyond the limit of ``crossed``."""

    metric: str
    place: str
    days: int
    last: float
    slope: Slope | None
    crossing: Crossing | None
    crossed: Crossed | None


@dataclass(frozen=True)
class Line:
    """A fitted line: value = level + slope * (time - middle); spread: of the residuals, over so many points of this sum of squared times."""

    level: float
    slope: float
    middle: float
    spread: float
    count: int
    squares: float

    @property
    def t(self) -> float:
        """Student's t for its 95 % intervals."""
        known = [freedom for freedom in T_975 if freedom <= self.count - 2]
        return T_975[max(known)]

    @property
    def slope_error(self) -> float:
        """Half of the slope's 95 % interval."""
        return self.t * self.spread / math.sqrt(self.squares)

    def at(self, time: float, side: float = 0.0) -> float:
        """Its value at a time; side: -1 or 1 for the lower or upper edge of its 95 % band."""
        half = self.t * self.spread * math.sqrt(1 / self.count + (time - self.middle) ** 2 / self.squares)
        return self.level + self.slope * (time - self.middle) + side * half


def daily(points: t.Iterable[Point]) -> list[Point]:
    """The median of each day (UTC), at the median of its times, with the last limits of that day."""
    days: dict[int, list[Point]] = {}
    for point in points:
        days.setdefault(int(point.time // DAY_SECONDS), []).append(point)
    middle = statistics.median
    return [Point(middle(one.time for one in own), middle(one.value for one in own), own[-1].low, own[-1].high) for _day, own in sorted(days.items())]


def fitted(points: t.Sequence[Point]) -> Line | None:
    """The line of some days in days; None where there are too few to say anything."""
    if len(points) < MIN_DAYS or points[-1].time - points[0].time < MIN_SPAN_DAYS * DAY_SECONDS:
        return None
    times, values = [one.time / DAY_SECONDS for one in points], [one.value for one in points]
    middle, level = statistics.fmean(times), statistics.fmean(values)
    squares = sum((time - middle) ** 2 for time in times)
    slope = sum((time - middle) * (value - level) for time, value in zip(times, values)) / squares
    rest = sum((value - level - slope * (time - middle)) ** 2 for time, value in zip(times, values))
    return Line(level, slope, middle, math.sqrt(rest / (len(points) - 2)), len(points), squares)


def trend_of(metric: str, place: str, points: t.Iterable[Point]) -> Trend | None:
    """The trend of a place's numbers, oldest first, since its parts are what they are; None where none is better than chance, and no limit is crossed."""
    points, logarithmic = list(points), metric in LOGARITHMIC
    days = daily(points)
    crossed = crossed_of(days)
    fitting = daily(_logarithms(points)) if logarithmic else days
    line = fitted(fitting)
    if line is None or abs(line.slope) <= line.slope_error:
        return Trend(metric, place, len(days), days[-1].value, None, None, crossed) if crossed else None
    last = fitting[-1]
    limit = last.low if line.slope < 0 else last.high
    crossing = None if limit is None else _crossing(line, fitting, limit)
    if crossing is not None and logarithmic:
        crossing = Crossing(10**crossing.limit, crossing.earliest, crossing.expected, crossing.latest)
    slope = Slope(line.slope, line.slope - line.slope_error, line.slope + line.slope_error)
    return Trend(metric, place, len(days), days[-1].value, slope, crossing, crossed)


def crossed_of(days: t.Sequence[Point]) -> Crossed | None:
    """The limit that the last day is beyond and since when each day was beyond one, of the medians of days, oldest first; None where it is beyond none."""
    found = None
    for day in reversed(days):
        limit = day.low if day.low is not None and day.value < day.low else day.high if day.high is not None and day.value > day.high else None
        if limit is None:
            break
        found = Crossed(limit if found is None else found.limit, day.time)
    return found


def _logarithms(points: t.Iterable[Point]) -> t.Iterator[Point]:
    for one in points:
        if one.value > 0:
            yield Point(one.time, math.log10(one.value), one.low and math.log10(one.low), one.high and math.log10(one.high))


def _crossing(line: Line, days: t.Sequence[Point], limit: float) -> Crossing | None:
    """When the line and the edges of its band reach a limit; None where that is too far ahead, or the limit is behind already."""
    now = days[-1].time / DAY_SECONDS
    horizon = now + (days[-1].time - days[0].time) / DAY_SECONDS
    side = math.copysign(1.0, line.slope)
    if (line.at(now) - limit) * side >= 0:
        return None
    expected = line.middle + (limit - line.level) / line.slope
    if expected > horizon:
        return None
    # The near edge reaches the limit between now and the expected day; the far edge after it, if at all before the horizon.
    early = now if (line.at(now, side) - limit) * side >= 0 else _reached(line, limit, side, now, expected)
    late = _reached(line, limit, -side, expected, horizon) if (line.at(horizon, -side) - limit) * side >= 0 else None
    return Crossing(limit, early * DAY_SECONDS, expected * DAY_SECONDS, None if late is None else late * DAY_SECONDS)


def _reached(line: Line, limit: float, side: float, before: float, after: float) -> float:
    """When an edge of the band reaches a limit, between two times on whose sides of it they are, to an hour."""
    direction = math.copysign(1.0, line.slope)
    while after - before > 1 / 24:
        middle = (before + after) / 2
        if (line.at(middle, side) - limit) * direction >= 0:
            after = middle
        else:
            before = middle
    return after
