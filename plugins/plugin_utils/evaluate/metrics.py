# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics: the numbers of a run that are worth remembering, and which of them are far from the others of their kind.

metrics.yml declares them: of which reading's column a number is, ``of`` which place (see row_places.py; rows of one place give their
median), which side is better, and the tolerance: ``percent`` of the reference, ``by`` so many units, or both, and then both must be
passed. ``beside`` are columns without which a number means something else; it is compared with numbers of the same only. ``alike`` are
what the numbers that should be about equal have in common; without it none are.
"""

from __future__ import annotations

import fnmatch
import functools
import statistics
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..text.yaml_text import from_yaml
from .row_places import Axis, Row, RowPlaces

# Iglewicz and Hoaglin (1993): a modified z-score beyond 3.5 is an outlier; 0.6745 makes the MAD a standard deviation.
MAX_Z, MAD_TO_SIGMA = 3.5, 0.6745
# Fewer do not make a crowd.
MIN_PEERS = 8

RowsByNode = t.Mapping[str, t.Mapping[str, t.Sequence[Row]]]


@dataclass(frozen=True)
class Metric:
    """One kind of number, as metrics.yml declares it."""

    name: str
    layer: str
    reading: str
    value: str
    unit: str
    of: tuple[Axis, ...]
    better: str
    tolerance: dict[str, float]
    only: dict[str, str] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    alike: tuple[Axis, ...] | None = None

    def worse(self, value: float, reference: float) -> bool:
        """Whether a value is on the bad side of its reference by more than the tolerance."""
        off = reference - value if self.better == "high" else value - reference
        limits = [abs(reference) * self.tolerance["percent"] / 100] if "percent" in self.tolerance else []
        return off > max([*limits, *([self.tolerance["by"]] if "by" in self.tolerance else [])])


@dataclass(frozen=True)
class MetricValue:
    """One number of a run: where it is of, which node reported it, what it stands beside, and the kind of its likes (None: it has none)."""

    metric: str
    place: str
    node: str
    value: float
    beside: dict[str, t.Any] = field(default_factory=dict)
    kind: str | None = None


@functools.cache
def metrics() -> dict[str, Metric]:
    """Every declared metric by name."""
    raw = from_yaml(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    return {name: _metric(name, spec) for name, spec in raw.items()}


def _metric(name: str, spec: dict[str, t.Any]) -> Metric:
    tupled: dict[str, t.Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in spec.items()}
    return Metric(name=name, **tupled)


def metric_values(places: RowPlaces, layer: str, rows_of: RowsByNode) -> list[MetricValue]:
    """The numbers of a layer, from the rows of its nodes: ``{node: {reading: rows}}``."""
    found = []
    for metric in metrics().values():
        gathered: dict[str, list[tuple[str, Row]]] = {}
        for node, readings in rows_of.items() if metric.layer == layer else ():
            for row in readings.get(metric.reading, ()):
                if row.get(metric.value) is not None and all(fnmatch.fnmatchcase(str(row.get(key)), like) for key, like in metric.only.items()):
                    gathered.setdefault(place_in_words(places, metric.of, node, row), []).append((node, row))
        found += [_number(places, metric, place, rows) for place, rows in gathered.items()]
    return found


def place_in_words(places: RowPlaces, axes: t.Iterable[Axis], node: str, row: Row) -> str:
    """The place that a row's number is of, such as ``gpu01 mlx5_0 1048576``."""
    words = (places.at(axis, node, row) for axis in axes)
    return " ".join(str(word) for word in words if word is not None)


def _number(places: RowPlaces, metric: Metric, place: str, rows: list[tuple[str, Row]]) -> MetricValue:
    node, first = rows[0]
    kind = None if metric.alike is None else place_in_words(places, metric.alike, node, first)
    value = statistics.median(row[metric.value] for _node, row in rows)
    return MetricValue(metric.name, place, node, float(f"{value:.6g}"), {column: first.get(column) for column in metric.beside}, kind)


@dataclass(frozen=True)
class Outlier:
    """A number far from the others of its kind, on the bad side: its median and its modified z-score."""

    number: MetricValue
    median: float
    z: float


def outliers(found: t.Iterable[MetricValue]) -> list[Outlier]:
    """The numbers that stand out of their kind by median and MAD and by more than the tolerance, the farthest first."""
    kinds: dict[tuple[str, str], list[MetricValue]] = {}
    for number in found:
        if number.kind is not None:
            kinds.setdefault((number.metric, number.kind), []).append(number)
    outlying = []
    for (name, _kind), kind in kinds.items():
        middle = statistics.median(one.value for one in kind)
        # Where more than half are equal the MAD is 0 and any difference is infinitely far: the tolerance decides then.
        mad = statistics.median(abs(one.value - middle) for one in kind)
        for one in kind if len(kind) >= MIN_PEERS else ():
            z = MAD_TO_SIGMA * abs(one.value - middle) / mad if mad else float("inf")
            if z > MAX_Z and metrics()[name].worse(one.value, middle):
                outlying.append(Outlier(one, middle, z))
    return sorted(outlying, key=lambda one: (-one.z, one.number.place))
