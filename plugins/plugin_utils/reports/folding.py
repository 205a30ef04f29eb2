# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folding: findings that share what they say, or that one dead node explains, are one entry."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ..natural import NUMBERS, natural

Document = dict[str, t.Any]
UNTOLD = "untold"


@dataclass
class Entry:
    """One line for a person: what was found, where, and what else it explains.

    checks: every check it is a finding of; expectations: every text that was expected; places: ``host where`` of each
    finding it stands for; explains: how many findings of other nodes follow from it.
    """

    layer: str
    check: str
    verdict: str
    expected: str
    actual: str
    cause: str
    fix: str
    remedy: str | None
    groups: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    expectations: set[str] = field(default_factory=set)
    places: list[tuple[str, str]] = field(default_factory=list)
    leaves: set[str | None] = field(default_factory=set)
    explains: int = 0

    @property
    def size(self) -> str:
        """How many findings it stands for, and the leaf that they share; nothing for one."""
        if len(self.places) < 2:
            return ""
        shared = next(iter(self.leaves)) if len(self.leaves) == 1 and len({host for host, _where in self.places}) > 1 else None
        return f" ({len(self.places)} findings{f', all on {shared}' if shared else ''})"

    @property
    def wanted(self) -> str:
        """What was expected; of findings that differ in it, the first's."""
        return self.expected if len(self.expectations) < 2 else f"{self.expected} (and so on, {len(self.expectations)} values)"

    @property
    def where(self) -> str:
        """The places, folded: hosts by ranges, and what of them when they share it."""
        hosts = list(dict.fromkeys(host for host, _where in self.places))
        wheres = list(dict.fromkeys(where for host, where in self.places if where != host))
        if not wheres:
            return ranges(hosts)
        return f"{ranges(hosts)} {ranges(wheres)}"


def entries(report: Document, severities: t.Container[str] = ("fail", "unknown")) -> list[Entry]:
    """The findings of a report of some severities, folded, the lowest layer first and the widest first within it."""
    explained = {place: node for node, places in report.get("explained", {}).items() for place in places}
    folded: dict[tuple[str, ...], Entry] = {}
    blamed: dict[str, Entry] = {}
    followers: dict[str, int] = {}
    for record in report["verdicts"]:
        if record["verdict"] not in severities:
            continue
        for host, finding in _findings(record):
            root = next((explained[place] for place in _places(host, finding["where"] or "") if place in explained), None)
            if root is not None and root != host:
                followers[root] = followers.get(root, 0) + 1
                continue
            if finding["severity"] not in severities:
                continue
            entry = folded.setdefault(_key(record, finding), _entry(record, finding))
            entry.expectations.add(finding["expected"] if finding["where"] else entry.expected)
            entry.checks = list(dict.fromkeys([*entry.checks, record["check"]]))
            entry.leaves.add(finding.get("leaf"))
            entry.places.append((host, finding["where"] or host))
            entry.groups = sorted({*entry.groups, *_touched(record)})
            if record["check"] == "answered":
                blamed[host] = entry
    for node, number in followers.items():
        if node in blamed:
            blamed[node].explains += number
    order = [layer["layer"] for layer in report["layers"]]
    return sorted(folded.values(), key=lambda entry: (order.index(entry.layer), -entry.explains, entry.verdict != "fail", -len(entry.places)))


def _touched(record: Document) -> list[str]:
    """The gate groups that a record closes: of a shared node only those that its findings are about."""
    by_group = record.get("by_group")
    return [group for group, verdict in by_group.items() if verdict != "pass"] if by_group else record["affects"]


def _key(record: Document, finding: Document) -> tuple[str, ...]:
    """Findings that say the same are one; so is everything that one tool's silence leaves untold."""
    if finding["where"] is None:
        return (record["layer"], UNTOLD, NUMBERS.sub("#", finding["actual"]))
    return (record["layer"], record["check"], finding["severity"], NUMBERS.sub("#", finding["actual"]))


def _entry(record: Document, finding: Document) -> Entry:
    cause, fix, remedy = record["cause"], record["fix"], record["remedy"]
    expected = finding["expected"]
    if finding["where"] is None:
        expected = "a reading to judge by"
    if finding["severity"] == "unknown" and record["check"] != "answered":
        cause, remedy = "What the check needs could not be read, so nothing is proved.", None
        fix = f"Make what is named above answer, then judge it again with -e pod_only={record['check']}."
    return Entry(record["layer"], record["check"], finding["severity"], expected, finding["actual"], cause, fix, remedy)


def _findings(record: Document) -> t.Iterator[tuple[str, Document]]:
    whole = {
        "where": None,
        "expected": record["statement"].rstrip("."),
        "actual": record["words"],
        "severity": record["verdict"],
        "host": None,
    }
    for finding in record["findings"] or [whole]:
        yield finding["host"] or record["host"] or record["group"], finding


def _places(host: str, where: str) -> list[str]:
    """What a finding may be explained by: its port, or an address or name that it speaks of."""
    return [f"{host}:{where}", *(f"*:{word}" for word in re.split(r"[>\s,()]+", where))]


def ranges(names: t.Sequence[str]) -> str:
    """``gpu01, gpu02, gpu03`` as ``gpu01-gpu03``; long lists end in how many more there are."""
    pieces: list[str] = []
    run: list[str] = []
    for name in [*sorted(names, key=natural), ""]:
        if run and _follows(run[-1], name):
            run.append(name)
            continue
        if run:
            pieces += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else run
        run = [name]
    return ", ".join(pieces[:4]) + (f" and {len(pieces) - 4} more" if len(pieces) > 4 else "")


def _follows(one: str, other: str) -> bool:
    a, b = NUMBERS.split(one), NUMBERS.split(other)
    if len(a) != len(b):
        return False
    differing = [number for number in range(len(a)) if a[number] != b[number]]
    return len(differing) == 1 and a[differing[0]].isdigit() and b[differing[0]].isdigit() and int(b[differing[0]]) == int(a[differing[0]]) + 1
