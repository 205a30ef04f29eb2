# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: whether hosts alone reduce by the same way as their group, and as fast."""

from __future__ import annotations

import re
import typing as t

from ...loads.collective_runs import NODE, collective_runs, items_of_kind, slow_alone
from ...readings.rows import Peers
from .. import Finding, NotApplicable, check
from .._grouping import several, typical
from .._not_measured import no_result
from ..place import Place

# NVSwitches multicast from Hopper on.
MULTICASTS = re.compile(r"\b(?:GH|GB|H|B)\d{2,3}\b")
ALL_WITHOUT = "No host of the group has it: a virtual machine without the switches' multicast, an older Fabric Manager, or a driver that was not reset."


@check(
    cause="The NVSwitches' multicast is not available to NCCL on this host: the Fabric Manager, a GPU reset that it lacks, or a partition without multicast.",
    fix="Compare nvidia-smi -q (Fabric) and the Fabric Manager's log and version with a good host; restart it and reset all GPUs of the host together.",
    scope="group",
    needs="load",
    when=("pod_nvswitch", True),
)
def nvls_available(load_jobs: Peers, collective_ranks: Peers, nccl_log: Peers, pod_gpu_vendor: str) -> t.Iterator[Finding]:
    """NCCL finds NVLS, the reduction in the NVSwitches, on every GPU that can use it."""
    if pod_gpu_vendor != "nvidia":
        raise NotApplicable("the GPUs have no NVSwitch")
    if not any(MULTICASTS.search(str(row["device"])) for rows in collective_ranks.values() for row in rows):
        raise NotApplicable("the NVSwitches of these GPUs have no multicast")
    events: dict[str, list[str]] = {}
    for host, log in nccl_log.items():
        own = items_of_kind(load_jobs.get(host, []), NODE)
        events[host] = [row["event"] for row in log if row["item"] in own and row["event"] in ("nvls", "no_nvls")]
    if not any(events.values()):
        raise NotApplicable("NCCL's log reports nothing of NVLS")
    alike = all(set(found) <= {"no_nvls"} for found in events.values())
    for host, found in events.items():
        where, wanted = Place("NVLS of the host alone"), "multicast of the NVSwitches available to NCCL"
        if "no_nvls" in found:
            words = f"not available on {found.count('no_nvls')} of its GPUs"
            yield Finding(where, wanted, words, "warn" if alike else None, host=host, cause=ALL_WITHOUT if alike else None)
        elif not found:
            yield Finding(where, wanted, "not reported", "unknown", host=host)


@check(
    cause="The host reaches its minimum and less than the hosts of its group: another algorithm inside the host (NVLS not used), a slower GPU, or "
    "other clocks.",
    fix="Compare NCCL's log (NVLS, channels), nvidia-smi nvlink -s, clocks and slowdown counters with a host at the median.",
    scope="group",
    severity="warn",
    needs="load",
)
def node_all_reduce_alike(
    load_jobs: Peers, collective_rates: Peers, collective_ranks: Peers, pod_median_percent: float, pod_gpus_per_host: int,
    pod_node_busbw_gbyte_s: float | None, pod_node_busbw_by_gpu: dict[str, t.Any], pod_busbw_tolerance_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """A host alone that reaches its minimum also reaches {pod_median_percent} percent of the median of its gate group."""
    several(load_jobs)
    if pod_gpus_per_host == 1:
        raise NotApplicable("a host has one GPU")
    values = {
        "pod_gpus_per_host": pod_gpus_per_host, "pod_node_busbw_gbyte_s": pod_node_busbw_gbyte_s, "pod_node_busbw_by_gpu": pod_node_busbw_by_gpu,
        "pod_busbw_tolerance_percent": pod_busbw_tolerance_percent,
    }  # fmt: skip
    rates, slow = {}, set()
    for host, jobs in load_jobs.items():
        ranks = collective_ranks.get(host, [])
        device = next((row["device"] for row in ranks if row["device"]), None)
        for run in collective_runs({host: jobs}, {host: collective_rates.get(host, [])}, {host: ranks}):
            if run.kind == NODE and run.top is not None and not run.trouble:
                rates[host] = run.top
                slow |= {host} if slow_alone(run, device, values) else set()
    if not rates:
        raise no_result("no host of the group gave a rate alone")
    middle = typical(rates.values())
    least = middle * pod_median_percent / 100
    for host, rate in rates.items():
        # node_all_reduce names those that are below their minimum.
        if rate < least and host not in slow:
            yield Finding(Place("all-reduce of the host alone"), f"{least:.4g} GB/s or more, the group's median is {middle:.4g}", f"{rate:.4g} GB/s", host=host)
