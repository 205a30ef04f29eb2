# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast GPUs are clocked while they are busy, and what limits them."""

from __future__ import annotations

import statistics
import typing as t

from ..readings.rows import Rows
from . import Finding, NotApplicable
from ._grouping import grouped, typical
from .place import Place, at_gpu

Sampled = t.Mapping[str, t.Optional[Rows]]  # noqa: UP045
# Of nvidia-smi's clocks_throttle_reasons (nvml.h, nvmlClocksThrottleReason*): what is a fault of the host, and what is how the GPU is set or what it does.
# Power cap and none were seen on an H100 and two H200; the others are from nvml.h, not seen on the real one.
FAULTS = {0x08: "slowed down by the hardware", 0x20: "close to its temperature limit", 0x40: "too hot", 0x80: "slowed down by power brake"}
LIMITS = {0x02: "application clocks", 0x04: "power cap", 0x10: "sync boost", 0x100: "display clocks"}
IDLE = 0x01
# A sample of a GPU that is busy for less than this share of the time shows an idle clock.
BUSY_PERCENT = 50
# A median of fewer samples is chance; and where others have so many, a GPU with fewer is not one of a short run.
LEAST_SAMPLES, MANY_SAMPLES = 3, 6
# What holds for this share of the samples is a reason.
MOST_OF_THE_TIME = 0.5
BRAKE = FAULTS[0x80]
BRAKE_CAUSE = "The power brake holds this GPU's clock down under load: a power supply of the host failed, or its rack or board is at its limit of power."
BRAKE_FIX = "Look at the host's power supplies and their feeds (ipmitool sdr, the BMC's log), at the rack's power distribution and at the board's power cap."
LIMITED_CAUSE = "The GPU's clock is held below that of the others by {limits}, not by heat or a lack of power; all ranks wait for it."
LIMITED_FIX = (
    "Compare application clocks and power limit (nvidia-smi -q -d CLOCK,POWER) with another GPU's and set them alike (nvidia-smi -rac, -pl); "
    "a power cap at equal limits is a GPU or a heat sink that takes more power for the same work."
)


def judged_clocks(sampled: Sampled, ranks: t.Mapping[str, int], percent: float) -> t.Iterator[Finding]:
    """The GPUs of a group whose clock while they are busy is below a part of the median of their kind, and hosts of which it is not known.

    sampled: ``gpu_clocks`` by host; ranks: by host, how many GPUs took part by NCCL.
    Raises NotApplicable where nothing was sampled.
    """
    samples = {(host, gpu): rows for host, its in sampled.items() for gpu, rows in grouped(its or [], "gpu").items()}
    busy = {place: [row for row in rows if _is_busy(row)] for place, rows in samples.items()}
    busy = {place: rows for place, rows in busy.items() if len(rows) >= LEAST_SAMPLES}
    if not busy:
        raise NotApplicable("clocks under load: not reported by nvidia-smi, or the load was over too soon")
    if typical(len(rows) for rows in busy.values()) >= MANY_SAMPLES:
        for host, wanted in ranks.items():
            known = sum(one == host for one, _gpu in busy)
            if known < wanted:
                yield Finding(Place("GPU clocks"), f"those of {wanted} GPUs under load", f"those of {known}", "unknown", host=host)
    clocks: dict[tuple[str, int], float] = {}
    for (host, gpu), rows in busy.items():
        reported = [row["sm_clock_mhz"] for row in rows if row["sm_clock_mhz"] is not None]
        if reported:
            clocks[host, gpu] = statistics.median(reported)
        else:
            yield Finding(at_gpu(gpu), "a clock under load", "not reported", "unknown", host=host)
    # GPUs of another kind have other clocks; those of one that differ in the highest are found by gpu_clocks_uniform.
    kinds = {place: busy[place][0]["max_sm_clock_mhz"] for place in clocks}
    for place, clock in clocks.items():
        middle = typical(one for other, one in clocks.items() if kinds[other] == kinds[place])
        if clock < middle * percent / 100:
            yield _slow(place, clock, middle * percent / 100, busy[place])


def _is_busy(row: dict[str, t.Any]) -> bool:
    """Whether the GPU worked when a sample was taken: the clock of an idle one is low by itself."""
    return (row["utilisation_percent"] or 0) >= BUSY_PERCENT and not int(row["reasons"] or "0", 16) & IDLE


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
    expected = f"{least:.4g} MHz or more under load, as its group"
    if faults:
        # The brake comes with the bit of any slowdown by the hardware.
        own = (BRAKE_CAUSE, BRAKE_FIX) if BRAKE in faults and {*faults} <= {FAULTS[0x08], BRAKE} else (None, None)
        return Finding(at_gpu(gpu), expected, actual, host=host, cause=own[0], fix=own[1])
    return Finding(
        at_gpu(gpu),
        expected,
        actual,
        "warn",
        host=host,
        cause=LIMITED_CAUSE.format(limits=" and ".join(limits) or "a limit that is not reported"),
        fix=LIMITED_FIX,
    )


def _middle(rows: Rows, column: str) -> float:
    return float(statistics.median(row[column] for row in rows if row[column] is not None))
