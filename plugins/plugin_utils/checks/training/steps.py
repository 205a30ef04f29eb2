# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: what the ranks of the built-in training report."""

from __future__ import annotations

import math
import statistics
import typing as t

from ...loads.host_names import NO_ADDRESSES, Addressed, HostNames
from ...loads.rank_errors import ENDED_FOR_OTHERS
from ...loads.thresholds import longest_step_ms
from ...loads.unknown_errors import cut
from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from .._by_time import times_by_host
from .._not_measured import no_result, not_measured, too_short
from .._once import once_for_all_nodes
from ..collectives.ended_ranks import RunEnds, extent_of_error, findings_of_run
from ..collectives.refusals import refused
from ..place import Place, at_rank
from ._late_parts import PARTS, Late, late_parts, of_ranks, without
from ._lost_peers import lost_peer

LEAST_STEPS = 10
# The same words in each check of a training that ended before: the report shows them once.
NO_STEPS = "no steps were reported"
# A site's own training, where it is set, reports no ranks.
OWN_COMMAND = "pod_training_command"
WAITED = "No rank's own data or computation grew in those steps: all waited in communication, as for a retransmission, a link that was reset, or congestion."
WAITED_FIX = "Look at the counters of NICs and switches and at the kernel logs of all hosts at that step."


def enough(steps: Rows) -> dict[int, Rows]:
    """The steps of each rank.

    Raises CannotTell where there are too few to say anything.
    """
    ranks = of_ranks(steps)
    fewest = min((sum(row["steps"] for row in rows) for rows in ranks.values()), default=0)
    if not fewest:
        raise no_result(NO_STEPS)
    if fewest < LEAST_STEPS:
        raise too_short(f"{fewest} steps were reported, {LEAST_STEPS} are needed")
    return ranks


def timed_out(rows: t.Iterable[dict[str, t.Any]]) -> t.Iterator[Finding]:
    """The collectives that a log says have hung (``collective_timeouts``)."""
    for row in rows:
        yield Finding(at_rank(row["rank"]) if row["rank"] is not None else Place("a rank"), "no hung collective", cut(row["text"]))


def _gpu(rank: int, ranks: Rows) -> Place:
    """A rank with its GPU."""
    local = next((row["local_rank"] for row in ranks if row["rank"] == rank), None)
    return at_rank(rank) if local is None else at_rank(rank, f"(GPU {local})", gpu=local)


def _late(rank: int, late: Late, ranks: Rows) -> Place:
    """A late rank, with its GPU where it is not late with most ranks of several hosts."""
    return at_rank(rank) if late.shared else _gpu(rank, ranks)


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
        if variation <= pod_step_variation_percent:
            continue
        reported = f"{variation:.3g} % of {mean:.4g} ms, half of the steps within {off:.3g} ms of the median"
        if mean < pod_step_least_ms:
            # Whose jitter it is cannot be determined of short steps; that they are steady all the same can.
            yield Finding(at_rank(rank), f"steps of {pod_step_least_ms:g} ms or more, so that jitter of the host is negligible", reported, "unknown")
        else:
            yield from _unsteady(rank, rows, late, training_ranks, pod_step_variation_percent, reported)


def _unsteady(rank: int, rows: Rows, late: t.Mapping[int, Late], ranks: Rows, most: float, reported: str) -> t.Iterator[Finding]:
    """A rank whose steps vary: nothing where it waited for a rank of another host, or for one of its own that is named instead."""
    own = {row["rank"] for row in ranks} | {rank}
    expected = f"a variation of at most {most:g} %"
    if spread(without(rows, late, own))[1] <= most:
        return
    causing = [one for row in rows if (one := late.get(row["step"])) is not None and not own.isdisjoint(one.ms)]
    if spread(without(rows, late, set()))[1] > most or not causing:
        parted = any(row["steps"] == 1 and row["compute_ms"] is not None for row in rows)
        yield Finding(at_rank(rank), expected, reported, cause=WAITED if parted else None, fix=WAITED_FIX if parted else None)
        return
    worst = max(causing, key=lambda one: one.longest_ms)
    if rank in worst.ms:
        words, cause, fix = worst.of(rank)
        yield Finding(_late(rank, worst, ranks), expected, f"{reported}; at worst {words}", cause=cause, fix=fix)


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
        long = [row for row in rows if row["longest_ms"] > pod_step_outlier_times * mean and (row["step"] not in late or rank in late[row["step"]].ms)]
        if long:
            yield _outlier(rank, max(long, key=lambda row: row["longest_ms"]), late, ranks, f"at most {pod_step_outlier_times:g} times {mean:.4g} ms")


def _outlier(rank: int, row: dict[str, t.Any], late: t.Mapping[int, Late], ranks: Rows, expected: str) -> Finding:
    """A long step, with the part of the rank that made it so; where no rank's did, all waited in communication."""
    got, one = f"{row['longest_ms']:.4g} ms", late.get(row["step"])
    whose = _gpu(rank, ranks) if one is None else _late(rank, one, ranks)
    where = whose.narrowed(f", step {row['step']}" + (f" to {row['step'] + row['steps'] - 1}" if row["steps"] > 1 else ""))
    if one is not None:
        words, cause, fix = one.of(rank)
        return Finding(where, expected, f"{got}; {words}", cause=cause, fix=fix)
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
        raise NotApplicable("with sharded parameters the parts of a step are not reported") if mine else no_result(NO_STEPS)
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


@once_for_all_nodes
def _ends(jobs: Peers, ranks: Peers, hangs: Peers, addresses: t.Mapping[str, Addressed]) -> RunEnds:
    """What became of the ranks of the training.

    jobs, ranks, hangs: the rows of load_jobs, training_ranks and training_hangs by host; addresses: of the hosts.
    """
    of_ranks, of_hangs = ([row for rows in of_peers.values() for row in rows] for of_peers in (ranks, hangs))
    hosts: list[str] = next((row["hosts"] for rows in jobs.values() for row in rows if row["kind"] == "training" and row["hosts"]), [])
    errors = {host: error for host, rows in ranks.items() if (error := next((str(row["error"]) for row in rows if row["error"]), None))}
    lost = lost_peer(errors, HostNames(ranks, addresses))
    homes = {row["rank"]: host for host, rows in ranks.items() for row in rows}
    return RunEnds("", hosts, of_ranks, of_hangs, homes=homes, not_reached=lost.host if lost else None, not_reached_words=lost.said if lost else "")


def _ended(rank: int, ends: RunEnds) -> Finding:
    """A rank that its agent ended with the run; where another one began that, it says nothing about its host."""
    if not ends.hangs and not ends.began:
        return Finding(ends.place(rank), "a normal exit", "ended", judged=True)
    cause, fix = ENDED_FOR_OTHERS
    return Finding(ends.place(rank), "a normal exit", "ended with the run, after another rank", "unknown", cause=cause, fix=fix, judged=True, later=True)


@check(
    cause="A collective hung: a rank died or stalled, or the network lost a path. The finding names the missing rank where the log has it.",
    fix="Look at the missing rank's host: Xid, NIC errors, link flaps at that time; if every rank had entered the collective, check the paths between them.",
    required=True,
    needs="load",
    when=(OWN_COMMAND, False),
)
def no_nccl_timeouts(
    load_jobs: Rows, training_ranks: Rows, training_hangs: Rows, pod_node: str, pod_gpus_per_host: int, collective_timeouts: Rows | None = None,
    training_ranks_of_peers: t.Mapping[str, Rows] | None = None, training_hangs_of_peers: t.Mapping[str, Rows] | None = None,
    load_jobs_of_peers: t.Mapping[str, Rows] | None = None, pod_host_addresses: t.Mapping[str, Addressed] = NO_ADDRESSES,
) -> t.Iterator[Finding]:  # fmt: skip
    """No collective of the training hangs, and every rank completes."""
    launchers = refused(load_jobs)
    yield from (Finding(Place("the launcher"), "ranks on all hosts", str(row["words"]), "unknown", judged=True) for row in launchers)
    if not (training_ranks or launchers):
        raise not_measured("no rank was started")
    # All hosts train in one run; where nothing is wrong here, what became of the others is not asked for.
    if training_hangs or any(row["outcome"] != "done" for row in training_ranks):
        peers = training_ranks_of_peers or {pod_node: training_ranks}
        ends = _ends(load_jobs_of_peers or {pod_node: load_jobs}, peers, training_hangs_of_peers or {pod_node: training_hangs}, pod_host_addresses)
        yield from findings_of_run(ends, training_ranks, pod_node, times_by_host(peers), lambda host, error: extent_of_error(host, error, {}, peers), False)
        if not any(row["outcome"] in ("killed", "error") for row in training_ranks):
            yield from (_ended(row["rank"], ends) for row in training_ranks if row["outcome"] == "ended" and row["rank"] not in ends.missing)
    if len(training_ranks) != pod_gpus_per_host:
        yield Finding(Place("ranks"), str(pod_gpus_per_host), str(len(training_ranks)), "unknown")
    yield from timed_out(collective_timeouts or ())
