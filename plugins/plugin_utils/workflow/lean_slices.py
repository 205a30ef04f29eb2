# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a merge keeps of each slice once it is read, so that the memory for a pod of thousands of hosts does not grow with slices times hosts."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ..evaluate.verdicts import EvaluatedLayer, VerdictRecord
from ..pod.plan import Node, Plan
from ..run.common_values import STEERING
from ..run.documents import Report
from .kept_slice import Slice, read_slice


def read_slices(runs: t.Iterable[Path], recheck: bool) -> list[Slice]:
    """The slices of these run directories, as ``read_slice`` reads each of them."""
    found: list[Slice] = []
    for run in runs:
        found.append(lean(read_slice(run, recheck), found))
    return found


def lean(one: Slice, others: t.Iterable[Slice]) -> Slice:
    """A slice without what a merge does not use any more.

    These are the verdicts on hosts; in its report what passed, or was skipped, with nothing else to say; and a plan of its own where another has the same.
    """
    known = [other.plan for other in others]
    for run in (one, *one.earlier.values()):
        run.judged = {layer: _of_switches(run.plan, judged) for layer, judged in run.judged.items()}
        run.report = t.cast(Report, {**run.report, "verdicts": [record for record in run.report["verdicts"] if _says_more(record)]})
        run.plan = next((plan for plan in known if same_plan(plan, run.plan)), run.plan)
        known.append(run.plan)
    return one


def _says_more(record: VerdictRecord) -> bool:
    """Whether a verdict is more than a pass or a skip: what conditions, limits and the page of a merge are made of."""
    marked = record["findings"] or record["waived"] or record["left_out"] or record.get("unavailable")
    return bool(marked) or record["verdict"] not in ("pass", "skip")


def _of_switches(plan: Plan, judged: EvaluatedLayer) -> EvaluatedLayer:
    kept = judged.copy()
    kept["verdicts"] = [record for record in judged["verdicts"] if (node := plan.nodes.get(record["host"] or "")) is not None and node.kind == "switch"]
    return kept


def same_plan(plan: Plan, other: Plan) -> bool:
    """Whether two plans differ at most in what only steers a run, such as where it is kept and how far it goes."""
    if plan is other:
        return True
    if plan.groups != other.groups or plan.cables != other.cables or plan.nodes.keys() != other.nodes.keys():
        return False
    return all(_compared(node) == _compared(other.nodes[name]) for name, node in plan.nodes.items())


def _compared(node: Node) -> tuple[t.Any, ...]:
    return node.role, node.platform, node.group, node.asn, {name: value for name, value in node.values.items() if name not in STEERING}
