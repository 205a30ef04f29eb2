# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``merge.html``: a pod in slices on one page, a line for each run with its gates, and its findings where it is opened.

The page has no program: what a run kept is in the page of that run, which it links where that page can be reached from it.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass

from ..run.documents import Report
from ..text.folded_reasons import fold_reasons
from .conditions import VERDICT_WORDS, conditions_in_words
from .grouping import Entry, entries
from .html import asset, template

Document = dict[str, t.Any]
MOST_REASONS = 12
MOST_FINDINGS = 20
# The gates of a run, the worst first.
STATES = ("closed", "not_reached", "not_run", "not_proved", "open", "out_of_scope")


@dataclass(frozen=True)
class RunLine:
    """A run as the page has it: link: its own page as seen from this one, empty where it has none; gates: of each asked layer, how many are in which state."""

    name: str
    verdict: str
    hosts: int
    link: str
    wrong: list[str]
    gates: dict[str, dict[str, int]]
    closed: dict[str, list[str]]
    findings: list[Entry]
    more: int


def render_merged_page(record: Document, headline: str, conditions: t.Sequence[str], reports: t.Mapping[str, Report], links: t.Mapping[str, str]) -> str:
    """The page of a merge; record: as ``merge.json`` has it; conditions: what its verdict depends on.

    reports and links: of its runs by their directory; a run that is not linked has an empty one.
    """
    style = asset("page.css")
    return template("merged.html.j2").render(
        record=record,
        headline=headline,
        conditions=conditions_in_words(conditions),
        words=VERDICT_WORDS,
        reasons=fold_reasons(record["reasons"], record["gates"]),
        most=MOST_REASONS,
        layers=list(next(iter(record["gates"].values()), {})),
        runs=[_line(one, reports[one["run"]], links[one["run"]]) for one in record["slices"]],
        states=STATES,
        policy=f"default-src 'none'; style-src {style[1]}; img-src data:",
        style=style[0],
    )


def _line(one: Document, report: Report, link: str) -> RunLine:
    asked = [layer for layer in report["layers"] if layer["asked"]]
    states = {
        layer["layer"]: Counter(gate["gate"] for gate in layer["groups"].values() if gate["gate"] != "out_of_scope") for layer in asked
    }  # fmt: skip
    found = entries(report)
    return RunLine(
        name=one["run_id"],
        verdict=one["verdict"],
        hosts=one["hosts"],
        link=link,
        wrong=one["wrong"],
        gates={layer: {state: number[state] for state in STATES if number[state]} for layer, number in states.items()},
        closed={layer["layer"]: closed for layer in asked if (closed := [group for group, gate in layer["groups"].items() if gate["gate"] == "closed"])},
        findings=found[:MOST_FINDINGS],
        more=max(0, len(found) - MOST_FINDINGS),
    )
