# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folding: findings that share what they say, or that one dead node explains, are one entry."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ..checks.place import Place
from ..checks.registry import REGISTRY
from ..evaluate.boot_check import BOOT_CHECK
from ..evaluate.layer import ANSWERED
from ..evaluate.root_causes import OF_SILENCE
from ..evaluate.verdicts import ExplainingRecord, FindingRecord, VerdictRecord, place_of
from ..run.documents import Report
from ..text.ranges import ranges

UNREPORTED = "unreported"
NUMBER = re.compile(r"\d+(?:\.\d+)*(?:e[-+]?\d+)?")
# A number that is a word of its own, with what is written before and behind it.
AMOUNT = re.compile(r"(?P<before>\(?\+?)(?P<number>-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?P<after>%?[,;:.)]*)")
# What stands behind a name in a sentence.
BEHIND_NAMES = "),;:."
# Behind one of these a number is a name.
NAMED = frozenset(
    ("as", "class", "dscp", "err", "errno", "gid", "gpu", "index", "lid", "node", "port", "priority", "queue", "rank", "round", "slot", "step", "xid")
)
MOST_LISTED = 4
MOST_FORMS = 3


@dataclass
class Entry:
    """One line for a person: what was found, where, and what else it explains.

    checks: every check it is a finding of; places: ``host where`` of each finding it stands for; expected, found: the texts of each, in this order;
    explained: findings of other nodes that follow from it, as ``check on places``; explains: how many they are;
    explained_by: findings of lower layers at the same places; follows: one of its own layer explains it.
    """

    layer: str
    check: str
    verdict: str
    cause: str
    fix: str
    remedy: str | None
    groups: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)
    leaves: set[str | None] = field(default_factory=set)
    explained: list[str] = field(default_factory=list)
    explains: int = 0
    explained_by: dict[str, None] = field(default_factory=dict)
    follows: bool = False

    @property
    def size(self) -> str:
        """How many findings it stands for, and the leaf that they share; nothing for one."""
        if len(self.places) < 2:
            return ""
        shared = next(iter(self.leaves)) if len(self.leaves) == 1 and len({host for host, _where in self.places}) > 1 else None
        return f" ({len(self.places)} findings{f', all on {shared}' if shared else ''})"

    @property
    def wanted(self) -> str:
        """What was expected of all of them; by place where names differ in what was expected and in what was got, such as of swapped cables."""
        return self._at_places(self.expected) or merged(self.expected)

    @property
    def actual(self) -> str:
        """What was got of all of them, as ``wanted``."""
        return self._at_places(self.found) or merged(self.found)

    def _at_places(self, texts: t.Sequence[str]) -> str:
        if not (_differ_in_names(self.expected) and _differ_in_names(self.found)):
            return ""
        if len(texts) > MOST_LISTED and merged(self.expected) != merged(self.found):
            return ""
        each = [f"{text} at {host if where == host else f'{host} {where}'}" for text, (host, where) in zip(texts, self.places)]
        return "; ".join([*each[:MOST_LISTED], *([f"and {len(each) - MOST_LISTED} more"] if len(each) > MOST_LISTED else [])])

    @property
    def where(self) -> str:
        """The places, folded: hosts by ranges, and what of them when they share it."""
        return _located(self.places)


def entries(report: Report, severities: t.Container[str] = ("fail", "unknown")) -> list[Entry]:
    """The findings of a report of some severities, folded: the lowest layer first; in it what explains most, then failures, then the widest."""
    explained = {place: node for node, places in report.get("explained", {}).items() for place in places}
    silent = {(record["layer"], record["host"]): record for record in report["verdicts"] if record["check"] == ANSWERED and record["verdict"] == "unknown"}
    folded: dict[tuple[str, ...], Entry] = {}
    blamed: dict[tuple[str, str], Entry] = {}
    followers: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for record in report["verdicts"]:
        for host, finding in _findings(record):
            if finding["severity"] not in severities:
                continue
            root = next((explained[place] for place in _places(host, place_of(finding)) if place in explained), None)
            # A node explains only what was found while it was silent, and lists what it explains: "unknown" has to be among the severities.
            if root is not None and root != host and (record["layer"], root) in silent and "unknown" in severities and _may_follow(record, finding):
                followers.setdefault((record["layer"], root), []).append((record["check"], host, finding["where"] or host))
                continue
            blank = _entry(record, finding)
            entry = folded.setdefault(_key(record, finding, blank), blank)
            _add(entry, record, host, finding)
            if record["check"] == ANSWERED:
                blamed[record["layer"], host] = entry
    for place, findings in followers.items():
        blamed[place].explains += len(findings)
        blamed[place].explained += _by_check(findings)
    order = [layer["layer"] for layer in report["layers"]]
    # What another finding of its layer explains comes behind it, however many places it has; a boot is why readings of its node cannot be compared.
    return sorted(
        folded.values(),
        key=lambda entry: (
            order.index(entry.layer), -entry.explains, entry.verdict != "fail", entry.check != BOOT_CHECK, entry.follows, -len(entry.places)
        ),
    )  # fmt: skip


def _add(entry: Entry, record: VerdictRecord, host: str, finding: FindingRecord) -> None:
    """Count a finding to the entry that it is folded into."""
    entry.expected.append(finding["expected"] if finding["where"] else "a reading to judge by")
    entry.found.append(finding["actual"])
    entry.checks = list(dict.fromkeys([*entry.checks, record["check"]]))
    entry.leaves.add(finding.get("leaf"))
    entry.places.append((host, finding["where"] or host))
    entry.follows |= any(one["layer"] == record["layer"] for one in finding.get("explained_by") or ())
    entry.explained_by |= dict.fromkeys(map(_explaining, finding.get("explained_by") or ()))
    entry.groups = sorted({*entry.groups, *_touched(record)})


def _may_follow(record: VerdictRecord, finding: FindingRecord) -> bool:
    """Whether a finding may follow from a node that does not answer: a state without a far end, or what could not be read."""
    return record["check"] in OF_SILENCE or (finding["severity"] == "unknown" and not finding.get("judged") and not finding.get("cause"))


def _by_check(findings: t.Iterable[tuple[str, str, str]]) -> list[str]:
    """Findings (check, host, where) as a sentence for each check."""
    places: dict[str, list[tuple[str, str]]] = {}
    for check, host, where in findings:
        places.setdefault(check, []).append((host, where))
    return [f"{check} on {_located(at)}" + (f" ({len(at)} findings)" if len(at) > 1 else "") for check, at in places.items()]


def _explaining(one: ExplainingRecord) -> str:
    at = "" if one["where"] == one["host"] else f" {one['where']}"
    return f"{one['severity']} {one['layer']}/{one['check']} on {one['host']}{at}: {one['actual']}"


def culprits(report: Report, nodes: t.Container[str], most: int = 5) -> dict[str, list[str]]:
    """The hosts and switches that findings of a no-go are on, each with what was found there; none of another verdict.

    nodes: the run's; a finding of a whole gate group is on none of them. most: how many findings of a node are named.
    """
    found: dict[str, list[str]] = {}
    for entry in entries(report) if report["verdict"] == "no_go" else ():
        for (host, where), expected, actual in zip(entry.places, entry.expected, entry.found):
            if host in nodes:
                at = "" if where == host else f" at {where}"
                found.setdefault(host, []).append(f"{entry.layer}/{entry.check}{at}: expected {expected}, got {actual}; fix: {entry.fix}")
    return {host: [*sentences[:most], *([f"{len(sentences) - most} more findings"] if len(sentences) > most else [])] for host, sentences in found.items()}


def _touched(record: VerdictRecord) -> list[str]:
    """The gate groups that a record closes: of a shared node only those that its findings are about."""
    by_group = record.get("by_group")
    return [group for group, verdict in by_group.items() if verdict != "pass"] if by_group else record["affects"]


def _key(record: VerdictRecord, finding: FindingRecord, entry: Entry) -> tuple[str, ...]:
    """Findings that say the same, but for numbers, with the same cause and fix are one; so is all that one tool's missing output leaves unreported."""
    said = NUMBER.sub("#", finding["actual"])
    if finding["where"] is None:
        # The fix of what was not reported names its check.
        return (record["layer"], UNREPORTED, said, *((entry.cause, entry.fix) if finding.get("judged") else ()))
    return (record["layer"], record["check"], finding["severity"], said, entry.cause, entry.fix)


def _entry(record: VerdictRecord, finding: FindingRecord) -> Entry:
    cause, fix, remedy = finding.get("cause") or record["cause"], finding.get("fix") or record["fix"], record["remedy"]
    judged = finding.get("judged") or finding.get("cause")
    if finding["severity"] == "unknown" and not judged and record["check"] not in (ANSWERED, BOOT_CHECK):
        cause, remedy = "What the check needs was not reported or not measured, for the reason given as the result, so nothing is proved.", None
        loaded = (known := REGISTRY[record["layer"]].get(record["check"])) is not None and known.needs == "load"
        again = f"run layer {record['layer']} again" if loaded else f"judge it again with -e pod_only={record['check']}"
        fix = f"Make what is named above answer, then {again}."
    return Entry(record["layer"], record["check"], finding["severity"], cause, fix, remedy)


def _findings(record: VerdictRecord) -> t.Iterator[tuple[str, FindingRecord]]:
    whole: FindingRecord = {
        "where": None,
        "expected": record["statement"].rstrip("."),
        "actual": record["words"],
        "severity": record["verdict"],
        "host": None,
        "port": None,
        "judged": record.get("judged", False),
    }
    for finding in record["findings"] or [whole]:
        yield finding["host"] or record["host"] or record["group"] or "", finding


def _places(host: str, place: Place) -> list[str]:
    """What a finding may be explained by: its port or device as a whole, or a node or address that it names."""
    return [*([f"{host}:{place.interface}"] if place.interface and not place.of else []), *(f"*:{peer}" for peer in place.peers)]


def _located(places: t.Iterable[tuple[str, str]]) -> str:
    places = list(places)
    hosts = list(dict.fromkeys(host for host, _where in places))
    wheres = list(dict.fromkeys(where for host, where in places if where != host))
    # What is said behind each name, such as whose memory, is said once.
    heads, tails = zip(*(where.partition(", ")[::2] for where in wheres)) if wheres else ((), ())
    at = f"{ranges(heads)}, {tails[0]}" if len(set(tails)) == 1 and tails[0] else ranges(wheres)
    return f"{ranges(hosts)} {at}" if wheres else ranges(hosts)


def merged(texts: t.Iterable[str]) -> str:
    """Texts as one: of those that differ in numbers and names, ``388 to 391 Gb/s with gpu11-gpu13``; of others the first few."""
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(NUMBER.sub("#", text), []).append(text)
    forms = [_merged_words([text.split() for text in same]) if len(same) > 1 else same[0] for same in alike.values()]
    return "; ".join([*forms[:MOST_FORMS], *([f"and {len(forms) - MOST_FORMS} more"] if len(forms) > MOST_FORMS else [])])


def _differ_in_names(texts: t.Iterable[str]) -> bool:
    """Whether texts that differ only in digits differ in a word that is no amount, such as a port's name."""
    several = [text.split() for text in dict.fromkeys(texts)]
    columns = [set(column) for column in zip(*several)]
    alike = len({NUMBER.sub("#", " ".join(words)) for words in several}) == 1
    return alike and any(len(column) > 1 and not all(map(AMOUNT.fullmatch, column)) for column in columns)


def _merged_words(texts: list[list[str]]) -> str:
    """Texts, by word, that differ only in numbers."""
    columns = [list(dict.fromkeys(column)) for column in zip(*texts)]
    words, at = [], 0
    while at < len(columns):
        column, end = columns[at], _end_of_list(columns, at)
        if end > at + 1:
            # The names of a list come in another order in each text.
            names = dict.fromkeys(word.rstrip(BEHIND_NAMES) for one in columns[at:end] for word in one)
            words.append(ranges(list(names)) + _tail(columns[end - 1][0]))
        else:
            words.append(column[0] if len(column) == 1 else _merged_word(column, columns[at - 1][0] if at else "", end < len(columns)))
        at = end
    return " ".join(words)


def _tail(word: str) -> str:
    """What is written behind a name."""
    return word[len(word.rstrip(BEHIND_NAMES)) :]


def _end_of_list(columns: list[list[str]], at: int) -> int:
    """Where a list of names with commas ends that begins at a column, and of which some differ; the next column where there is none."""
    end = at
    while end < len(columns) and all(_is_name(word) for word in columns[end]):
        end += 1
        if not all(word.endswith(",") for word in columns[end - 1]):
            break
    return end if end > at + 1 and any(len(column) > 1 for column in columns[at:end]) else at + 1


def _is_name(word: str) -> bool:
    return bool(NUMBER.search(word)) and word[0].isalpha() and not AMOUNT.fullmatch(word)


def _merged_word(words: list[str], before: str, more: bool) -> str:
    """A word that differs: an amount as its range, other numbers and names as a list; before: the word before it; more: whether one follows."""
    amounts = [found for word in words if (found := AMOUNT.fullmatch(word))]
    if len(amounts) < len(words):
        names = [word.lstrip("(").rstrip(BEHIND_NAMES) for word in words]
        lead, tail = words[0].split(names[0], 1)
        return lead + ranges(names) + tail
    numbers = sorted((one["number"] for one in amounts), key=float)
    first = amounts[0]
    written = first["after"].startswith("%") or "+" in first["before"] or any("." in one or "e" in one for one in numbers)
    if before.lower() not in NAMED and (more or written or len(numbers) > MOST_LISTED):
        return f"{first['before']}{numbers[0]} to {first['before'].lstrip('(')}{numbers[-1]}{first['after']}"
    return first["before"] + ranges(numbers) + first["after"]
