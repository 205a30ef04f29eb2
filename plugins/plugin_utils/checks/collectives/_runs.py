# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of all hosts, put together once for all nodes that are judged by them."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...loads.bisection import CONFIRMED
from ...loads.collective_runs import collective_runs, probe_runs
from ...loads.rank_errors import is_own
from ...readings.rows import Peers, Row
from .._by_time import times_by_host
from .._once import once_for_all_nodes
from .ended_ranks import RunEnds

Run = tuple[t.Any, ...]
# Both take the rows of load_jobs, collective_rates and collective_ranks of peers.
runs_of_all_hosts = once_for_all_nodes(collective_runs)
probes_of_several_hosts = once_for_all_nodes(probe_runs)


def of_run(job: Row) -> Run:
    """What the jobs of one run have in common on all of its hosts, its launcher included."""
    return (job["kind"], job["device"], job["probe"], *(job["hosts"] or ()))


@once_for_all_nodes
def error_times(jobs: Peers, ranks: Peers) -> dict[Run, dict[str, float]]:
    """When each host's first error came in each run, by ``of_run``; jobs, ranks: the rows of load_jobs and collective_ranks by host."""
    return {run: times_by_host(of_hosts) for run, of_hosts in _by_run(jobs, ranks).items()}


@once_for_all_nodes
def ends_of_runs(jobs: Peers, ranks: Peers, hangs: Peers) -> dict[Run, RunEnds]:
    """What became of the ranks of each run, by ``of_run`` and its name; jobs, ranks, hangs: the rows of load_jobs, collective_ranks and collective_hangs."""
    of_hangs = _by_run(jobs, hangs)
    found: dict[Run, RunEnds] = {}
    for run, of_hosts in _by_run(jobs, ranks).items():
        rows, waits = _all(of_hosts), _all(of_hangs.get(run, {}))
        for item in dict.fromkeys(row["item"] for row in rows):
            # Two runs may be of the same hosts and kind.
            own, hung = ([row for row in some if row["item"] == item] for some in (rows, waits))
            homes = {row["rank"]: host for host, some in of_hosts.items() for row in some if row["item"] == item}
            found[(*run, item)] = RunEnds(item, run[3:], own, hung, run[1], homes)
    stuck, not_reached = _never_finish(found.values()), _not_reached(found.values())
    return {
        key: replace(one, never_finishes=_first_of(stuck, one), not_reached=_first_of(not_reached, one)) if stuck or not_reached else one
        for key, one in found.items()
    }


def _first_of(hosts: set[str], ends: RunEnds) -> str | None:
    return next((host for host in ends.hosts if host in hosts), None)


def _never_finish(ends: t.Collection[RunEnds]) -> set[str]:
    """The hosts with which runs over several hosts hang with nobody behind, beside enough partners that finish such runs without them."""
    several, finished = _over_several(ends)
    partners: dict[str, set[str]] = {}
    for one in several:
        others = finished.intersection(one.hosts)
        if one.hangs and not one.missing and len(others) == len(one.hosts) - 1:
            (left,) = set(one.hosts) - others
            partners.setdefault(left, set()).update(others)
    return {host for host, beside in partners.items() if len(beside) >= CONFIRMED}


def _not_reached(ends: t.Collection[RunEnds]) -> set[str]:
    """The hosts with which runs over several hosts end with errors that no host has of its own, and which others finish such runs without.

    Such a host has no error itself, or it finishes no run over several hosts.
    """
    several, finished = _over_several(ends)
    partners: dict[str, set[str]] = {}
    for one in several:
        errors = {one.homes[row["rank"]]: row["error"] for row in one.ranks if row["outcome"] == "error"}
        silent = set(one.hosts) - errors.keys()
        never = set(one.hosts) - finished
        about = silent if len(silent) == 1 and finished.issuperset(errors) else never if len(never) == 1 else set()
        if errors and about and not any(map(is_own, errors.values())):
            partners.setdefault(next(iter(about)), set()).update(set(errors) - about)
    return {host for host, beside in partners.items() if len(beside) >= CONFIRMED}


def _over_several(ends: t.Collection[RunEnds]) -> tuple[list[RunEnds], set[str]]:
    """The runs over several hosts, and the hosts of those that finished."""
    several = [one for one in ends if len(one.hosts) > 1]
    return several, {host for one in several if all(row["outcome"] == "done" for row in one.ranks) for host in one.hosts}


def _by_run(jobs: Peers, peers: Peers) -> dict[Run, dict[str, list[Row]]]:
    """The rows of each run, by ``of_run`` and host."""
    found: dict[Run, dict[str, list[Row]]] = {}
    for host, rows in peers.items():
        runs = {job["item"]: of_run(job) for job in jobs.get(host, ())}
        for row in rows:
            if row["item"] in runs:
                found.setdefault(runs[row["item"]], {}).setdefault(host, []).append(row)
    return found


def _all(of_hosts: t.Mapping[str, list[Row]]) -> list[Row]:
    return [row for rows in of_hosts.values() for row in rows]
