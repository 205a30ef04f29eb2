# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node check comes to: an exit status, a line for people, a document for machines, and metrics."""

from __future__ import annotations

import typing as t

from ..evaluate.verdicts import ORDER, Verdict
from ..text.control_characters import printable
from ..text.counting import counted
from ..text.shortened import shortened
from .node_plan import NodePlan

# As node problem detectors and monitoring plugins take them; a program that could not judge ends as one that is not known.
WELL, BROKEN, NOT_KNOWN = 0, 1, 2
STATUS = {"pass": WELL, "skip": WELL, "warn": WELL, "fail": BROKEN, "unknown": NOT_KNOWN}
WORDS = {WELL: "OK", BROKEN: "FAIL", NOT_KNOWN: "UNKNOWN"}
# What a scheduler keeps of a reason.
LINE_LENGTH = 220
COLUMNS = ("expected", "actual", "severity", "cause", "fix")


class Outcome(t.NamedTuple):
    """The exit status, the line, and the document."""

    status: int
    line: str
    document: dict[str, t.Any]


def outcome_of(mine: NodePlan, verdicts: t.Sequence[Verdict], checked: str, seconds: float) -> Outcome:
    """What some verdicts come to; checked: when, ISO 8601 in UTC; seconds: how long it took."""
    found = sorted((one for one in verdicts if one.verdict not in ("pass", "skip")), key=lambda one: -ORDER.index(one.verdict))
    status = BROKEN if any(one.verdict == "fail" for one in found) else max((STATUS[one.verdict] for one in found), default=WELL)
    closing = [one for one in found if STATUS[one.verdict] != WELL]
    if closing:
        words = f"{closing[0].check}: {_first(closing[0])}" + (f"; and {counted(len(closing) - 1, 'more check')}" if len(closing) > 1 else "")
    else:
        warned = len(found)
        words = f"{counted(sum(one.verdict == 'pass' for one in verdicts), 'check')} passed" + (f", {counted(warned, 'warning')}" if warned else "")
    line = _line(f"{WORDS[status]} {mine.node}: {words}")
    document = {
        "node": mine.node,
        "pod": mine.pod,
        "plan_digest": mine.digest,
        "version": mine.version,
        "checked": checked,
        "seconds": round(seconds, 3),
        "status": WORDS[status],
        "line": line,
        "verdicts": [_record(one) for one in verdicts],
    }
    return Outcome(status, line, document)


def not_judged(words: str) -> Outcome:
    """The outcome where the host was not judged at all."""
    line = _line(f"{WORDS[NOT_KNOWN]}: {words}")
    return Outcome(NOT_KNOWN, line, {"status": WORDS[NOT_KNOWN], "line": line, "verdicts": []})


def _line(text: str) -> str:
    """Text on one line, no longer than a scheduler keeps."""
    return shortened(printable(text), LINE_LENGTH)


def _first(verdict: Verdict) -> str:
    if not verdict.findings:
        return verdict.words
    one = verdict.findings[0]
    more = f" ({len(verdict.findings)} places)" if len(verdict.findings) > 1 else ""
    return f"{one.where}: expected {one.expected}, got {one.actual}{more}"


def _record(one: Verdict) -> dict[str, t.Any]:
    findings = [{"where": str(finding.where)} | {name: value for name in COLUMNS if (value := getattr(finding, name)) is not None} for finding in one.findings]
    return {"layer": one.layer, "check": one.check, "verdict": one.verdict, "words": one.words, "cause": one.cause, "fix": one.fix, "findings": findings}


def metrics(mine: NodePlan, outcome: Outcome, at: float) -> str:
    """The outcome for node_exporter's textfile collector."""
    labels = f'pod="{_label(mine.pod)}",node="{_label(mine.node)}"'
    lines = [
        "# HELP gpufabric_node_check_status Outcome of the host's own check: 0 well, 1 broken, 2 not known.",
        "# TYPE gpufabric_node_check_status gauge",
        f"gpufabric_node_check_status{{{labels}}} {outcome.status}",
        "# HELP gpufabric_node_check_time_seconds When the host was checked, in seconds since the epoch.",
        "# TYPE gpufabric_node_check_time_seconds gauge",
        f"gpufabric_node_check_time_seconds{{{labels}}} {at:.0f}",
        "# HELP gpufabric_node_check_verdict Verdict of one check: 0 passed or skipped, 1 warning, 2 unknown, 3 failed.",
        "# TYPE gpufabric_node_check_verdict gauge",
    ]
    number = {"pass": 0, "skip": 0, "warn": 1, "unknown": 2, "fail": 3}
    for one in outcome.document["verdicts"]:
        lines.append(f'gpufabric_node_check_verdict{{{labels},layer="{one["layer"]}",check="{one["check"]}"}} {number[one["verdict"]]}')
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
