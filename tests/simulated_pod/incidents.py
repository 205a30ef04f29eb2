# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documented incidents: what an operator met elsewhere, as changes of the simulated pod, with the first finding that must come of it.

A constructed one nobody is known to have reported: its source documents the setting, the message or the mechanism that it rests on.

Run as a program it climbs each of them (or those that are named) in process and prints a table of the results.
"""

from __future__ import annotations

import sys
import tempfile
import typing as t
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml

from ...plugins.plugin_utils.checks import LAYERS
from ...plugins.plugin_utils.reports import grouping
from ...plugins.plugin_utils.text.ranges import ranges
from . import inprocess, layout

HERE = Path(__file__).resolve().parents[1] / "incidents"
SEVERITIES = ("fail", "unknown", "warn")
SMALL: t.Final = {"racks": 2, "hosts_per_rack": 4, "spines": 4}
Report = dict[str, t.Any]


@dataclass(frozen=True)
class First:
    """The finding that must be printed first: layer, check, verdict, the node it is on (or its gate group), and what of it."""

    layer: str
    check: str
    verdict: str
    node: str
    where: str = ""


@dataclass(frozen=True)
class Expected:
    """What must come of an incident.

    first: None where the pod must stay green; words: in the first finding's cause, fix or what explains it; got: in what it found;
    accused: every node of which any finding may be; also: findings that must be printed as well, of faults beside the first one.
    """

    first: First | None = None
    also: tuple[First, ...] = ()
    words: tuple[str, ...] = ()
    got: tuple[str, ...] = ()
    accused: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Incident:
    """One file of ``tests/incidents``; its keys are described in the README of the simulated pod.

    expectations: pod_* values besides those of the small pod; pod: arguments of ``layout.write``; begins: the layer at which the run begins (pod_from_layer).
    """

    name: str
    source: str
    title: str
    environment: str
    story: str
    expect: Expected
    constructed: bool = False
    known_gap: str = ""
    playbook: bool = False
    long: bool = False
    to_layer: str = ""
    expectations: dict[str, t.Any] = field(default_factory=dict)
    pod: dict[str, t.Any] = field(default_factory=dict)
    of_ranks: bool = False
    begins: str = ""

    @property
    def from_layer(self) -> str:
        """The layer at which it begins: what changes nothing but how ranks run is seen by no reading below them.

        One that must stay green is a go only where all layers are climbed.
        """
        return self.begins or (self.expect.first.layer if self.of_ranks and self.expect.first else "")

    @property
    def top(self) -> str:
        """The layer to which it is climbed: that of its finding, or the last one where it must stay green."""
        return self.to_layer or (self.expect.first.layer if self.expect.first else LAYERS[-1])

    def inventory(self, directory: Path, **more: t.Any) -> Path:
        """The small pod's inventory with what the incident expects of it."""
        directory.mkdir(parents=True, exist_ok=True)
        readers = {"pod_fabric_reader": ["gpu01", "gpu05"]} if self.pod.get("fabric") == "infiniband" else {}
        values = {**readers, "pod_name": "small", "pod_soak_seconds": 1, "pod_to_layer": self.top, **self.expectations, **more}
        return layout.write(directory, **{**SMALL, **self.pod}, expectations=values)


def load(path: Path) -> Incident:
    """The incident of a file."""
    raw = from_yaml(path.read_text(encoding="utf-8"))
    expect = raw.pop("expect")
    first = First(**expect["first"]) if expect.get("first") else None
    also = tuple(First(**one) for one in expect.get("also", ()))
    texts = {name: tuple(expect.get(name, ())) for name in ("words", "got")}
    of_ranks = all(set(change.get("set", {"tool": None})) == {"stack"} for change in raw.pop("changes"))
    return Incident(path.stem, expect=Expected(first, also, **texts, accused=frozenset(expect.get("accused", ()))), of_ranks=of_ranks, **raw)


def every() -> dict[str, Incident]:
    """Every incident by name."""
    return {path.stem: load(path) for path in sorted(HERE.glob("*.yml"))}


def deviations(incident: Incident, report: Report, nodes: t.Container[str]) -> list[str]:
    """How a report differs from what an incident must come to; nothing where it is as expected.

    nodes: those of the pod; a finding of a whole gate group accuses none of them.
    """
    found = grouping.entries(report, SEVERITIES)
    accused = {host for entry in found for host, _where in entry.places if host in nodes}
    wrong = []
    if extra := sorted(accused - incident.expect.accused):
        wrong.append(f"accuses {', '.join(extra)}")
    first = incident.expect.first
    if first is None:
        return wrong + [f"must be a go, is {report['verdict']}"] * (report["verdict"] != "go")
    if not found:
        return [*wrong, f"finds nothing: {report['verdict']}"]
    wrong += [f"lacks {one.check} on {one.node}" for one in incident.expect.also if not any(_is(one, entry) and one.node in _hosts(entry) for entry in found)]
    return wrong + _of_first(first, incident.expect, found[0])


def _is(one: First, entry: grouping.Entry) -> bool:
    return (entry.layer, entry.verdict) == (one.layer, one.verdict) and one.check in (entry.check, *entry.checks)


def _hosts(entry: grouping.Entry) -> set[str]:
    return {host for host, _where in entry.places}


def _of_first(first: First, expect: Expected, entry: grouping.Entry) -> list[str]:
    wrong = []
    if not _is(first, entry):
        wrong.append(f"finds {entry.layer}/{entry.check}/{entry.verdict} first")
    if first.node not in _hosts(entry):
        wrong.append(f"names {ranges([host for host, _where in entry.places])}, not {first.node}")
    if first.where not in entry.where:
        wrong.append(f"is at {entry.where}, not {first.where}")
    said = " ".join([entry.cause, entry.fix, *entry.explained_by])
    wrong += [f"cause and fix lack {word!r}: {said}" for word in expect.words if word not in said]
    return wrong + [f"the finding lacks {word!r}: {entry.actual}" for word in expect.got if word not in entry.actual]


class Climber:
    """Climbs incidents in process; what nodes say alike in several of them is read once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.pods: dict[str, inprocess.Pods] = {}
        self.kept: dict[str, inprocess.Kept] = {}
        self.runs = 0

    def deviations(self, incident: Incident) -> list[str]:
        """How what comes of an incident differs from what its file says."""
        pods = self.pods_of(incident)
        self.runs += 1
        with tempfile.TemporaryDirectory(dir=self.directory) as run:
            report = pods.climb(pods.pod([incident.name]), Path(run) / str(self.runs), from_layer=incident.from_layer)
        return deviations(incident, report, pods.plan.nodes)

    def pods_of(self, incident: Incident) -> inprocess.Pods:
        """The pods of an incident's inventory."""
        kind = repr((incident.expectations, incident.pod))
        key = f"{incident.top} {kind}"
        if key not in self.pods:
            kept = self.kept.setdefault(kind, {})
            self.pods[key] = inprocess.Pods(incident.inventory(self.directory / f"inventory_{len(self.pods)}"), kept)
        return self.pods[key]


def counted(numbers: Counter[str]) -> str:
    """Each number with what it counts."""
    return ", ".join(f"{count} {name}" for name, count in numbers.items())


def main(names: t.Sequence[str]) -> int:
    """Climb incidents and print what came of each; the exit status is 1 where one has another result than its file says."""
    results: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    print("| incident | origin | layer | expected | result |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as place:
        climber = Climber(Path(place))
        for name, incident in every().items():
            if names and name not in names:
                continue
            wrong = climber.deviations(incident)
            result = ("known gap" if wrong else "mended: remove known_gap") if incident.known_gap else "WRONG" if wrong else "as expected"
            origin = "constructed" if incident.constructed else "documented"
            results[result] += 1
            origins[origin] += 1
            first = incident.expect.first
            wanted = f"{first.check} {first.verdict} on {first.node}" if first else "go"
            print(f"| {name} | {origin} | {first.layer if first else 'all'} | {wanted} | {result}{': ' if wrong else ''}{'; '.join(wrong)} |", flush=True)
    print(f"\n{sum(results.values())} incidents: {counted(results)}; {counted(origins)}")
    return int(bool(results["WRONG"] or results["mended: remove known_gap"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
