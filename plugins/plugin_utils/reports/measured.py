# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers behind the checklist: of a check the worst with its place, the median, what was expected, and what the run before had.

measured.yml declares them: of which reading's column a number is, ``only`` the rows whose columns match patterns, ``largest`` only those of the largest
value of a column, ``of`` which place (see evaluate/row_places.py), ``worst`` which end is bad, and the ``limit`` that the check holds it to: a ``column`` of
the worst row, an ``expectation``, or a ``threshold`` that is computed of several.
"""

from __future__ import annotations

import fnmatch
import functools
import math
import statistics
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..evaluate.row_places import Axis, Row, RowPlaces
from ..loads.thresholds import known_node_busbw, longest_latency_us, longest_step_ms, minimum_busbw, minimum_gbit_s, within_tolerance
from ..run.documents import Measured
from ..run.reader import RunReader
from ..text.yaml_text import from_yaml

Values = Mapping[str, t.Any]
# A change of the median below this part of it is none.
SAME = 0.005
Own = Mapping[str, Sequence[Row]]
# Of the expectations of the node that reported a row, the row, and the node's rows of READ: what the row is held to.
THRESHOLDS: dict[str, t.Callable[[Values, Row, Own], float | None]] = {
    "all_reduce": lambda values, row, _own: minimum_busbw(len(row["job.hosts"]), values),
    "node_all_reduce": lambda values, _row, own: _of_host_alone(values, own),
    "write_bandwidth": lambda values, row, _own: minimum_gbit_s(
        ((values["pod_node"], row["job.device"]), (row["job.peer"], row["job.peer_device"])),
        values["pod_rail_gbit_s"],
        values["pod_write_bw_min_percent"],
        values["pod_write_bw_bidirectional"],
    ),
    "write_latency": lambda values, row, _own: longest_latency_us(row["job.path"], values["pod_write_lat_max_us"], values["pod_hop_us"]),
    "training_step": lambda values, _row, _own: (
        None if values["pod_step_seconds"] is None else longest_step_ms(values["pod_step_seconds"], values["pod_step_tolerance_percent"])
    ),
}
# What thresholds take besides: the names of a host's GPUs.
READ = ("collective_ranks",)


def _of_host_alone(values: Values, own: Own) -> float | None:
    device = next((row["device"] for row in own.get("collective_ranks", ()) if row["device"]), None)
    rate = known_node_busbw(device, values["pod_node_busbw_gbyte_s"], values["pod_node_busbw_by_gpu"])
    return None if rate is None or values["pod_gpus_per_host"] == 1 else within_tolerance(rate, values["pod_busbw_tolerance_percent"])


@dataclass(frozen=True)
class Declared:
    """The number of one check as measured.yml declares it."""

    check: str
    layer: str
    reading: str
    value: str
    unit: str
    of: tuple[Axis, ...]
    worst: str
    only: dict[str, str] = field(default_factory=dict)
    largest: str | None = None
    limit: dict[str, str] = field(default_factory=dict)

    def takes(self, row: Row) -> bool:
        """Whether a row has a number and is of what is judged."""
        number = row.get(self.value)
        return (
            isinstance(number, (int, float))
            and math.isfinite(number)
            and all(fnmatch.fnmatchcase(str(row.get(column)), pattern) for column, pattern in self.only.items())
        )


@functools.cache
def declared() -> tuple[Declared, ...]:
    """Every declared number."""
    raw = from_yaml(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    return tuple(Declared(check=check, **{**spec, "of": tuple(spec["of"])}) for check, spec in raw.items())


def readings() -> set[str]:
    """The readings that numbers are taken from, or held to."""
    return {*READ, *(one.reading for one in declared())}


def measured(kept: RunReader) -> dict[str, Measured]:
    """By ``layer/check``, the numbers that the run has rows for."""
    plan = kept.plan()
    places = RowPlaces(plan)
    values = {name: {**node.values, **plan.of_all(), "pod_node": name} for name, node in plan.nodes.items()}
    reported = kept.reported(readings())
    found = {}
    for one in declared():
        rows: list[tuple[str, Row]] = [(node, row) for node, own in reported.get(one.layer, {}).items() for row in own.get(one.reading, ()) if one.takes(row)]
        if one.largest is not None:
            rows = _of_largest(one, places, rows)
        if rows:
            found[f"{one.layer}/{one.check}"] = _measured(one, places, values, rows, reported[one.layer])
    return found


def _of_largest(one: Declared, places: RowPlaces, rows: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """Of each place the rows with the largest value of a column."""
    most: dict[str, float] = {}
    for node, row in rows:
        place = _place(one, places, node, row)
        most[place] = max(most.get(place, 0), row.get(one.largest or "") or 0)
    return [(node, row) for node, row in rows if row.get(one.largest or "") == most[_place(one, places, node, row)]]


def _measured(one: Declared, places: RowPlaces, values: Mapping[str, Values], rows: list[tuple[str, Row]], reported: Mapping[str, Own]) -> Measured:
    thresholds = [THRESHOLDS[one.limit["threshold"]](values[node], row, reported[node]) for node, row in rows] if "threshold" in one.limit else []
    # Where rows are held to thresholds of their own, the worst is the one that is worst for its threshold.
    known = [limit for limit in thresholds if limit]
    scale = known if len(known) == len(rows) else [1.0] * len(rows)
    worst = (min if one.worst == "min" else max)(range(len(rows)), key=lambda place: float(rows[place][1][one.value]) / scale[place])
    node, row = rows[worst]
    limit = row.get(one.limit.get("column", ""))
    if limit is None and "expectation" in one.limit:
        limit = values[node][one.limit["expectation"]]
    if limit is None and thresholds:
        limit = thresholds[worst]
    return {
        "worst": _rounded(row[one.value]),
        "place": _place(one, places, node, row),
        "median": _rounded(statistics.median(float(each[one.value]) for _node, each in rows)),
        "count": len(rows),
        "unit": one.unit,
        "bad": one.worst,
        "limit": None if limit is None else _rounded(limit),
        "before": None,
    }


def _place(one: Declared, places: RowPlaces, node: str, row: Row) -> str:
    words = (places.at(axis, node, row) for axis in one.of)
    return " ".join(str(word) for word in words if word is not None)


def _rounded(value: float) -> float:
    return float(f"{float(value):.4g}")


def beside_before(numbers: Mapping[str, Measured], before: Mapping[str, Measured]) -> dict[str, Measured]:
    """The numbers with the medians of the run before, where that measured the same."""
    return {
        check: {**own, "before": before[check]["median"]} if check in before and before[check]["unit"] == own["unit"] else own for check, own in numbers.items()
    }


def in_words(own: Measured) -> str:
    """``worst 388 Gb/s (gpu07 mlx5_4), median 392, at least 350; the median is 1.2 % higher than in the run before``, where it has changed."""
    limit = "" if own["limit"] is None else f", {'at least' if own['bad'] == 'min' else 'at most'} {own['limit']:g}"
    change = change_in_words(own)
    later = f"; the median is {change} than in the run before" if change else ""
    return f"worst {own['worst']:g} {own['unit']} ({own['place']}), median {own['median']:g}{limit}{later}"


def change_in_words(own: Measured) -> str:
    """``1.2 % higher``; empty where the run before measured none, or about the same."""
    before, now = own["before"], own["median"]
    if before is None or abs(now - before) <= SAME * abs(before):
        return ""
    # Of decibels a percentage says nothing, nor of what was nothing.
    by = f"{abs(now - before):.3g} {own['unit']}" if own["unit"] == "dBm" or not before else f"{100 * abs(now - before) / abs(before):.2g} %"
    return f"{by} {'higher' if now > before else 'lower'}"
