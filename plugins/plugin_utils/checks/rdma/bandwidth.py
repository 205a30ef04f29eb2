# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a rail carries its rate from host and from GPU memory, and whose fault it is where it does not: this host, its partner or the path."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass, replace

from ...loads.pair_tests import (
    REPEAT,
    RETEST,
    ROUND,
    TESTED,
    Blame,
    HostMemoryRates,
    PairEnd,
    PairTest,
    blame_end,
    median,
    pair_tests,
)
from ...loads.perftest_errors import UNSUPPORTED_OPTION, explained
from ...loads.thresholds import RailRates
from ...loads.unknown_errors import OF_TESTS, alike, explain_unknown, extent_of
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import PAIR, Finding, NotApplicable, check
from .._beside import Counted, error_growth
from .._grouping import typical
from .._not_measured import not_measured
from .._slow_pairs import (
    CONCURRENT_CAUSE,
    CONCURRENT_FIX,
    NOT_RUN_CAUSE,
    NOT_RUN_FIX,
    ONLY_CONCURRENT,
    PASSED_CAUSE,
    PASSED_FIX,
    SLOWER_CAUSE,
    SLOWER_FIX,
    STUCK_CAUSE,
    STUCK_FIX,
    ended_ill,
)
from ..place import at_device
from ._minimum import Minimum, OfHostMemory, OfLink

Grouped = dict[str, Rows]


@check(
    cause="The rail, its NIC's PCIe link or its cable is slow; the partner's is; or the path between them is. Each finding names which.",
    fix="For a rail: check its PCIe width, errors and optic. For a path: compare the uplinks. For a host whose rails pass alone: PCIe and NUMA.",
    required=True,
    hosts=PAIR,
)
def write_bw_per_rail(
    load_jobs: Rows, load_jobs_of_peers: Peers, write_bw_of_peers: Peers, pod_node: str, pod_rails: list[Rail], pod_rail_gbit_s: RailRates,
    pod_link_gbit_s: float, pod_write_bw_bidirectional: bool, pod_write_bw_min_percent: float, pod_write_bw_warn_percent: float,
    pod_roce_priority: int, nic_counters_idle: Rows | None = None, nic_counters: Rows | None = None, rdma_counters_idle: Rows | None = None,
    rdma_counters: Rows | None = None, nic_counters_idle_of_peers: Peers | None = None, nic_counters_of_peers: Peers | None = None,
    rdma_counters_idle_of_peers: Peers | None = None, rdma_counters_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every rail reaches at least {pod_write_bw_min_percent} percent of its link rate, or of its partner's where that is lower."""
    minimum, warn = (OfLink(pod_rail_gbit_s, percent, pod_write_bw_bidirectional) for percent in (pod_write_bw_min_percent, pod_write_bw_warn_percent))
    known = {host: pair_tests(host, load_jobs_of_peers, write_bw_of_peers, TESTED) for host in {pod_node, *(str(row["peer"]) for row in load_jobs)}}
    tables = (nic_counters_idle_of_peers, nic_counters_of_peers, rdma_counters_idle_of_peers, rdma_counters_of_peers)
    beside = _Beside(Counted(tables, pod_roce_priority, pod_link_gbit_s), pod_rails)
    for rail in pod_rails:
        end = PairEnd(pod_node, rail["device"])
        mine = [one for one in known[pod_node] if end in one.ends]
        rounds = [one for one in mine if one.job["kind"] == ROUND]
        if not rounds:
            yield Finding(at_device(rail["device"]), "a test with another host", "no other host under test has this rail", "unknown")
            continue
        grown = error_growth(rail, nic_counters_idle, nic_counters, rdma_counters_idle, rdma_counters)
        yield from _of_rail(end, rounds, known, minimum, grown, beside)
        # A test with a slower partner says nothing of what is above that one's rate.
        full = [one for one in rounds if minimum.of(one) == minimum.of_ends(end)]
        if not full:
            yield _only_slower(end, rounds, pod_rail_gbit_s)
        middle = median(one.gbit_s for one in full)
        if middle is not None and minimum.of_ends(end) <= middle < warn.of_ends(end):
            words = f"{middle:.4g} Gb/s, median of {len(full)} tests{beside.counted.of_rail(pod_node, rail)}"
            yield Finding(at_device(rail["device"]), f"{warn.of_ends(end):g} Gb/s or more", words, "warn")


def _only_slower(end: PairEnd, rounds: list[PairTest], rates: RailRates) -> Finding:
    """A rail all of whose partners have slower links."""
    most = max(rates[other.host][other.device] for one in rounds for other in one.ends if other != end)
    expected = f"a test with a rail of {rates[end.host][end.device]:g} Gb/s or more"
    return Finding(at_device(end.device), expected, f"tests with rails of {most:g} Gb/s at most", "unknown", cause=SLOWER_CAUSE, fix=SLOWER_FIX)


@dataclass(frozen=True)
class _Beside:
    """What the ends of tests counted meanwhile; rails: those of the host that is judged, by whose devices those of its partners are called too."""

    counted: Counted
    rails: list[Rail]

    def of(self, end: PairEnd, other: PairEnd) -> str:
        """Of the two ends of a test, as the end of a sentence."""
        named = {rail["device"]: rail for rail in self.rails}
        return self.counted.of_pair((end.host, named[end.device]), (other.host, other.device, named.get(other.device)))


def _of_rail(
    end: PairEnd, rounds: list[PairTest], known: dict[str, list[PairTest]], minimum: Minimum, grown: dict[str, int] | None, beside: _Beside
) -> t.Iterator[Finding]:
    """The worst failing test that is this rail's fault, and every failing path and transient; not what is the partner's.

    grown: as of ``error_growth``.
    """
    at_fault: list[tuple[PairTest, Blame]] = []
    for test in rounds:
        least = minimum.of(test)
        if test.gbit_s is not None and test.gbit_s >= least:
            continue
        other = test.receiver if test.sender == end else test.sender
        blame = blame_end(end, test, known[end.host], known[other.host], functools.partial(_or, minimum, least))
        if blame.kind == "transient":
            found = _passed_again(end, other, test, minimum.words(test), blame, grown)
            yield replace(found, actual=f"{found.actual}{beside.of(end, other)}")
        elif blame.kind == "path":
            own = (CONCURRENT_CAUSE, CONCURRENT_FIX) if blame.concurrent else ended_ill(test.words) if test.status == "fail" else (None, None)
            severity = None if test.status in ("ok", "fail") else "unknown"
            only = f", {ONLY_CONCURRENT}" if blame.concurrent else ""
            actual = f"{test.reported}: the path{only}, for {blame.why}{beside.of(end, other)}"
            yield Finding(
                at_device(end.device, f"to {other}", peers=(other.host,)), minimum.words(test), actual, severity, cause=own[0], fix=own[1], judged=True
            )
        elif blame.kind is not None:
            at_fault.append((test, blame))
    if at_fault:
        test, blame = min(at_fault, key=lambda pair: (pair[0].status == "unknown", pair[0].gbit_s or 0.0))
        other = test.receiver if test.sender == end else test.sender
        stuck = grown == {} and test.gbit_s is not None and test.gbit_s < minimum.stuck(test)
        found = _at_fault(end, test, blame, minimum.words(test), stuck, _unnamed(end.host, test, known))
        yield replace(found, actual=f"{found.actual}{beside.of(end, other)}")


def _or(minimum: Minimum, least: float, test: PairTest) -> float:
    """What a test must reach; of one that has nothing to be compared with, what the failing one must."""
    return minimum.of(test) or least


def _passed_again(end: PairEnd, other: PairEnd, test: PairTest, wanted: str, blame: Blame, grown: dict[str, int] | None) -> Finding:
    """A test that was slow once: a warning where the NIC counted no error meanwhile."""
    severity = {True: "warn", False: "fail"}[not grown] if grown is not None else "unknown"
    counted = ", ".join(f"{name} +{number}" for name, number in (grown or {}).items())
    errors = "no error counter grew" if grown == {} else f"but {counted}" if grown else "but error counters were not reported"
    actual = f"{test.reported} once with {other}, then {blame.why}; {errors}"
    return Finding(at_device(end.device), f"{wanted} each time", actual, severity, cause=PASSED_CAUSE, fix=PASSED_FIX)


def _unnamed(host: str, test: PairTest, known: dict[str, list[PairTest]]) -> tuple[str, str] | None:
    """Cause and fix of an error that no table knows, by which hosts' programs end with it; None where a test has none."""
    if test.unnamed is None:
        return None
    every = [one for tests in known.values() for one in tests]
    having = {one.by for one in every if one.by is not None and one.unnamed is not None and alike(one.unnamed) == alike(test.unnamed)}
    well = {host in [end.host for end in one.ends] for one in every if one.gbit_s is not None}
    extent = extent_of(host, having, {end.host for one in every for end in one.ends}, well == {False}, OF_TESTS)
    return explain_unknown(test.unnamed, extent.words)


def _at_fault(end: PairEnd, test: PairTest, blame: Blame, wanted: str, stuck: bool, unnamed: tuple[str, str] | None) -> Finding:
    """A failing test that is this end's fault; stuck: its rate is that of a NIC in a wrong state; unnamed: cause and fix of an error that no table knows."""
    other = test.receiver if test.sender == end else test.sender
    severity = None if test.status in ("ok", "fail") else "unknown"
    who = f"the host, {ONLY_CONCURRENT}" if blame.kind == "host" else "this rail"
    actual = f"{test.reported} with {other}: {who}, for {blame.why}"
    known = explained(test.words, of_gpus=test.job["memory"] != "host") if test.gbit_s is None else None
    if known or severity == "unknown":
        cause, fix = known or unnamed or (NOT_RUN_CAUSE, NOT_RUN_FIX)
        return Finding(at_device(end.device), wanted, actual, severity, cause=cause, fix=fix)
    if blame.kind == "host":
        return Finding(at_device(end.device), wanted, actual, severity, cause=CONCURRENT_CAUSE, fix=CONCURRENT_FIX)
    own = ended_ill(test.words) if test.gbit_s is None else (STUCK_CAUSE, STUCK_FIX) if stuck else (None, None)
    return Finding(at_device(end.device), wanted, f"{actual}{'; no error counter grew' if stuck else ''}", severity, cause=own[0], fix=own[1])


@check(
    cause="This rail's path, NIC or PCIe link is slower than that of its neighbours.",
    fix="Compare the host's PCIe width and speed, MTU, optic and firmware with a host whose rail is fast.",
    scope="group",
    required=True,
    hosts=PAIR,
)
def slow_rail(
    load_jobs: Grouped, write_bw: Grouped, pod_slow_rail_percent: float, pod_rail_gbit_s: RailRates,
    rdma_counters_idle: t.Mapping[str, Rows | None] | None = None, rdma_counters: t.Mapping[str, Rows | None] | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every rail sends at least {pod_slow_rail_percent} percent of the median of its gate group's rails of the same link rate."""
    best, alone = (_best_sent(load_jobs, write_bw, kinds) for kinds in ((ROUND, REPEAT), (RETEST,)))
    if not best:
        raise not_measured("no rail of the group sent data")
    links = {(host, device): pod_rail_gbit_s.get(host, {}).get(device) for host, device in best}
    medians = {link: typical([rate for rail, rate in best.items() if links[rail] == link]) for link in set(links.values())}
    counted = Counted((None, None, rdma_counters_idle, rdma_counters))
    sent = [one for host in load_jobs for one in pair_tests(host, load_jobs, write_bw, TESTED, sent=True)]
    for (host, device), rate in best.items():
        middle = medians[links[host, device]]
        least = middle * pod_slow_rail_percent / 100
        wanted = f"{least:.4g} Gb/s or more, the median of the group's rails is {middle:.4g}"
        by_itself = alone.get((host, device), 0.0)
        if rate < least <= by_itself and _receivers_slow(PairEnd(host, device), sent, least):
            # Nothing shows that this one is slow beside the host's other rails.
            continue
        meanwhile = counted.of_rail(host, {"device": device, "netdev": None}) if rate < least else ""
        if rate < least <= by_itself:
            actual = f"{rate:.4g} Gb/s at best beside the host's other rails, {by_itself:.4g} when tested alone{meanwhile}"
            yield Finding(at_device(device), wanted, actual, host=host, cause=CONCURRENT_CAUSE, fix=CONCURRENT_FIX)
        elif rate < least:
            yield Finding(at_device(device), wanted, f"{rate:.4g} Gb/s at best{meanwhile}", host=host)


def _receivers_slow(end: PairEnd, sent: t.Sequence[PairTest], least: float) -> bool:
    """Whether every rail that an end sent to beside others has received from other hosts, and from none of them as much as ``least`` Gb/s."""
    return all(
        (rates := [one.gbit_s or 0.0 for one in sent if one.receiver == receiver and one.sender.host != end.host]) and max(rates) < least
        for receiver in {one.receiver for one in sent if one.sender == end and one.job["kind"] != RETEST}
    )


def _best_sent(load_jobs: Grouped, write_bw: Grouped, kinds: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """The best rate at which each rail sent in tests of some kinds."""
    best: dict[tuple[str, str], float] = {}
    for host in load_jobs:
        for one in pair_tests(host, load_jobs, write_bw, kinds, sent=True):
            if one.gbit_s is not None:
                best[host, one.sender.device] = max(best.get((host, one.sender.device), 0.0), one.gbit_s)
    return best


@check(
    cause="GPUDirect RDMA does not stay within the NIC's own PCIe switch: ACS, the IOMMU, or a GPU and a NIC under different root ports.",
    fix="Look at preflight's acs_as_expected, iommu_as_expected and nic_gpu_affinity of the host named, and at nvidia_peermem or DMA-BUF.",
    hosts=PAIR,
)
def gpu_write_bw(
    load_jobs: Rows, load_jobs_of_peers: Peers, write_bw_of_peers: Peers, pod_node: str, pod_rails: list[Rail], pod_gpu_write_bw: str,
    pod_gpu_write_bw_percent: float, pod_roce_priority: int, pod_link_gbit_s: float, nic_counters_idle: Rows | None = None,
    nic_counters: Rows | None = None, rdma_counters_idle: Rows | None = None,
    rdma_counters: Rows | None = None, nic_counters_idle_of_peers: Peers | None = None, nic_counters_of_peers: Peers | None = None,
    rdma_counters_idle_of_peers: Peers | None = None, rdma_counters_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """To and from GPU memory a rail reaches {pod_gpu_write_bw_percent} percent of its rate with host memory or more."""
    asked = [row for row in load_jobs if row["kind"] == ROUND and row["memory"] not in (None, "host")]
    if not asked:
        raise NotApplicable("this host has no test of GPU memory")
    memory = asked[0]["memory"]
    hosts = {pod_node, *(str(row["peer"]) for row in load_jobs if row["peer"] is not None)}
    known = {host: _best_of_ends(pair_tests(host, load_jobs_of_peers, write_bw_of_peers, TESTED, memory)) for host in hosts}
    rounds = [one for one in known[pod_node] if one.job["kind"] == ROUND]
    refused = [one for one in rounds if one.job["error"] == UNSUPPORTED_OPTION]
    if len(refused) == len(rounds) and pod_gpu_write_bw == "auto":
        raise NotApplicable("perftest is built without GPU memory here")
    rates = HostMemoryRates(one for host in hosts for one in pair_tests(host, load_jobs_of_peers, write_bw_of_peers))
    minimum = OfHostMemory(rates, pod_gpu_write_bw_percent)
    tables = (nic_counters_idle_of_peers, nic_counters_of_peers, rdma_counters_idle_of_peers, rdma_counters_of_peers)
    beside = _Beside(Counted(tables, pod_roce_priority, pod_link_gbit_s), pod_rails)
    for rail in pod_rails:
        end = PairEnd(pod_node, rail["device"])
        of_end = [one for one in rounds if end in one.ends]
        for one in of_end:
            if one.gbit_s is not None and rates.of(one) is None:
                yield from _without_a_rate(end, one, rates.best(one), pod_gpu_write_bw_percent)
        grown = error_growth(rail, nic_counters_idle, nic_counters, rdma_counters_idle, rdma_counters)
        for finding in _of_rail(end, of_end, known, minimum, grown, beside):
            yield replace(finding, where=finding.where.narrowed(f", {memory} memory"))


def _without_a_rate(end: PairEnd, test: PairTest, best: float | None, percent: float) -> t.Iterator[Finding]:
    """Of a test with an end that has no rate from host memory, since its partner there failed: it is well where it keeps the best one of either end."""
    if best is not None and (test.gbit_s or 0.0) >= best * percent / 100:
        return
    words = "not reported" if best is None else f"not reported; {test.reported} from GPU memory, {best:.4g} Gb/s from host memory in other tests of the two"
    yield Finding(at_device(end.device, f", {test.job['memory']} memory"), "a rate from host memory to compare with", words, "unknown")


def _best_of_ends(tests: t.Iterable[PairTest]) -> list[PairTest]:
    """By peer memory and, where that failed and either will do, by DMA-BUF: of two tests of a kind with the same ends the better one."""
    best: dict[tuple[str, PairEnd, PairEnd], PairTest] = {}
    found = []
    for one in tests:
        key = (one.job["kind"], one.sender, one.receiver)
        if one.job["kind"] != ROUND:
            found.append(one)
        elif key not in best or (one.gbit_s or 0.0) >= (best[key].gbit_s or 0.0):
            best[key] = one
    return [*best.values(), *found]
