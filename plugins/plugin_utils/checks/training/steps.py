# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: what the ranks of the built-in training tell."""

from __future__ import annotations

import math
import statistics
import typing as t

from .. import CannotTell, Finding, NotApplicable, check
from .._rows import Rows
from ..collectives.correctness import hung, refused

Peers = dict[str, Rows]
LEAST_STEPS = 10
# A site's own training, where it is set, tells no ranks.
OWN_COMMAND = "pod_training_command"
# A checksum in float64 of three steps; what is further from one process is another computation.
SAME = 1e-6


def _of_rank(steps: Rows) -> dict[int, Rows]:
    result: dict[int, Rows] = {}
    for row in sorted(steps, key=lambda row: row["step"]):
        result.setdefault(row["rank"], []).append(row)
    return result


def enough(steps: Rows) -> dict[int, Rows]:
    """The steps of each rank.

    Raises CannotTell where there are too few to say anything.
    """
    ranks = _of_rank(steps)
    fewest = min((sum(row["steps"] for row in rows) for rows in ranks.values()), default=0)
    if fewest < LEAST_STEPS:
        raise CannotTell(f"{fewest} steps were told, {LEAST_STEPS} are needed")
    return ranks


def timed_out(rows: t.Iterable[dict[str, t.Any]]) -> t.Iterator[Finding]:
    """The collectives that a log says have hung (``collective_timeouts``)."""
    for row in rows:
        yield Finding(f"rank {row['rank']}" if row["rank"] is not None else "a rank", "no hung collective", row["text"][:300])


def not_falling(where: str, rows: Rows) -> t.Iterator[Finding]:
    """The loss where it is no less in the last quarter of the steps than in the first; rows: in the order of the steps, each with a loss."""
    part = max(1, len(rows) // 4)
    began, ended = (statistics.mean(row["loss"] for row in some) for some in (rows[:part], rows[-part:]))
    if ended >= began:
        yield Finding(where, "a loss that falls", f"from {began:.4g} to {ended:.4g}")


def spread(rows: Rows) -> tuple[float, float]:
    """The mean (ms) and the coefficient of variation (percent) of a rank's steps, windows put together."""
    count = sum(row["steps"] for row in rows)
    mean = sum(row["step_ms"] * row["steps"] for row in rows) / count
    square = sum(row["steps"] * (row["deviation_ms"] ** 2 + (row["step_ms"] - mean) ** 2) for row in rows) / count
    return mean, math.sqrt(square) / mean * 100


@check(
    cause="Something disturbs the steps: congestion, a slow rank, throttling, a noisy neighbour on the host or on the fabric.",
    fix="Compare the ranks' own computation in the report: where one is unsteady it is the cause, where all wait it is the network.",
    required=True,
    needs="load",
    when=(OWN_COMMAND, False),
)
def step_time_stable(training_steps: Rows, training_ranks: Rows, pod_step_variation_percent: float, pod_step_least_ms: float) -> t.Iterator[Finding]:
    """After the warm-up the time of a step varies by less than 5 percent, on every rank."""
    steps = enough(training_steps)
    for row in training_ranks:
        if row["outcome"] == "done" and row["rank"] not in steps:
            yield Finding(f"rank {row['rank']}", "the times of its steps", "none", "unknown")
    for rank, rows in steps.items():
        mean, variation = spread(rows)
        middle = statistics.median(row["step_ms"] for row in rows)
        off = statistics.median(abs(row["step_ms"] - middle) for row in rows)
        told = f"{variation:.3g} % of {mean:.4g} ms, half of the steps within {off:.3g} ms of the middle"
        if mean < pod_step_least_ms:
            # Whose jitter it is cannot be told of short steps; that they are steady all the same can.
            severity = "unknown" if variation > pod_step_variation_percent else "warn"
            yield Finding(f"rank {rank}", f"steps of {pod_step_least_ms:g} ms or more, that jitter of the host does not count", told, severity)
        elif variation > pod_step_variation_percent:
            yield Finding(f"rank {rank}", f"a variation of at most {pod_step_variation_percent:g} %", told)


@check(
    cause="One step waited for a retransmission, a reset link, a page of memory, or a collector.",
    fix="Look at the counters of the NICs and at the kernel log of the named rank's host at that step.",
    needs="load",
    when=(OWN_COMMAND, False),
)
def step_outliers(training_steps: Rows, pod_step_outlier_times: float) -> t.Iterator[Finding]:
    """No step lasts more than 5 times the mean."""
    for rank, rows in enough(training_steps).items():
        mean, _variation = spread(rows)
        longest = max(rows, key=lambda row: row["longest_ms"])
        if longest["longest_ms"] > pod_step_outlier_times * mean:
            where = f"rank {rank}, step {longest['step']}" + (f" to {longest['step'] + longest['steps'] - 1}" if longest["steps"] > 1 else "")
            yield Finding(where, f"at most {pod_step_outlier_times:g} times {mean:.4g} ms", f"{longest['longest_ms']:.4g} ms")


@check(
    cause="This rank's own GPU, CPU or data is slower than the others', and every step waits for it.",
    fix="Compare its GPU's clocks, temperature and power with the others', its PCIe link, its NUMA node and what else runs on its host.",
    needs="load",
    kind="host",
    when=(OWN_COMMAND, False),
)
def slow_rank(training_steps_of_peers: Peers, pod_node: str, pod_slow_rank_percent: float) -> t.Iterator[Finding]:
    """No rank's own computation and data take longer than the others' in most steps, by more than 5 percent of the step."""
    own: dict[int, dict[int, float]] = {}
    lengths: dict[int, float] = {}
    mine = {row["rank"] for row in training_steps_of_peers.get(pod_node, ())}
    for rows in training_steps_of_peers.values():
        for row in rows:
            if row["compute_ms"] is not None:
                own.setdefault(row["step"], {})[row["rank"]] = row["compute_ms"] + row["data_ms"]
                lengths[row["step"]] = row["step_ms"]
    if not own or not mine:
        raise NotApplicable("with sharded parameters the parts of a step are not told") if mine else CannotTell("no step was told")
    late: dict[int, list[float]] = {}
    for step, times in own.items():
        # Of two ranks the quicker one is the measure, not their mean.
        middle = statistics.median_low(times.values())
        for rank in mine & set(times):
            late.setdefault(rank, []).append((times[rank] - middle) / lengths[step] * 100)
    for rank, parts in sorted(late.items()):
        slow = [part for part in parts if part > pod_slow_rank_percent]
        if len(slow) > len(parts) / 2:
            behind = f"{statistics.median(slow):.3g} % behind in {len(slow)} of {len(parts)} steps"
            yield Finding(f"rank {rank}", f"its own part within {pod_slow_rank_percent:g} % of the step of the others'", behind)


@check(
    cause="The pod trains slower than it did or should: see mfu_cause for which of computation, network and storage it is.",
    fix="Compare with the baseline's software and settings, then follow mfu_cause.",
    needs="load",
    when=(OWN_COMMAND, False),
)
def step_time_expected(training_steps: Rows, pod_step_seconds: float | None, pod_step_tolerance_percent: float) -> t.Iterator[Finding]:
    """A step takes what it is expected to take, within 10 percent."""
    if pod_step_seconds is None:
        raise NotApplicable("pod_step_seconds is not set")
    for rank, rows in enough(training_steps).items():
        mean, _variation = spread(rows)
        most = pod_step_seconds * 1e3 * (1 + pod_step_tolerance_percent / 100)
        if mean > most:
            yield Finding(f"rank {rank}", f"at most {most:.4g} ms", f"{mean:.4g} ms")


@check(
    cause="A collective hung: a rank died or stalled, or the network lost a path. The finding names who was missing where the log says it.",
    fix="Look at the missing rank's host: Xid, NIC errors, link flaps at that time; where all were there, at the paths between them.",
    required=True,
    needs="load",
    when=(OWN_COMMAND, False),
)
def no_nccl_timeouts(
    load_jobs: Rows, training_ranks: Rows, training_hangs: Rows, pod_gpus_per_host: int, collective_timeouts: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """No collective of the training hangs, and every rank comes to its end."""
    launchers = refused(load_jobs)
    yield from (Finding("the launcher", "ranks on all hosts", str(row["words"]), "unknown") for row in launchers)
    if not (training_ranks or launchers):
        raise CannotTell("no rank was started")
    yield from hung(training_hangs, training_ranks)
    # A rank that was ended beside one that failed was ended for its sake.
    ill = [row for row in training_ranks if row["outcome"] in ("killed", "error")] or [row for row in training_ranks if row["outcome"] == "ended"]
    for row in ill:
        why = row["error"] or (f"ended by signal {row['signal']}" if row["signal"] else row["outcome"])
        yield Finding(f"rank {row['rank']}", "an end of its own", str(why)[:400], "unknown" if row["outcome"] == "error" else None)
    if len(training_ranks) != pod_gpus_per_host:
        yield Finding("ranks", str(pod_gpus_per_host), str(len(training_ranks)), "unknown")
    yield from timed_out(collective_timeouts or ())


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
            yield Finding(f"rank {rank}, step {first['step']}", "a loss that is a number", "none")
            continue
        yield from not_falling(f"rank {rank}", rows)


@check(
    cause="A rank computes otherwise than the others: a broken GPU or memory, or a gradient that the network changed.",
    fix="Take the named rank's host out and run the vendor's GPU diagnostics on it.",
    required=True,
    needs="load",
    kind="host",
    when=(OWN_COMMAND, False),
)
def ranks_agree(training_agreement_of_peers: Peers, training_ranks: Rows, pod_node: str) -> t.Iterator[Finding]:
    """All ranks end with finite parameters, gradients and optimizer state, equal where they must be, as one process would."""
    mine = training_agreement_of_peers.get(pod_node, [])
    if not any(row["what"] == "parameters" for row in mine):
        raise CannotTell("no rank of this host told what it has in the end")
    for row in training_ranks:
        if row["outcome"] == "done" and (row["rank"], "parameters") not in {(one["rank"], one["what"]) for one in mine}:
            yield Finding(f"rank {row['rank']}", "what it has in the end", "not told", "unknown")
    every = [row for rows in training_agreement_of_peers.values() for row in rows]
    for what in ("parameters", "gradients", "optimizer"):
        sums = [row["checksum"] for row in every if row["what"] == what and row["checksum"] is not None]
        usual = max(sorted(set(sums)), key=sums.count) if sums else None
        tied = usual is not None and sums.count(usual) * 2 <= len(sums) and len(set(sums)) > 1
        for row in (row for row in mine if row["what"] == what):
            if row["finite"] is False:
                yield Finding(f"rank {row['rank']}", f"finite {what}", "a value that is no number")
            elif usual is not None and (row["checksum"] != usual or tied):
                yield Finding(f"rank {row['rank']}", f"the {what} of the other ranks ({usual})", str(row["checksum"] or "not told"))
    for row in (row for row in mine if row["what"] == "one process"):
        if row["difference"] is None or row["difference"] > SAME:
            yield Finding(f"rank {row['rank']}", "the loss of one process with all data", f"{row['difference']} apart")
