# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: what the ranks of the built-in training report."""

from __future__ import annotations

import math
import statistics
import typing as t

from ...loads.rank_errors import explained, follows, is_own
from ...loads.thresholds import longest_step_ms
from .. import CannotTell, Finding, NotApplicable, check
from .._grouping import Rows
from .._not_measured import not_measured, too_short
from .._once import Peers, once_for_all_nodes
from ..collectives.correctness import ended_first, hung, refused
from ..place import Place, at_rank

LEAST_STEPS = 10
# A site's own training, where it is set, reports no ranks.
OWN_COMMAND = "pod_training_command"
# A rank's own part explains a slow step where it grew by at least this share of what the step was too long.
EXPLAINS = 0.5
PARTS = {
    "data_ms": (
        "the wait for its data",
        "The other ranks waited for this rank's data in those steps: its storage was late, or its data loader had too little CPU.",
        "Look at dataset_feeds of its host, at the CPU load and the number of its loader's workers, and at the storage's client at that time.",
    ),
    "compute_ms": (
        "its own computation",
        "The other ranks waited for this rank's computation in those steps: its GPU was slowed down (heat, power), or its process was interrupted.",
        "Compare its GPU's clocks, temperature and power with the others', and look at what else runs on its host and at its kernel log.",
    ),
}
WAITED = "No rank's own data or computation grew in those steps: all waited in communication, as for a retransmission, a link that was reset, or congestion."
WAITED_FIX = "Look at the counters of NICs and switches and at the kernel logs of all hosts at that step."


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
        raise too_short(f"{fewest} steps were reported, {LEAST_STEPS} are needed")
    return ranks


def timed_out(rows: t.Iterable[dict[str, t.Any]]) -> t.Iterator[Finding]:
    """The collectives that a log says have hung (``collective_timeouts``)."""
    for row in rows:
        yield Finding(at_rank(row["rank"]) if row["rank"] is not None else Place("a rank"), "no hung collective", row["text"][:300])


class Late(t.NamedTuple):
    """Whose own part made a step longer: the rank, the part's column, and by how many ms."""

    rank: int
    part: str
    ms: float


@once_for_all_nodes
def late_parts(steps: Peers) -> dict[int, Late]:
    """By step the rank and part that explain what it is above the usual; steps that none explains are left out, and so are windows of steps.

    steps: the rows of all hosts.
    """
    of_rank = _of_rank([row for rows in steps.values() for row in rows if row["steps"] == 1 and row["compute_ms"] is not None])
    found: dict[int, Late] = {}
    longer: dict[int, float] = {}
    for rank, rows in of_rank.items():
        usual = {column: statistics.median(row[column] for row in rows) for column in ("step_ms", *PARTS)}
        for row in rows:
            longer[row["step"]] = max(longer.get(row["step"], 0.0), row["step_ms"] - usual["step_ms"])
            late = max((Late(rank, column, row[column] - usual[column]) for column in PARTS), key=lambda one: one.ms)
            if row["step"] not in found or late.ms > found[row["step"]].ms:
                found[row["step"]] = late
    return {step: late for step, late in found.items() if late.ms > 0 and late.ms >= EXPLAINS * longer[step]}


def _without(rows: Rows, late: t.Mapping[int, Late], mine: t.Container[int]) -> Rows:
    """A rank's steps as long as they would have been without the late parts of ranks of other hosts."""
    return [{**row, "step_ms": row["step_ms"] - one.ms} if (one := late.get(row["step"])) is not None and one.rank not in mine else row for row in rows]


def _gpu(rank: int, ranks: Rows) -> Place:
    """A rank with its GPU."""
    local = next((row["local_rank"] for row in ranks if row["rank"] == rank), None)
    return at_rank(rank) if local is None else at_rank(rank, f"(GPU {local})", gpu=local)


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
def step_time_stable(
    training_steps: Rows, training_steps_of_peers: Peers, training_ranks: Rows, pod_step_variation_percent: float, pod_step_least_ms: float
) -> t.Iterator[Finding]:
    """After the warm-up the time of a step varies by at most {pod_step_variation_percent} percent, by no fault of the host's ranks."""
    steps = enough(training_steps)
    late = late_parts(training_steps_of_peers)
    for row in training_ranks:
        if row["outcome"] == "done" and row["rank"] not in steps:
            yield Finding(at_rank(row["rank"]), "the times of its steps", "none", "unknown")
    for rank, rows in steps.items():
        mean, variation = spread(rows)
        middle = statistics.median(row["step_ms"] for row in rows)
        off = statistics.median(abs(row["step_ms"] - middle) for row in rows)
        reported = f"{variation:.3g} % of {mean:.4g} ms, half of the steps within {off:.3g} ms of the median"
        if mean < pod_step_least_ms:
            # Whose jitter it is cannot be determined of short steps; that they are steady all the same can.
            severity = "unknown" if variation > pod_step_variation_percent else "warn"
            yield Finding(at_rank(rank), f"steps of {pod_step_least_ms:g} ms or more, so that jitter of the host is negligible", reported, severity)
        elif variation > pod_step_variation_percent:
            yield from _unsteady(rank, rows, late, training_ranks, pod_step_variation_percent, reported)


def _unsteady(rank: int, rows: Rows, late: t.Mapping[int, Late], ranks: Rows, most: float, reported: str) -> t.Iterator[Finding]:
    """A rank whose steps vary: nothing where it waited for a rank of another host, or for one of its own that is named instead."""
    own = {row["rank"] for row in ranks} | {rank}
    expected = f"a variation of at most {most:g} %"
    if spread(_without(rows, late, own))[1] <= most:
        return
    causing = [one for row in rows if (one := late.get(row["step"])) is not None and one.rank in own]
    if spread(_without(rows, late, ()))[1] > most or not causing:
        parted = any(row["steps"] == 1 and row["compute_ms"] is not None for row in rows)
        yield Finding(at_rank(rank), expected, reported, cause=WAITED if parted else None, fix=WAITED_FIX if parted else None)
        return
    worst = max(causing, key=lambda one: one.ms)
    if worst.rank == rank:
        words, cause, fix = PARTS[worst.part]
        yield Finding(_gpu(rank, ranks), expected, f"{reported}; {words} took up to {worst.ms:.4g} ms more", cause=cause, fix=fix)


@check(
    cause="One step waited for a retransmission, a reset link, a page fault, or garbage collection.",
    fix="Look at the counters of the NICs and at the kernel log of the named rank's host at that step.",
    needs="load",
    when=(OWN_COMMAND, False),
)
def step_outliers(
    training_steps: Rows, training_steps_of_peers: Peers, pod_step_outlier_times: float, training_ranks: Rows | None = None
) -> t.Iterator[Finding]:
    """No step lasts more than {pod_step_outlier_times} times the mean for a rank of the host, or for the communication of all."""
    late, ranks = late_parts(training_steps_of_peers), training_ranks or []
    for rank, rows in enough(training_steps).items():
        mean, _variation = spread(rows)
        # A rank that waited for another one is not named: that one is.
        long = [row for row in rows if row["longest_ms"] > pod_step_outlier_times * mean and (row["step"] not in late or late[row["step"]].rank == rank)]
        if long:
            yield _outlier(rank, max(long, key=lambda row: row["longest_ms"]), late, ranks, f"at most {pod_step_outlier_times:g} times {mean:.4g} ms")


def _outlier(rank: int, row: dict[str, t.Any], late: t.Mapping[int, Late], ranks: Rows, expected: str) -> Finding:
    """A long step, with the part of the rank that made it so; where no rank's did, all waited in communication."""
    where = _gpu(rank, ranks).narrowed(f", step {row['step']}" + (f" to {row['step'] + row['steps'] - 1}" if row["steps"] > 1 else ""))
    got, one = f"{row['longest_ms']:.4g} ms", late.get(row["step"])
    if one is not None:
        words, cause, fix = PARTS[one.part]
        return Finding(where, expected, f"{got}; {words} took {one.ms:.4g} ms more", cause=cause, fix=fix)
    parted = row["steps"] == 1 and row["compute_ms"] is not None
    return Finding(where, expected, got, cause=WAITED if parted else None, fix=WAITED_FIX if parted else None)


@check(
    cause="This rank's own GPU, CPU or data is slower than the others', and every step waits for it.",
    fix="Compare its GPU's clocks, temperature and power with the others', its PCIe link, its NUMA node and what else runs on its host.",
    needs="load",
    kind="host",
    when=(OWN_COMMAND, False),
)
def slow_rank(
    training_steps_of_peers: Peers, pod_node: str, pod_slow_rank_percent: float, training_ranks: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """No rank's own computation and data take longer than the others' in most steps, by more than {pod_slow_rank_percent} percent of the step."""
    mine: dict[int, dict[int, dict[str, t.Any]]] = {}
    for row in training_steps_of_peers.get(pod_node, ()):
        mine.setdefault(row["rank"], {})[row["step"]] = row
    medians = _medians(training_steps_of_peers)
    if not medians or not mine:
        raise NotApplicable("with sharded parameters the parts of a step are not reported") if mine else CannotTell("steps: not reported")
    for rank in sorted(mine):
        behind = [_behind(row, medians[step]) for step, row in mine[rank].items() if row["compute_ms"] is not None]
        slow = [one for one in behind if one["percent"] > pod_slow_rank_percent]
        if len(slow) > len(behind) / 2:
            part = max(PARTS, key=lambda name: statistics.median(one[name] for one in slow))
            words, cause, fix = PARTS[part]
            share = f"{statistics.median(one['percent'] for one in slow):.3g} % behind in {len(slow)} of {len(behind)} steps"
            actual = f"{share}; {words} takes {statistics.median(one[part] for one in slow):.4g} ms more"
            expected = f"its own part within {pod_slow_rank_percent:g} % of the step of the others'"
            yield Finding(_gpu(rank, training_ranks or []), expected, actual, cause=cause, fix=fix)


@once_for_all_nodes
def _medians(steps: Peers) -> dict[int, dict[str, float]]:
    """By step the median of each part and of their sum (``whole``) over all ranks, in ms; of two ranks the quicker one's, not their mean."""
    reported: dict[int, dict[int, dict[str, t.Any]]] = {}
    for rows in steps.values():
        for row in rows:
            if row["compute_ms"] is not None:
                reported.setdefault(row["step"], {})[row["rank"]] = row
    return {
        step: {part: statistics.median_low(row[part] for row in ranks.values()) for part in PARTS}
        | {"whole": statistics.median_low(sum(row[part] for part in PARTS) for row in ranks.values())}
        for step, ranks in reported.items()
    }


def _behind(row: dict[str, t.Any], medians: t.Mapping[str, float]) -> dict[str, float]:
    """By how many ms each part of a rank's step is above the median of all ranks, and both as a share of the step (``percent``)."""
    whole = sum(row[part] for part in PARTS) - medians["whole"]
    return {**{part: row[part] - medians[part] for part in PARTS}, "percent": whole / row["step_ms"] * 100}


@check(
    cause="The pod trains slower than before or than expected: computation, network or storage takes longer; the finding of mfu_cause on the same "
    "group names which.",
    fix="Compare with the baseline's software and settings, then follow mfu_cause.",
    needs="load",
    when=(OWN_COMMAND, False),
)
def step_time_expected(training_steps: Rows, pod_step_seconds: float | None, pod_step_tolerance_percent: float) -> t.Iterator[Finding]:
    """The mean step time is at most {pod_step_tolerance_percent} percent above pod_step_seconds."""
    if pod_step_seconds is None:
        raise NotApplicable("pod_step_seconds is not set")
    for rank, rows in enough(training_steps).items():
        mean, _variation = spread(rows)
        most = longest_step_ms(pod_step_seconds, pod_step_tolerance_percent)
        if mean > most:
            yield Finding(at_rank(rank), f"at most {most:.4g} ms", f"{mean:.4g} ms")


@check(
    cause="A collective hung: a rank died or stalled, or the network lost a path. The finding names the missing rank where the log has it.",
    fix="Look at the missing rank's host: Xid, NIC errors, link flaps at that time; if every rank had entered the collective, check the paths between them.",
    required=True,
    needs="load",
    when=(OWN_COMMAND, False),
)
def no_nccl_timeouts(
    load_jobs: Rows, training_ranks: Rows, training_hangs: Rows, pod_gpus_per_host: int, collective_timeouts: Rows | None = None,
    training_ranks_of_peers: t.Mapping[str, Rows] | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No collective of the training hangs, and every rank completes."""
    launchers = refused(load_jobs)
    yield from (Finding(Place("the launcher"), "ranks on all hosts", str(row["words"]), "unknown", judged=True) for row in launchers)
    if not (training_ranks or launchers):
        raise not_measured("no rank was started")
    yield from hung(training_hangs, training_ranks, load_jobs)
    # A rank that was ended beside one that failed was ended for its sake.
    ill = [row for row in training_ranks if row["outcome"] in ("killed", "error")] or [row for row in training_ranks if row["outcome"] == "ended"]
    # All hosts train in one run: who lost a connection to a rank that ended by itself is not to blame.
    others = any(ended_first(row) for rows in (training_ranks_of_peers or {}).values() for row in rows)
    for row in (one for one in ill if not (others and follows(one["error"]))):
        why = row["error"] or (f"ended by signal {row['signal']}" if row["signal"] else row["outcome"])
        cause, fix = explained(row["error"]) if row["error"] else (None, None)
        severity = "unknown" if row["outcome"] == "error" and not is_own(row["error"]) else None
        yield Finding(at_rank(row["rank"]), "a normal exit", str(why)[:400], severity, cause=cause, fix=fix, judged=True)
    if len(training_ranks) != pod_gpus_per_host:
        yield Finding(Place("ranks"), str(pod_gpus_per_host), str(len(training_ranks)), "unknown")
    yield from timed_out(collective_timeouts or ())
