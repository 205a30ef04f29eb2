# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: who slows down the scaling steps, by the search among their hosts."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...loads.bisection import Group
from ...loads.collective_runs import LADDER, SEARCH, CollectiveRun, bisection_of, hosts_at_fault, restoring_probes, run_passed
from ...loads.rank_errors import NOBODY_BEHIND, HostEnd, end_by_error, explained, why_never_finishes
from ...loads.thresholds import expected_busbw
from ...loads.unknown_errors import ALL, cut
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from .._by_time import order_of_error
from ..place import Place, at_node
from ._nccl_transport import forced, of_another_setting, unlike_others, unlisted
from ._runs import error_times, of_run, probes_of_several_hosts, runs_of_all_hosts
from ._settings import odd_hosts, with_settings
from .bandwidth import ladder_values, passed_again
from .refusals import refusals

LAUNCHER_CAUSE = "The launcher on this host started no rank on another, so nothing is known of the host's rate."
LAUNCHER_FIX = "Fix what ranks_as_asked names of the launcher (its login to the other hosts, its list of hosts), then run layer 5 again."


@check(
    cause="This host slows down every collective it takes part in, also with partners that are fast without it; or a path between hosts does.",
    fix="Compare the host with a good one: rails of layer 4, PCIe, clocks and throttling, NUMA, CPU frequency. Of a path: its uplinks.",
    needs="load",
    kind="host",
)
def slow_node(
    load_jobs_of_peers: Peers, collective_rates_of_peers: Peers, collective_ranks_of_peers: Peers, pod_node: str, pod_rails: list[Rail], pod_link_gbit_s: float,
    pod_all_reduce_busbw_gbyte_s: dict[str, t.Any], pod_all_reduce_percent: float, pod_busbw_tolerance_percent: float,
    pod_nccl_environment: dict[str, t.Any], nccl_log: Rows | None = None, nccl_log_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No host or path makes collectives slow: a host is named where it is slow with partners that are fast without it."""
    values = ladder_values(pod_rails, pod_link_gbit_s, pod_all_reduce_busbw_gbyte_s, pod_all_reduce_percent, pod_busbw_tolerance_percent)
    found = runs_of_all_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
    if not any(run.kind == LADDER for run in found):
        raise NotApplicable("no scaling step was run")
    state = bisection_of(found, values)
    if pod_node in state.hosts:
        partners = ", ".join(state.hosts[pod_node])
        jobs = load_jobs_of_peers.get(pod_node, [])
        why = _not_started(pod_node, state.hosts[pod_node], load_jobs_of_peers)
        pairs: list[Group] = [frozenset({pod_node, partner}) for partner in state.hosts[pod_node]]
        hung = _hung(found, pairs)
        actual = f"no run with {partners} finishes, they do without it" if hung else f"slow with {partners}, fast without it"
        words = at_node("the host"), f"{expected_busbw(2, values) or 0:.4g} GB/s with a partner that passed", actual
        own = hosts_at_fault(found).get(pod_node)
        errors = {pod_node: own} if own else _ended(found, pairs)
        if why is not None:
            yield Finding(at_node("the host"), words[1], f"no run with {partners} was started: {why}", "unknown", cause=LAUNCHER_CAUSE, fix=LAUNCHER_FIX)
        elif errors:
            beside = "".join(f"; {name}={value} is set here" for name, value in unlisted(nccl_log or [], jobs, pod_nccl_environment))
            times = error_times(load_jobs_of_peers, collective_ranks_of_peers).values()
            later = own is not None and any(order_of_error(pod_node, one).later for one in times)
            ended = _of_error(at_node("the host"), f"a run with {partners} that ends well", errors, beside)
            odd = odd_hosts(nccl_log_of_peers or {}, load_jobs_of_peers)
            said = with_settings(pod_node, pod_node, odd, (), own is not None, (str(ended.cause), str(ended.fix)))
            yield replace(ended, later=later, cause=said[0], fix=said[1])
        else:
            variables = forced(nccl_log, jobs, pod_nccl_environment)
            cause, fix = why_never_finishes(pod_node, unlike_others(pod_node, nccl_log_of_peers or {})) if hung else (None, None)
            yield of_another_setting(*words, variables) if variables else Finding(*words, cause=cause, fix=fix)
    again = passed_again(found, probes_of_several_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers), values)
    not_started = {frozenset(run[3:]) for run in refusals(load_jobs_of_peers) if run[0] in (LADDER, SEARCH)}
    for first, second in state.paths:
        # Of a run that its launcher did not start ranks_as_asked has the reason: it was not slow.
        if pod_node in first | second and first | second != again and first | second not in not_started:
            together = [first | second]
            yield from [_of_hang(first, second)] if _hung(found, together) else _of_path(pod_node, first, second, _ended(found, together))
    if any(pod_node in group for group in state.open):
        probes = probes_of_several_hosts(load_jobs_of_peers, collective_rates_of_peers, collective_ranks_of_peers)
        tried = restoring_probes(probes, lambda run: run_passed(run, values))
        mine = [run.group for run in found if run.kind in (LADDER, SEARCH) and pod_node in run.hosts]
        everywhere = forced(nccl_log, load_jobs_of_peers.get(pod_node, []), pod_nccl_environment)
        yield _all_alike(sum(map(len, state.open)), tried, _ended(found, mine), everywhere)


def _ended(found: t.Iterable[CollectiveRun], groups: t.Sequence[Group]) -> dict[str, HostEnd]:
    """The errors by host with which the runs of some groups ended, none where one of them gave a rate: then it is slow, too."""
    runs = [run for run in found if run.kind in (LADDER, SEARCH) and run.group in groups]
    errors = {host: end_by_error(error) for run in reversed(runs) for host, error in run.errors.items()}
    return errors if all(run.errors and run.top is None for run in runs) else {}


def _hung(found: t.Iterable[CollectiveRun], groups: t.Sequence[Group]) -> bool:
    """Whether the runs of some groups came to no rate since their ranks waited until they gave up, and none of them is known to be the reason."""
    runs = [run for run in found if run.kind in (LADDER, SEARCH) and run.group in groups]
    return bool(runs) and all(run.hung and run.top is None and not run.errors and not run.own_end for run in runs)


def _of_hang(first: Group, second: Group) -> Finding:
    """Two groups whose runs finish, and that of both does not: what is between them, or what a run of so many hosts alone does."""
    words = f"{_named(first)} and {_named(second)} finish apart, and no rank of them finishes together"
    cause, fix = NOBODY_BEHIND
    return Finding(Place("the path"), "a run of both that finishes, as apart", words, "unknown", cause=cause, fix=fix, judged=True)


def _of_error(where: Place, expected: str, errors: t.Mapping[str, HostEnd], beside: str = "") -> Finding:
    """That runs of some hosts ended with an error, with the cause and fix of that error."""
    end = next(iter(errors.values()))
    return Finding(where, expected, f"{cut(end.words)} (of {_named(errors)}){beside}", cause=end.cause, fix=end.fix)


def _of_path(host: str, first: Group, second: Group, errors: dict[str, HostEnd]) -> t.Iterator[Finding]:
    """Two groups that pass apart and not together: a path, unless it is ranks of some of their hosts alone that end with an error."""
    together = f"a run of {_named(first)} and {_named(second)} together that ends well, as apart"
    if host in errors and len(errors) < len(first | second):
        yield _of_error(at_node("the host"), together, {host: errors[host]})
    elif len(errors) == len(first | second):
        yield _of_error(Place("the path"), together, errors)
    elif not errors:
        yield Finding(Place("the path"), "the same rate together as apart", f"{_named(first)} and {_named(second)} are fast apart and slow together")


def _not_started(host: str, partners: t.Container[str], jobs: Peers) -> str | None:
    """What the launcher reported of each of a host's runs with some partners; None where it started one of them."""
    reported = refusals(jobs)
    pairs = {of_run(row) for rows in jobs.values() for row in rows if len(row["hosts"] or ()) == 2 and host in row["hosts"] and row["kind"] in (LADDER, SEARCH)}
    mine = [run for run in pairs if any(other in partners for other in run[-2:])]
    return next((reported[run] for run in mine), None) if mine and all(run in reported for run in mine) else None


def _all_alike(hosts: int, tried: list[str], errors: t.Mapping[str, HostEnd], variables: t.Sequence[str]) -> Finding:
    """That no host stands out, since none passed with another, and what the probes changed.

    errors: those with which a host's runs ended; variables: those that the host sets and the pod does not list.
    """
    if errors:
        end = next(iter(errors.values()))
        words = f"no pair of these {hosts} hosts came to its end, they are alike: {cut(end.words)}"
        cause, fix = with_settings("", None, {}, variables, False, explained(end.words, ALL))
        return Finding(Place("all hosts"), "a pair of hosts whose run ends well", words, "unknown", cause=cause, fix=fix)
    words = "; ".join([f"no pair of these {hosts} hosts passed: they are alike", *tried])
    cause = "What slows them down is common to all of them (a variable or an image, a firmware setting, the fabric), not one host."
    fix = "Start with what all_reduce_bandwidth and nccl_runtime name; then compare a setting of all hosts with another pod, and the expected busbw."
    return Finding(Place("all hosts"), "a pair of hosts that passes, to compare the others with", words, "unknown", cause=cause, fix=fix)


def _named(group: t.Iterable[str]) -> str:
    names = sorted(group)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
