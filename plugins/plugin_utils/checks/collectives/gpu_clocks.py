# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: how fast GPUs are clocked while collectives are timed, and what limits them."""

from __future__ import annotations

import typing as t

from ...readings.rows import Peers
from .. import Finding, check
from .._gpu_clocks import Sampled, judged_clocks


@check(
    cause="Heat or the power supply lowers the clock of this GPU under load; every collective waits for the slowest GPU.",
    fix="Look at fans, air baffles, inlet temperature and power supplies of the host, and at the GPU's heat sink; compare its temperature with the others'.",
    scope="group",
    needs="load",
    when=("pod_gpu_vendor", ("nvidia",)),
)
def gpu_clocks_in_collectives(collective_ranks: Peers, pod_median_percent: float, gpu_clocks: Sampled | None = None) -> t.Iterator[Finding]:
    """In collectives a GPU has at least {pod_median_percent} percent of the median clock of its group's GPUs (lower without heat or power brake: warn)."""
    ranks = {host: len({row["local_rank"] for row in rows if row["backend"] == "nccl"}) for host, rows in collective_ranks.items()}
    yield from judged_clocks(gpu_clocks or {}, ranks, pod_median_percent)
