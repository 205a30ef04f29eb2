# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 4: every rail of every host carries its rate under ``ib_write_bw``, and a failing one is told from its partner and the path."""

from __future__ import annotations

import typing as t

from ..perftest import REFUSES
from . import CannotTell, Finding, NotApplicable, check
from ._loaded import CLASS_FIX, OTHER_CLASS, in_class
from ._rows import typical
from ._tests import RETEST, End, Peers, Row, Rows, Test, blame, median, tests

Grouped = dict[str, Rows]
TESTED = ("write_bw", RETEST)


@check(
    cause="The rail, its NIC's PCIe link or its cable is slow; the partner's is; or the path between them is. Each finding says which.",
    fix="Of a rail: look at its PCIe width, errors and optic. Of a path: compare the uplinks. Of a host whose rails pass alone: PCIe and NUMA.",
    required=True,
)
def write_bw_per_rail(
    load_jobs: Rows, load_jobs_of_peers: Peers, write_bw_of_peers: Peers, pod_node: str, pod_rails: Rows, pod_link_gbit_s: float,
    pod_write_bw_bidirectional: bool, pod_write_bw_min_percent: float, pod_write_bw_warn_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every rail carries at least 87.5 percent of its link with a partner that does."""
    least, warn = (_of_link(pod_link_gbit_s, percent, pod_write_bw_bidirectional) for percent in (pod_write_bw_min_percent, pod_write_bw_warn_percent))
    known = {host: tests(host, load_jobs_of_peers, write_bw_of_peers, TESTED) for host in {pod_node, *(str(row["peer"]) for row in load_jobs)}}
    for rail in pod_rails:
        end = End(pod_node, rail["device"])
        mine = [one for one in known[pod_node] if end in (one.sender, one.receiver)]
        rounds = [one for one in mine if one.job["kind"] == "write_bw"]
        if not rounds:
            yield Finding(rail["device"], "a test with another host", "no other host that climbs has this rail", "unknown")
            continue
        yield from _of_rail(end, rounds, known, least)
        middle = median(one.gbit_s for one in rounds)
        if middle is not None and least <= middle < warn:
            yield Finding(rail["device"], f"{warn:g} Gb/s or more", f"{middle:.4g} Gb/s in the middle of {len(rounds)} tests", "warn")


def _of_link(link: float, percent: float, both_ways: bool) -> float:
    return link * percent / 100 * (2 if both_ways else 1)


def _of_rail(end: End, rounds: list[Test], known: dict[str, list[Test]], least: float) -> t.Iterator[Finding]:
    """The worst failing test that is this rail's fault, and every failing path; not what is the partner's."""
    at_fault: list[tuple[Test, str]] = []
    for test in rounds:
        if test.gbit_s is not None and test.gbit_s >= least:
            continue
        other = test.receiver if test.sender == end else test.sender
        said = blame(end, test, known[end.host], known[other.host], least)
        severity = None if test.status in ("ok", "fail") else "unknown"
        if said.kind == "path":
            yield Finding(f"{end.device} to {other}", f"{least:g} Gb/s or more", f"{test.told}: the path, for {said.why}", severity)
        elif said.kind is not None:
            at_fault.append((test, f"{'the host' if said.kind == 'host' else 'this rail'}, for {said.why}"))
    if at_fault:
        test, why = min(at_fault, key=lambda pair: (pair[0].status == "unknown", pair[0].gbit_s or 0.0))
        other = test.receiver if test.sender == end else test.sender
        severity = None if test.status in ("ok", "fail") else "unknown"
        yield Finding(end.device, f"{least:g} Gb/s or more", f"{test.told} with {other}: {why}", severity)


@check(
    cause="This rail's path, NIC or PCIe link is slower than that of its neighbours.",
    fix="Compare the host's PCIe width and speed, MTU, optic and firmware with a host whose rail is fast.",
    scope="group",
    required=True,
)
def slow_rail(load_jobs: Grouped, write_bw: Grouped, pod_slow_rail_percent: float) -> t.Iterator[Finding]:
    """No rail sends less than 90 percent of what its gate group's rails send in the middle."""
    best: dict[tuple[str, str], float] = {}
    for host in load_jobs:
        for one in (test for test in tests(host, load_jobs, write_bw) if test.sender.host == host and test.gbit_s is not None):
            key = (host, one.sender.device)
            best[key] = max(best.get(key, 0.0), one.gbit_s or 0.0)
    if not best:
        raise CannotTell("no rail of the group has sent anything")
    middle = typical(best.values())
    least = middle * pod_slow_rail_percent / 100
    for (host, device), rate in best.items():
        if rate < least:
            yield Finding(device, f"{least:.4g} Gb/s or more, as the group's rails reach {middle:.4g}", f"{rate:.4g} Gb/s at best", host=host)


@check(
    cause="The test ran otherwise than the pod asks for: another MTU or GID index, or a perftest that ignores an option.",
    fix="Compare the NIC's MTU and GID table with the pod's; run the test by hand with the arguments in the evidence.",
    required=True,
)
def measured_as_asked(write_bw: Rows, load_jobs: Rows) -> t.Iterator[Finding]:
    """What perftest says it measured is what it was asked to measure."""
    asked = {row["item"]: row for row in load_jobs if row["role"] == "client" and row["kind"] in TESTED}
    judged = [(row, asked[row["item"]]) for row in write_bw if row["item"] in asked]
    if not judged:
        raise CannotTell("no test of this host as sender gave a rate")
    for row, job in judged:
        for column in ("device", "mtu", "gid_index", "qps", "bytes"):
            if job[column] is not None and row[column] != job[column]:
                told = "not told" if row[column] is None else row[column]
                yield Finding(f"{job['item']} {column}", str(job[column]), str(told), "unknown")


@check(cause=OTHER_CLASS, fix=CLASS_FIX, fabric="roce", required=True)
def right_class(
    nic_counters_idle: Rows, nic_counters: Rows, load_jobs: Rows, load_jobs_of_peers: Peers, write_bw_of_peers: Peers, pod_node: str, pod_rails: Rows,
    pod_roce_priority: int, pod_write_bw_seconds: int,
) -> t.Iterator[Finding]:  # fmt: skip
    """What a rail received under load was counted in the RoCE priority."""
    expected: dict[str, float] = {}
    for one in tests(pod_node, load_jobs_of_peers, write_bw_of_peers, TESTED):
        if one.receiver.host == pod_node and one.gbit_s is not None:
            expected[one.receiver.device] = expected.get(one.receiver.device, 0.0) + one.gbit_s * 1e9 / 8 * pod_write_bw_seconds
    if not expected:
        raise CannotTell("no test of this host as receiver gave a rate")
    yield from in_class(pod_rails, expected, nic_counters_idle, nic_counters, pod_roce_priority)


@check(
    cause="GPUDirect RDMA takes another way than the NIC's own PCIe switch: ACS, the IOMMU, or a GPU and a NIC under different root ports.",
    fix="Look at preflight's acs_as_expected and gpu_nic_affinity of this host, and at the module nvidia_peermem or DMA-BUF.",
)
def gpu_write_bw(load_jobs: Rows, write_bw: Rows, pod_gpu_write_bw: str, pod_gpu_write_bw_percent: float) -> t.Iterator[Finding]:
    """From GPU memory a rail carries what it carries from host memory."""
    asked = [row for row in load_jobs if row["kind"] == "write_bw" and row["role"] == "client" and row["memory"] != "host"]
    if not asked:
        raise NotApplicable("this host sends nothing from GPU memory")
    refused = [row for row in asked if REFUSES in str(row["words"])]
    if len(refused) == len(asked) and pod_gpu_write_bw == "auto":
        raise NotApplicable("perftest is built without GPU memory here")
    rates = {row["item"]: row["gbit_s"] for row in write_bw}
    # By peer memory and, where that failed and either will do, by DMA-BUF: whichever works is what jobs use.
    again = {(row["device"], row["peer"]): row for row in sorted(asked, key=lambda row: row["item"] in rates)}
    for row in again.values():
        rate = rates.get(row["item"])
        host = max((rates[one["item"]] for one in load_jobs if _same(one, row) and one["item"] in rates), default=None)
        where = f"{row['device']} from {row['memory']} memory"
        if rate is None or host is None:
            yield Finding(where, "a rate", str(row["words"] or "no rate from host memory to compare with"), None if row["status"] == "fail" else "unknown")
        elif rate < host * pod_gpu_write_bw_percent / 100:
            yield Finding(where, f"{pod_gpu_write_bw_percent:g} % of the {host:.4g} Gb/s from host memory", f"{rate:.4g} Gb/s")


def _same(one: Row, other: Row) -> bool:
    return one["memory"] == "host" and all(one[key] == other[key] for key in ("kind", "role", "device", "peer", "peer_device"))


@check(
    cause="A longer path than planned, power saving of the CPU or of PCIe, or a queue on the way that is not empty.",
    fix="Look at the host's CPU governor and C-states, at ASPM, and at the pod's counters while it is idle.",
    severity="warn",
)
def write_latency(load_jobs: Rows, pod_write_lat_max_us: float, pod_hop_us: float, write_lat: Rows | None = None) -> t.Iterator[Finding]:
    """A small write is as quick as the number of switches on its way allows."""
    paths = {row["item"]: row for row in load_jobs if row["kind"] == "write_lat" and row["role"] == "client"}
    if not paths:
        raise NotApplicable("its partner measured it")
    judged = [(row, paths[row["item"]]) for row in write_lat or () if row["item"] in paths]
    if not judged:
        raise CannotTell("no latency test of this host gave a number")
    for row, job in judged:
        told = row["typical_us"] if row["typical_us"] is not None else row["average_us"]
        most = pod_write_lat_max_us + (2 * pod_hop_us if job["path"] == "spine" else 0)
        if told > most:
            yield Finding(f"{job['device']} to {job['peer']}", f"at most {most:g} us", f"{told:g} us")
