# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: what a check, its findings and the waivers come to on one node or gate group."""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import dataclass, field, fields, replace

from ..checks import CannotTell, Check, Finding
from ..checks.place import Place, at_node, place_from_record
from ..text.control_characters import printable, visible
from .waivers import Waiver

ORDER = ("pass", "skip", "warn", "unknown", "fail")
CLOSING = frozenset({"unknown", "fail"})


class ExplainingRecord(t.TypedDict):
    """A finding of a lower layer that may explain one of a rate or a time."""

    layer: str
    check: str
    host: str | None
    where: str | None
    severity: str
    actual: str


class _FindingFields(t.TypedDict, total=False):
    """Fields that records of an older version may lack; place: the fields of ``Place``; leaf, rail: of the rail that the finding is on, by the wiring plan;
    peer: the host behind the switch port that it is on.

    cause, fix: the finding's own, where it has some; judged: its words come with a cause of their own; follows: what explains it in its own layer is of the
    same nodes and leaves nothing of it over; later: another one of its check came first by time;
    unread: a reading of its rail is missing; began_at: node and port at which it began;
    origin: check, host and port of the finding there, which explains it.
    """

    value: int | None
    waiver_expired: bool
    place: dict[str, t.Any]
    leaf: str | None
    rail: str | None
    peer: str | None
    cause: str | None
    fix: str | None
    judged: bool
    later: bool
    unread: bool
    began_at: tuple[str, str]
    origin: tuple[str, str, str]
    explained_by: list[ExplainingRecord]
    follows: bool


class FindingRecord(_FindingFields):
    """A finding as ``report.json`` has it; where: None of a check that evaluated nothing."""

    where: str | None
    expected: str
    actual: str
    severity: str
    port: str | None
    host: str | None


class WaivedRecord(t.TypedDict):
    """A finding that a waiver accepts; finding: its sentence, until: a date as ISO 8601."""

    host: str
    where: str
    finding: str
    reason: str
    until: str


class _VerdictFields(t.TypedDict, total=False):
    """Fields that records of an older version lack; origin: of an unknown without findings, check, host and port of the finding that explains it."""

    unavailable: bool
    judged: bool
    origin: tuple[str, str, str]


class VerdictRecord(_VerdictFields):
    """A ``Verdict`` as ``report.json`` has it."""

    layer: str
    check: str
    group: str | None
    host: str | None
    verdict: str
    affects: list[str]
    statement: str
    words: str
    findings: list[FindingRecord]
    waived: list[WaivedRecord]
    cause: str
    fix: str
    remedy: str | None
    evidence: list[str]
    required: bool
    left_out: bool
    too_few: bool
    by_group: dict[str, str]


class EvaluatedLayer(t.TypedDict):
    """The verdicts of a layer, its counts of nodes by gate group and state, and the places whose findings a silent node explains."""

    verdicts: list[VerdictRecord]
    counts: dict[str, dict[str, int]]
    explained: dict[str, list[str]]


@dataclass(frozen=True)
class Verdict:
    """What a check comes to on one node, or on one gate group (``host`` is None).

    group: the gate group, or None for a node that several share; affects: the groups it opens or closes.
    verdict: pass, skip, warn, unknown or fail; words: the reason of a skip or an unknown.
    left_out: the run's depth or mode did not let it be judged; waived: findings that a waiver answers for.
    judged: the words of an unknown without findings come with a cause and a fix of their own.
    too_few: fewer hosts take part than the check needs, or nothing is known to judge by, so that nothing was judged.
    unavailable: the driver of the NICs cannot report what the check needs.
    required: without a pass its gate stays closed.
    """

    layer: str
    check: str
    group: str | None
    host: str | None
    verdict: str
    affects: tuple[str, ...]
    statement: str = ""
    words: str = ""
    findings: tuple[Finding, ...] = ()
    waived: tuple[WaivedRecord, ...] = ()
    cause: str = ""
    fix: str = ""
    remedy: str | None = None
    evidence: tuple[str, ...] = ()
    required: bool = False
    left_out: bool = False
    too_few: bool = False
    unavailable: bool = False
    judged: bool = False
    by_group: dict[str, str] = field(default_factory=dict)

    def on(self, group: str) -> str:
        """The verdict as far as it touches one gate group: a switch's bad host port closes that host's group only."""
        return self.by_group.get(group, "pass") if self.by_group else self.verdict

    def record(self) -> VerdictRecord:
        """As ``report.json`` has it."""
        # asdict copies every value deep, which is a third of what a large pod's gate costs.
        record = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "findings"}
        # Here what devices reported enters the report.
        found: list[FindingRecord] = [
            {
                "where": printable(one.where),
                "place": visible(one.where.record()),
                "expected": printable(one.expected),
                "actual": printable(one.actual),
                "severity": one.severity or "fail",
                "host": one.host or self.host,
                "port": one.where.port,
                "value": one.value,
                "waiver_expired": one.waiver_expired,
                "cause": one.cause and printable(one.cause),
                "fix": one.fix and printable(one.fix),
                "judged": one.judged,
            }
            for one in self.findings
        ]
        for finding in (recorded for recorded, one in zip(found, self.findings) if one.later):
            finding["later"] = True
        for finding in (recorded for recorded, one in zip(found, self.findings) if one.unread):
            finding["unread"] = True
        for finding, one in zip(found, self.findings):
            if one.began_at is not None:
                finding["began_at"] = one.began_at
        texts = {"words": printable(self.words), "waived": [visible(one) for one in self.waived]}
        return t.cast("VerdictRecord", {**record, **texts, "findings": found, "affects": list(self.affects), "evidence": list(self.evidence)})


def from_record(record: VerdictRecord) -> Verdict:
    """The verdict that ``record`` wrote; a finding's host is named, also where it is that of the verdict."""
    names = {one.name for one in fields(Verdict)}
    known: dict[str, t.Any] = {name: value for name, value in record.items() if name in names}
    findings = tuple(map(_finding, record["findings"]))
    return Verdict(**{**known, "findings": findings, "affects": tuple(record["affects"]), "waived": tuple(record["waived"]), "evidence": ()})


def touched_groups(record: VerdictRecord) -> list[str]:
    """The gate groups that a record closes: of a shared node only those that its findings are about."""
    by_group = record.get("by_group")
    return [group for group, verdict in by_group.items() if verdict != "pass"] if by_group else record["affects"]


def place_of(one: FindingRecord) -> Place:
    """The place of a recorded finding; nowhere, of a check that evaluated nothing."""
    return Place("") if one["where"] is None else place_from_record(one["where"], one.get("place"), one.get("port"), one["host"])


def _finding(one: FindingRecord) -> Finding:
    return Finding(
        place_of(one), one["expected"], one["actual"], one["severity"], one["host"], one.get("value"),
        bool(one.get("waiver_expired")), cause=one.get("cause"), fix=one.get("fix"), judged=bool(one.get("judged")), later=bool(one.get("later")),
        began_at=(passed[0], passed[1]) if (passed := one.get("began_at")) else None, unread=bool(one.get("unread")),
    )  # fmt: skip


def worst(verdicts: t.Iterable[str]) -> str:
    """The worst of some verdicts; pass where there is none."""
    return max(verdicts, key=ORDER.index, default="pass")


def settle(verdict: Verdict, check: Check, findings: list[Finding], given: t.Sequence[Waiver], today: datetime.date) -> Verdict:
    """The verdict with its findings judged: waived ones set aside, expired waivers named, the worst severity decides."""
    standing: list[Finding] = []
    waived: list[WaivedRecord] = []
    for finding in findings:
        # A check that leaves the severity open has judged what it read.
        judged = finding.judged or finding.severity is None or finding.cause is not None
        finding = replace(finding, severity=finding.severity or check.severity, judged=judged)
        # A waiver may be renewed by another one beside it.
        waiver = max(
            (one for one in given if one.covers(verdict.check, finding.host or verdict.host, printable(finding.where))), key=lambda one: one.until, default=None
        )
        if waiver is None:
            standing.append(finding)
        elif waiver.has_expired(today):
            actual = f"{finding.actual} (waiver expired on {waiver.until}: {waiver.reason})"
            standing.append(replace(finding, severity="fail", actual=actual, waiver_expired=True))
        else:
            waived.append(
                {
                    "host": finding.host or verdict.host or "",
                    "where": printable(finding.where),
                    "finding": str(finding),
                    "reason": waiver.reason,
                    "until": str(waiver.until),
                }
            )
    settled = worst(one.severity or "fail" for one in standing) if standing else "skip" if waived else "pass"
    words = verdict.words if standing or not waived else f"waived until {waived[0]['until']}: {waived[0]['reason']}"
    return replace(verdict, verdict=settled, findings=tuple(standing), waived=tuple(waived), words=words)


def undecided(
    verdict: Verdict, check: Check, findings: list[Finding], reason: CannotTell, given: t.Sequence[Waiver], today: datetime.date
) -> Verdict:  # fmt: skip
    """The unknown of a check that cannot tell; beside other findings it is one of its own, so that these do not stand for it."""
    verdict = replace(verdict, words=str(reason))
    if not findings:
        return replace(verdict, verdict="unknown", cause=reason.cause or verdict.cause, fix=reason.fix or verdict.fix, judged=bool(reason.cause))
    whole = Finding(
        at_node(str(verdict.host or verdict.group)), verdict.statement.rstrip("."), str(reason), "unknown",
        cause=reason.cause or None, fix=reason.fix or None, judged=bool(reason.cause),
    )  # fmt: skip
    return settle(verdict, check, [whole, *findings], given, today)
