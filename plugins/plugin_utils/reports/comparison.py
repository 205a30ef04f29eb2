# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs of a pod side by side: what got worse, the lowest layer first, since what is above stands on it."""

from __future__ import annotations

import textwrap
import typing as t
from dataclasses import dataclass, field

from ..checks import LAYERS, Finding
from ..verdicts import CLOSING, ORDER
from .folding import Entry, entries, ranges
from .table import printable

Document = dict[str, t.Any]
Key = tuple[str, str, str]
MOST = 20


@dataclass
class Comparison:
    """What differs between two reports of one pod.

    worse: the newer report's findings that the older has not, folded; better: (layer, check, places) that are well again.
    unjudged: (layer, check, places) that were judged before and are not any more, which is worse than it looks.
    gates: (layer, group, before, now); numbers: findings of numbers that are worse by more than their tolerance, or do not compare.
    """

    worse: list[Entry] = field(default_factory=list)
    better: list[tuple[str, str, list[str]]] = field(default_factory=list)
    unjudged: list[tuple[str, str, list[str]]] = field(default_factory=list)
    gates: list[tuple[str, str, str, str]] = field(default_factory=list)
    numbers: list[Finding] = field(default_factory=list)

    @property
    def first(self) -> str | None:
        """The lowest layer in which something got worse."""
        layers = {one.layer for one in self.worse} | {layer for layer, _group, before, now in self.gates if now != "open" and before == "open"}
        return next((layer for layer in LAYERS if layer in layers), None)


def compare(old: Document, new: Document, numbers: t.Sequence[Finding] = ()) -> Comparison:
    """What differs; both reports are of the same pod."""
    before, now = _by_key(old), _by_key(new)
    worse = [record for key, record in now.items() if _rank(record) > _rank(before.get(key)) and record["verdict"] in ("warn", *CLOSING)]
    result = Comparison(entries({**new, "verdicts": worse}, ("fail", "unknown", "warn")), numbers=list(numbers))
    result.better = _places([key for key, record in before.items() if record["verdict"] in ("warn", *CLOSING) and _verdict(now.get(key)) == "pass"])
    result.unjudged = _places([key for key, record in before.items() if record["verdict"] != "skip" and _verdict(now.get(key)) in (None, "skip")])
    after = {layer["layer"]: layer["groups"] for layer in new["layers"]}
    for layer in old["layers"]:
        for group, gate in layer["groups"].items():
            state = after.get(layer["layer"], {}).get(group, {}).get("gate", "gone")
            if state != gate["gate"]:
                result.gates.append((layer["layer"], group, gate["gate"], state))
    return result


def _by_key(report: Document) -> dict[Key, Document]:
    return {(one["layer"], one["check"], one["host"] or one["group"] or ""): one for one in report["verdicts"]}


def _verdict(record: Document | None) -> str | None:
    return record["verdict"] if record else None


def _rank(record: Document | None) -> int:
    return ORDER.index(record["verdict"]) if record else -1


def _places(keys: t.Sequence[Key]) -> list[tuple[str, str, list[str]]]:
    found: dict[tuple[str, str], list[str]] = {}
    for layer, check, place in keys:
        found.setdefault((layer, check), []).append(place)
    return [(layer, check, places) for (layer, check), places in sorted(found.items(), key=lambda one: (LAYERS.index(one[0][0]), one[0][1]))]


def render(old: Document, new: Document, told: Comparison) -> str:
    """The comparison for a terminal or a ticket, in at most 100 columns."""
    lines = [f"pod {new['pod']}: run {old['run_id']} ({old['verdict']}) and run {new['run_id']} ({new['verdict']})"]
    lines.append(f"What got worse begins in layer {told.first}" if told.first else "Nothing that was judged got worse")
    for entry in told.worse[:MOST]:
        checks = ", ".join(entry.checks[:3])
        lines.append(f"  {entry.verdict.upper()} {entry.layer}/{checks} on {entry.where}{entry.size}: expected {entry.wanted}, got {entry.actual}")
    lines += [f"  and {len(told.worse) - MOST} more"] if len(told.worse) > MOST else []
    for title, places in (("Not judged any more", told.unjudged), ("Well again", told.better)):
        lines += [title] if places else []
        lines += [f"  {layer}/{check} on {ranges(where)}" for layer, check, where in places[:MOST]]
        lines += [f"  and {len(places) - MOST} more checks"] if len(places) > MOST else []
    lines += ["Gates"] if told.gates else []
    lines += [f"  {layer} of {group}: {before.replace('_', ' ')}, now {now.replace('_', ' ')}" for layer, group, before, now in told.gates]
    lines += ["Numbers that are worse by more than their tolerance, or do not compare"] if told.numbers else []
    lines += [f"  {one.where}: {one.actual}; expected {one.expected}" for one in told.numbers[:MOST]]
    lines += [f"  and {len(told.numbers) - MOST} more"] if len(told.numbers) > MOST else []
    return "\n".join(piece for line in lines for piece in textwrap.wrap(printable(line), 100, subsequent_indent="    ")) + "\n"
