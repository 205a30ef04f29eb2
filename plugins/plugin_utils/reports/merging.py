# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict of a pod that several controllers climbed in slices of gate groups.

It fails closed: a group that no slice judged, a slice that has not ended, is too old or is of another pod, wiring, version or layers is a no-go.
Slices never test the paths between them, so what they prove together of routing and above is at best that no fault was seen.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..checks import LAYERS
from ..gates import CLOSED, OPEN, OUT_OF_SCOPE

Document = dict[str, t.Any]
SAME = ("schema", "pod", "digest", "version", "depth", "mode")


@dataclass
class Merged:
    """The pod's verdict, why it is not go, and by group the runs that judged it with the worst of their gates by layer."""

    verdict: str
    reasons: list[str]
    runs: dict[str, list[str]] = field(default_factory=dict)
    gates: dict[str, dict[str, str]] = field(default_factory=dict)


def merge(reports: t.Sequence[Document], now: datetime, max_age_minutes: float) -> Merged:
    """The verdict over the reports of all slices of a pod."""
    if not reports:
        return Merged("no_go", ["no slice was given"])
    wrong = [reason for report in reports for reason in _unfit(report, reports[0], now, max_age_minutes)]
    merged = Merged("no_go", wrong)
    asked = _asked(reports[0])
    groups = dict.fromkeys(group for report in reports for layer in report["layers"] for group in layer["groups"])
    for group in groups:
        judges = [report for report in reports if _states(report, group) != {OUT_OF_SCOPE}]
        merged.runs[group] = [report["run_id"] for report in judges]
        merged.gates[group] = {layer: _worst(_gate(report, layer, group) for report in judges) for layer in asked}
        closed = [layer for layer in asked if merged.gates[group][layer] != OPEN]
        if not judges:
            merged.reasons.append(f"no slice judged {group}")
        elif closed:
            merged.reasons.append(f"{group} is {merged.gates[group][closed[0]].replace('_', ' ')} at {closed[0]}")
    merged.reasons += [f"{host} is quarantined" for report in reports for host in report["quarantined"]]
    if not merged.reasons:
        merged.reasons = _limits(reports, asked)
        merged.verdict = "no_fault_seen" if merged.reasons else "go"
    return merged


def _unfit(report: Document, first: Document, now: datetime, max_age_minutes: float) -> t.Iterator[str]:
    run = f"run {report.get('run_id')}"
    for key in SAME:
        if report.get(key) != first.get(key) or report.get(key) is None:
            yield f"{run} has another {key} than run {first.get('run_id')}: {report.get(key)!r}, not {first.get(key)!r}"
    if _asked(report) != _asked(first):
        yield f"{run} was asked for other layers than run {first.get('run_id')}"
    if not report["complete"]:
        yield f"{run} has not ended"
    if report["only"] or report["replayed_from"]:
        yield f"{run} judged {'only ' + report['only'] if report['only'] else 'kept evidence'}"
    age = (now - datetime.fromisoformat(report["opened"])).total_seconds() / 60
    if not 0 <= age <= max_age_minutes:
        yield f"{run} was opened {age:.0f} minutes ago, and {max_age_minutes:g} are allowed"


def _asked(report: Document) -> list[str]:
    return [layer["layer"] for layer in report["layers"] if layer["asked"]]


def _gate(report: Document, layer: str, group: str) -> str:
    return next((one["groups"].get(group, {}).get("gate", "absent") for one in report["layers"] if one["layer"] == layer), "absent")


def _states(report: Document, group: str) -> set[str]:
    return {_gate(report, layer, group) for layer in _asked(report)}


def _worst(states: t.Iterable[str]) -> str:
    """The gate over several judges: open only where every one of them left it open."""
    told = list(states)
    return CLOSED if CLOSED in told else next((state for state in told if state != OPEN), OPEN if told else "absent")


def _limits(reports: t.Sequence[Document], asked: t.Sequence[str]) -> list[str]:
    limits = []
    if len(reports) > 1 and any(LAYERS.index(layer) >= LAYERS.index("routing") for layer in asked):
        limits.append("paths between hosts of different slices were not tested")
    if reports[0]["depth"] == "quick" or reports[0]["mode"] == "passive" or any(one["left_out"] for report in reports for one in report["verdicts"]):
        limits.append(f"depth {reports[0]['depth']} and mode {reports[0]['mode']} prove less than a whole climb")
    return limits


def render(pod: str, merged: Merged) -> str:
    """The merged verdict for a terminal."""
    words = {"go": "GO", "no_go": "NO-GO", "no_fault_seen": "NO FAULT SEEN"}[merged.verdict]
    lines = [f"{words}: pod {pod}, {len({run for runs in merged.runs.values() for run in runs})} slices, {len(merged.gates)} gate groups"]
    lines += [f"  because {reason}" for reason in merged.reasons[:20]]
    return "\n".join(lines + ([f"  and {len(merged.reasons) - 20} more reasons"] if len(merged.reasons) > 20 else [])) + "\n"
