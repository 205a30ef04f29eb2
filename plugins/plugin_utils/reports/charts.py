# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts: what is drawn of a run's rows, as plain data for the page. Which chart draws what is in charts.yml.

A chart has a title, a reading, a value with its unit, and one of these ways to draw it:

- ``histogram``: how many rows have which value, in steps of ``step``, apart by ``series``.
- ``heat_map``: one cell an x and a y, the worst (``worst``: min or max) of its rows; with ``growth`` what a counter grew by in a layer's loads.
- ``curve``: the worst value by x, one line a ``series``.
- ``over_time``: rows of the phase ``during`` by their seconds, one line a ``series``; with ``growth`` what a counter grew between samples.

An axis or a series is what evaluate/row_places.py knows. ``layer`` takes the rows of one layer only, ``only`` those whose columns match patterns;
``expected`` names a ``pod_*`` that is drawn as a line.
"""

from __future__ import annotations

import fnmatch
import functools
import math
import statistics
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..evaluate.row_places import Axis, RowPlaces
from ..readings.rows import Row
from ..run.reader import RunReader
from ..text.yaml_text import from_yaml

Drawn = dict[str, t.Any]
MOST_LINES = 12


@dataclass(frozen=True)
class Chart:
    """One chart as charts.yml declares it."""

    name: str
    title: str
    reading: str
    draw: str
    value: str
    unit: str
    worst: str
    note: str = ""
    x: Axis | None = None
    y: Axis | None = None
    series: Axis | None = None
    step: float = 1.0
    log_x: bool = False
    growth: bool = False
    x_unit: str = ""
    expected: str | None = None
    layer: str | None = None
    only: dict[str, str] = field(default_factory=dict)

    def takes(self, row: Row) -> bool:
        """Whether a row has a value and is of what is drawn."""
        wanted = all(fnmatch.fnmatchcase(str(row.get(column)), pattern) for column, pattern in self.only.items())
        return wanted and row.get(self.value) is not None


@functools.cache
def charts() -> tuple[Chart, ...]:
    """Every declared chart."""
    raw = from_yaml(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    return tuple(Chart(name=name, **spec) for name, spec in raw.items())


def draw(kept: RunReader, declared: t.Sequence[Chart] | None = None) -> list[Drawn]:
    """Every chart that the run has rows for, in the order of their declaration."""
    declared = charts() if declared is None else declared
    rows_by_reading: dict[tuple[str, str], list[tuple[str, str, Row]]] = {}
    for layer, node, phase, reading, rows in kept.rows({chart.reading for chart in declared}):
        if phase in ("", "during", "idle"):
            rows_by_reading.setdefault((reading, phase), []).extend((layer, node, row) for row in rows)
    drawn = []
    for chart in declared:
        over_time = chart.draw == "over_time"
        own, idle = (_rows_of(chart, rows_by_reading.get((chart.reading, phase), [])) for phase in ("during" if over_time else "", "idle"))
        if chart.growth and not over_time:
            own = _grown(chart, idle, own)
        if own and (body := WAYS[chart.draw](chart, RowPlaces(kept.plan()), own)):
            values = next(iter(kept.plan().nodes.values())).values
            expected = values.get(chart.expected) if chart.expected else None
            head = {"name": chart.name, "title": chart.title, "draw": chart.draw, "unit": chart.unit, "worst": chart.worst, "note": chart.note}
            drawn.append({**head, "expected": expected if isinstance(expected, (int, float)) else None, **body})
    return drawn


def _rows_of(chart: Chart, rows: list[tuple[str, str, Row]]) -> list[tuple[str, Row]]:
    return [(node, row) for layer, node, row in rows if chart.layer in (None, layer) and chart.takes(row)]


def _grown(chart: Chart, idle: list[tuple[str, Row]], rows: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """The rows that were read before the loads too, with what their value grew by; not those that went back."""
    before = {(node, *_apart(chart, row)): row[chart.value] for node, row in idle}
    both = [(node, row, row[chart.value] - before[key]) for node, row in rows if (key := (node, *_apart(chart, row))) in before]
    return [(node, {**row, chart.value: grown}) for node, row, grown in both if grown >= 0]


def _apart(chart: Chart, row: Row) -> list[tuple[str, str]]:
    """All of a row but its value."""
    return sorted((column, str(cell)) for column, cell in row.items() if column != chart.value)


def _number(value: float) -> float:
    """Four significant digits: what a picture shows."""
    return float(f"{value:.4g}") if math.isfinite(value) else 0.0


def _histogram(chart: Chart, places: RowPlaces, rows: list[tuple[str, Row]]) -> Drawn:
    counted: dict[str, dict[int, int]] = {}
    for node, row in rows:
        name = str(places.at(chart.series, node, row))
        bins = counted.setdefault(name, {})
        number = math.floor(row[chart.value] / chart.step)
        bins[number] = bins.get(number, 0) + 1
    numbers = {number for bins in counted.values() for number in bins}
    span = range(min(numbers), max(numbers) + 1)
    if len(span) > 400:
        return {}
    worst = sorted(rows, key=lambda one: one[1][chart.value], reverse=chart.worst == "max")[:10]
    return {
        "bins": [_number(number * chart.step) for number in span],
        "step": chart.step,
        "series": [{"name": name, "counts": [bins.get(number, 0) for number in span]} for name, bins in sorted(counted.items())],
        "worst_rows": [[node, str(row.get("port") or row.get("item") or ""), _number(row[chart.value])] for node, row in worst],
    }


def _heat_map(chart: Chart, places: RowPlaces, rows: list[tuple[str, Row]]) -> Drawn:
    cells: dict[tuple[t.Any, t.Any], float] = {}
    worst = min if chart.worst == "min" else max
    for node, row in rows:
        place = (places.at(chart.x, node, row), places.at(chart.y, node, row))
        if None not in place:
            cells[place] = worst(cells[place], row[chart.value]) if place in cells else row[chart.value]
    if not cells:
        return {}
    order = {name: number for number, name in enumerate(places.plan.nodes)}
    xs, ys = (sorted({place[side] for place in cells}, key=lambda one: (order.get(one, len(order)), str(one))) for side in (0, 1))
    at_x, at_y = ({one: number for number, one in enumerate(names)} for names in (xs, ys))
    return {"xs": xs, "ys": ys, "cells": [[at_x[x], at_y[y], _number(value)] for (x, y), value in cells.items()]}


def _curve(chart: Chart, places: RowPlaces, rows: list[tuple[str, Row]]) -> Drawn:
    lines: dict[str, dict[float, float]] = {}
    worst = min if chart.worst == "min" else max
    for node, row in rows:
        x = places.at(chart.x, node, row)
        if x is not None:
            points = lines.setdefault(str(places.at(chart.series, node, row)), {})
            points[x] = worst(points[x], row[chart.value]) if x in points else row[chart.value]
    series = [{"name": name, "points": [[x, _number(points[x])] for x in sorted(points)]} for name, points in sorted(lines.items())]
    return {"series": _few(series, chart), "log_x": chart.log_x, "x_unit": chart.x_unit} if series else {}


def _over_time(chart: Chart, places: RowPlaces, rows: list[tuple[str, Row]]) -> Drawn:
    lines: dict[tuple[str, str], dict[float, float]] = {}
    for node, row in rows:
        points = lines.setdefault((node, str(places.at(chart.series, node, row))), {})
        points[row["seconds"]] = points.get(row["seconds"], 0.0) + row[chart.value]
    series = []
    for (node, name), points in lines.items():
        ordered = sorted(points.items())
        if chart.growth:
            ordered = [(at, max(0.0, value - ordered[number][1])) for number, (at, value) in enumerate(ordered[1:])]
        series.append({"name": f"{node} {name}".strip(), "points": [[_number(at), _number(value)] for at, value in ordered]})
    return {"series": _few(series, chart), "log_x": False, "x_unit": "s"}


def _few(series: list[Drawn], chart: Chart) -> list[Drawn]:
    """The lines that are worst, and the median of the others as one line: a hundred lines cannot be distinguished."""
    if len(series) <= MOST_LINES:
        return series
    ranked = sorted(series, key=lambda one: (min if chart.worst == "min" else max)((y for _x, y in one["points"]), default=0.0), reverse=chart.worst == "max")
    others: dict[float, list[float]] = {}
    for one in ranked[MOST_LINES:]:
        for x, y in one["points"]:
            others.setdefault(x, []).append(y)
    middle = [[x, _number(statistics.median(ys))] for x, ys in sorted(others.items())]
    return [*ranked[:MOST_LINES], {"name": f"median of {len(ranked) - MOST_LINES} others", "points": middle}]


WAYS: dict[str, t.Callable[[Chart, RowPlaces, list[tuple[str, Row]]], Drawn]] = {
    "histogram": _histogram,
    "heat_map": _heat_map,
    "curve": _curve,
    "over_time": _over_time,
}
