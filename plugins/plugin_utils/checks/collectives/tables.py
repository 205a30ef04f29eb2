# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: what nccl-tests measures, beside torch."""

from __future__ import annotations

import typing as t

from ...loads.collective_runs import LADDER, NODE, CollectiveRun, bisection_of, nccl_tests_runs, run_passed
from ...loads.containers import tests_over_hosts
from ...loads.launcher_errors import explained as explained_refusal
from ...loads.launcher_errors import known_line
from ...loads.thresholds import minimum_busbw, within_tolerance
from ...loads.unknown_errors import cut
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from ...text.counting import counted as count
from .. import CannotTell, Finding, NotApplicable, NotProved, check
from .._beside import of_node
from .._not_measured import RUN_ENDED, no_result
from ..place import Place
from ._nccl_transport import forced, of_another_setting
from ._runs import runs_of_all_hosts
from .bandwidth import expected, ladder_values
from .curve import CURVE_FROM


def _mine(jobs: Peers, tables: Peers | None, node: str, directory: str, optional: bool) -> list[CollectiveRun]:
    """The runs of nccl-tests that a host was in.

    Raises NotApplicable where the pod has no programs, or may lack them, and CannotTell where none was run.
    """
    if not directory:
        raise NotApplicable("pod_nccl_tests_dir is empty")
    mine = [run for run in nccl_tests_runs(jobs, tables or {}) if node in run.hosts]
    if not mine:
        raise CannotTell(cut("; ".join(str(row["words"]) for row in jobs.get(node, ()) if row["words"])) or "nccl-tests was not run")
    if optional and all(run.not_installed for run in mine):
        raise NotApplicable(f"{directory} has no programs here, and pod_nccl_tests_optional is true")
    return mine


def _without_rate(where: Place, run: CollectiveRun) -> Finding:
    """A run that came to no rate: of the host on which it ended, where its launcher names one."""
    words, host = "; ".join(run.trouble[:3]) or "rate: not reported", run.named_by_launcher
    line = run.refusal or known_line(*run.trouble)
    cause, fix = explained_refusal(line) if line else RUN_ENDED if run.trouble else (None, None)
    return Finding(where, "a rate", words, "unknown", host, cause=cause, fix=fix, judged=host is not None)


@check(
    cause="The host, or one that it is together with, is slow for nccl-tests as well; or the programs are missing, of another MPI, or not started.",
    fix="Where torch is as slow, follow its findings; else compare NCCL versions, variables and the launcher's binding. Build nccl-tests with MPI=1.",
    required="pod_nccl_tests_dir",
    needs="load",
    kind="host",
)
def nccl_tests_bandwidth(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_rails: list[Rail], pod_link_gbit_s: float,
    pod_all_reduce_busbw_gbyte_s: dict[str, t.Any], pod_all_reduce_percent: float, pod_busbw_tolerance_percent: float, pod_node_busbw_gbyte_s: float | None,
    pod_node_busbw_by_gpu: dict[str, t.Any], pod_gpus_per_host: int, pod_launcher: str, pod_container_runtime: str, pod_nccl_tests_dir: str,
    pod_nccl_tests_optional: bool,
    pod_nccl_environment: dict[str, t.Any], pod_roce_priority: int, nccl_tests_of_peers: Peers | None = None, nccl_log: Rows | None = None,
    nic_counters_idle: Rows | None = None, nic_counters: Rows | None = None, rdma_counters_idle: Rows | None = None, rdma_counters: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Where the host has nccl-tests, each of its all-reduce runs reaches the bandwidth expected of the same run by torch."""
    mine = _mine(load_jobs_of_peers, nccl_tests_of_peers, pod_node, pod_nccl_tests_dir, pod_nccl_tests_optional)
    values = ladder_values(pod_rails, pod_link_gbit_s, pod_all_reduce_busbw_gbyte_s, pod_all_reduce_percent, pod_busbw_tolerance_percent)
    by_torch = runs_of_all_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    of_torch = [run for run in by_torch if pod_node in run.hosts]
    several = tests_over_hosts(pod_launcher, pod_container_runtime)
    if several and any(run.kind == LADDER for run in by_torch) and not any(run.kind == LADDER or run.trouble for run in mine):
        raise no_result("no scaling step of nccl-tests included this host")
    others = bisection_of(by_torch, values).hosts
    counted = of_node(pod_node, (nic_counters_idle, nic_counters, rdma_counters_idle, rdma_counters), pod_roce_priority, pod_link_gbit_s)
    unproved: NotProved | None = None
    for run in mine:
        where = Place(f"all-reduce over {len(run.hosts)} hosts" if run.kind == LADDER else f"all-reduce of the host alone, {run.kind}")
        if run.top is None or run.trouble:
            yield _without_rate(where, run)
            continue
        minimum = None
        if run.kind == LADDER:
            minimum = minimum_busbw(len(run.hosts), values)
        elif run.kind == NODE and pod_gpus_per_host > 1:
            device = next((row["device"] for row in collective_ranks_of_peers.get(pod_node, ()) if row["device"]), None)
            try:
                minimum = within_tolerance(expected(device, pod_node_busbw_gbyte_s, pod_node_busbw_by_gpu), pod_busbw_tolerance_percent)
            except NotProved as reason:
                # The other runs are judged first.
                unproved = reason
        if minimum is not None and run.top < minimum and (run.kind == NODE or not others.keys() & run.hosts or pod_node in others):
            meanwhile = counted.of_host(pod_node, pod_rails) if run.kind == LADDER else ""
            words = where, f"{minimum:.4g} GB/s busbw or more", f"{run.top:.4g} GB/s by nccl-tests{meanwhile}"
            variables = forced(nccl_log, load_jobs_of_peers.get(pod_node, []), pod_nccl_environment)
            yield of_another_setting(*words, variables) if variables else Finding(*words)
    together, by_tests = (max((len(run.hosts) for run in some if run.kind == LADDER and run_passed(run, values)), default=1) for some in (of_torch, mine))
    if several and by_tests < together:
        yield Finding(
            Place("scaling test by nccl-tests"),
            f"all-reduce over {together} hosts, as by torch",
            f"not run beyond {count(by_tests, 'host')}",
            "unknown",
            # Where one host ended a run, none of the others is the reason that no larger one was made.
            next((host for run in nccl_tests_runs(load_jobs_of_peers, nccl_tests_of_peers or {}) if (host := run.named_by_launcher)), None),
            judged=True,
        )
    if unproved is not None:
        raise unproved


@check(
    cause="One of the two measured something else: other variables, another NCCL, fewer cores for its processes, or traffic beside it.",
    fix="Compare the NCCL versions and variables of both, and the cores that the launcher gives each process; then measure again.",
    severity="warn",
    needs="load",
    kind="host",
)
def measures_agree(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_nccl_tests_dir: str,
    pod_nccl_tests_optional: bool, pod_measures_agree_percent: float, nccl_tests_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """From 64 MiB up, torch and nccl-tests measure the same bandwidth over the same hosts, within {pod_measures_agree_percent} percent."""
    mine = _mine(load_jobs_of_peers, nccl_tests_of_peers, pod_node, pod_nccl_tests_dir, pod_nccl_tests_optional)
    by_torch = {(run.kind, run.hosts): run for run in runs_of_all_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)}
    compared = 0
    for run in mine:
        other = by_torch.get((run.kind, run.hosts))
        for size in sorted(set(run.busbw) & set(other.busbw if other else ())):
            if other is None or size < CURVE_FROM:
                continue
            compared += 1
            apart = abs(run.busbw[size] - other.busbw[size]) / max(run.busbw[size], other.busbw[size]) * 100
            if apart > pod_measures_agree_percent:
                where = Place(f"{run.kind} of {len(run.hosts)} at {size >> 20} MiB")
                yield Finding(where, f"torch's {other.busbw[size]:.4g} GB/s within {pod_measures_agree_percent:g} %", f"{run.busbw[size]:.4g} by nccl-tests")
    if not compared:
        raise CannotTell("no size of 64 MiB or more was measured by both")
