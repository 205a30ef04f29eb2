# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the runs of layer 5 measured, put together from all hosts of each, and what each of them must reach."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ..readings.rows import Peers, Rows
from ..text.sorting import natural_key
from .bisection import Bisection, Group
from .launcher_errors import host_of
from .probes import changed_by
from .rank_ends import ended_for_others, given_up_at, killed_after, ranks_behind, shows_a_fault
from .rank_errors import KILLED, NEVER_ARRIVED, NEVER_ENQUEUED, HostEnd, end_by_error, first_errors, is_own, printed_error
from .scaling_ladder import MAX_SEARCHES, next_step
from .schedule import NOT_INSTALLED
from .thresholds import known_node_busbw, minimum_busbw, within_tolerance
from .unknown_errors import shown

GIB = 1 << 30
# Kinds of runs: every host by itself, by itself over its NICs, a rung of the ladder, a launch of a search, one that tries what restores a rate,
# one of a single rail, with that rail's GPU of each host, and one of all hosts of a rack by the NVLink that they share.
NODE, NODE_NICS, LADDER, SEARCH, PROBE, RAIL, CLIQUE = "node", "node_nics", "rung", "search", "probe", "rail", "clique"
# What a host has of a run: ranks, what starts the ranks of all its hosts and says nothing of them, or a table of nccl-tests of all of them.
RANK, LAUNCHER, TABLE = "rank", "launcher", "table"


@dataclass
class CollectiveRun:
    """One job of ranks over some hosts: its kind, hosts, busbw by size (GB/s), what went wrong, and the words of it.

    not_installed: the host that starts it lacks the program; errors: the first error by host with which a rank of it ended; outcomes: the hosts of
    ranks with each outcome, with the signal of one of them; ``behind`` is that of a rank that waited and had not enqueued what the others had.
    """

    kind: str
    hosts: tuple[str, ...]
    busbw: dict[int, float] = field(default_factory=dict)
    wrong: int = 0
    trouble: list[str] = field(default_factory=list)
    not_installed: bool = False
    errors: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, dict[str, int | None]] = field(default_factory=dict)

    @property
    def own_end(self) -> dict[str, HostEnd]:
        """What ended the run within one of its hosts, by host: errors of its own, a killed rank, or ranks that others waited for."""
        own = {host: end_by_error(error) for host, error in self.errors.items() if is_own(error)}
        for outcome, words, why in (
            ("killed", "a rank was ended by signal {}", KILLED),
            ("ended", "a rank never arrived where those of the other hosts waited for it", NEVER_ARRIVED),
            ("behind", "a rank arrived, and did not enqueue the collective in which those of the other hosts waited", NEVER_ENQUEUED),
        ):
            there = {host: number for host, number in self.outcomes.get(outcome, {}).items() if outcome != "killed" or shows_a_fault(number)}
            # A launcher kills the ranks of other hosts too, and ends them at its deadline: one host alone stands out.
            if len(there) == 1 and len(self.hosts) > 1 and (outcome == "killed" or (self.hung and not self.errors)):
                own = own or {host: HostEnd(words.format(signal), *why) for host, signal in there.items()}
        return own

    @property
    def named_by_launcher(self) -> str | None:
        """The host that its launcher's output is about, where it started no ranks or ended them early."""
        return host_of(self.refusal, self.hosts)

    @property
    def refusal(self) -> str | None:
        """The line of its launcher that is about one of its hosts."""
        return next((words for words in self.trouble if host_of(words, self.hosts)), None)

    @property
    def hung(self) -> bool:
        """Whether a rank of it waited for the others until it gave up."""
        return bool(self.outcomes.get("hung"))

    @property
    def reasons(self) -> list[str]:
        """Why it ended, in words: of the hosts that ended it where these are known, else of every host of which something is."""
        ended = [f"{host}: {end.words}" for host, end in self.own_end.items()]
        return ended or [*(f"{host}: {error}" for host, error in self.errors.items()), *self.trouble]

    @property
    def group(self) -> Group:
        """Its hosts as a group of a ladder."""
        return frozenset(self.hosts)

    @property
    def top(self) -> float | None:
        """The slowest of the sizes that fill the links (1 GiB and up), or of the largest where there is none; None where nothing was measured."""
        large = [rate for size, rate in self.busbw.items() if size >= GIB]
        return min(large) if large else self.busbw[max(self.busbw)] if self.busbw else None


def collective_runs(jobs: Peers, rates: Peers, ranks: Peers) -> list[CollectiveRun]:
    """Every run but probes, single rails and NVLink between hosts, from what all of its hosts reported; who reported nothing of a run counts as failed.

    jobs, rates, ranks: the rows of load_jobs, collective_rates and collective_ranks by host.
    """
    return list(_runs_of_kinds(jobs, rates, ranks, (NODE, NODE_NICS, LADDER, SEARCH)).values())


def probe_runs(jobs: Peers, rates: Peers, ranks: Peers, alone: str | None = None) -> dict[str, CollectiveRun]:
    """The probes by what they tried: those of several hosts, or of one host alone."""
    found = _runs_of_kinds(jobs, rates, ranks, (PROBE,)).items()
    return {key.part: run for key, run in found if (len(run.hosts) > 1 if alone is None else run.hosts == (alone,))}


def rail_runs(jobs: Peers, rates: Peers, ranks: Peers) -> dict[str, CollectiveRun]:
    """The runs of single rails of a gate group by the rail's device."""
    return {key.part: run for key, run in _runs_of_kinds(jobs, rates, ranks, (RAIL,)).items()}


def clique_runs(jobs: Peers, rates: Peers, ranks: Peers) -> list[CollectiveRun]:
    """The runs of whole gate groups by NVLink."""
    return list(_runs_of_kinds(jobs, rates, ranks, (CLIQUE,)).values())


class _RunKey(t.NamedTuple):
    """What the jobs of one run have in common; part: what a probe tries, or the device of a single rail."""

    kind: str
    part: str
    hosts: tuple[str, ...]


def _runs_of_kinds(jobs: Peers, rates: Peers, ranks: Peers, kinds: t.Container[str]) -> dict[_RunKey, CollectiveRun]:
    found: dict[_RunKey, CollectiveRun] = {}
    rows_of: dict[_RunKey, list[tuple[str, dict[str, t.Any]]]] = {}
    for host, rows in jobs.items():
        rates_of, ranks_of = _of_jobs(rates.get(host, ())), _of_jobs(ranks.get(host, ()))
        for job in rows:
            if job["kind"] not in kinds or job["role"] == TABLE:
                continue
            hosts = tuple(job["hosts"] or (host,))
            key = _RunKey(job["kind"], job["probe"] or job["device"] or "", hosts)
            run = found.setdefault(key, CollectiveRun(job["kind"], hosts))
            if job["status"] != "ok":
                run.trouble.append(f"{host}: {job['words']}")
            if job["role"] == LAUNCHER:
                continue
            _add(run, host, rates_of.get(job["item"], []))
            for row in ranks_of.get(job["item"], ()):
                run.trouble += [f"rank {row['rank']} of {host}: {_words(row)}"] if row["outcome"] != "done" else []
                rows_of.setdefault(key, []).append((host, row))
                if error := row["error"] or printed_error(row):
                    run.errors.setdefault(host, error)
    for key, run in found.items():
        run.errors = first_errors(run.errors)
        run.outcomes = _outcomes(rows_of.get(key, []))
        silent = [host for host in run.hosts if host not in jobs]
        run.trouble += [f"{host}: no response" for host in silent]
    return found


def _outcomes(rows: t.Sequence[tuple[str, dict[str, t.Any]]]) -> dict[str, dict[str, int | None]]:
    """The hosts of a run's ranks with each outcome, with the signal of one of them; not of those that were killed for the sake of others."""
    outcomes: dict[str, dict[str, int | None]] = {}
    behind = ranks_behind(row for _host, row in rows)
    after, gave_up = ended_for_others([row for _host, row in rows]), given_up_at(row for _host, row in rows)
    for host, row in rows:
        if row["outcome"] != "killed" or row["rank"] not in after:
            # A rank that was killed when others had given up waiting was ended with its run.
            outcome = "ended" if killed_after(row, gave_up) else "behind" if row["outcome"] == "hung" and row["rank"] in behind else row["outcome"]
            outcomes.setdefault(outcome, {}).setdefault(host, row["signal"])
    return outcomes


def _of_jobs(rows: t.Iterable[dict[str, t.Any]]) -> dict[str, Rows]:
    """A host's rows by their job."""
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row["item"], []).append(row)
    return found


def _words(row: dict[str, t.Any]) -> str:
    ended = f"was ended by signal {row['signal']}" if row["signal"] else str(row["outcome"])
    return f"{ended}: {shown(row['error'])}" if row["error"] else f"{ended} at {row['last']}" if row["last"] else ended


def _add(run: CollectiveRun, host: str, rows: Rows) -> None:
    sizes = [row for row in rows if row["collective"] == "all_reduce"]
    for row in sizes:
        # Every rank reports the mean of all; the least of these holds for all.
        run.busbw[row["size_bytes"]] = min(row["busbw_gbyte_s"], run.busbw.get(row["size_bytes"], row["busbw_gbyte_s"]))
        run.wrong += row["wrong"]
    if not sizes:
        run.trouble.append(f"{host}: it measured nothing")


def nccl_tests_runs(jobs: Peers, tables: Peers) -> list[CollectiveRun]:
    """Every run of nccl-tests, each reported by the one host that started it.

    jobs, tables: the rows of load_jobs and nccl_tests by host.
    """
    found = []
    for host, rows in jobs.items():
        for job in rows:
            if job["role"] != TABLE:
                continue
            run = CollectiveRun(job["kind"], tuple(job["hosts"] or (host,)), not_installed=job["error"] == NOT_INSTALLED)
            for row in tables.get(host, ()):
                if row["item"] == job["item"]:
                    run.busbw[row["size_bytes"]] = row["busbw_gbyte_s"]
                    run.wrong += (row["wrong"] or 0) + (row["in_place_wrong"] or 0)
            if job["status"] != "ok":
                run.trouble.append(f"{host}: {job['words']}")
            elif not run.busbw:
                run.trouble.append(f"{host}: it measured nothing")
            found.append(run)
    return found


def items_of_kind(jobs: Rows, *kinds: str) -> set[str]:
    """The names of the jobs of some kinds, by which the other readings of a load are of them."""
    return {job["item"] for job in jobs if job["kind"] in kinds}


def slow_alone(run: CollectiveRun, device: str | None, values: t.Mapping[str, t.Any]) -> bool:
    """Whether a host's own run has a rate, and one below what its GPUs reach together."""
    rate = known_node_busbw(device, values["pod_node_busbw_gbyte_s"], values["pod_node_busbw_by_gpu"])
    low = rate is not None and run.top is not None and run.top < within_tolerance(rate, values["pod_busbw_tolerance_percent"])
    return run.kind == NODE and not run.trouble and values["pod_gpus_per_host"] > 1 and low


def run_passed(run: CollectiveRun, values: t.Mapping[str, t.Any]) -> bool:
    """Whether a run over several hosts came to its end, right and fast enough."""
    minimum = minimum_busbw(len(run.hosts), values)
    return not run.trouble and not run.wrong and run.top is not None and (minimum is None or run.top >= minimum)


def groups_passed(found: t.Iterable[CollectiveRun], values: t.Mapping[str, t.Any]) -> dict[Group, bool]:
    """Whether each group of several hosts passed."""
    return {run.group: run_passed(run, values) for run in found if run.kind in (LADDER, SEARCH)}


def hosts_at_fault(found: t.Iterable[CollectiveRun]) -> dict[str, HostEnd]:
    """The hosts that ended a run over several hosts by themselves, each with how."""
    return {host: end for run in found if run.kind in (LADDER, SEARCH) for host, end in run.own_end.items()}


def hosts_passed_alone(found: t.Iterable[CollectiveRun]) -> list[str]:
    """The hosts that alone ran to their end, in one order for whoever plans a ladder and whoever judges it: another one is no partner, and would
    hang the others.
    """
    alone: dict[str, bool] = {}
    for run in found:
        if run.kind == NODE:
            alone.setdefault(run.hosts[0], not run.trouble and not run.wrong)
    return sorted((host for host, well in alone.items() if well), key=natural_key)


def bisection_of(found: t.Sequence[CollectiveRun], values: t.Mapping[str, t.Any]) -> Bisection:
    """Who is to blame for the rungs that failed; no one where none did."""
    step = next_step(hosts_passed_alone(found), groups_passed(found, values), MAX_SEARCHES, hosts_at_fault(found))
    return step.found or Bisection()


def probe_passed_alone(run: CollectiveRun, device: str | None, values: t.Mapping[str, t.Any]) -> bool:
    """Whether a probe of a host alone reaches what is expected of the host; as ``slow_alone`` otherwise."""
    return run.top is not None and not run.trouble and not slow_alone(replace(run, kind=NODE), device, values)


def restored_by(tried: t.Mapping[str, CollectiveRun], well: t.Callable[[CollectiveRun], bool]) -> frozenset[str]:
    """The variables of the probes that restore a rate; well: whether a probe's run reaches what is expected."""
    return changed_by(name for name, run in tried.items() if well(run))


def restoring_probes(tried: t.Mapping[str, CollectiveRun], well: t.Callable[[CollectiveRun], bool]) -> list[str]:
    """What restores a rate, in words; nothing where nothing was tried.

    well: whether a probe's run reaches what is expected.
    """
    over = {True: "alone", False: "over {} hosts"}
    good = [f"{name} restores it: {run.top:.4g} GB/s {over[len(run.hosts) == 1].format(len(run.hosts))}" for name, run in tried.items() if well(run)]
    lost = [name for name, run in tried.items() if run.trouble or run.top is None]
    if good or not tried:
        return good
    without = f", of which {', '.join(lost)} came to no rate" if lost else ""
    return [f"none of {', '.join(tried)} restores it{without}"]
