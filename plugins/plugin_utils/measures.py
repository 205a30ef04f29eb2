# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures: the numbers of a run that are worth remembering, and which of them are far from the others of their kind.

measures.yml declares them: of which reading's column a number is, ``of`` which place (see places.py; rows of one place give their
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

import yaml

from .places import Axis, Places, Row

# Iglewicz and Hoaglin (1993): a modified z-score beyond 3.5 is an outlier; 0.6745 makes the MAD a standard deviation.
MOST_Z, MAD_TO_SIGMA = 3.5, 0.6745
# Fewer do not make a crowd.
FEWEST = 8

Told = t.Mapping[str, t.Mapping[str, t.Sequence[Row]]]


@dataclass(frozen=True)
class Measure:
    """One kind of number, as measures.yml declares it."""

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
class Number:
    """One number of a run: where it is of, which node told it, what it stands beside, and the kind of its likes (None: it has none)."""

    measure: str
    place: str
    node: str
    value: float
    beside: dict[str, t.Any] = field(default_factory=dict)
    kind: str | None = None


@functools.cache
def measures() -> dict[str, Measure]:
    """Every declared measure by name."""
    raw = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    return {name: _measure(name, spec) for name, spec in raw.items()}


def _measure(name: str, spec: dict[str, t.Any]) -> Measure:
    tupled: dict[str, t.Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in spec.items()}
    return Measure(name=name, **tupled)


def numbers(places: Places, layer: str, told: Told) -> list[Number]:
    """The numbers of a layer, from the rows of its nodes: ``{node: {reading: rows}}``."""
    found = []
    for measure in measures().values():
        gathered: dict[str, list[tuple[str, Row]]] = {}
        for node, readings in told.items() if measure.layer == layer else ():
            for row in readings.get(measure.reading, ()):
                if row.get(measure.value) is not None and all(fnmatch.fnmatchcase(str(row.get(key)), like) for key, like in measure.only.items()):
                    gathered.setdefault(_words(places, measure.of, node, row), []).append((node, row))
        found += [_number(places, measure, place, rows) for place, rows in gathered.items()]
    return found


def _words(places: Places, axes: t.Iterable[Axis], node: str, row: Row) -> str:
    words = (places.at(axis, node, row) for axis in axes)
    return " ".join(str(word) for word in words if word is not None)


def _number(places: Places, measure: Measure, place: str, rows: list[tuple[str, Row]]) -> Number:
    node, first = rows[0]
    kind = None if measure.alike is None else _words(places, measure.alike, node, first)
    value = statistics.median(row[measure.value] for _node, row in rows)
    return Number(measure.name, place, node, float(f"{value:.6g}"), {column: first.get(column) for column in measure.beside}, kind)


@dataclass(frozen=True)
class Outlier:
    """A number far from the others of its kind, on the bad side: its median and its modified z-score."""

    number: Number
    median: float
    z: float


def outliers(found: t.Iterable[Number]) -> list[Outlier]:
    """The numbers that stand out of their kind by median and MAD and by more than the tolerance, the farthest first."""
    kinds: dict[tuple[str, str], list[Number]] = {}
    for number in found:
        if number.kind is not None:
            kinds.setdefault((number.measure, number.kind), []).append(number)
    odd = []
    for (name, _kind), kind in kinds.items():
        middle = statistics.median(one.value for one in kind)
        # Where more than half are equal the MAD is 0 and any difference is infinitely far: the tolerance decides then.
        mad = statistics.median(abs(one.value - middle) for one in kind)
        for one in kind if len(kind) >= FEWEST else ():
            z = MAD_TO_SIGMA * abs(one.value - middle) / mad if mad else float("inf")
            if z > MOST_Z and measures()[name].worse(one.value, middle):
                odd.append(Outlier(one, middle, z))
    return sorted(odd, key=lambda one: (-one.z, one.number.place))
