# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: how fast, against the pod's numbers, the curve and the group."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from functools import partial

from ...loads.bisection import Group
from ...loads.collective_runs import (
    LADDER,
    NODE,
    NODE_NICS,
    CollectiveRun,
    bisection_of,
    collective_runs,
    hosts_passed_alone,
    items_of_kind,
    probe_passed_alone,
    probe_runs,
    rail_runs,
    restored_by,
    restoring_probes,
    run_passed,
)
from ...loads.launcher_errors import explained as explained_refusal
from ...loads.rank_errors import explained
from ...loads.thresholds import known_node_busbw, minimum_busbw, within_tolerance
from ...loads.unknown_errors import cut
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from ...text.counting import counted as count
from ...text.shortened import shortened
from .. import PAIR, CannotTell, Finding, NotApplicable, NotProved, check
from .._beside import Counted, of_node
from .._grouping import several, typical
from .._not_measured import NO_RESULT, RUN_ENDED, no_result, not_measured
from ..place import Place
from ._nccl_transport import NO_RDMA_CAUSE, NO_RDMA_FIX, by_socket, cause_of_rate, forced, network_channels, of_another_setting, restored, why_slow
from ._runs import probes_of_several_hosts, runs_of_all_hosts

UNKNOWN_GPU_FIX = "set pod_node_busbw_gbyte_s to what a good host of this kind reaches alone, then evaluate layer 5 again"
LOGGED_CAUSE = (
    "NCCL's own log names what slows this run: GPUDirect, rails left out, TCP instead of RDMA, copies through the host's memory, or another traffic class."
)
# So many repetitions that all pass make a slow run a transient; one or two may have changed the setting that made it slow.
PASSES_AGAIN = 3
ONCE_CAUSE = "One run was slow and every repetition over the same hosts passed: traffic of another source, or the start of the hosts' first run together."
ONCE_FIX = "Run layer 5 again; where the same hosts are slow again, compare their rails in layer 4 and the uplinks between them at that time."


def _alone(host: str, kind: str, jobs: Rows, rates: Rows, ranks: Rows) -> CollectiveRun:
    """A host's own run of a kind.

    Raises CannotTell where there is none, or where it gave no rate.
    """
    own = next((run for run in collective_runs({host: jobs}, {host: rates}, {host: ranks}) if run.kind == kind), None)
    if own is None:
        raise not_measured(
            "it was not run" if not jobs else f"it was not run ({cut('; '.join(str(row['words']) for row in jobs if row['words'])) or 'no reason reported'})"
        )
    if own.top is None or own.trouble:
        raise not_measured("; ".join(own.trouble[:3]) or "rate: not reported")
    return own


def expected(device: str | None, own: float | None, by_gpu: dict[str, t.Any]) -> float:
    """As ``known_node_busbw``.

    Raises NotProved for a GPU of which none is known, CannotTell where the GPU is not reported.
    """
    rate = known_node_busbw(device, own, by_gpu)
    if rate is None and device is None:
        raise CannotTell("the name of the GPU: not reported")
    if rate is None:
        # node_all_reduce_alike compares it with the median of its group.
        raise NotProved(f"no rate is known for {device}: {UNKNOWN_GPU_FIX}")
    return rate


@check(
    cause="A GPU, an NVLink or the NVSwitch fabric of the host is slow, or peer access between its GPUs is off.",
    fix="Compare nvidia-smi nvlink -s and topo -m with a good host; look for NCCL_P2P_DISABLE, MIG and ACS; run the vendor's GPU diagnostics.",
    required=True,
    needs="load",
)
def node_all_reduce(
    load_jobs: Rows, collective_rates: Rows, collective_ranks: Rows, pod_node: str, pod_gpus_per_host: int, pod_node_busbw_gbyte_s: float | None,
    pod_node_busbw_by_gpu: dict[str, t.Any], pod_busbw_tolerance_percent: float, pod_nccl_environment: dict[str, t.Any], nccl_log: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """All GPUs of the host alone reach its expected all-reduce bandwidth."""
    own = _alone(pod_node, NODE, load_jobs, collective_rates, collective_ranks)
    if pod_gpus_per_host == 1:
        # It has no one to reduce with: that it ran to its end is all there is to prove.
        return
    device = next((row["device"] for row in collective_ranks if row["device"]), None)
    minimum = within_tolerance(expected(device, pod_node_busbw_gbyte_s, pod_node_busbw_by_gpu), pod_busbw_tolerance_percent)
    if own.top is not None and own.top < minimum:
        log = [row for row in nccl_log or () if row["item"] in items_of_kind(load_jobs, NODE)]
        values = {
            "pod_gpus_per_host": pod_gpus_per_host, "pod_node_busbw_gbyte_s": pod_node_busbw_gbyte_s, "pod_node_busbw_by_gpu": pod_node_busbw_by_gpu,
            "pod_busbw_tolerance_percent": pod_busbw_tolerance_percent,
        }  # fmt: skip
        probes = probe_runs({pod_node: load_jobs}, {pod_node: collective_rates}, {pod_node: collective_ranks}, pod_node)
        well = partial(probe_passed_alone, device=device, values=values)
        words = "; ".join([f"{own.top:.4g} GB/s", *why_slow(log, [], None), *restoring_probes(probes, well)])
        where, wanted = Place("all-reduce of the host alone"), f"{minimum:.4g} GB/s busbw or more"
        variables = restored(forced(log, load_jobs, pod_nccl_environment), restored_by(probes, well))
        yield of_another_setting(where, wanted, words, variables) if variables else Finding(where, wanted, words)


@check(
    cause="A NIC, its PCIe link or its GPUDirect path is slow on this host; the run over NVLink cannot see it.",
    fix="Compare the host's rails in layer 4, then PCIe width, ACS, IOMMU and GPUDirect with a good host.",
    scope="group",
    needs="load",
)
def node_nics_all_reduce(
    load_jobs: Peers, collective_rates: Peers, collective_ranks: Peers, pod_median_percent: float, nccl_log: Peers | None = None,
    rdma_counters_idle: t.Mapping[str, Rows | None] | None = None, rdma_counters: t.Mapping[str, Rows | None] | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """With NVLink and shared memory off, every host's own NICs reach {pod_median_percent} percent of the median of its group."""
    for host, log in (nccl_log or {}).items():
        jobs = load_jobs.get(host, [])
        if any(job["kind"] == NODE_NICS and job["status"] == "ok" for job in jobs):
            yield from _over_nics(host, [row for row in log or () if row["item"] in items_of_kind(jobs, NODE_NICS)])
    counted = Counted((None, None, rdma_counters_idle, rdma_counters))
    for found in _against_the_group(NODE_NICS, Place("all-reduce over the host's own NICs"), load_jobs, collective_rates, collective_ranks, pod_median_percent):
        yield replace(found, actual=f"{found.actual}{counted.of_devices(found.host or '')}")


def _over_nics(host: str, log: Rows) -> t.Iterator[Finding]:
    """Whether a run over the host's own NICs was one: by what carries it otherwise, all hosts of a group are alike."""
    where, wanted_way = Place("way of the all-reduce over the host's own NICs"), "channels over RDMA NICs only"
    others = [row for row in log if row["event"] == "channel" and not str(row["name"]).startswith("NET/")]
    if not network_channels(log):
        yield Finding(where, wanted_way, "NCCL's log has no channel over a NIC", "unknown", host=host)
    elif by_socket(log):
        yield Finding(where, wanted_way, "TCP sockets", host=host, cause=NO_RDMA_CAUSE, fix=NO_RDMA_FIX)
    elif others:
        yield Finding(
            where, wanted_way, f"{len(others)} channels via {', '.join(sorted({str(row['name']) for row in others}))}", "unknown", host=host, judged=True
        )


def _against_the_group(kind: str, where: Place, jobs: Peers, rates: Peers, ranks: Peers, percent: float) -> t.Iterator[Finding]:
    several(jobs)
    found = {
        run.hosts[0]: run
        for host in jobs
        for run in collective_runs({host: jobs[host]}, {host: rates.get(host, [])}, {host: ranks.get(host, [])})
        if run.kind == kind
    }
    if not found:
        raise NotApplicable("no host of the group ran it")
    rated = {host: run.top for host, run in found.items() if run.top is not None and not run.trouble}
    for host in jobs:
        if host not in rated:
            cause, fix = _why_it_ended(found[host]) if host in found else NO_RESULT
            words = ("; ".join(found[host].trouble[:2]) or "rate: not reported") if host in found else "it was not run"
            yield Finding(where, "a rate", words, "unknown", host=host, cause=cause, fix=fix)
    middle = typical(rated.values())
    for host, rate in rated.items():
        if rate < middle * percent / 100:
            yield Finding(where, f"{middle * percent / 100:.4g} GB/s or more, the group's median is {middle:.4g}", f"{rate:.4g} GB/s", host=host)


@check(
    cause="A host, a path or a setting is slow under this many hosts: GPUDirect, rails left out, wrong traffic class, uplinks, or one slow host.",
    fix="Start with what the finding names; where it names nothing, compare layer 4, then ECMP and NCCL's algorithm and topology.",
    required=True,
    needs="load",
    kind="host",
    hosts=PAIR,
)
def all_reduce_bandwidth(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_rails: list[Rail], pod_link_gbit_s: float,
    pod_all_reduce_busbw_gbyte_s: dict[str, t.Any], pod_all_reduce_percent: float, pod_busbw_tolerance_percent: float, pod_traffic_class: int, pod_fabric: str,
    pod_nccl_environment: dict[str, t.Any], pod_roce_priority: int, nccl_log: Rows | None = None, nic_counters_idle: Rows | None = None,
    nic_counters: Rows | None = None, rdma_counters_idle: Rows | None = None, rdma_counters: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each scaling step with this host reaches the bandwidth expected of that number of hosts."""
    values = ladder_values(pod_rails, pod_link_gbit_s, pod_all_reduce_busbw_gbyte_s, pod_all_reduce_percent, pod_busbw_tolerance_percent)
    found = runs_of_all_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    mine = [run for run in found if run.kind == LADDER and pod_node in run.hosts]
    if not mine:
        raise no_result("no scaling step included this host")
    state = bisection_of(found, values)
    probes = probes_of_several_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    tried = restoring_probes(probes, lambda run: run_passed(run, values))
    again = passed_again(found, probes, values)
    counted = of_node(pod_node, (nic_counters_idle, nic_counters, rdma_counters_idle, rdma_counters), pod_roce_priority, pod_link_gbit_s)
    for run in mine:
        if run.group == again:
            yield from _once(run, values, probes, len(hosts_passed_alone(found)))
            continue
        if run_passed(run, values) or (state.hosts.keys() & run.hosts and pod_node not in state.hosts):
            continue
        name = {row["item"] for row in load_jobs_of_peers.get(pod_node, ()) if row["kind"] == LADDER and row["hosts"] == list(run.hosts)}
        log = [row for row in nccl_log or () if row["item"] in name]
        logged = why_slow(log, [rail["device"] for rail in pod_rails], pod_traffic_class if pod_fabric == "roce" else None)
        own = cause_of_rate(log, [rail["device"] for rail in pod_rails]) or ((LOGGED_CAUSE, None) if log and logged else (None, None))
        variables = forced(log, load_jobs_of_peers.get(pod_node, []), pod_nccl_environment)
        low = _low(run, values, logged + tried, own, restored(variables, restored_by(probes, lambda run: run_passed(run, values))))
        yield replace(low, actual=f"{low.actual}{counted.of_host(pod_node, pod_rails)}")
    together = max((len(run.hosts) for run in mine if run_passed(run, values)), default=1)
    left = [host for host in hosts_passed_alone(found) if host not in state.suspects]
    if pod_node in left and together < len(left):
        yield Finding(Place("scaling test"), f"all-reduce over all {len(left)} hosts", f"not run beyond {count(together, 'host')}", "unknown", judged=True)


def passed_again(found: t.Sequence[CollectiveRun], probes: t.Mapping[str, CollectiveRun], values: t.Mapping[str, t.Any]) -> Group | None:
    """The hosts of a run that was slow once: every later run of the same hosts passed, whatever single setting it changed.

    That each of several unrelated changes restores a rate means that none of them did, so the slow run itself is what differed.
    None where there is none, where it was repeated fewer than ``PASSES_AGAIN`` times, and where a host of it is slow with other partners too.
    """
    groups = {run.group for run in probes.values()}
    if len(groups) != 1 or len(probes) < PASSES_AGAIN or not all(run_passed(run, values) for run in probes.values()):
        return None
    group = next(iter(groups))
    if group & bisection_of(found, values).hosts.keys():
        return None
    slow = [run for run in found if run.group == group and not run_passed(run, values)]
    return group if slow and all(run.top is not None and not run.trouble and not run.wrong for run in slow) else None


def _once(run: CollectiveRun, values: dict[str, t.Any], probes: t.Mapping[str, CollectiveRun], hosts: int) -> t.Iterator[Finding]:
    """The warning of a slow run that passed when it was repeated; the larger runs went on without its hosts, so that they prove nothing of them.

    hosts: how many take part in the scaling test.
    """
    where, rates = Place(f"all-reduce over {len(run.hosts)} hosts"), ", ".join(f"{probe.top or 0.0:.4g}" for probe in probes.values())
    minimum = minimum_busbw(len(run.hosts), values) or 0.0
    actual = f"{run.top or 0.0:.4g} GB/s once, then {rates} GB/s in {len(probes)} repetitions over the same hosts, each with another setting"
    yield Finding(where, f"{minimum:.4g} GB/s busbw or more each time", actual, "warn", cause=ONCE_CAUSE, fix=ONCE_FIX)
    if len(run.hosts) < hosts:
        larger = "not run with this host, because of the step that was slow once"
        yield Finding(Place("scaling test"), f"all-reduce over all {hosts} hosts", larger, "unknown", cause=ONCE_CAUSE, fix=ONCE_FIX)


def ladder_values(rails: list[Rail], link: float, table: dict[str, t.Any], percent: float, tolerance: float) -> dict[str, t.Any]:
    return {
        "pod_rails": rails, "pod_link_gbit_s": link, "pod_all_reduce_busbw_gbyte_s": table, "pod_all_reduce_percent": percent,
        "pod_busbw_tolerance_percent": tolerance,
    }  # fmt: skip


def _why_it_ended(run: CollectiveRun) -> tuple[str | None, str | None]:
    """Cause and fix of the error with which a run ended; None of one that ended well and reported no rate."""
    for end in run.own_end.values():
        return end.cause, end.fix
    if run.errors:
        return explained(next(iter(run.errors.values())))
    if run.refusal:
        return explained_refusal(run.refusal)
    return RUN_ENDED if run.trouble else (None, None)


def _low(run: CollectiveRun, values: dict[str, t.Any], reasons: list[str], own: tuple[str | None, str | None], variables: list[str]) -> Finding:
    where, minimum = Place(f"all-reduce over {len(run.hosts)} hosts"), minimum_busbw(len(run.hosts), values)
    if run.top is None or run.trouble:
        cause, fix = _why_it_ended(run)
        words = "; ".join(shortened(reason, 200) for reason in run.reasons[:3]) or "rate: not reported"
        return Finding(where, "a rate", words, "unknown", run.named_by_launcher, cause=cause, fix=fix, judged=bool(run.trouble))
    if run.wrong:
        return Finding(where, "no wrong value", f"{run.wrong} wrong values")
    number = "" if minimum is None else f"{minimum:.4g} GB/s busbw or more"
    actual = f"{run.top:.4g} GB/s" + (f": {'; '.join(reasons)}" if reasons else "")
    return of_another_setting(where, number, actual, variables) if variables else Finding(where, number, actual, cause=own[0], fix=own[1])


@check(
    cause="One rail is slow from GPU to GPU: a NIC, its PCIe link, its GPUDirect path, or a leaf; all rails together do not show which.",
    fix="Compare write_bw_per_rail and the leaf of that rail over the group's hosts; where all of them pass, GPUDirect and PCIe of that GPU and its NIC.",
    scope="group",
    needs="load",
)
def rail_all_reduce(load_jobs: Peers, collective_rates: Peers, collective_ranks: Peers, pod_median_percent: float) -> t.Iterator[Finding]:
    """Each rail by itself carries an all-reduce over the group at {pod_median_percent} percent of the median rail or more."""
    found = rail_runs(load_jobs, collective_rates, collective_ranks)
    if not found:
        raise NotApplicable("no rail was run by itself: this needs NCCL, two hosts of the group that ran alone, and rails with a GPU")
    rated = {device: run.top for device, run in found.items() if run.top is not None and not run.trouble}
    for device in sorted(found.keys() - rated.keys()):
        run = found[device]
        cause, fix = _why_it_ended(run)
        words = "; ".join(shortened(reason, 200) for reason in run.reasons[:2]) or "rate: not reported"
        where = Place(f"rail {device}", device=device, peers=tuple(run.own_end or run.hosts))
        yield Finding(where, "a rate", words, "unknown", cause=cause, fix=fix, judged=bool(run.trouble))
    middle = typical(rated.values())
    minimum = middle * pod_median_percent / 100
    for device, rate in rated.items():
        if rate < minimum:
            yield Finding(
                Place(f"rail {device}", device=device), f"{minimum:.4g} GB/s or more, the median of the group's rails is {middle:.4g}", f"{rate:.4g} GB/s"
            )
