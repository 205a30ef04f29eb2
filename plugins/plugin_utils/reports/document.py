# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``report.json``: the record of a run, from which everything else is rendered. Schema version 1."""

from __future__ import annotations

import typing as t
from pathlib import Path

from .. import climb
from ..checks import LAYERS
from ..gates import NOT_REACHED, NOT_RUN, OUT_OF_SCOPE, counts
from ..plan import SHARED, Plan
from ..runs import RunError, read_json

SCHEMA = 1
Document = dict[str, t.Any]


def load(run: Path) -> Document:
    """The report of a run.

    Raises RunError where it has none of this schema.
    """
    path = run / "report.json"
    try:
        report = read_json(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise RunError(f"{path} is no report of schema {SCHEMA}")
    return report


def build(plan: Plan, state: climb.State, judged: t.Mapping[str, Document]) -> Document:
    """The report of a run as far as it has come; before its end the verdict is ``no_go``."""
    records = [record for layer in LAYERS for record in judged.get(layer, {}).get("verdicts", ())]
    left_out = any(record["left_out"] for record in records)
    expired = any("waiver expired" in finding["actual"] for record in records for finding in record["findings"])
    verdict, reasons = climb.outcome(state, left_out, expired)
    return {
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
        "up_to_layer": up_to_layer(plan, state),
        "layers": [_layer(plan, state, layer, judged.get(layer)) for layer in LAYERS],
        "quarantined": state.quarantined,
        "explained": {node: places for said in judged.values() for node, places in said["explained"].items()},
        "verdicts": records,
    }


def up_to_layer(plan: Plan, state: climb.State) -> str | None:
    """The highest layer that every gate group in scope has proved, with all layers below it; None where none is."""
    highest = None
    for layer in [*[name for name in LAYERS if name in state.gates and name not in state.layers], *state.layers]:
        states = [climb.gate_state(state, layer, group) for group in plan.groups if state.scope.get(group) != "out"]
        if not states or set(states) != {"open"}:
            break
        highest = layer
    return highest


def _layer(plan: Plan, state: climb.State, layer: str, judged: Document | None) -> Document:
    if judged is None:
        in_scope = {node.name for node in plan.nodes.values() if node.group is None or state.scope.get(node.group) != "out"}
        judged = {"counts": counts(plan, (), in_scope)}
    groups = {}
    for group in plan.groups:
        gate = state.gates.get(layer, {}).get(group, {})
        groups[group] = {
            "gate": climb.gate_state(state, layer, group),
            "reasons": gate.get("reasons", []),
            "time": gate.get("time"),
            "counts": {name: number for name, number in judged["counts"][group].items() if number},
        }
    shared = {name: number for name, number in judged["counts"][SHARED].items() if number}
    return {"number": LAYERS.index(layer), "layer": layer, "asked": layer in state.layers, "groups": groups, SHARED: {"counts": shared}}


def gate_rows(report: Document) -> list[list[str]]:
    """The go/no-go table: a row a layer that was asked for, a column a gate group."""
    words = {"open": "open", "closed": "CLOSED", NOT_RUN: "not run", NOT_REACHED: "not reached", OUT_OF_SCOPE: "out of scope"}
    return [
        [f"{layer['number']} {layer['layer']}", *(words[group["gate"]] for group in layer["groups"].values())]
        for layer in report["layers"]
        if layer["asked"] or any(group["gate"] in ("open", "closed") for group in layer["groups"].values())
    ]
