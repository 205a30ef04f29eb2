# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``report.md``: the report as a ticket wants it."""

from __future__ import annotations

import re
import typing as t

from .document import gate_rows
from .folding import entries

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#!])")


def escaped(text: t.Any) -> str:
    """Text from a device as plain Markdown text on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def render(report: dict[str, t.Any]) -> str:
    """The report as Markdown."""
    groups = list(report["layers"][0]["groups"])
    lines = [f"# {escaped(report['pod'])}: {report['verdict'].replace('_', '-')} up to {report['up_to_layer'] or 'no layer'}", ""]
    lines += [f"Run {report['run_id']}, depth {report['depth']}, mode {report['mode']}, collection {report['version']}.", ""]
    lines += [f"- {escaped(reason)}" for reason in report["reasons"]] + [""] * bool(report["reasons"])
    lines += ["| layer | " + " | ".join(map(escaped, groups)) + " |", "| --- |" + " --- |" * len(groups)]
    lines += ["| " + " | ".join(map(escaped, row)) + " |" for row in gate_rows(report)]
    for title, severities in (("Findings", ("fail", "unknown")), ("Warnings", ("warn",))):
        found = entries(report, severities)
        lines += ["", f"## {title}", ""] if found else []
        for entry in found:
            what = f"expected {escaped(entry.wanted)}, got {escaped(entry.actual)}"
            lines.append(f"- **{entry.verdict} {escaped(entry.layer)}/{escaped(', '.join(entry.checks))}** on {escaped(entry.where + entry.size)}: {what}")
            lines.append(f"  - cause: {escaped(entry.cause)}")
            lines.append(f"  - fix: {escaped(entry.fix)}" + (f" (remedy {escaped(entry.remedy)})" if entry.remedy else ""))
            lines += [f"  - explains {entry.explains} findings on what it serves"] if entry.explains else []
    waived = [(record, one) for record in report["verdicts"] for one in record["waived"]]
    lines += ["", "## Waived", ""] if waived else []
    lines += [
        f"- {record['layer']}/{record['check']} on {escaped(one['host'])}: {escaped(one['finding'])} (until {one['until']}: {escaped(one['reason'])})"
        for record, one in waived
    ]
    return "\n".join(lines) + "\n"
