# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: what the log of a site's own training says of its steps. One of its ranks prints them, and they are those of all."""

from __future__ import annotations

import statistics
import typing as t

from ...loads.thresholds import longest_step_ms
from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._not_measured import too_short
from ..place import Place
from ._own_causes import LONGER_AND_LONGER, NO_STEPS
from .results import not_falling
from .steps import LEAST_STEPS, OWN_COMMAND

# So many of all steps must be longer than an earlier one; noise alone makes half of them so.
MOST_OF_STEPS = 0.9


def _steps(logs: Peers, warmup: int, jobs: Peers | None) -> dict[str, Rows]:
    """The steps after the warm-up, by the host that printed them.

    Raises CannotTell where no host printed enough of them, and NotApplicable where the training did not start or end, for which own_training_ends has the
    reason.
    """
    reported = {host: sorted(rows, key=lambda row: row["iteration"])[warmup:] for host, rows in logs.items()}
    most = max((len(rows) for rows in reported.values()), default=0)
    ends = [row["status"] for rows in (jobs or {}).values() for row in rows if row["kind"] == "training"]
    if jobs and not ends:
        raise NotApplicable("the training was not started, for the reason that own_training_ends names")
    if most < LEAST_STEPS and any(status != "ok" for status in ends):
        raise NotApplicable("the training did not end, for the reason that own_training_ends names, and its log has too few steps")
    if ends and not any(logs.values()):
        raise CannotTell("no line of the logs is a step", *NO_STEPS)
    if most < LEAST_STEPS:
        raise too_short(f"the logs have {most} steps after {warmup} of warm-up, {LEAST_STEPS} are needed")
    return {host: rows for host, rows in reported.items() if len(rows) >= LEAST_STEPS}


def takes_longer_and_longer(times: t.Sequence[float]) -> bool:
    """Whether nearly every step takes longer than the one a quarter of the run before it: then no step stands out, and all of them grow."""
    apart = max(1, len(times) // 4)
    later = [one > before for before, one in zip(times, times[apart:])]
    return sum(later) >= MOST_OF_STEPS * len(later)


def _grown(times: t.Sequence[float]) -> str:
    part = max(1, len(times) // 4)
    return (
        f"steps take longer and longer, from {statistics.mean(times[:part]):.4g} ms in the first quarter to {statistics.mean(times[-part:]):.4g} ms in the last"
    )


@check(
    cause="Something disturbs the steps of the site's own training: congestion, a slow rank, throttling, storage, a noisy neighbour.",
    fix="Run the layer without pod_training_command: the built-in training separates computation, data and network, for each rank.",
    required=True,
    needs="load",
    kind="host",
    when=(OWN_COMMAND, True),
)
def own_steps_steady(
    training_log_of_peers: Peers, pod_training_warmup_steps: int, pod_step_variation_percent: float, pod_step_outlier_times: float,
    load_jobs_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """By its own log, the step time varies by at most {pod_step_variation_percent} percent, and none is above {pod_step_outlier_times} times the mean."""
    for host, rows in _steps(training_log_of_peers, pod_training_warmup_steps, load_jobs_of_peers).items():
        times = [row["step_ms"] for row in rows]
        mean = statistics.mean(times)
        variation = statistics.pstdev(times) / mean * 100
        if variation > pod_step_variation_percent:
            grown, (cause, fix) = (f"; {_grown(times)}", LONGER_AND_LONGER) if takes_longer_and_longer(times) else ("", (None, None))
            expected, got = f"a variation of at most {pod_step_variation_percent:g} %", f"{variation:.3g} % of {mean:.4g} ms{grown}"
            yield Finding(Place(f"log of {host}", peers=(host,)), expected, got, cause=cause, fix=fix)
        longest = max(rows, key=lambda row: row["step_ms"])
        if longest["step_ms"] > pod_step_outlier_times * mean:
            most = f"at most {pod_step_outlier_times:g} times {mean:.4g} ms"
            yield Finding(Place(f"log of {host}, step {longest['iteration']}", peers=(host,)), most, f"{longest['step_ms']:.4g} ms")


@check(
    cause="Training diverges: wrong data on the way, a broken GPU, numbers out of range, or settings that do not suit the model.",
    fix="Run the layer without pod_training_command, which compares the ranks' parameters, and the vendor's GPU diagnostics.",
    required=True,
    needs="load",
    kind="host",
    when=(OWN_COMMAND, True),
)
def own_loss_falls(training_log_of_peers: Peers, pod_training_warmup_steps: int, load_jobs_of_peers: Peers | None = None) -> t.Iterator[Finding]:
    """By its own log, after the warm-up the loss is a number in every step and falls, and no step is skipped."""
    for host, rows in _steps(training_log_of_peers, pod_training_warmup_steps, load_jobs_of_peers).items():
        bad = next((row for row in rows if row["loss"] is None or row["nan_iterations"] or row["skipped_iterations"]), None)
        if bad is not None:
            ill = "skipped, or no number" if bad["nan_iterations"] or bad["skipped_iterations"] else bad["loss_word"] or "none"
            yield Finding(Place(f"log of {host}, step {bad['iteration']}", peers=(host,)), "a loss that is a number", str(ill))
            continue
        yield from not_falling(Place(f"log of {host}", peers=(host,)), rows)


@check(
    cause="The site's own training is slower than before or than expected.",
    fix="Run the layer without pod_training_command: mfu_cause names which of computation, data and network it is.",
    needs="load",
    kind="host",
    when=("pod_step_seconds", True),
)
def own_step_time_expected(
    training_log_of_peers: Peers, pod_training_command: list[str], pod_training_warmup_steps: int, pod_step_seconds: float | None,
    pod_step_tolerance_percent: float, load_jobs_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """By its own log the mean step time is at most {pod_step_tolerance_percent} percent above pod_step_seconds."""
    if not pod_training_command or pod_step_seconds is None:
        raise NotApplicable("pod_training_command is not set")
    for host, rows in _steps(training_log_of_peers, pod_training_warmup_steps, load_jobs_of_peers).items():
        mean, most = statistics.mean(row["step_ms"] for row in rows), longest_step_ms(pod_step_seconds, pod_step_tolerance_percent)
        if mean > most:
            yield Finding(Place(f"log of {host}", peers=(host,)), f"at most {most:.4g} ms", f"{mean:.4g} ms")
