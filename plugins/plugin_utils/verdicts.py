# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: what a check, its findings and the waivers come to on one node or gate group."""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import dataclass, field, fields, replace

from .checks import Check, Finding

ORDER = ("pass", "skip", "warn", "unknown", "fail")
CLOSING = frozenset({"unknown", "fail"})


@dataclass(frozen=True)
class Waiver:
    """Somebody answers for one finding until a date."""

    check: str
    host: str
    where: str
    reason: str
    until: datetime.date


@dataclass(frozen=True)
class Verdict:
    """What a check comes to on one node, or on one gate group (``host`` is None).

    group: the gate group, or None for a node that several share; affects: the groups it opens or closes.
    verdict: pass, skip, warn, unknown or fail; words: the reason of a skip or an unknown.
    left_out: the run's depth or mode did not let it be judged; waived: findings that a waiver answers for.
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
    waived: tuple[dict[str, str], ...] = ()
    cause: str = ""
    fix: str = ""
    remedy: str | None = None
    evidence: tuple[str, ...] = ()
    required: bool = False
    left_out: bool = False
    by_group: dict[str, str] = field(default_factory=dict)

    def on(self, group: str) -> str:
        """The verdict as far as it touches one gate group: a switch's bad host port closes that host's group only."""
        return self.by_group.get(group, "pass") if self.by_group else self.verdict

    def record(self) -> dict[str, t.Any]:
        """As ``report.json`` holds it."""
        # asdict copies every value deep, which is a third of what a large pod's gate costs.
        record = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "findings"}
        record["findings"] = [
            {
                "where": one.where,
                "expected": one.expected,
                "actual": one.actual,
                "severity": one.severity or "fail",
                "host": one.host or self.host,
                "port": one.port,
            }
            for one in self.findings
        ]
        return {**record, "affects": list(self.affects), "waived": list(self.waived), "evidence": list(self.evidence)}


def worst(verdicts: t.Iterable[str]) -> str:
    """The worst of some verdicts; pass where there is none."""
    return max(verdicts, key=ORDER.index, default="pass")


def waivers(raw: t.Iterable[dict[str, t.Any]], known: t.Container[str]) -> tuple[list[Waiver], list[str]]:
    """The typed waivers, and one message for each that is wrong."""
    result, wrong = [], []
    for number, one in enumerate(raw, 1):
        lacking = [key for key in ("check", "host", "where", "reason", "until") if not str(one.get(key) or "").strip()]
        if lacking:
            wrong.append(f"argument 'pod_waivers': waiver {number} lacks {', '.join(lacking)}; a waiver is for one finding, by a reason, until a date")
        elif one["check"] not in known:
            wrong.append(f"argument 'pod_waivers': waiver {number} is for the check {one['check']!r}, which does not exist")
        else:
            try:
                until = datetime.date.fromisoformat(str(one["until"]))
            except ValueError:
                wrong.append(f"argument 'pod_waivers': waiver {number}: until must be a date (YYYY-MM-DD), not {one['until']!r}")
                continue
            result.append(Waiver(one["check"], one["host"], str(one["where"]), one["reason"], until))
    return result, wrong


def settle(verdict: Verdict, check: Check, findings: list[Finding], given: t.Sequence[Waiver], today: datetime.date) -> Verdict:
    """The verdict with its findings judged: waived ones set aside, expired waivers named, the worst severity decides."""
    standing, waived = [], []
    for finding in findings:
        finding = replace(finding, severity=finding.severity or check.severity)
        # A waiver may be renewed by another one beside it.
        waiver = max((one for one in given if _covers(one, verdict, finding)), key=lambda one: one.until, default=None)
        if waiver is None:
            standing.append(finding)
        elif waiver.until < today:
            standing.append(replace(finding, severity="fail", actual=f"{finding.actual} (waiver expired on {waiver.until}: {waiver.reason})"))
        else:
            waived.append({"host": finding.host or verdict.host or "", "finding": str(finding), "reason": waiver.reason, "until": str(waiver.until)})
    settled = worst(one.severity or "fail" for one in standing) if standing else "skip" if waived else "pass"
    words = verdict.words if standing or not waived else f"waived until {waived[0]['until']}: {waived[0]['reason']}"
    return replace(verdict, verdict=settled, findings=tuple(standing), waived=tuple(waived), words=words)


def _covers(waiver: Waiver, verdict: Verdict, finding: Finding) -> bool:
    return (waiver.check, waiver.host, waiver.where) == (verdict.check, finding.host or verdict.host, finding.where)
