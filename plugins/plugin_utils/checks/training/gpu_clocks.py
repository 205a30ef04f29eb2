# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: how fast GPUs are clocked while they compute, and what limits them."""

from __future__ import annotations

import typing as t

from ...readings.rows import Peers
from .. import Finding, check
from .._gpu_clocks import Sampled, judged_clocks
from .steps import OWN_COMMAND


@check(
    cause="Heat or the power supply lowers the clock of this GPU while it computes; every step waits for the slowest GPU.",
    fix="Look at fans, air baffles, inlet temperature and power supplies of the host, and at the GPU's heat sink; compare its temperature with the others'.",
    scope="group",
    needs="load",
    when=(OWN_COMMAND, False),
)
def gpu_clocks_in_training(training_ranks: Peers, pod_median_percent: float, gpu_clocks: Sampled | None = None) -> t.Iterator[Finding]:
    """While it computes a GPU has at least {pod_median_percent} percent of the median clock of its group's GPUs (lower without heat or power brake: warn)."""
    ranks = {host: sum(row["backend"] == "nccl" for row in rows) for host, rows in training_ranks.items()}
    yield from judged_clocks(gpu_clocks or {}, ranks, pod_median_percent)
