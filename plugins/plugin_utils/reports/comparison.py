# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs of a pod side by side: what got worse, the lowest layer first, since what is above stands on it."""

from __future__ import annotations

import textwrap
import typing as t
from dataclasses import dataclass, field

from ..checks import LAYERS, Finding
from ..evaluate.verdicts import CLOSING, ORDER, FindingRecord, VerdictRecord, worst
from ..run.documents import Report
from ..text.control_characters import printable
from ..text.ranges import ranges
from .grouping import Entry, entries

Key = tuple[str, str, str]
MOST = 20


@dataclass
class Comparison:
    """What differs between two reports of one pod.

    worse: the newer report's findings that the older has not, folded; better: (layer, check, places) that are well again.
    unjudged: (layer, check, places) that were judged before and are not any more, which is worse than it looks.
    new_fails, new_unknowns: (layer, check, places) of findings that the older has not, or has milder; a check may have failed at other places before.
    gates: (layer, group, before, now); numbers: findings of numbers that are worse by more than their tolerance, or do not compare.
    """

    worse: list[Entry] = field(default_factory=list)
    better: list[tuple[str, str, list[str]]] = field(default_factory=list)
    unjudged: list[tuple[str, str, list[str]]] = field(default_factory=list)
    new_fails: list[tuple[str, str, list[str]]] = field(default_factory=list)
    new_unknowns: list[tuple[str, str, list[str]]] = field(default_factory=list)
    gates: list[tuple[str, str, str, str]] = field(default_factory=list)
    numbers: list[Finding] = field(default_factory=list)

    @property
    def first(self) -> str | None:
        """The lowest layer in which something got worse."""
        layers = {one.layer for one in self.worse} | {layer for layer, _group, before, now in self.gates if now != "open" and before == "open"}
        return next((layer for layer in LAYERS if layer in layers), None)


def compare_runs(old: Report, new: Report, numbers: t.Sequence[Finding] = ()) -> Comparison:
    """What differs; both reports are of the same pod."""
    before, now = _by_key(old), _by_key(new)
    known: dict[tuple[str, ...], int] = {}
    for record in old["verdicts"]:
        for one in record["findings"]:
            known[_where(record, one)] = max(ORDER.index(one["severity"]), known.get(_where(record, one), -1))
    worse = [fresh for record in now.values() if (fresh := _new_of(record, known, before)) is not None]
    result = Comparison(entries({**new, "verdicts": worse}, ("fail", "unknown", "warn")), numbers=list(numbers))
    result.better = _places([key for key, record in before.items() if record["verdict"] in ("warn", *CLOSING) and _verdict(now.get(key)) == "pass"])
    result.new_fails = _places([_place(record) for record in worse if record["verdict"] == "fail"])
    result.new_unknowns = _places([_place(record) for record in worse if record["verdict"] == "unknown"])
    result.unjudged = _places([key for key, record in before.items() if record["verdict"] != "skip" and _verdict(now.get(key)) in (None, "skip")])
    after = {layer["layer"]: layer["groups"] for layer in new["layers"]}
    for layer in old["layers"]:
        for group, gate in layer["groups"].items():
            other = after.get(layer["layer"], {}).get(group)
            state = other["gate"] if other else "gone"
            if state != gate["gate"]:
                result.gates.append((layer["layer"], group, gate["gate"], state))
    return result


def _by_key(report: Report) -> dict[Key, VerdictRecord]:
    return {(one["layer"], one["check"], one["host"] or one["group"] or ""): one for one in report["verdicts"]}


def _place(record: VerdictRecord) -> Key:
    return record["layer"], record["check"], record["host"] or record["group"] or ""


def _where(record: VerdictRecord, finding: FindingRecord) -> tuple[str, ...]:
    return (*_place(record), str(finding["host"]), str(finding["where"]))


def _new_of(record: VerdictRecord, known: t.Mapping[tuple[str, ...], int], before: t.Mapping[Key, VerdictRecord]) -> VerdictRecord | None:
    """A verdict with the findings only that are new or worse, as bad as they are; None where there is none.

    known: how bad the older run's findings were, by where they were; before: its verdicts.
    """
    if record["verdict"] not in ("warn", *CLOSING):
        return None
    if not record["findings"]:
        return record if _rank(record) > _rank(before.get(_place(record))) else None
    fresh = [one for one in record["findings"] if ORDER.index(one["severity"]) > known.get(_where(record, one), -1)]
    return {**record, "findings": fresh, "verdict": worst(one["severity"] for one in fresh)} if fresh else None


def _verdict(record: VerdictRecord | None) -> str | None:
    return record["verdict"] if record else None


def _rank(record: VerdictRecord | None) -> int:
    return ORDER.index(record["verdict"]) if record else -1


def _places(keys: t.Sequence[Key]) -> list[tuple[str, str, list[str]]]:
    found: dict[tuple[str, str], list[str]] = {}
    for layer, check, place in keys:
        found.setdefault((layer, check), []).append(place)
    return [(layer, check, places) for (layer, check), places in sorted(found.items(), key=lambda one: (LAYERS.index(one[0][0]), one[0][1]))]


FAIL_ON = ("nothing", "new_fail", "new_unknown")


def failing(comparison: Comparison, new: Report, fail_on: str) -> list[str]:
    """Why a comparison fails, in words; nothing where it does not.

    fail_on: ``nothing``; ``new_fail`` (a finding that fails and did not, or a newer run that has not ended and so cannot report);
    ``new_unknown`` (also what cannot be determined any more, and what is not evaluated any more).
    """
    if fail_on == "nothing":
        return []
    kinds = [("fails", comparison.new_fails)]
    kinds += [("is unknown", comparison.new_unknowns), ("is not evaluated any more", comparison.unjudged)] if fail_on == "new_unknown" else []
    reasons = [] if new["complete"] else [f"run {new['run_id']} has not ended"]
    return reasons + [f"{layer}/{check} {words} on {ranges(places)}" for words, found in kinds for layer, check, places in found]


def render_comparison(old: Report, new: Report, comparison: Comparison) -> str:
    """The comparison for a terminal or a ticket, in at most 100 columns."""
    lines = [f"pod {new['pod']}: run {old['run_id']} ({old['verdict']}) and run {new['run_id']} ({new['verdict']})"]
    lines.append(f"The lowest layer that got worse is {comparison.first}" if comparison.first else "Nothing that was evaluated got worse")
    for entry in comparison.worse[:MOST]:
        checks = ", ".join(entry.checks[:3])
        lines.append(f"  {entry.verdict.upper()} {entry.layer}/{checks} on {entry.where}{entry.size}: expected {entry.wanted}, got {entry.actual}")
    lines += [f"  and {len(comparison.worse) - MOST} more"] if len(comparison.worse) > MOST else []
    for title, places in (("Not evaluated any more", comparison.unjudged), ("Recovered", comparison.better)):
        lines += [title] if places else []
        lines += [f"  {layer}/{check} on {ranges(where)}" for layer, check, where in places[:MOST]]
        lines += [f"  and {len(places) - MOST} more checks"] if len(places) > MOST else []
    lines += ["Gates"] if comparison.gates else []
    lines += [f"  {layer} of {group}: {before.replace('_', ' ')}, now {now.replace('_', ' ')}" for layer, group, before, now in comparison.gates]
    lines += ["Numbers that are worse by more than their tolerance, or do not compare"] if comparison.numbers else []
    lines += [f"  {one.where}: {one.actual}; expected {one.expected}" for one in comparison.numbers[:MOST]]
    lines += [f"  and {len(comparison.numbers) - MOST} more"] if len(comparison.numbers) > MOST else []
    pieces = (textwrap.wrap(printable(line), 100, subsequent_indent="    ", break_on_hyphens=False) for line in lines)
    return "\n".join(piece for wrapped in pieces for piece in wrapped) + "\n"
