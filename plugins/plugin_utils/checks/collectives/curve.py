# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: how much of the rails' rate the scaling steps use, and whether larger messages are as fast as smaller ones."""

from __future__ import annotations

import typing as t

from ...loads.collective_runs import LADDER, NODE_NICS, CollectiveRun, collective_runs
from ...loads.thresholds import host_gbyte_s
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from .._not_measured import NO_RATES, no_result
from ..place import Place
from ._nccl_transport import forced, of_another_setting
from ._runs import runs_of_all_hosts

CURVE_FROM = 64 << 20
EFFICIENCY_HOSTS = 8
# A run is as fast as its slowest host, of which it lacks no more than so much of the rate that this one has alone.
NEAR_PERCENT = 5


@check(
    cause="The collective does not fill the rails: GPUDirect, fewer rails than there are, few channels, or uplinks that are shared.",
    fix="Compare NCCL's log with the cabling plan: NICs in use, GDRDMA, algorithm; then the uplinks under load.",
    needs="load",
    kind="host",
)
def efficiency(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_rails: list[Rail], pod_link_gbit_s: float,
    pod_efficiency_warn_percent: float, pod_efficiency_min_percent: float, pod_nccl_environment: dict[str, t.Any], nccl_log: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """From 8 hosts up, busbw reaches {pod_efficiency_min_percent} percent of the rails' rate, and {pod_efficiency_warn_percent} without a warning."""
    found = runs_of_all_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    mine = [run for run in found if run.kind == LADDER and pod_node in run.hosts and len(run.hosts) >= EFFICIENCY_HOSTS and run.top is not None]
    carried = host_gbyte_s({"pod_rails": pod_rails, "pod_link_gbit_s": pod_link_gbit_s})
    if not mine or not carried:
        raise NotApplicable(f"no scaling step with {EFFICIENCY_HOSTS} hosts or more" if not mine else "the host has no rails")
    for run in mine:
        part = (run.top or 0.0) / carried * 100
        if part < pod_efficiency_warn_percent and pod_node in _holding_back(run, found):
            severity = "warn" if part >= pod_efficiency_min_percent else None
            words = Place(f"all-reduce over {len(run.hosts)} hosts"), f"{pod_efficiency_warn_percent:g} % of {carried:g} GB/s", f"{part:.3g} %"
            variables = forced(nccl_log, load_jobs_of_peers.get(pod_node, []), pod_nccl_environment) if severity is None else []
            yield of_another_setting(*words, variables) if variables else Finding(*words, severity)


def _holding_back(run: CollectiveRun, found: t.Iterable[CollectiveRun]) -> t.Container[str]:
    """The hosts of a run that are alone no faster over their own NICs than the run was, where the others are; all of its hosts where no few stand out."""
    own = {one.hosts[0]: one.top for one in found if one.kind == NODE_NICS and one.top is not None and one.hosts[0] in run.hosts}
    near = {host for host, rate in own.items() if rate * 100 < (run.top or 0.0) * (100 + NEAR_PERCENT)}
    return near if near and 2 * len(near) <= len(run.hosts) else run.hosts


@check(
    cause="NCCL changes algorithm or protocol at that size to one that is slower here, or a buffer is too small.",
    fix="Compare NCCL_ALGO, NCCL_PROTO and the tuner's choices around the size; a topology file of another machine does this too.",
    severity="warn",
    needs="load",
)
def curve_rises(load_jobs: Rows, collective_rates: Rows, collective_ranks: Rows, pod_node: str, pod_curve_dip_percent: float) -> t.Iterator[Finding]:
    """From 64 MiB up, a larger size is at most {pod_curve_dip_percent} percent slower than a smaller one."""
    curves = [run for run in collective_runs({pod_node: load_jobs}, {pod_node: collective_rates}, {pod_node: collective_ranks}) if len(run.busbw) > 1]
    if not curves:
        raise no_result(NO_RATES)
    for run in curves:
        best = 0.0
        for size, rate in sorted(run.busbw.items()):
            if size >= CURVE_FROM and rate < best * (1 - pod_curve_dip_percent / 100):
                yield Finding(
                    Place(f"all-reduce over {len(run.hosts)} hosts at {size >> 20} MiB"), f"{best:.4g} GB/s, the rate of a smaller size", f"{rate:.4g} GB/s"
                )
            best = max(best, rate if size >= CURVE_FROM else 0.0)
