# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: whether the loss falls, and whether all ranks end with the same result."""

from __future__ import annotations

import statistics
import typing as t

from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, check
from .._not_measured import no_result
from ..place import Place, at_rank
from .steps import NO_STEPS, OWN_COMMAND, enough

# A checksum in float64 of three steps; what is further from one process is another computation.
SAME = 1e-6


def not_falling(where: Place, rows: Rows) -> t.Iterator[Finding]:
    """The loss where it is no less in the last quarter of the steps than in the first; rows: in the order of the steps, each with a loss."""
    part = max(1, len(rows) // 4)
    began, ended = (statistics.mean(row["loss"] for row in some) for some in (rows[:part], rows[-part:]))
    if ended >= began:
        yield Finding(where, "a loss that falls", f"from {began:.4g} to {ended:.4g}")


@check(
    cause="Training diverges: wrong data on the way, a broken GPU, or numbers out of range.",
    fix="See ranks_agree and layer 5's collectives_correct; run the vendor's GPU diagnostics on the rank where it began.",
    needs="load",
    when=(OWN_COMMAND, False),
)
def loss_falls(training_steps: Rows) -> t.Iterator[Finding]:
    """The loss is a number on every rank in every step, and falls."""
    for rank, rows in enough(training_steps).items():
        first = next((row for row in rows if row["loss"] is None), None)
        if first is not None:
            yield Finding(at_rank(rank, f", step {first['step']}"), "a loss that is a number", "none")
            continue
        yield from not_falling(at_rank(rank), rows)


@check(
    cause="A rank's results differ from the others': a broken GPU or memory, or a gradient that the network changed.",
    fix="Take the named rank's host out and run the vendor's GPU diagnostics on it.",
    required=True,
    needs="load",
    kind="host",
    when=(OWN_COMMAND, False),
)
def ranks_agree(training_agreement_of_peers: Peers, training_ranks: Rows, pod_node: str) -> t.Iterator[Finding]:
    """All ranks end with finite parameters, gradients and optimizer state, equal where they must be, as with one process."""
    mine = training_agreement_of_peers.get(pod_node, [])
    if not any(row["what"] == "parameters" for row in mine):
        if not any(row["outcome"] == "done" for row in training_ranks):
            raise no_result(NO_STEPS)
        raise CannotTell("final state of the ranks: not reported")
    for row in training_ranks:
        if row["outcome"] == "done" and (row["rank"], "parameters") not in {(one["rank"], one["what"]) for one in mine}:
            yield Finding(at_rank(row["rank"]), "its final state", "not reported", "unknown")
    every = [row for rows in training_agreement_of_peers.values() for row in rows]
    for what in ("parameters", "gradients", "optimizer"):
        sums = [row["checksum"] for row in every if row["what"] == what and row["checksum"] is not None]
        usual = max(sorted(set(sums)), key=sums.count) if sums else None
        tied = usual is not None and sums.count(usual) * 2 <= len(sums) and len(set(sums)) > 1
        for row in (row for row in mine if row["what"] == what):
            if row["finite"] is False:
                yield Finding(at_rank(row["rank"]), f"finite {what}", "a value that is not a number")
            elif usual is not None and (row["checksum"] != usual or tied):
                yield Finding(at_rank(row["rank"]), f"the {what} of the other ranks ({usual})", str(row["checksum"] or "not reported"))
    for row in (row for row in mine if row["what"] == "one process"):
        if row["difference"] is None or row["difference"] > SAME:
            yield Finding(at_rank(row["rank"]), "the loss of one process with all data", f"{row['difference']} apart")
