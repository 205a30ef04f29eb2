# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folding: findings that share what they say, or that one dead node explains, are one entry."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..checks.place import Place
from ..checks.registry import REGISTRY
from ..evaluate.boot_check import BOOT_CHECK
from ..evaluate.layer_input import ANSWERED
from ..evaluate.origins import origins_of
from ..evaluate.silence import OF_SILENCE
from ..evaluate.verdicts import FindingRecord, VerdictRecord, place_of, touched_groups
from ..run.documents import Report
from ..text.counting import counted
from ..text.ranges import ranges
from .merged_texts import MOST_LISTED, NUMBER, differ_in_names, merged

UNREPORTED = "unreported"
# Cause and fix of a finding without words of its own that another one explains.
WHAT_EXPLAINS = "The finding that explains it."
EXPLAINED_FIX = "Mend the finding that explains it first"


@dataclass
class Entry:
    """One line for a person: what was found, where, and what else it explains.

    checks: every check it is a finding of; places: ``host where`` of each finding it stands for; expected, found: the texts of each, in this order;
    explained: findings of other nodes that follow from it, as ``check on places``; explains: how many they are;
    explaining: findings at the same places that explain it, as verdict, layer, check, what of the host and what was got, with their hosts;
    follows: one of its own layer does that weighs as much; whole: and leaves nothing of any of them over;
    own_words: cause and fix are of a finding and not of its check; judged: one of its findings follows from what was read.
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
    explaining: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    follows: bool = False
    whole: bool = True
    own_words: bool = False
    judged: bool = False

    @property
    def checks_named(self) -> str:
        """Its checks, the first three by name."""
        return ", ".join(self.checks[:3]) + (f" and {counted(len(self.checks) - 3, 'more check')}" if len(self.checks) > 3 else "")

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
        if not (differ_in_names(self.expected) and differ_in_names(self.found)):
            return ""
        if len(texts) > MOST_LISTED and merged(self.expected) != merged(self.found):
            return ""
        each = [f"{text} at {host if where == host else f'{host} {where}'}" for text, (host, where) in zip(texts, self.places)]
        return "; ".join([*each[:MOST_LISTED], *([f"and {len(each) - MOST_LISTED} more"] if len(each) > MOST_LISTED else [])])

    @property
    def unproved(self) -> bool:
        """Whether it only says that something was not reported or measured."""
        return self.verdict == "unknown" and not self.judged and self.check not in (ANSWERED, BOOT_CHECK)

    @property
    def explained_by(self) -> list[str]:
        """What explains it, in a line for all hosts of which the same was found."""
        return [
            f"{verdict} {layer}/{check} on {' '.join([*([ranges(hosts)] if hosts else []), *([of] if of else [])])}: {actual}"
            for (verdict, layer, check, of, actual), hosts in self.explaining.items()
        ]

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
    elsewhere: list[tuple[VerdictRecord, str, FindingRecord]] = []
    begun: dict[tuple[str, ...], Entry] = {}
    for record in report["verdicts"]:
        for host, finding in _findings(record):
            if finding["severity"] not in severities:
                continue
            if finding.get("origin"):
                elsewhere.append((record, host, finding))
                continue
            root = next((explained[place] for place in _places(host, place_of(finding)) if place in explained), None)
            # A node explains only what was found while it was silent, and lists what it explains: "unknown" has to be among the severities.
            if root is not None and root != host and (record["layer"], root) in silent and "unknown" in severities and _may_follow(record, finding):
                followers.setdefault((record["layer"], root), []).append((record["check"], host, finding["where"] or host))
                continue
            entry = _fold(folded, record, host, finding)
            if record["check"] == ANSWERED:
                blamed[record["layer"], host] = entry
            for place in origins_of(record["check"], finding):
                begun.setdefault((record["layer"], *place), entry)
    for root_place, findings in followers.items():
        blamed[root_place].explains += len(findings)
        blamed[root_place].explained += _by_check(findings)
    order = [layer["layer"] for layer in report["layers"]]
    _fold_behind(folded, begun, elsewhere, order)
    for entry in folded.values():
        _name_what_explains(entry)
    # What another finding of its layer explains comes behind it, however many places it has; a boot is why readings of its node cannot be compared. What
    # was not reported says less than an unknown that follows from what was.
    return sorted(
        folded.values(),
        key=lambda entry: (
            order.index(entry.layer), -entry.explains, entry.verdict != "fail", entry.check != BOOT_CHECK, entry.follows, entry.unproved, -len(entry.places)
        ),
    )  # fmt: skip


def _fold(folded: dict[tuple[str, ...], Entry], record: VerdictRecord, host: str, finding: FindingRecord) -> Entry:
    """The entry of a finding, to which it is counted."""
    blank = _entry(record, finding)
    entry = folded.setdefault(_key(record, finding, blank), blank)
    _add(entry, record, host, finding)
    return entry


def _fold_behind(
    folded: dict[tuple[str, ...], Entry], begun: t.Mapping[tuple[str, ...], Entry], found: t.Iterable[tuple[VerdictRecord, str, FindingRecord]],
    order: t.Sequence[str],
) -> None:  # fmt: skip
    """Count what began elsewhere to the entry of that place; where this is not among them, as any other finding. begun: by layer, check, host and port."""
    behind: dict[int, tuple[Entry, list[tuple[str, str, str]]]] = {}
    above: dict[int, list[FindingRecord]] = {}
    for record, host, finding in found:
        entry = _beginning(begun, record["layer"], finding, order)
        if entry is None:
            _fold(folded, record, host, finding)
            continue
        behind.setdefault(id(entry), (entry, []))[1].append((record["check"], host, finding["where"] or host))
        if entry.layer != record["layer"]:
            above.setdefault(id(entry), []).append(finding)
    for entry, its in behind.values():
        entry.explains += len(its)
        entry.explained += _by_check(its)
        # What a layer above saw of a node that does not answer says more of it than that it does not.
        if not entry.own_words and len(words := {(one.get("cause"), one.get("fix")) for one in above.get(id(entry), ())}) == 1:
            cause, fix = words.pop()
            entry.cause, entry.fix = cause or entry.cause, fix or entry.fix


def _beginning(begun: t.Mapping[tuple[str, ...], Entry], layer: str, finding: FindingRecord, order: t.Sequence[str]) -> Entry | None:
    """The entry at which a finding began: of its own layer, or that a node did not answer in a lower one, and was not asked again."""
    layers = [layer, *reversed(order[: order.index(layer)])] if finding["origin"][0] == ANSWERED else [layer]
    return next((begun[name, *finding["origin"]] for name in layers if (name, *finding["origin"]) in begun), None)


def _add(entry: Entry, record: VerdictRecord, host: str, finding: FindingRecord) -> None:
    """Count a finding to the entry that it is folded into; one that several nodes report in the same words, such as of a rank that all waited for, once."""
    place = (host, finding["where"] or host)
    if not _unreported(record, finding) and any(pair == (place, finding["actual"]) for pair in zip(entry.places, entry.found)):
        entry.groups = sorted({*entry.groups, *touched_groups(record)})
        return
    entry.expected.append("a reading to judge by" if _unreported(record, finding) else finding["expected"])
    entry.found.append(finding["actual"])
    entry.checks = list(dict.fromkeys([*entry.checks, record["check"]]))
    entry.leaves.add(finding.get("leaf"))
    entry.places.append(place)
    entry.follows |= finding.get("later", False) or any(
        one["layer"] == record["layer"] and one["severity"] in ("fail", finding["severity"]) for one in finding.get("explained_by") or ()
    )
    entry.judged |= bool(finding.get("judged")) and finding["where"] is not None
    entry.whole &= finding.get("follows", False)
    entry.own_words |= bool(finding.get("cause"))
    for one in finding.get("explained_by") or ():
        of = "" if one["where"] == one["host"] else one["where"] or ""
        hosts = entry.explaining.setdefault((one["severity"], one["layer"], one["check"], of, one["actual"]), [])
        hosts += [one["host"]] if one["host"] is not None and one["host"] not in hosts else []
    entry.groups = sorted({*entry.groups, *touched_groups(record)})


def _may_follow(record: VerdictRecord, finding: FindingRecord) -> bool:
    """Whether a finding may follow from a node that does not answer: a state without a far end, or what could not be read."""
    return record["check"] in OF_SILENCE or (finding["severity"] == "unknown" and not finding.get("judged") and not finding.get("cause"))


def _by_check(findings: t.Iterable[tuple[str, str, str]]) -> list[str]:
    """Findings (check, host, where) as a sentence for each check."""
    places: dict[str, list[tuple[str, str]]] = {}
    for check, host, where in findings:
        places.setdefault(check, []).append((host, where))
    return [f"{check} on {_located(at)}" + (f" ({len(at)} findings)" if len(at) > 1 else "") for check, at in places.items()]


def _key(record: VerdictRecord, finding: FindingRecord, entry: Entry) -> tuple[str, ...]:
    """Findings that say the same, but for numbers, with the same cause and fix are one; so is all that one tool's missing output leaves unreported."""
    actual = NUMBER.sub("#", finding["actual"])
    if _unreported(record, finding):
        # The fix of what was not reported names its check.
        return (record["layer"], UNREPORTED, actual, *((entry.cause, entry.fix) if finding.get("judged") or finding.get("cause") else ()))
    return (record["layer"], record["check"], finding["severity"], actual, entry.cause, entry.fix)


def _unreported(record: VerdictRecord, finding: FindingRecord) -> bool:
    """Whether a finding is that nothing was read of a node or group as a whole, so that one missing output is one entry of all checks that need it."""
    if finding["where"] is None:
        return True
    return finding["severity"] == "unknown" and place_of(finding).whole and record["check"] not in (ANSWERED, BOOT_CHECK)


def _entry(record: VerdictRecord, finding: FindingRecord) -> Entry:
    cause, fix, remedy = finding.get("cause") or record["cause"], finding.get("fix") or record["fix"], record["remedy"]
    judged = finding.get("judged") or finding.get("cause")
    if finding["severity"] == "unknown" and not judged and record["check"] not in (ANSWERED, BOOT_CHECK):
        cause, remedy = "What the check needs was not reported or not measured, for the reason given as the result, so nothing is proved.", None
        fix = f"Make what is named above answer, then {_again(record['layer'], record['check'])}."
    return Entry(record["layer"], record["check"], finding["severity"], cause, fix, remedy)


def _again(layer: str, check: str) -> str:
    """How a check is judged again once something is mended."""
    loaded = (known := REGISTRY[layer].get(check)) is not None and known.needs == "load"
    return f"run layer {layer} again" if loaded else f"judge it again with -e pod_only={check}"


def _name_what_explains(entry: Entry) -> None:
    """Let what explains an entry be its cause, where its own is only what its check usually comes from."""
    if not entry.explaining or entry.own_words:
        return
    if entry.whole:
        entry.cause, entry.fix, entry.remedy = WHAT_EXPLAINS, f"{EXPLAINED_FIX}, then {_again(entry.layer, entry.check)}.", None
    else:
        entry.cause, entry.fix = f"{WHAT_EXPLAINS} Where it does not: {entry.cause}", f"{EXPLAINED_FIX}. Where this remains: {entry.fix}"


def _findings(record: VerdictRecord) -> t.Iterator[tuple[str, FindingRecord]]:
    whole: FindingRecord = {
        "where": None,
        "expected": record["statement"].rstrip("."),
        "actual": record["words"],
        "severity": record["verdict"],
        "host": record["host"],
        "port": None,
        "judged": record.get("judged", False),
    }
    if "origin" in record:
        whole["origin"] = record["origin"]
    for finding in record["findings"] or [whole]:
        yield finding["host"] or record["host"] or record["group"] or "", finding


def _places(host: str, place: Place) -> list[str]:
    """What a finding may be explained by: its port or device as a whole, or a node or address that it names."""
    return [*([f"{host}:{place.interface}"] if place.interface and not place.of else []), *(f"*:{peer}" for peer in place.peers)]


def _located(places: t.Iterable[tuple[str, str]]) -> str:
    places = list(places)
    hosts = list(dict.fromkeys(host for host, _where in places))
    wheres = list(dict.fromkeys(where for host, where in places if where != host))
    # What stands behind each name, such as whose memory, is printed once.
    heads, tails = zip(*(where.partition(", ")[::2] for where in wheres)) if wheres else ((), ())
    at = f"{ranges(heads)}, {tails[0]}" if len(set(tails)) == 1 and tails[0] else ranges(wheres)
    return f"{ranges(hosts)} {at}" if wheres else ranges(hosts)
