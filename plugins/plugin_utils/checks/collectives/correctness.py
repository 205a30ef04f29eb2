# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: right on every rank, by all the ranks that were asked for, and each GPU to each."""

from __future__ import annotations

import functools
import statistics
import typing as t
from dataclasses import replace

from ...loads.collective_runs import RAIL, RANK, TABLE
from ...loads.idle_test import gpus_at_work, words_of_work
from ...loads.launcher_errors import explained as explained_refusal
from ...loads.launcher_errors import host_of
from ...loads.unknown_errors import shown
from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from .._not_measured import NO_RATES, NO_RESULT, no_result, not_measured
from .._under_load import SHARED, SHARED_FIX
from ..place import Place, at_rank
from ._nccl_transport import forced, unlike_others
from ._reasons import with_reasons
from ._runs import ends_of_runs, error_times, of_run
from ._settings import odd_hosts
from .ended_ranks import RunEnds, extent_of_error, findings_of_run
from .refusals import only_refused, refusals, refused

# A copy of four bytes as torch starts it takes 15 µs over NVLink, of which the link has a few.
SLOW_US = 40.0
NARROW_CAUSE = "The two GPUs reach each other, over a link at part of its rate: NVLinks (or XGMI, PCIe) of one of them are down or trained with fewer lanes."
NARROW_FIX = "Where all slow pairs share a GPU it is that one: compare its nvidia-smi nvlink -s and -e with another's, then reset the GPUs."
IMPOSSIBLE_CAUSE = (
    "The two bandwidths that nccl-tests printed contradict each other: of n ranks its busbw of an all-reduce is 2 (n - 1) / n times its algbw, which is less "
    "than twice. So the table is damaged (ranks wrote into each other's lines), or this is another program or a changed one."
)
IMPOSSIBLE_FIX = "Read the last lines of the table in the evidence, compare all_reduce_perf with that of another host, and run it again."
WRONG_IN_TESTS = (
    "nccl-tests count wrong values on all hosts alike, and torch's collectives count none on any: it is the release of NCCL that nccl-tests use, a plugin of "
    "it or their build, and no single host.",
    "Run nccl-tests with the release of NCCL that torch brings (LD_LIBRARY_PATH; the log begins with the version), then with NCCL_PROTO=Simple and without the "
    "network plugin: what ends it is the culprit; keep jobs off that release. Take no host out for it.",
)
# What every rank must have proved; the barrier is what each timed call begins with.
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")


@check(
    cause="A rank hangs, died, or computes wrongly; the finding names which and where. Wrong values are a broken GPU, NIC, cable or driver.",
    fix="Take the named rank's host out. Of a hang with all ranks present: a dead path or different software on the ranks.",
    required=True,
    needs="load",
)
def collectives_correct(
    collective_results: Rows, collective_ranks: Rows, collective_hangs: Rows, pod_collective_backend: str, pod_node: str, load_jobs: Rows | None = None,
    load_jobs_of_peers: Peers | None = None, collective_ranks_of_peers: Peers | None = None, collective_hangs_of_peers: Peers | None = None,
    nccl_log: Rows | None = None, nccl_log_of_peers: Peers | None = None, pod_nccl_environment: dict[str, t.Any] | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every collective gives every rank the exact result, in every data type and size tested."""
    if not collective_ranks:
        raise not_measured("no rank was started")
    if any(row["outcome"] != "done" for row in collective_ranks):
        jobs = load_jobs_of_peers or {pod_node: load_jobs or []}
        ranks, hangs = collective_ranks_of_peers or {pod_node: collective_ranks}, collective_hangs_of_peers or {pod_node: collective_hangs}
        logs = nccl_log_of_peers or {pod_node: nccl_log or []}
        reasons, set_up = with_reasons(ranks, logs), functools.partial(_with_set_up, logs=logs, jobs=jobs, listed=pod_nccl_environment or {})
        yield from _ended(reasons[pod_node], load_jobs or [], (jobs, reasons, hangs), pod_node, set_up)
    for row in collective_results:
        where = at_rank(row["rank"], f"{row['collective']} of {row['count']} {row['dtype']}")
        if row["wrong"]:
            yield Finding(where, "no wrong value", f"{row['wrong']} wrong")
        elif row["wrong"] is None and pod_collective_backend != "gloo":
            yield Finding(where, "a result", row["unsupported"] or "none", "unknown")
    yield from _unproved(collective_results, collective_ranks, pod_collective_backend)


def _with_set_up(ends: RunEnds, logs: Peers, jobs: Peers, listed: t.Mapping[str, t.Any]) -> RunEnds:
    """A run with how NCCL is set up on its hosts; logs, jobs: the rows of nccl_log and load_jobs by host; listed: the variables of the pod."""
    if not ends.hosts or ends.missing:
        return ends
    of_hosts = [set(forced(logs.get(host, []), jobs.get(host, []), listed)) for host in ends.hosts]
    common = set.intersection(*of_hosts) if of_hosts else set()
    unlike = unlike_others(ends.never_finishes, logs) if ends.hangs and ends.never_finishes else ()
    odd = {host: words for host, words in odd_hosts(logs, jobs).items() if host in ends.hosts and len(ends.hosts) > 1}
    return replace(ends, unlike=unlike, variables=sorted(common), odd=odd)


def _ended(
    own: Rows, own_jobs: Rows, of_peers: tuple[Peers, Peers, Peers], host: str, set_up: t.Callable[[RunEnds], RunEnds]
) -> t.Iterator[Finding]:  # fmt: skip
    """Findings of the runs of a host in which a rank of it ended ill.

    of_peers: the rows of load_jobs, collective_ranks and collective_hangs by host; set_up: adds to a run how NCCL is set up on its hosts.
    """
    jobs, ranks, hangs = of_peers
    runs = {row["item"]: of_run(row) for row in own_jobs}
    for item in dict.fromkeys(row["item"] for row in own if row["outcome"] != "done"):
        rows, run = [row for row in own if row["item"] == item], runs.get(item)
        alone = RunEnds(item, (), rows, [row for row in hangs.get(host, ()) if row["item"] == item])
        ends = alone if run is None else ends_of_runs(jobs, ranks, hangs).get((*run, item), alone)
        times = error_times(jobs, ranks).get(run, {}) if run is not None else {}
        yield from findings_of_run(set_up(ends), rows, host, times, lambda of_host, error: extent_of_error(of_host, error, jobs, ranks))


def _unproved(results: Rows, ranks: Rows, backend: str) -> t.Iterator[Finding]:
    """What no rank reported a result of, and what a rank did not that came to its end in a run whose values were looked at."""
    reported = {(row["item"], row["rank"], row["collective"]) for row in results if row["wrong"] is not None or backend == "gloo"}
    ran = {row["collective"] for row in results}
    for name in COLLECTIVES:
        if name not in {collective for _item, _rank, collective in reported}:
            # One that ran and was not verified has its reason in the findings of its rows.
            cause, fix = NO_RESULT if name not in ran else (None, None)
            yield Finding(Place(name), "a result of every rank", "none", "unknown", cause=cause, fix=fix, later=cause is not None)
            continue
        for row in ranks:
            looked_at = any(item == row["item"] for item, _rank, _collective in reported)
            if looked_at and row["outcome"] == "done" and (row["item"], row["rank"], name) not in reported:
                yield Finding(Place(f"{row['item']}: rank {row['rank']} {name}"), "a result", "none", "unknown")


@check(
    cause="A GPU, NIC, cable or switch changes data, or the driver does.",
    fix="Take the host out of the pod at once; run the vendor's GPU diagnostics and look at uncorrected errors of its links.",
    required=True,
    needs="load",
)
def no_wrong_values(
    collective_rates: Rows, nccl_tests: Rows | None = None, collective_rates_of_peers: Peers | None = None, nccl_tests_of_peers: Peers | None = None
) -> t.Iterator[Finding]:
    """No value of any timed size is wrong, and every size was verified."""
    if not collective_rates and not nccl_tests:
        raise no_result(NO_RATES)
    for row in collective_rates:
        if row["wrong"]:
            yield Finding(
                Place(f"{row['item']}: rank {row['rank']} {row['collective']} of {row['size_bytes']} bytes"), "no wrong value", f"{row['wrong']} wrong"
            )
    cause, fix = WRONG_IN_TESTS if _in_tests_of_all(collective_rates_of_peers or {}, nccl_tests_of_peers or {}) else (None, None)
    for row in nccl_tests or ():
        where = Place(f"{row['item']}: nccl-tests at {row['size_bytes']} bytes")
        bad = _wrong_in_table(row)
        if bad:
            yield Finding(where, "no wrong value", f"{bad} wrong", cause=cause, fix=fix)
        elif row["wrong"] is None and row["max_error"] is None and row["size_bytes"]:
            yield Finding(where, "validated values", "not validated", "unknown")


def _in_tests_of_all(rates: Peers, tables: Peers) -> bool:
    """Whether nccl-tests count wrong values on each of several hosts that ran them, and torch on none; rates, tables: rows of both by host."""
    wrong = [any(_wrong_in_table(row) for row in rows) for rows in tables.values() if rows]
    return len(wrong) > 1 and all(wrong) and not any(row["wrong"] for rows in rates.values() for row in rows)


def _wrong_in_table(row: dict[str, t.Any]) -> int:
    return int((row["wrong"] or 0) + (row["in_place_wrong"] or 0) + (row["out_of_bounds"] or 0))


@check(
    cause="The launcher did not start the planned ranks: a host is missing, or every process runs by itself, as without MPI.",
    fix="Compare the launcher's list of hosts and slots with the pod; build nccl-tests with MPI=1 or use pod_launcher: torchrun_ssh.",
    required=True,
    needs="load",
)
def ranks_as_asked(
    load_jobs: Rows, collective_ranks: Rows, pod_gpus_per_host: int, nccl_tests: Rows | None = None, load_jobs_of_peers: t.Mapping[str, Rows] | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """Every run had the planned hosts and ranks, in one group."""
    # nccl-tests that did not run have a check of their own.
    asked = {
        row["item"]: (len(row["hosts"]), 1 if row["kind"] == RAIL else pod_gpus_per_host)
        for row in load_jobs
        if row["hosts"] is not None and (row["role"] == RANK or (row["role"], row["status"]) == (TABLE, "ok"))
    }
    if not asked:
        raise not_measured("; ".join(str(row["words"]) for row in load_jobs if row["words"]) or "nothing was run")
    all_hosts = {row["item"]: row["hosts"] or () for row in load_jobs}
    for row in refused(load_jobs):
        cause, fix = explained_refusal(row["words"])
        about = host_of(row["words"], row["hosts"] or (), one_a_host=True) or only_refused(load_jobs_of_peers or {})
        yield Finding(Place(row["item"]), "ranks on all of its hosts", str(row["words"]), "unknown", host=about, cause=cause, fix=fix, judged=about is not None)
    by_launcher = refusals(load_jobs_of_peers or {})
    not_started = {row["item"]: by_launcher[of_run(row)] for row in load_jobs if row["role"] == RANK and of_run(row) in by_launcher}
    for item, (hosts, ranks) in asked.items():
        rows = [row for row in collective_ranks if row["item"] == item]
        tables = [row for row in nccl_tests or () if row["item"] == item]
        if not rows and not tables:
            yield _none_started(item, ranks, not_started.get(item), all_hosts[item], only_refused(load_jobs_of_peers or {}))
        elif rows and (len(rows), {row["ranks"] for row in rows}) != (ranks, {hosts * ranks}):
            reported = f"{len(rows)} here, of {', '.join(map(str, sorted({row['ranks'] for row in rows})))}"
            yield Finding(Place(item), f"{ranks} ranks of this host, of {hosts * ranks}", reported)
        yield from _table(item, tables, hosts * ranks)


def _none_started(item: str, ranks: int, why: str | None, hosts: t.Sequence[str], only: str | None) -> Finding:
    """That a host has no rank of a run: where the launcher reported why it started none (why), that is the reason on each of the run's hosts.

    only: the host with which alone none is started, as ``only_refused``.
    """
    about, (cause, fix) = host_of(why, hosts, one_a_host=True) or (only if why else None), explained_refusal(why) if why else (None, None)
    expected = f"{ranks} ranks of this host"
    return Finding(Place(item), expected, why or "not reported", "unknown", about, cause=cause, fix=fix, judged=about is not None)


def _table(item: str, rows: Rows, wanted: int) -> t.Iterator[Finding]:
    """nccl-tests says who took part; where its JSON names only the first rank, the two bandwidths say how many there were."""
    for row in rows[-1:]:
        named = len(set(row["ranks"] or ()))
        listed = f", {named} by its list" if named else ""
        counted = _ranks_by_bandwidths(row, wanted) if row["collective"] in (None, "all_reduce") else named
        where, expected = Place(f"{item}: nccl-tests"), f"one group of {wanted} ranks"
        if counted is None and named in (0, 1, wanted):
            actual = f"busbw {row['busbw_gbyte_s']:g} and algbw {row['algbw_gbyte_s']:g} GB/s, which no number of ranks gives{listed}"
            yield Finding(where, expected, actual, "unknown", cause=IMPOSSIBLE_CAUSE, fix=IMPOSSIBLE_FIX)
        elif counted is None:
            yield Finding(where, expected, f"{named} by its list")
        elif counted != wanted or named not in (0, 1, wanted):
            yield Finding(where, expected, f"{counted} by its bandwidths{listed}")


def _ranks_by_bandwidths(row: dict[str, t.Any], wanted: int) -> int | None:
    """How many ranks an all-reduce had by its busbw, which is 2 (n - 1) / n of its algbw; the wanted number wherever the printed digits allow that.

    None where the two are those of no number of ranks: no rate at all, or a busbw of twice the algbw and more.
    """
    algbw, busbw = row["algbw_gbyte_s"], row["busbw_gbyte_s"]
    factor = 2 * (wanted - 1) / wanted
    # The table has two digits behind the point, JSON has six: of many ranks two say less than how many there were.
    half_a_digit = 0.005 if (algbw, busbw) == (round(algbw, 2), round(busbw, 2)) else 5e-7
    if algbw and abs(busbw - algbw * factor) <= half_a_digit * (1 + factor) + 1e-9:
        return wanted
    return round(2 / (2 - busbw / algbw)) if algbw and 0 <= busbw < 2 * algbw else None


@check(
    cause="The rank's GPU, CPU or memory is slower than the others': throttling, another process, a wrong NUMA node.",
    fix="Compare clocks, temperatures and CPU frequency of its host with another's, and what else runs there.",
    severity="warn",
    needs="load",
)
def arrivals_even(collective_rates: Rows, pod_late_rank_ms: float) -> t.Iterator[Finding]:
    """No rank arrives late at most of the collectives after the same work as the others."""
    late: dict[tuple[str, int], list[float]] = {}
    for row in collective_rates:
        late.setdefault((row["item"], row["rank"]), []).append(row["late_ms"])
    if not late:
        raise no_result(NO_RATES)
    for (item, rank), times in late.items():
        # The first call of a run includes the building of its communicator.
        typical = statistics.median(times[1:] or times)
        if typical > pod_late_rank_ms:
            yield Finding(Place(f"{item}: rank {rank}"), f"at most {pod_late_rank_ms:g} ms after the first", f"{typical:.3g} ms, median of {len(times)}")


@check(
    cause="Peer access between the two GPUs is off (ACS, IOMMU, MIG) or their link runs at part of its width.",
    fix="Compare nvidia-smi topo -p2p r and nvlink -s with a good host.",
    needs="load",
)
def peer_to_peer(
    gpu_copies: Rows, pod_gpus_per_host: int, pod_collective_backend: str, pod_copy_min_gbyte_s: float | None,
    pod_median_percent: float, collective_ranks: Rows | None = None, gpus_idle: Rows | None = None, pod_idle_agents: t.Sequence[str] = (),
) -> t.Iterator[Finding]:  # fmt: skip
    """Every pair of GPUs of a host copies directly, at a similar rate, and with the right values."""
    if pod_gpus_per_host < 2 or pod_collective_backend == "gloo":
        raise NotApplicable("the host has fewer than two GPUs" if pod_gpus_per_host < 2 else "gloo has no copies between GPUs")
    ended = next((row["error"] for row in collective_ranks or () if row["error"]), None)
    if not gpu_copies and ended:
        raise not_measured(f"no copy was measured: {shown(ended)}")
    reported = {(row["gpu"], row["peer"]): row for row in gpu_copies}
    working = gpus_at_work(gpus_idle or [], pod_idle_agents)
    middle = statistics.median(row["gbyte_s"] for row in gpu_copies) if gpu_copies else 0.0
    minimum = max(pod_copy_min_gbyte_s or 0.0, middle * pod_median_percent / 100)
    for pair in [(one, two) for one in range(pod_gpus_per_host) for two in range(pod_gpus_per_host) if one != two]:
        where, row = Place(f"GPU {pair[0]} to GPU {pair[1]}"), reported.get(pair)
        if row is None:
            yield Finding(where, "a copy", "not reported", "unknown")
        elif not row["access"]:
            yield Finding(where, "peer access", "none: copies go through the host's memory")
        elif row["wrong"]:
            yield Finding(where, "no wrong value", f"{row['wrong']} wrong")
        elif row["gbyte_s"] < minimum:
            wanted = f"{minimum:.4g} GB/s or more, the median of the host's pairs is {middle:.4g}"
            shared = {gpu: names for gpu, names in working.items() if gpu in pair}
            if shared:
                words = f"{row['gbyte_s']:.4g} GB/s, while {words_of_work(shared)}"
                yield Finding(where, wanted, words, "unknown", cause=SHARED, fix=SHARED_FIX, judged=True)
            else:
                yield Finding(where, wanted, f"{row['gbyte_s']:.4g} GB/s", cause=NARROW_CAUSE, fix=NARROW_FIX)
        elif row["latency_us"] > SLOW_US and not working.keys() & set(pair):
            yield Finding(where, f"{SLOW_US:g} µs or less", f"{row['latency_us']:.3g} µs", "warn")
