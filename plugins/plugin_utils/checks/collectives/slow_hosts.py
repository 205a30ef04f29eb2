# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: who slows down the scaling steps, by the search among their hosts."""

from __future__ import annotations

import typing as t

from ...loads.collective_runs import LADDER, SEARCH, bisection_of, restoring_probes, run_passed
from ...loads.thresholds import expected_busbw
from ...pod.types import Rail
from .. import Finding, NotApplicable, check
from .._grouping import Rows
from ._nccl_transport import forced, of_another_setting
from ._runs import probes_of_several_hosts, runs_of_all_hosts
from .bandwidth import Peers, ladder_values, passed_again
from .correctness import of_run, refusals

LAUNCHER_CAUSE = "The launcher on this host started no rank on another, so nothing is known of the host's rate."
LAUNCHER_FIX = "Mend what ranks_as_asked names of the launcher (its login to the other hosts, its list of hosts), then run layer 5 again."


@check(
    cause="This host slows down every collective it takes part in, also with partners that are fast without it; or a path between hosts does.",
    fix="Compare the host with a good one: rails of layer 4, PCIe, clocks and throttling, NUMA, CPU frequency. Of a path: its uplinks.",
    needs="load",
    kind="host",
)
def slow_node(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_rails: list[Rail], pod_link_gbit_s: float,
    pod_all_reduce_busbw_gbyte_s: dict[str, t.Any], pod_all_reduce_percent: float, pod_busbw_tolerance_percent: float,
    pod_nccl_environment: dict[str, t.Any], nccl_log: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No host and no path slows down a group of hosts: a host named here failed with partners that passed without it."""
    values = ladder_values(pod_rails, pod_link_gbit_s, pod_all_reduce_busbw_gbyte_s, pod_all_reduce_percent, pod_busbw_tolerance_percent)
    found = runs_of_all_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    if not any(run.kind == LADDER for run in found):
        raise NotApplicable("no scaling step was run")
    state = bisection_of(found, values)
    if pod_node in state.hosts:
        partners = ", ".join(state.hosts[pod_node])
        words = "the host", f"{expected_busbw(2, values) or 0:.4g} GB/s with a partner that passed", f"slow with {partners}, fast without it"
        variables = forced(nccl_log, load_jobs_of_peers.get(pod_node, []), pod_nccl_environment)
        why = _not_started(pod_node, state.hosts[pod_node], load_jobs_of_peers)
        if why is not None:
            yield Finding("the host", words[1], f"no run with {partners} was started: {why}", "unknown", cause=LAUNCHER_CAUSE, fix=LAUNCHER_FIX)
        else:
            yield of_another_setting(*words, variables) if variables else Finding(*words)
    again = passed_again(found, probes_of_several_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers), values)
    for first, second in state.paths:
        if pod_node in first | second and first | second != again:
            yield Finding("the path", "the same rate together as apart", f"{_named(first)} and {_named(second)} are fast apart and slow together")
    if any(pod_node in group for group in state.open):
        probes = probes_of_several_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
        tried = restoring_probes(probes, lambda run: run_passed(run, values))
        yield _all_alike(sum(map(len, state.open)), tried)


def _not_started(host: str, partners: t.Container[str], jobs: Peers) -> str | None:
    """What the launcher reported of each of a host's runs with some partners; None where it started one of them."""
    reported = refusals(jobs)
    pairs = {of_run(row) for rows in jobs.values() for row in rows if len(row["hosts"] or ()) == 2 and host in row["hosts"] and row["kind"] in (LADDER, SEARCH)}
    mine = [run for run in pairs if any(other in partners for other in run[-2:])]
    return next((reported[run] for run in mine), None) if mine and all(run in reported for run in mine) else None


def _all_alike(hosts: int, tried: list[str]) -> Finding:
    """That no host stands out, since none passed with another, and what the probes changed."""
    words = "; ".join([f"no pair of these {hosts} hosts passed: they are alike", *tried])
    cause = "What slows them down is common to all of them (a variable or an image, a firmware setting, the fabric), not one host."
    fix = "Start with what all_reduce_bandwidth and nccl_runtime name; then compare a setting of all hosts with another pod, and the expected busbw."
    return Finding("all hosts", "a pair of hosts that passes, to compare the others with", words, "unknown", cause=cause, fix=fix)


def _named(group: t.Iterable[str]) -> str:
    names = sorted(group)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
