# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: how fast, against the pod's numbers, the curve and the group."""

from __future__ import annotations

import re
import typing as t

from ...rungs import NODE, NODE_NICS, RUNG, Run, blamed, came_through, least, of_rails, passed, probes, restored, runs, wanted, wire
from .. import CannotTell, Finding, NotApplicable, check
from .._rows import Rows, several, typical
from ._why import by_socket, network_channels, why_slow

Peers = dict[str, Rows]
CURVE_FROM = 64 << 20
IN_A_SLOT = re.compile(r"PCIe|\bNVL\b", re.IGNORECASE)
EFFICIENCY_HOSTS = 8


def _alone(host: str, kind: str, jobs: Rows, rates: Rows, ranks: Rows) -> Run:
    """A host's own run of a kind.

    Raises CannotTell where there is none, or where it gave no rate.
    """
    own = next((run for run in runs({host: jobs}, {host: rates}, {host: ranks}) if run.kind == kind), None)
    if own is None:
        raise CannotTell(
            "it was not run" if not jobs else f"it was not run ({'; '.join(str(row['words']) for row in jobs if row['words'])[:300] or 'no reason is told'})"
        )
    if own.top is None or own.trouble:
        raise CannotTell("; ".join(own.trouble[:3]) or "no rate was told")
    return own


def expected(device: str | None, own: float | None, by_gpu: dict[str, t.Any]) -> float:
    """The busbw of a host alone: the pod's own number, or that of its GPU, which is of eight on NVSwitch or alike.

    Raises CannotTell for a GPU of which none is known: a GH200 is no H200, and a card in a slot is none on a board.
    """
    if own is not None:
        return own
    named = [name for name in by_gpu if re.search(rf"(?<![A-Z0-9]){re.escape(name)}(?![A-Z0-9])", str(device))]
    found = max(named, key=len, default=None)
    rate = float(by_gpu[found]) if found is not None and (IN_A_SLOT.search(found) or not IN_A_SLOT.search(str(device))) else None
    if rate is None:
        raise CannotTell(f"no rate is known for {device}: set pod_node_busbw_gbyte_s")
    return rate


@check(
    cause="A GPU, an NVLink or the NVSwitch fabric of the host is slow, or peer access between its GPUs is off.",
    fix="Compare nvidia-smi nvlink -s and topo -m with a good host; look for NCCL_P2P_DISABLE, MIG and ACS; run the vendor's GPU diagnostics.",
    required=True,
    needs="load",
)
def node_all_reduce(
    load_jobs: Rows, collective_rates: Rows, collective_ranks: Rows, pod_node: str, pod_gpus_per_host: int, pod_node_busbw_gbyte_s: float | None,
    pod_node_busbw_by_gpu: dict[str, t.Any], pod_busbw_tolerance_percent: float, nccl_log: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """All GPUs of the host alone reach its expected all-reduce bandwidth."""
    own = _alone(pod_node, NODE, load_jobs, collective_rates, collective_ranks)
    if pod_gpus_per_host == 1:
        # It has nobody to reduce with: that it ran to its end is all there is to prove.
        return
    device = next((row["device"] for row in collective_ranks if row["device"]), None)
    minimum = expected(device, pod_node_busbw_gbyte_s, pod_node_busbw_by_gpu) * (1 - pod_busbw_tolerance_percent / 100)
    if own.top is not None and own.top < minimum:
        log = [row for row in nccl_log or () if row["item"] == NODE]
        reasons = "; ".join(why_slow(log, [], None))
        yield Finding("all-reduce of the host alone", f"{minimum:.4g} GB/s busbw or more", f"{own.top:.4g} GB/s" + (f": {reasons}" if reasons else ""))


@check(
    cause="A NIC, its PCIe link or its GPUDirect path is slow on this host; the run over NVLink cannot see it.",
    fix="Compare the host's rails in layer 4, then PCIe width, ACS, IOMMU and GPUDirect with a good host.",
    scope="group",
    needs="load",
)
def node_nics_all_reduce(
    load_jobs: Peers, collective_rates: Peers, collective_ranks: Peers, pod_median_percent: float, nccl_log: Peers | None = None
) -> t.Iterator[Finding]:
    """With NVLink and shared memory off, every host's own NICs reach 90 percent of what those of its group do."""
    for host, log in (nccl_log or {}).items():
        if any(job["kind"] == NODE_NICS and job["status"] == "ok" for job in load_jobs.get(host, ())):
            yield from _over_nics(host, [row for row in log or () if row["item"] == NODE_NICS])
    yield from _against_the_group(NODE_NICS, "all-reduce over the host's own NICs", load_jobs, collective_rates, collective_ranks, pod_median_percent)


def _over_nics(host: str, log: Rows) -> t.Iterator[Finding]:
    """Whether a run over the host's own NICs was one: by what carries it otherwise, all hosts of a group are alike."""
    where, wanted_way = "way of the all-reduce over the host's own NICs", "channels over RDMA NICs only"
    others = [row for row in log if row["event"] == "channel" and not str(row["name"]).startswith("NET/")]
    if not network_channels(log):
        yield Finding(where, wanted_way, "NCCL's log has no channel over a NIC", "unknown", host=host)
    elif by_socket(log):
        yield Finding(where, wanted_way, "TCP sockets", host=host)
    elif others:
        yield Finding(where, wanted_way, f"{len(others)} channels via {', '.join(sorted({str(row['name']) for row in others}))}", "unknown", host=host)


def _against_the_group(kind: str, where: str, jobs: Peers, rates: Peers, ranks: Peers, percent: float) -> t.Iterator[Finding]:
    several(jobs)
    found = {
        run.hosts[0]: run for host in jobs for run in runs({host: jobs[host]}, {host: rates.get(host, [])}, {host: ranks.get(host, [])}) if run.kind == kind
    }
    if not found:
        raise NotApplicable("no host of the group ran it")
    rated = {host: run.top for host, run in found.items() if run.top is not None and not run.trouble}
    for host in jobs:
        if host not in rated:
            yield Finding(where, "a rate", "; ".join(found[host].trouble[:2]) if host in found else "it was not run", "unknown", host=host)
    middle = typical(rated.values())
    for host, rate in rated.items():
        if rate < middle * percent / 100:
            yield Finding(where, f"{middle * percent / 100:.4g} GB/s or more, as its group reaches {middle:.4g}", f"{rate:.4g} GB/s", host=host)


@check(
    cause="A host, a path or a setting is slow under this many hosts: GPUDirect, rails left out, wrong traffic class, uplinks, or one slow host.",
    fix="Start with what the finding names; where it names nothing, compare layer 4, then ECMP and NCCL's algorithm and topology.",
    required=True,
    needs="load",
    kind="host",
)
def all_reduce_bandwidth(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_rails: Rows, pod_link_gbit_s: float,
    pod_all_reduce_busbw_gbyte_s: dict[str, t.Any], pod_all_reduce_percent: float, pod_busbw_tolerance_percent: float, pod_traffic_class: int, pod_fabric: str,
    nccl_log: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each rung of the ladder that the host is on reaches the bandwidth expected of so many hosts."""
    values = ladder_values(pod_rails, pod_link_gbit_s, pod_all_reduce_busbw_gbyte_s, pod_all_reduce_percent, pod_busbw_tolerance_percent)
    found = runs(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    mine = [run for run in found if run.kind == RUNG and pod_node in run.hosts]
    if not mine:
        raise NotApplicable("one host climbs") if len(load_jobs_of_peers) < 2 else CannotTell("no rung of the ladder had this host")
    state = blamed(found, values)
    tried = restored(probes(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers), values)
    for run in mine:
        if passed(run, values) or (state.hosts.keys() & run.hosts and pod_node not in state.hosts):
            continue
        name = {row["item"] for row in load_jobs_of_peers.get(pod_node, ()) if row["kind"] == RUNG and row["hosts"] == list(run.hosts)}
        log = [row for row in nccl_log or () if row["item"] in name]
        yield _low(run, values, why_slow(log, [rail["device"] for rail in pod_rails], pod_traffic_class if pod_fabric == "roce" else None) + tried)
    together = max((len(run.hosts) for run in mine if passed(run, values)), default=1)
    left = [host for host in came_through(found) if host not in state.suspects]
    if pod_node in left and together < len(left):
        yield Finding("the ladder", f"all-reduce over all {len(left)} hosts", f"one over {together}: it ended there", "unknown")


def ladder_values(rails: Rows, link: float, table: dict[str, t.Any], percent: float, tolerance: float) -> dict[str, t.Any]:
    return {
        "pod_rails": rails, "pod_link_gbit_s": link, "pod_all_reduce_busbw_gbyte_s": table, "pod_all_reduce_percent": percent,
        "pod_busbw_tolerance_percent": tolerance,
    }  # fmt: skip


def _low(run: Run, values: dict[str, t.Any], reasons: list[str]) -> Finding:
    where, minimum = f"all-reduce over {len(run.hosts)} hosts", least(len(run.hosts), values)
    if run.top is None or run.trouble:
        return Finding(where, "a rate", "; ".join(run.trouble[:3]) or "no rate was told", "unknown")
    if run.wrong:
        return Finding(where, "no wrong value", f"{run.wrong} wrong values")
    number = "" if minimum is None else f"{minimum:.4g} GB/s busbw or more"
    return Finding(where, number, f"{run.top:.4g} GB/s" + (f": {'; '.join(reasons)}" if reasons else ""))


@check(
    cause="One rail is slow from GPU to GPU: a NIC, its PCIe link, its GPUDirect path, or a leaf; all rails together only show that something is.",
    fix="Compare write_bw_per_rail and the leaf of that rail over the group's hosts; with all of them well, GPUDirect and PCIe of that GPU and its NIC.",
    scope="group",
    needs="load",
)
def rail_all_reduce(load_jobs: Peers, collective_rates: Peers, collective_ranks: Peers, pod_median_percent: float) -> t.Iterator[Finding]:
    """Each rail by itself carries an all-reduce over the group as fast as 90 percent of what its rails do."""
    found = of_rails(load_jobs, collective_rates, collective_ranks)
    if not found:
        raise NotApplicable("no rail was run by itself: it takes NCCL, two hosts of the group that ran alone, and rails with a GPU")
    rated = {device: run.top for device, run in found.items() if run.top is not None and not run.trouble}
    for device in sorted(found.keys() - rated.keys()):
        yield Finding(f"rail {device}", "a rate", "; ".join(found[device].trouble[:2]) or "no rate was told", "unknown")
    middle = typical(rated.values())
    minimum = middle * pod_median_percent / 100
    for device, rate in rated.items():
        if rate < minimum:
            yield Finding(f"rail {device}", f"{minimum:.4g} GB/s or more, as the group's rails reach {middle:.4g}", f"{rate:.4g} GB/s")


@check(
    cause="The collective does not fill the rails: GPUDirect, fewer rails than there are, few channels, or uplinks that are shared.",
    fix="Compare NCCL's log with the cabling plan: NICs in use, GDRDMA, algorithm; then the uplinks under load.",
    needs="load",
    kind="host",
)
def efficiency(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_rails: Rows, pod_link_gbit_s: float,
    pod_efficiency_warn_percent: float, pod_efficiency_min_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """From 8 hosts up, busbw is at least 70 percent of what the rails carry, and 80 to be well."""
    found = runs(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    mine = [run for run in found if run.kind == RUNG and pod_node in run.hosts and len(run.hosts) >= EFFICIENCY_HOSTS and run.top is not None]
    carried = wire({"pod_rails": pod_rails, "pod_link_gbit_s": pod_link_gbit_s})
    if not mine or not carried:
        raise NotApplicable(f"no rung of {EFFICIENCY_HOSTS} hosts or more" if not mine else "the host has no rails")
    for run in mine:
        part = (run.top or 0.0) / carried * 100
        if part < pod_efficiency_warn_percent:
            severity = "warn" if part >= pod_efficiency_min_percent else None
            yield Finding(f"all-reduce over {len(run.hosts)} hosts", f"{pod_efficiency_warn_percent:g} % of {carried:g} GB/s", f"{part:.3g} %", severity)


@check(
    cause="NCCL changes algorithm or protocol at that size to one that is slower here, or a buffer is too small.",
    fix="Compare NCCL_ALGO, NCCL_PROTO and the tuner's choices around the size; a topology file of another machine does this too.",
    severity="warn",
    needs="load",
)
def curve_rises(load_jobs: Rows, collective_rates: Rows, collective_ranks: Rows, pod_node: str, pod_curve_dip_percent: float) -> t.Iterator[Finding]:
    """From 64 MiB up, a larger size is not more than 5 percent slower than a smaller one."""
    curves = [run for run in runs({pod_node: load_jobs}, {pod_node: collective_rates}, {pod_node: collective_ranks}) if len(run.busbw) > 1]
    if not curves:
        raise CannotTell("no run told the rates of two sizes")
    for run in curves:
        best = 0.0
        for size, rate in sorted(run.busbw.items()):
            if size >= CURVE_FROM and rate < best * (1 - pod_curve_dip_percent / 100):
                yield Finding(f"all-reduce over {len(run.hosts)} hosts at {size >> 20} MiB", f"{best:.4g} GB/s, as smaller sizes have", f"{rate:.4g} GB/s")
            best = max(best, rate if size >= CURVE_FROM else 0.0)


@check(
    cause="This host holds back every collective that it takes part in, also with partners that are fast without it; or a path between hosts does.",
    fix="Compare the host with a good one: rails of layer 4, PCIe, clocks and throttling, NUMA, CPU frequency. Of a path: its uplinks.",
    needs="load",
    kind="host",
)
def slow_node(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_rails: Rows, pod_link_gbit_s: float,
    pod_all_reduce_busbw_gbyte_s: dict[str, t.Any], pod_all_reduce_percent: float, pod_busbw_tolerance_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """No host and no path makes a group of hosts slow: whoever is blamed failed with partners that passed without it."""
    values = ladder_values(pod_rails, pod_link_gbit_s, pod_all_reduce_busbw_gbyte_s, pod_all_reduce_percent, pod_busbw_tolerance_percent)
    found = runs(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    if not any(run.kind == RUNG for run in found):
        raise NotApplicable("no ladder was climbed")
    state = blamed(found, values)
    if pod_node in state.hosts:
        partners = ", ".join(state.hosts[pod_node])
        yield Finding("the host", f"{wanted(2, values) or 0:.4g} GB/s with a partner that passed", f"slow with {partners}, fast without it")
    for first, second in state.paths:
        if pod_node in first | second:
            yield Finding("the path", "hosts as fast together as apart", f"{_named(first)} and {_named(second)} are fast apart and slow together")
    for group in state.open:
        if pod_node in group:
            yield Finding("the host", "a partner that passed, to tell who is slow", "no host passed with another", "unknown")


def _named(group: t.Iterable[str]) -> str:
    names = sorted(group)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
