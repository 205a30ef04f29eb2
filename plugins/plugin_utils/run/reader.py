# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads run directories: those of this run, of an earlier one, of one that is evaluated again, and text that was captured by hand."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import fields
from pathlib import Path

from ..checks import LAYERS
from ..collect.types import Envelope, KeptCommand, KeptEnvelope, KeptReading
from ..evaluate.baselines import Baseline, baseline_text, load_baseline, software_versions
from ..evaluate.metrics import MetricValue, metric_values, metrics
from ..evaluate.row_places import RowPlaces
from ..evaluate.verdicts import EvaluatedLayer
from ..pod.cabling import Cable
from ..pod.plan import Node, Plan
from ..readings.rows import Row
from ..text.sorting import natural_key
from .errors import RunError
from .file_schemas import ENVELOPE, PLAN, STATE, Document, read_document, read_text
from .files import read_json, utc_now
from .kept_rows import SharedRows, of_this_version
from .state import State, load_state

BASELINE = "baseline.txt"
# Layer, node, phase (``""`` for the last reading), reading and its rows.
ReportedRows = tuple[str, str, str, str, list[Row]]
# A phase as the run keeps it: what loads printed is as final as the last reading.
PHASE = re.compile(r"^(?P<kind>now|before|idle|during|load)(-(?P<number>[0-9]+))?$")
FINAL = ("now", "load")


class RunReader:
    """What one run directory keeps.

    plan: of whose nodes it is read, where that is not the directory's own.
    Texts, commands and rows by ``rows`` are shown to people: only planned names are opened for them, and no link is followed.
    """

    def __init__(self, run: Path, plan: Plan | None = None) -> None:
        self.run, self._plan = run, plan
        self._held: tuple[frozenset[str], list[ReportedRows]] | None = None
        self._inside: dict[Path, bool] = {}

    def plan(self) -> Plan:
        """The plan of the run, or the one that this reader was made with."""
        if self._plan is not None:
            return self._plan
        kept_file = read_json(self.run / "plan.json")
        addresses = kept_file.get("addresses", {})
        nodes = {
            name: Node(name, role, platform, group, {**kept_file["common"], **own}, asn, addresses.get(name, ""))
            for name, (role, platform, group, asn, own) in kept_file["nodes"].items()
        }
        return Plan(nodes, kept_file["groups"], [Cable.of_cells(cells) for cells in kept_file["cables"]])

    def values(self) -> dict[str, t.Any]:
        """The expectations of its plan; only those that must be one value for the whole pod are every node's."""
        return t.cast("dict[str, t.Any]", read_json(self.run / "plan.json")["common"])

    def node(self, name: str) -> dict[str, t.Any]:
        """What a node's reader needs.

        Raises FileNotFoundError where the node does not take part.
        """
        return t.cast("dict[str, t.Any]", read_json(self.run / "plan" / f"{name}.json"))

    def state(self) -> State:
        """How far the run is."""
        return load_state(read_json(self.run / "state.json"))

    def checked_state(self) -> State:
        """The state as text from outside; raises RunError, which names file and field, where there is none or it is malformed."""
        try:
            return load_state(self.document("state.json", STATE))
        except (KeyError, TypeError) as error:
            raise RunError(f"{self.run / 'state.json'}: {error}") from None

    def checked_plan(self) -> Plan:
        """The plan as text from outside; raises RunError, which names file and field, where there is none or it is malformed."""
        path = self.run / "plan.json"
        self.document("plan.json", PLAN)
        try:
            plan = RunReader(self.run).plan()
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{path}: field cables names {error}, which is no node of it") from None
        for group, hosts in plan.groups.items():
            if not hosts or any(host not in plan.nodes for host in hosts):
                raise RunError(f"{path}: field groups.{group} must name nodes of the plan, not {str(hosts)[:60]}")
        return plan

    def resumable(self) -> tuple[State | None, Plan | None]:
        """State and plan of an earlier run; None where it kept none, or a state of another version of the collection, on which no run resumes.

        Raises RunError, which names file and field, where one is malformed.
        """
        known = self.has("state.json") and set(self.document("state.json", {})) == {one.name for one in fields(State)}
        return self.checked_state() if known else None, self.checked_plan() if self.has("plan.json") else None

    def document(self, name: str, shape: t.Any) -> Document:
        """One of its JSON files as text from outside; raises RunError where it is not of a shape of ``file_schemas``."""
        return read_document(self.run / name, shape)

    def text_of(self, name: str) -> str:
        """The text of one of its files; raises RunError where it cannot be read."""
        return read_text(self.run / name)

    def has(self, name: str) -> bool:
        """Whether it keeps a file."""
        return (self.run / name).is_file()

    def baseline(self) -> Baseline | None:
        """The baseline that this run is compared with; None where it is compared with none."""
        path = self.run / BASELINE
        return load_baseline(path.read_text(encoding="utf-8"), self.state().pod) if path.is_file() else None

    def captured(self, plan: Plan, state: State) -> str:
        """This run's numbers as the text of a baseline."""
        return baseline_text(state.pod, state.run_id, utc_now(), *self.numbers(plan, state))

    def numbers(self, plan: Plan, state: State) -> tuple[list[MetricValue], dict[str, dict[str, str]]]:
        """This run's numbers, and each node's software."""
        reported = RunReader(self.source(state.replay), plan).reported({metric.reading for metric in metrics().values()} | {"software"})
        found = [number for layer in state.layers for number in metric_values(RowPlaces(plan), layer, reported.get(layer, {}))]
        return found, software_versions(reported.get("preflight", {}))

    def source(self, replay: str) -> Path:
        """The directory with what nodes reported: this run's, or that of the run which is evaluated again."""
        return Path(replay) if replay else self.run

    def answers(self, layer: str, phase: str) -> dict[str, KeptEnvelope]:
        """What every node reported in one phase of a layer, by node, in the order of their names: later loads are planned from it."""
        paths = sorted((self.run / "readings" / layer / phase).glob("*.json"), key=lambda path: natural_key(path.stem))
        shared = SharedRows()
        return {path.stem: shared.in_place(of_this_version(read_json(path))) for path in paths}

    def envelope(self, layer: str, phase: str, node: str) -> KeptEnvelope | None:
        """What one node reported in one phase of a layer; None where nothing is kept of it. Raises RunError where its file is not of its schema."""
        path = self.run / "readings" / layer / phase / f"{node}.json"
        return of_this_version(t.cast(KeptEnvelope, read_document(path, ENVELOPE))) if path.is_file() else None

    def during(self, layer: str) -> dict[str, KeptEnvelope]:
        """All samples that were taken under load as one envelope a node; their rows have ``sample`` and ``seconds`` since the loads began."""
        merged: dict[str, KeptEnvelope] = {}
        for number, phase in enumerate(self._phases_of("during", layer)):
            for node, envelope in self.answers(layer, phase).items():
                into = merged.setdefault(node, {**envelope, "readings": {}})
                into["boot_id"] = envelope["boot_id"] if into["boot_id"] == envelope["boot_id"] else "several"
                for name, kept_file in envelope["readings"].items():
                    rows = [{**row, "sample": number, "seconds": envelope["seconds"]} for row in kept_file["rows"]]
                    _merge_reading(into["readings"], name, {**kept_file, "rows": rows})
        return merged

    def loaded(self, layer: str) -> dict[str, dict[str, KeptReading]]:
        """What the loads of all steps printed, by host and reading."""
        return joined_steps(self.load_answers(layer))

    def load_answers(self, layer: str) -> list[dict[str, KeptEnvelope]]:
        """What every host's loads printed, by host, a mapping for each step."""
        return [self.answers(layer, phase) for phase in self._phases_of("load", layer)]

    def reservations(self, layer: str = "*") -> dict[str, str | None]:
        """Why a host was not reserved for the loads of a layer, or None where it was; of all layers without one."""
        return {path.stem: read_json(path) for path in sorted((self.run / "reserved").glob(f"{layer}/*.json"))}

    def schedule(self, layer: str, step: int) -> dict[str, t.Any]:
        """What a step of a layer's loads does, as ``plan_load`` kept it."""
        return t.cast("dict[str, t.Any]", read_json(self.run / "loads" / layer / f"{step}.json"))

    def verdicts(self) -> dict[str, EvaluatedLayer]:
        """The verdicts and counts of every evaluated layer."""
        return {path.stem: read_json(path) for path in (self.run / "verdicts").glob("*.json")}

    def hold(self, readings: t.Iterable[str]) -> None:
        """Read the rows of some readings now, for all who ask for any of them later: most of the time goes into reading files."""
        wanted = frozenset(readings)
        self._held = (wanted, list(self.rows(wanted)))

    def rows(self, readings: t.AbstractSet[str]) -> t.Iterator[ReportedRows]:
        """Layer, node, phase (``""`` for the last reading), reading and its rows, of some readings with rows.

        A row of a load has the columns of its job, too, as ``job.kind``. Nobody changes the rows.
        """
        if self._held is not None and readings <= self._held[0]:
            yield from (one for one in self._held[1] if one[3] in readings)
            return
        nodes = list(self.plan().nodes)
        for layer in LAYERS:
            phases = self.phases(layer)
            for node in nodes:
                for kept, phase in phases.items():
                    kept_file = self._json(Path("readings") / layer / kept / f"{node}.json") or {}
                    found = {name: reading["rows"] for name, reading in kept_file.get("readings", {}).items() if reading["status"] == "ok"}
                    jobs = {row["item"]: {f"job.{column}": value for column, value in row.items()} for row in found.get("load_jobs", ())}
                    for name in sorted(found.keys() & readings):
                        when = {"seconds": kept_file["seconds"]} if phase == "during" else {}
                        rows = found[name]
                        yield layer, node, phase, name, [{**row, **jobs.get(row.get("item"), {}), **when} for row in rows] if jobs or when else rows

    def reported(self, readings: t.AbstractSet[str]) -> dict[str, dict[str, dict[str, list[Row]]]]:
        """The last rows of some readings, by layer, node and reading."""
        found: dict[str, dict[str, dict[str, list[Row]]]] = {}
        for layer, node, phase, name, rows in self.rows(readings):
            if not phase:
                # A step's loads are a phase each.
                found.setdefault(layer, {}).setdefault(node, {}).setdefault(name, []).extend(rows)
        return found

    def phases(self, layer: str) -> dict[str, str]:
        """The phases of a layer that are kept, in their order, and each one's kind (``""`` for the last reading and for what loads printed)."""
        return {match[0]: "" if match["kind"] in FINAL else match["kind"] for match in self._phases(layer)}

    def _phases_of(self, kind: str, layer: str) -> list[str]:
        """The kept phases of a kind (``during``, ``load``), in their order."""
        return [match[0] for match in self._phases(layer) if match["kind"] == kind and match["number"]]

    def _phases(self, layer: str) -> list[re.Match[str]]:
        place = self.run / "readings" / layer
        found = [match for path in (place.iterdir() if place.is_dir() else ()) if (match := PHASE.match(path.name))]
        return sorted(found, key=lambda match: (match["kind"], int(match["number"] or 0)))

    def readings(self, layer: str) -> dict[str, list[str]]:
        """The readings of a layer that left a text, and the nodes that they are of."""
        found: dict[str, list[str]] = {}
        for node in self.plan().nodes:
            place = self.run / "evidence" / layer / node
            if place.is_dir() and not place.is_symlink():
                for name in sorted({path.name.partition(".")[0] for path in place.glob("*.txt")}):
                    found.setdefault(name, []).append(node)
        return found

    def texts(self, layer: str, node: str, reading: str) -> dict[str, str]:
        """What a node printed for a reading, by phase (``""`` for the last)."""
        place = Path("evidence") / layer / node
        names = {"" if kept == "now" else kept: f"{reading}{_ending(kept)}.txt" for kept in self.phases(layer)}
        return {phase: text for phase, name in names.items() if (text := self._text(place / name)) is not None}

    def commands(self, layer: str, node: str) -> list[KeptCommand]:
        """The commands that a node was asked in a layer, and the loads that it carried, as they ended."""
        names = ["commands.json", *(f"commands.{kept}.json" for kept in self._phases_of("load", layer))]
        return [one for name in names for one in self._json(Path("evidence") / layer / node / name) or []]

    def has_evidence(self, layer: str, node: str) -> bool:
        """Whether anything is kept of what a node printed in a layer."""
        return (self.run / "evidence" / layer / node).is_dir()

    def evidence(self, layer: str, node: str, reading: str, phase: str) -> tuple[Path, str | None]:
        """What a node printed for a reading in one phase, to be evaluated again: the file, and its text, None where there is none."""
        path = self.run / "evidence" / layer / node / f"{reading}{_ending(phase)}.txt"
        return path, path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None

    def commands_in(self, layer: str, node: str, phase: str) -> list[KeptCommand]:
        """The commands that a node was asked in one phase; none of text captured by hand."""
        path = self.run / "evidence" / layer / node / f"commands{_ending(phase)}.json"
        return read_json(path) or [] if path.is_file() else []

    def _text(self, name: Path) -> str | None:
        path = self.run / name
        if path.parent not in self._inside:
            self._inside[path.parent] = path.parent.resolve().is_relative_to(self.run.resolve())
        if not self._inside[path.parent] or path.is_symlink() or not path.is_file():
            return None
        return path.read_text(encoding="utf-8", errors="replace")

    def _json(self, name: Path) -> t.Any:
        text = self._text(name)
        return None if text is None else json.loads(text)


def _ending(phase: str) -> str:
    """What the names of the files of a phase end in, before their suffix."""
    return "" if phase == "now" else f".{phase}"


def _merge_reading(readings: dict[str, KeptReading], name: str, kept_file: KeptReading) -> None:
    """Join what a node reported of one reading several times; what was reported once counts, and checks look for what is missing."""
    known = readings.get(name)
    if known is None or (known["status"] != "ok" and kept_file["status"] == "ok"):
        readings[name] = {**kept_file, "rows": list(kept_file["rows"])}
    elif kept_file["status"] == "ok":
        known["rows"] += kept_file["rows"]


def joined_steps(steps: t.Iterable[t.Mapping[str, Envelope]]) -> dict[str, dict[str, KeptReading]]:
    """What the loads of some steps printed, by host and reading."""
    merged: dict[str, dict[str, KeptReading]] = {}
    for step in steps:
        for node, envelope in step.items():
            for name, kept_file in envelope["readings"].items():
                _merge_reading(merged.setdefault(node, {}), name, kept_file)
    return merged
