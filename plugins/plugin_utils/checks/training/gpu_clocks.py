# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: how fast GPUs are clocked while they compute, and what limits them."""

from __future__ import annotations

import statistics
import typing as t

from .. import Finding, NotApplicable, check
from .._grouping import Rows, grouped, typical
from .._once import Peers
from .steps import OWN_COMMAND

# Of nvidia-smi's clocks_throttle_reasons (nvml.h, nvmlClocksThrottleReason*): what is a fault of the host, and what is how the GPU is set or what it does.
# Power cap and none were seen on an H100 and two H200; the others are from nvml.h, not seen on the real one.
FAULTS = {0x08: "slowed down by the hardware", 0x20: "close to its temperature limit", 0x40: "too hot", 0x80: "slowed down by power brake"}
LIMITS = {0x02: "application clocks", 0x04: "power cap", 0x10: "sync boost", 0x100: "display clocks"}
# A sample of a GPU that is busy for less than this share of the time shows an idle clock.
BUSY_PERCENT = 50
# A median of fewer samples is chance; and where others have so many, a GPU with fewer is not one of a short run.
LEAST_SAMPLES, MANY_SAMPLES = 3, 6
# What holds for this share of the samples is a reason.
MOST_OF_THE_TIME = 0.5
LIMITED_CAUSE = "The GPU's clock is held below that of the others by {limits}, not by heat or a lack of power; every step waits for it."
LIMITED_FIX = (
    "Compare application clocks and power limit (nvidia-smi -q -d CLOCK,POWER) with another GPU's and set them alike (nvidia-smi -rac, -pl); "
    "a power cap at equal limits is a GPU or a heat sink that takes more power for the same work."
)


@check(
    cause="Heat or the power supply lowers the clock of this GPU while it computes; every step waits for the slowest GPU.",
    fix="Look at fans, air baffles, inlet temperature and power supplies of the host, and at the GPU's heat sink; compare its temperature with the others'.",
    scope="group",
    needs="load",
    when=(OWN_COMMAND, False),
)
def gpu_clocks_in_training(training_ranks: Peers, pod_median_percent: float, gpu_clocks: t.Mapping[str, Rows | None] | None = None) -> t.Iterator[Finding]:
    """While it computes a GPU has at least {pod_median_percent} percent of the median clock of its group's GPUs (lower without heat or power brake: warn)."""
    samples = {(host, gpu): rows for host, its in (gpu_clocks or {}).items() for gpu, rows in grouped(its or [], "gpu").items()}
    busy = {place: [row for row in rows if (row["utilisation_percent"] or 0) >= BUSY_PERCENT] for place, rows in samples.items()}
    busy = {place: rows for place, rows in busy.items() if len(rows) >= LEAST_SAMPLES}
    if not busy:
        raise NotApplicable("clocks under load: not reported by nvidia-smi, or the steps were over too soon")
    if typical(len(rows) for rows in busy.values()) >= MANY_SAMPLES:
        for host, ranks in training_ranks.items():
            wanted, known = sum(row["backend"] == "nccl" for row in ranks), sum(one == host for one, _gpu in busy)
            if known < wanted:
                yield Finding("GPU clocks", f"those of {wanted} GPUs while they compute", f"those of {known}", "unknown", host=host)
    clocks: dict[tuple[str, int], float] = {}
    for (host, gpu), rows in busy.items():
        reported = [row["sm_clock_mhz"] for row in rows if row["sm_clock_mhz"] is not None]
        if reported:
            clocks[host, gpu] = statistics.median(reported)
        else:
            yield Finding(f"GPU {gpu}", "a clock under load", "not reported", "unknown", host=host)
    # GPUs of another kind have other clocks; those of one that differ in the highest are found by gpu_clocks_uniform.
    kinds = {place: busy[place][0]["max_sm_clock_mhz"] for place in clocks}
    for place, clock in clocks.items():
        middle = typical(one for other, one in clocks.items() if kinds[other] == kinds[place])
        if clock < middle * pod_median_percent / 100:
            yield _slow(place, clock, middle * pod_median_percent / 100, busy[place])


def _slow(place: tuple[str, int], clock: float, least: float, rows: Rows) -> Finding:
    (host, gpu), masks = place, [int(row["reasons"], 16) for row in rows if row["reasons"] is not None]
    faults, limits = (
        [words for bit, words in table.items() if sum(bool(mask & bit) for mask in masks) > MOST_OF_THE_TIME * len(rows)] for table in (FAULTS, LIMITS)
    )
    also = [
        f"{_middle(rows, column):.4g} {unit}" for column, unit in (("temperature_c", "C"), ("power_w", "W")) if any(row[column] is not None for row in rows)
    ]
    reason = ", ".join([*faults, *limits]) or ("no reason reported" if masks else "reasons: not reported")
    actual = f"{clock:.4g} MHz at {', '.join(also)}: {reason}" if also else f"{clock:.4g} MHz: {reason}"
    expected = f"{least:.4g} MHz or more while it computes, as its group"
    if faults:
        return Finding(f"GPU {gpu}", expected, actual, host=host)
    return Finding(
        f"GPU {gpu}",
        expected,
        actual,
        "warn",
        host=host,
        cause=LIMITED_CAUSE.format(limits=" and ".join(limits) or "a limit that is not reported"),
        fix=LIMITED_FIX,
    )


def _middle(rows: Rows, column: str) -> float:
    return float(statistics.median(row[column] for row in rows if row[column] is not None))
