# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``report.md``: the report as a ticket wants it."""

from __future__ import annotations

import re
import typing as t

from ..run.documents import Report
from ..run.provenance import origin_lines
from ..text.control_characters import printable
from ..text.counting import counted
from ..text.folded_reasons import fold_reasons
from .conditions import change_in_words, conditions_in_words, proved_in_words, unused_in_words
from .document import gate_rows
from .documentation import CheckLinks
from .grouping import Entry, entries
from .measured import in_words
from .table import MOST_EXPLAINING

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#!~&@])")
# A summary is an artifact of a job, which AWX shows on a page and passes on to the next job.
SUMMARY_CHARACTERS, SUMMARY_GROUPS, SUMMARY_REASONS = 8000, 12, 5


def escaped(text: t.Any) -> str:
    """Text from a device as plain Markdown text on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def render_markdown(report: Report, links: CheckLinks | None = None) -> str:
    """The report as Markdown; links: where its checks are documented, which ends it for those with findings."""
    groups = list(report["layers"][0]["groups"])
    lines = [*_head(report, fold_reasons(report["reasons"], groups)), *_gates(groups, gate_rows(report))]
    checks: dict[str, None] = {}
    for title, severities in (("Findings", ("fail", "unknown")), ("Warnings", ("warn",))):
        found = entries(report, severities)
        checks |= dict.fromkeys(check for entry in found for check in entry.checks)
        lines += ["", f"## {title}", ""] if found else []
        for entry in found:
            lines += _entry(entry)
    measured = report.get("measured", {})
    lines += ["", "## Measured", ""] if measured else []
    lines += [f"- {check}: {escaped(in_words(own))}" for check, own in measured.items()]
    waived = [(record, one) for record in report["verdicts"] for one in record["waived"]]
    lines += ["", "## Waived", ""] if waived else []
    lines += [
        f"- {record['layer']}/{record['check']} on {escaped(one['host'])}: {escaped(one['finding'])} (until {one['until']}: {escaped(one['reason'])})"
        for record, one in waived
    ]
    lines += ["", "## Unused waivers", ""] if report["unused_waivers"] else []
    lines += [f"- {escaped(unused_in_words(one))}" for one in report["unused_waivers"]]
    changed = report["changed_expectations"]
    lines += ["", "## Expectations other than the defaults", ""] if changed else []
    lines += [f"- {escaped(change_in_words(name, one))}" for name, one in changed.items()]
    if links and checks:
        lines += ["", "## Documentation of these checks", "", *(f"- {check}: <{links.of(check)}>" for check in checks)]
    return "\n".join(lines) + "\n"


def summary(report: Report, link: str = "", characters: int = SUMMARY_CHARACTERS) -> str:
    """Verdict, gates and findings as Markdown of at most that many characters; what is left out is counted.

    link: where the whole report is. Of many gate groups those with a closed gate are shown.
    """
    rows = gate_rows(report)
    groups = list(report["layers"][0]["groups"])
    shown = groups if len(groups) <= SUMMARY_GROUPS else [group for number, group in enumerate(groups, 1) if any(row[number] == "CLOSED" for row in rows)]
    shown = shown[:SUMMARY_GROUPS]
    columns = [groups.index(group) + 1 for group in shown]
    reasons = report["reasons"]
    lines = _head(report, [*reasons[:SUMMARY_REASONS], *([f"{len(reasons) - SUMMARY_REASONS} more reasons"] if len(reasons) > SUMMARY_REASONS else [])])
    lines += _gates(shown, [[row[0], *(row[column] for column in columns)] for row in rows]) if shown else []
    lines += ["", f"{len(groups) - len(shown)} more gate groups are in the report."] if len(shown) < len(groups) else []
    lines += ["", f"Report: <{link}>"] if link else []
    found = entries(report)
    lines += ["", "## Findings", ""] if found else []
    # The counting line has to fit as well.
    left = characters - sum(len(line) + 1 for line in lines) - len(f"- and {len(found)} more findings in the report\n")
    for number, entry in enumerate(found):
        more = _entry(entry)
        left -= sum(len(line) + 1 for line in more)
        if left < 0:
            lines.append(f"- and {len(found) - number} more findings in the report")
            break
        lines += more
    return ("\n".join(lines) + "\n")[:characters]


def _head(report: Report, reasons: t.Sequence[str]) -> list[str]:
    lines = [f"# {escaped(report['pod'])}: {escaped(report['verdict'].replace('_', '-'))}, {escaped(proved_in_words(report))}", ""]
    lines += [f"- {escaped(reason)}" for reason in reasons] + [""] * bool(reasons)
    lines += [piece for line in conditions_in_words(report["stands_on"]) for piece in (f"{escaped(line)}.", "")]
    lines += [f"Run {report['run_id']}, depth {report['depth']}, mode {report['mode']}, collection {report['version']}.", ""]
    return lines + [piece for line in origin_lines(report) for piece in (escaped(line), "")]


def _gates(groups: t.Sequence[str], rows: t.Sequence[t.Sequence[str]]) -> list[str]:
    lines = ["| layer | " + " | ".join(map(escaped, groups)) + " |", "| --- |" + " --- |" * len(groups)]
    return lines + ["| " + " | ".join(map(escaped, row)) + " |" for row in rows]


def _entry(entry: Entry) -> list[str]:
    what = f"expected {escaped(entry.wanted)}, got {escaped(entry.actual)}"
    lines = [f"- **{entry.verdict} {escaped(entry.layer)}/{escaped(', '.join(entry.checks))}** on {escaped(entry.where + entry.size)}: {what}"]
    lines += [f"  - explained by {escaped(one)}" for one in entry.explained_by[:MOST_EXPLAINING]]
    lines.append(f"  - cause: {escaped(entry.cause)}")
    lines.append(f"  - fix: {escaped(entry.fix)}" + (f" (remedy {escaped(entry.remedy)})" if entry.remedy else ""))
    explained = f"  - explains {counted(entry.explains, 'finding')} on what it serves: {escaped('; '.join(entry.explained))}"
    return lines + ([explained] if entry.explains else [])
