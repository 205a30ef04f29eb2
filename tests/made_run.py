# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run directory without a climb: a plan, verdicts, and what nodes printed, for tests of what is rendered from them."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.gates import count_nodes, decide_gates
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.documentation import CheckLinks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.html import render_html
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json, write_json, write_private
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.membership import record_gates
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.reader import RunReader
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report

JUDGED = ("preflight", "links", "routing")


def verdict(plan: Plan, layer: str, check: str, node: str, *findings: Finding, words: str = "") -> Verdict:
    """A verdict of a real check on a node, as bad as its findings; of no finding a pass."""
    declared = REGISTRY[layer][check]
    worst = max((one.severity or "fail" for one in findings), key=["warn", "unknown", "fail"].index, default="pass")
    return Verdict(
        layer, check, plan.nodes[node].group, node, worst, tuple(sorted(plan.affects(node))), declared.stated(plan.nodes[node].values), words, findings,
        cause=declared.cause, fix=declared.fix, remedy=declared.remedy, required=bool(declared.required),
    )  # fmt: skip


def make(run: Path, plan: Plan, verdicts: t.Sequence[Verdict], asked: t.Sequence[str] = JUDGED) -> RunStore:
    """The directory of a finished run that judged some layers, with its report.json."""
    state = State(
        pod="made", run_id=run.name, depth="standard", mode="full", opened="2026-06-15T12:00:00Z", digest="0", version="0.1.0",
        layers=list(asked), scope=dict.fromkeys(plan.groups, "in"), members={layer: list(plan.nodes) for layer in asked}, finished=True,
    )  # fmt: skip
    book = RunStore(run)
    book.keep_plan(plan, state)
    for layer in asked:
        own = [one for one in verdicts if one.layer == layer]
        record_gates(plan, state, layer, decide_gates(plan, own, plan.groups, None, {}), "2026-06-15T12:00:00Z")
        records, counts = [one.record() for one in own], count_nodes(plan, own, set(plan.nodes))
        book.keep_verdicts(layer, {"verdicts": records, "counts": counts, "explained": {}})
    book.keep_state(state)
    write_report(book, plan, state)
    return book


def printed(book: RunStore, layer: str, node: str, reading: str, text: str, argv: t.Sequence[str], phase: str = "now") -> None:
    """Let a node have printed a text for a reading."""
    place = book.run / "evidence" / layer / node
    write_private(place / (f"{reading}.txt" if phase == "now" else f"{reading}.{phase}.txt"), text)
    (book.run / "readings" / layer / phase).mkdir(parents=True, exist_ok=True)
    commands = read_json(place / "commands.json") if (place / "commands.json").is_file() else []
    commands.append({"reading": reading, "argv": list(argv), "rc": 0, "status": "ran", "seconds": 0.1, "stderr": ""})
    write_json(place / "commands.json", commands)


def result(book: RunStore, layer: str, node: str, phase: str = "now", seconds: float = 0.0, **rows: list[dict[str, t.Any]]) -> None:
    """Let a node have told the rows of some readings; seconds: of a sample under load (``during-0``)."""
    readings = {name: {"status": "ok", "words": "", "rows": own, "lost": {}, "evidence": None} for name, own in rows.items()}
    document = {"answered": True, "words": "", "node": node, "seconds": seconds, "readings": readings}
    write_json(book.run / "readings" / layer / phase / f"{node}.json", document)


def page(book: RunStore) -> str:
    """The rendered page of a made run."""
    text = render_html(read_json(book.run / "report.json"), book.plan(), RunReader(book.run, book.plan()), CheckLinks(book.run, ""))
    write_private(book.run / "report.html", text)
    return text
