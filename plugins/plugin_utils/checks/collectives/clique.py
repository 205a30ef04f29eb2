# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: NVLink between the hosts of a rack, apart from their NICs."""

from __future__ import annotations

import typing as t

from ...loads.collective_runs import clique_runs
from ...loads.thresholds import host_gbyte_s
from ...pod.types import Rail
from ...readings.rows import Peers
from .. import CannotTell, Finding, NotApplicable, check
from .._grouping import several
from ..place import Place


@check(
    cause="Traffic between the hosts of the rack does not use NVLink: NCCL cannot map the memory of other hosts' GPUs (IMEX, its channel in the container, "
    "the clique), or NVLink is slower than the NICs.",
    fix="Look at nvlink_clique and imex_ready, at /dev/nvidia-caps-imex-channels as the job's user, and at the MNNVL lines of NCCL's log of such a job.",
    scope="group",
    needs="load",
    when=("pod_nvlink_domain", ("gate_group",)),
)
def clique_all_reduce(
    load_jobs: Peers, collective_rates: Peers, collective_ranks: Peers, pod_rails: list[Rail], pod_link_gbit_s: float, pod_collective_backend: str
) -> t.Iterator[Finding]:  # fmt: skip
    """Over all hosts of a gate group an all-reduce by NVLink is faster than all rails of a host."""
    several(load_jobs)
    if pod_collective_backend != "nccl":
        raise NotApplicable(f"pod_collective_backend is {pod_collective_backend}")
    runs = clique_runs(load_jobs, collective_rates, collective_ranks)
    if not runs:
        raise CannotTell("no run over the hosts of the group had NVLink")
    # No rate of whole racks of every size is known; what NICs carried cannot be above this one.
    most = host_gbyte_s({"pod_rails": pod_rails, "pod_link_gbit_s": pod_link_gbit_s})
    for run in runs:
        where = Place(f"all-reduce by NVLink over {len(run.hosts)} hosts")
        if run.top is None or run.trouble:
            yield Finding(where, "a rate", "; ".join(run.trouble[:3]) or "rate: not reported", "unknown", judged=bool(run.trouble))
        elif run.wrong:
            yield Finding(where, "no wrong value", f"{run.wrong} wrong values")
        elif run.top <= most:
            yield Finding(where, f"more than {most:.4g} GB/s, which all rails of a host carry", f"{run.top:.4g} GB/s")
