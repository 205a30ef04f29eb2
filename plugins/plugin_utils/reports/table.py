# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a run for a terminal: the table of gates, then each finding with its cause and fix."""

from __future__ import annotations

import textwrap

from ..run.documents import Report
from ..text.control_characters import printable
from ..text.counting import counted
from ..text.folded_reasons import fold_reasons
from .conditions import VERDICT_WORDS, conditions_in_words, proved_in_words, unused_in_words
from .document import gate_rows
from .grouping import Entry, entries
from .measured import in_words

WIDTH, NARROWEST = 100, 60
COLOURS = {
    "open": "32",
    "CLOSED": "31",
    "go": "32",
    "no_go": "31",
    "no_fault_seen": "33",
    "not run": "33",
    "not proved": "33",
    "not reached": "90",
    "out of scope": "90",
}
MOST = 20
MOST_WAIVERS = 3
MOST_EXPLAINING = 3


def render_table(report: Report, colour: bool = False, columns: int = WIDTH) -> str:
    """Text of 60 to 100 columns, as many as there are; colour only where the caller knows a terminal."""
    width = min(WIDTH, max(NARROWEST, columns))
    lines = [*_table(report, colour, width), ""]
    for check, own in report.get("measured", {}).items():
        lines += _wrapped(f"{check}: {in_words(own)}", "  ", width)
    lines += [""] if report.get("measured") else []
    found = entries(report)
    for entry in found[:MOST]:
        lines += _entry(entry, width)
    if len(found) > MOST:
        lines.append(f"... and {len(found) - MOST} more findings in the report")
    warned = entries(report, ("warn",))
    if warned:
        checks = ", ".join(sorted({entry.check for entry in warned}))
        lines += _wrapped(f"Warnings: {sum(len(entry.places) for entry in warned)}, of {checks}", "  ", width)
    lines += [*_verdict(report, colour, width)]
    return "\n".join(lines)


def _table(report: Report, colour: bool, columns: int) -> list[str]:
    groups = [printable(group) for group in report["layers"][0]["groups"]]
    rows = gate_rows(report)
    first = max([len("layer"), *(len(row[0]) for row in rows)])
    cell = max([12, *(len(group) for group in groups)])
    fitting = max(1, (columns - first) // (cell + 2))
    lines = []
    for start in range(0, len(groups), fitting):
        lines.append("layer".ljust(first) + "".join("  " + group.ljust(cell) for group in groups[start : start + fitting]).rstrip())
        for row in rows:
            cells = row[1 + start : 1 + start + fitting]
            lines.append(row[0].ljust(first) + "".join("  " + _painted(gate, gate.ljust(cell), colour) for gate in cells).rstrip())
    return lines


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    """Lines of at most so many columns, all but the first indented; names with hyphens and an option with its value stay whole, so that they can be copied."""
    whole = printable(text).replace(" -e ", " -e\xa0")
    return [line.replace("-e\xa0", "-e ") for line in textwrap.wrap(whole, width, subsequent_indent=indent, break_on_hyphens=False)]


def _painted(word: str, text: str, colour: bool) -> str:
    return f"\x1b[{COLOURS[word]}m{text}\x1b[0m" if colour and word in COLOURS else text


def _entry(entry: Entry, width: int) -> list[str]:
    head = f"{entry.verdict.upper()} {entry.layer}/{entry.checks_named} on {entry.where}"
    lines = _wrapped(head + entry.size, "  ", width)
    lines += _named(width, ("expected", entry.wanted), ("got", entry.actual))
    for number, one in enumerate(entry.explained_by[:MOST_EXPLAINING]):
        lines += _wrapped(f"  {'explained by: ' if not number else '':<14}{one}", " " * 16, width)
    lines += _named(width, ("cause", entry.cause), ("fix", entry.fix))
    if entry.explains:
        text = f"{'explains:':<10}{counted(entry.explains, 'finding')} on what it serves: {'; '.join(entry.explained)}"
        lines += _wrapped(f"  {text}", " " * 12, width)
    return [*lines, ""]


def _named(width: int, *texts: tuple[str, str]) -> list[str]:
    """Lines of texts with their names."""
    return [line for name, text in texts for line in _wrapped(f"  {name + ':':<10}{text}", " " * 12, width)]


def _verdict(report: Report, colour: bool, width: int) -> list[str]:
    words = VERDICT_WORDS[report["verdict"]]
    kept = f", from the evidence in {report['replayed_from']}" if report["replayed_from"] else ""
    headline = f"{words}: pod {report['pod']}, {proved_in_words(report)}, depth {report['depth']}{kept}"
    lines = _wrapped(headline, "  ", width)
    lines[0] = lines[0].replace(words, _painted(report["verdict"], words, colour), 1)
    for reason in fold_reasons(report["reasons"], report["layers"][0]["groups"])[:8]:
        lines += _wrapped(f"  because {reason}", "    ", width)
    for line in conditions_in_words(report["stands_on"]):
        lines += _wrapped(f"  {line}", "    ", width)
    for one in report["unused_waivers"][:MOST_WAIVERS]:
        lines += _wrapped(f"  {unused_in_words(one)}", "    ", width)
    if len(report["unused_waivers"]) > MOST_WAIVERS:
        lines.append(f"  and {len(report['unused_waivers']) - MOST_WAIVERS} more unused waivers in the report")
    return lines
