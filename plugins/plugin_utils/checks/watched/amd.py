# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD GPUs under load, by what they count of themselves."""

from __future__ import annotations

import typing as t

from ...readings.rows import Rows
from .. import Finding, NotApplicable, check
from ..place import Place, at_gpu
from ._layers import ABOVE_INCASTS, OF_RANKS, SINCE

ERRORS = {"uncorrected": "uncorrected errors", "deferred": "deferred errors, which end the job that reads the memory"}
SLOWDOWNS = {
    "socket_hot": "the socket's temperature", "memory_hot": "the memory's temperature", "regulator_hot": "the voltage regulator's temperature",
    "prochot": "the board (prochot)",
}  # fmt: skip
# From this share of the samples on, every step waits for the GPU.
SLOWED_PERCENT = 1.0


@check(
    cause="The GPU's memory or logic has errors under load, which end the job that uses it.",
    fix="Drain the host, reset the GPU so that the pages are retired, run AMD's validation suite, and replace the GPU where they come back.",
    layers=ABOVE_INCASTS,
    when=("pod_gpu_vendor", ("amd",)),
    kind="host",
    needs="load",
)
def amd_gpus_under_load(
    pod_pcie_corrected_max: int, gpu_health_idle: Rows | None = None, gpu_health: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load no AMD GPU has an uncorrected error, and none more than {pod_pcie_corrected_max} corrected ones."""
    for where, grown in _grown(gpu_health_idle, gpu_health, (*ERRORS, "corrected")):
        if isinstance(grown, Finding):
            yield grown
            continue
        for name, words in ERRORS.items():
            if grown[name] is None:
                yield Finding(where, f"no {words} {SINCE}", "not reported", "unknown")
            elif grown[name]:
                yield Finding(where, f"no {words} {SINCE}", f"+{grown[name]}")
        if (grown["corrected"] or 0) > pod_pcie_corrected_max:
            yield Finding(where, f"at most {pod_pcie_corrected_max} corrected errors {SINCE}", f"+{grown['corrected']}", "warn")


@check(
    cause="Heat or the board lowers the GPU's clocks, so that every step waits for it.",
    fix="Look at fans, air flow and inlet temperature of the host, and compare its GPUs' temperatures under load (amd-smi monitor) with another host's.",
    layers=OF_RANKS,
    when=("pod_gpu_vendor", ("amd",)),
    kind="host",
    needs="load",
)
def amd_slowdown_under_load(gpu_health_idle: Rows | None = None, gpu_health: Rows | None = None) -> t.Iterator[Finding]:
    """Under load no AMD GPU is slowed down by heat or by its board."""
    rows = (*(gpu_health_idle or ()), *(gpu_health or ()))
    if all(row[name] is None for row in rows for name in SLOWDOWNS):
        raise NotApplicable("slowdowns of AMD GPUs: not reported by this amd-smi")
    for where, grown in _grown(gpu_health_idle, gpu_health, (*SLOWDOWNS, "samples")):
        if isinstance(grown, Finding):
            yield grown
            continue
        samples = grown["samples"]
        for name, words in SLOWDOWNS.items():
            slowed = grown[name]
            if slowed is None or not samples:
                yield Finding(where, f"for how long it is slowed down by {words}", "not reported", "unknown")
            elif slowed:
                percent = 100 * slowed / samples
                severity = None if percent >= SLOWED_PERCENT else "warn"
                yield Finding(where, f"not slowed down by {words} {SINCE}", f"{percent:.2g} % of its samples", severity)


def _grown(idle: Rows | None, now: Rows | None, names: t.Sequence[str]) -> t.Iterator[tuple[Place, dict[str, int | None] | Finding]]:
    """What some counters of each GPU grew by, None where one is not reported; or the finding that this is not known of the GPU.

    Raises NotApplicable where no GPU is reported.
    """
    if idle is None and now is None:
        raise NotApplicable("errors and slowdowns of AMD GPUs: not reported (amd-smi)")
    before, after = ({row["gpu"]: row for row in rows or ()} for rows in (idle, now))
    for gpu in sorted(before.keys() | after.keys()):
        where = at_gpu(gpu)
        if gpu not in before or gpu not in after:
            yield where, Finding(where, "reported before and after the load", f"only {'before' if gpu in before else 'after'} it", "unknown")
            continue
        grown = {name: None if None in (before[gpu][name], after[gpu][name]) else after[gpu][name] - before[gpu][name] for name in names}
        reset = any(count is not None and count < 0 for count in grown.values())
        words = "counters were reset: the driver was loaded or the GPU reset"
        yield where, Finding(where, f"counters that grow {SINCE}", words, "unknown") if reset else grown
