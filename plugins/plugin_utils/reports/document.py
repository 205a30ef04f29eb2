# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``report.json``: the record of a run, from which everything else is rendered. Schema version 1."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ..checks import LAYERS
from ..evaluate.gates import NOT_PROVED, NOT_REACHED, NOT_RUN, OUT_OF_SCOPE, count_nodes
from ..evaluate.root_causes import add_explanations
from ..evaluate.verdicts import CLOSING, EvaluatedLayer, VerdictRecord
from ..pod.plan import SHARED, Plan
from ..run.documents import Conditions, Report, ReportGate, ReportLayer
from ..run.errors import RunError
from ..run.outcome import run_outcome
from ..run.provenance import origin_fields
from ..run.reader import RunReader
from ..run.state import State, gate_state
from ..text.control_characters import visible
from .conditions import changed_expectations, conditions_of, resumed_from, shared_readings, unused_waivers

SCHEMA = 1


def load_report(run: Path) -> Report:
    """The report of a run.

    Raises RunError where it has none of this schema.
    """
    report = RunReader(run).document("report.json", dict)
    if report.get("schema") != SCHEMA:
        raise RunError(f"{run / 'report.json'} is no report of schema {SCHEMA}")
    return t.cast("Report", report)


def build_report(plan: Plan, state: State, judged: t.Mapping[str, EvaluatedLayer]) -> Report:
    """The report of a run as far as it has come; before its end the verdict is ``no_go``."""
    records = [record for layer in LAYERS if layer in judged for record in judged[layer]["verdicts"]]
    add_explanations(records)
    left_out = any(record["left_out"] for record in records)
    expired = any(finding.get("waiver_expired") for record in records for finding in record["findings"])
    verdict, reasons = run_outcome(state, left_out, expired, _following(records))
    conditions: Conditions = {
        "resumed": resumed_from(state), "shared_readings": shared_readings(state), "changed_expectations": changed_expectations(plan), "verdicts": records,
        "quarantined": state.quarantined,
    }  # fmt: skip
    report = {
        "schema": SCHEMA,
        "pod": state.pod,
        "run_id": state.run_id,
        "opened": state.opened,
        "version": state.version,
        "digest": state.digest,
        "depth": state.depth,
        "mode": state.mode,
        "only": state.only,
        "replayed_from": state.replay,
        "complete": state.finished,
        "verdict": verdict,
        "reasons": reasons,
        "up_to_layer": up_to_layer(plan, state) if verdict != "not_judged" else None,
        "layers": [_layer(plan, state, layer, judged.get(layer)) for layer in LAYERS],
        "ended": state.ended or None,
        **origin_fields(state),
        "resumed": conditions["resumed"],
        "shared_readings": conditions["shared_readings"],
        "changed_expectations": conditions["changed_expectations"],
        "stands_on": conditions_of([conditions]) if verdict != "not_judged" else [],
        "unused_waivers": unused_waivers(plan, records) if state.finished else [],
        "quarantined": state.quarantined,
        "explained": {node: places for gates_of_layer in judged.values() for node, places in gates_of_layer["explained"].items()},
    }
    # The records are clean already, and are most of it.
    return t.cast("Report", {**visible(report), "verdicts": records})


def _following(records: t.Iterable[VerdictRecord]) -> set[tuple[str, str, str]]:
    """The layer, check and node (or gate group) of each verdict all of whose findings that close a gate follow from other ones of its layer."""
    found = set()
    for record in records:
        closing = [one for one in record["findings"] if one["severity"] in CLOSING]
        if closing and all(one.get("follows") or one.get("origin") for one in closing):
            found.add((record["layer"], record["check"], record["host"] or record["group"] or ""))
    return found


def up_to_layer(plan: Plan, state: State) -> str | None:
    """The highest layer that every gate group in scope has proved, with all layers below it; None where none is."""
    highest = None
    for layer in [*[name for name in LAYERS if name in state.gates and name not in state.layers], *state.layers]:
        states = [gate_state(state, layer, group) for group in plan.groups if state.scope.get(group) != "out"]
        if not states or set(states) != {"open"}:
            break
        highest = layer
    return highest


def _layer(plan: Plan, state: State, layer: str, judged: EvaluatedLayer | None) -> ReportLayer:
    if judged is not None:
        counts = judged["counts"]
    else:
        in_scope = {node.name for node in plan.nodes.values() if node.group is None or state.scope.get(node.group) != "out"}
        counts = count_nodes(plan, (), in_scope)
    groups: dict[str, ReportGate] = {}
    for group in plan.groups:
        gate = state.gates.get(layer, {}).get(group)
        groups[group] = {
            "gate": gate_state(state, layer, group),
            "reasons": gate["reasons"] if gate else [],
            "time": gate["time"] if gate else None,
            "counts": {name: number for name, number in counts[group].items() if number},
        }
    shared = {name: number for name, number in counts[SHARED].items() if number}
    return {"number": LAYERS.index(layer), "layer": layer, "asked": layer in state.layers, "groups": groups, "shared": {"counts": shared}}


def gate_rows(report: Report) -> list[list[str]]:
    """The go/no-go table: a row a layer that was asked for, a column a gate group."""
    words = {"open": "open", "closed": "CLOSED", NOT_RUN: "not run", NOT_PROVED: "not proved", NOT_REACHED: "not reached", OUT_OF_SCOPE: "out of scope"}
    return [
        [f"{layer['number']} {layer['layer']}", *(words[group["gate"]] for group in layer["groups"].values())]
        for layer in report["layers"]
        if layer["asked"] or any(group["gate"] in ("open", "closed") for group in layer["groups"].values())
    ]
