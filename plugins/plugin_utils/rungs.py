# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the runs of layer 5 measured, put together from all hosts of each, and what each of them must reach."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from . import bisection, ladder
from .natural import natural

Rows = list[dict[str, t.Any]]
Peers = t.Mapping[str, Rows]
GIB = 1 << 30
# Kinds of runs: every host by itself, by itself over its NICs, a rung of the ladder, a launch of a search, one that tries what restores a rate,
# and one of a single rail, with that rail's GPU of each host.
NODE, NODE_NICS, RUNG, SEARCH, PROBE, RAIL = "node", "node_nics", "rung", "search", "probe", "rail"
# What a host has of a run: ranks, what starts the ranks of all its hosts and says nothing of them, or a table of nccl-tests of all of them.
RANK, LAUNCHER, TABLE = "rank", "launcher", "table"


@dataclass
class Run:
    """One job of ranks over some hosts: its kind, hosts, busbw by size (GB/s), what went wrong, and the words of it."""

    kind: str
    hosts: tuple[str, ...]
    busbw: dict[int, float] = field(default_factory=dict)
    wrong: int = 0
    trouble: list[str] = field(default_factory=list)

    @property
    def group(self) -> bisection.Group:
        """Its hosts as a group of a ladder."""
        return frozenset(self.hosts)

    @property
    def top(self) -> float | None:
        """The slowest of the sizes that fill the links (1 GiB and up), or of the largest where there is none; None where nothing was measured."""
        large = [rate for size, rate in self.busbw.items() if size >= GIB]
        return min(large) if large else self.busbw[max(self.busbw)] if self.busbw else None


def runs(jobs: Peers, rates: Peers, ranks: Peers) -> list[Run]:
    """Every run but probes and those of single rails, from what all of its hosts told; a host that told nothing of a run is its trouble.

    jobs, rates, ranks: the rows of load_jobs, collective_rates and collective_ranks by host.
    """
    return list(_runs(jobs, rates, ranks, (NODE, NODE_NICS, RUNG, SEARCH)).values())


def probes(jobs: Peers, rates: Peers, ranks: Peers) -> dict[str, Run]:
    """The probes by what they tried."""
    return {key[1].partition(": ")[2]: run for key, run in _runs(jobs, rates, ranks, (PROBE,)).items()}


def of_rails(jobs: Peers, rates: Peers, ranks: Peers) -> dict[str, Run]:
    """The runs of single rails of a gate group by the rail's device."""
    return {key[1].partition(" ")[2]: run for key, run in _runs(jobs, rates, ranks, (RAIL,)).items()}


def _runs(jobs: Peers, rates: Peers, ranks: Peers, kinds: t.Container[str]) -> dict[tuple[str, ...], Run]:
    found: dict[tuple[str, ...], Run] = {}
    for host, rows in jobs.items():
        for job in rows:
            if job["kind"] not in kinds or job["role"] == TABLE:
                continue
            hosts = tuple(job["hosts"] or (host,))
            # Probes and rails of the same hosts are told apart by their names, which a launcher's job adds to.
            name = job["item"].partition(",")[0] if job["kind"] in (PROBE, RAIL) else ""
            run = found.setdefault((job["kind"], name, *hosts), Run(job["kind"], hosts))
            if job["status"] != "ok":
                run.trouble.append(f"{host}: {job['words']}")
            if job["role"] == LAUNCHER:
                continue
            _add(run, host, [row for row in rates.get(host, ()) if row["item"] == job["item"]])
            run.trouble += [
                f"rank {row['rank']} of {host}: {_words(row)}" for row in ranks.get(host, ()) if row["item"] == job["item"] and row["outcome"] != "done"
            ]
    for run in found.values():
        silent = [host for host in run.hosts if host not in jobs]
        run.trouble += [f"{host}: it told nothing" for host in silent]
    return found


def _words(row: dict[str, t.Any]) -> str:
    ended = f"was ended by signal {row['signal']}" if row["signal"] else str(row["outcome"])
    return f"{ended}: {row['error']}" if row["error"] else f"{ended} at {row['last']}" if row["last"] else ended


def _add(run: Run, host: str, rows: Rows) -> None:
    sizes = [row for row in rows if row["collective"] == "all_reduce"]
    for row in sizes:
        # Every rank tells the mean of all; the least of what was told is what is true of all.
        run.busbw[row["size_bytes"]] = min(row["busbw_gbyte_s"], run.busbw.get(row["size_bytes"], row["busbw_gbyte_s"]))
        run.wrong += row["wrong"]
    if not sizes:
        run.trouble.append(f"{host}: it measured nothing")


def of_tests(jobs: Peers, tables: Peers) -> list[Run]:
    """Every run of nccl-tests, each told by the one host that started it.

    jobs, tables: the rows of load_jobs and nccl_tests by host.
    """
    found = []
    for host, rows in jobs.items():
        for job in rows:
            if job["role"] != TABLE:
                continue
            run = Run(job["kind"], tuple(job["hosts"] or (host,)))
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


def wire(values: t.Mapping[str, t.Any]) -> float:
    """What all rails of a host carry together, in GB/s."""
    return len(values["pod_rails"]) * values["pod_link_gbit_s"] / 8


def wanted(hosts: int, values: t.Mapping[str, t.Any]) -> float | None:
    """The busbw that an all-reduce over so many hosts is expected to reach, in GB/s: the pod's own number for that many or for the next
    fewer, or a part of what the rails carry; None where nothing is known.
    """
    table = {int(count): float(rate) for count, rate in values["pod_all_reduce_busbw_gbyte_s"].items()}
    below = [count for count in table if count <= hosts]
    if below:
        return table[max(below)]
    return wire(values) * values["pod_all_reduce_percent"] / 100 or None


def least(hosts: int, values: t.Mapping[str, t.Any]) -> float | None:
    """The busbw below which a run over so many hosts has failed, in GB/s."""
    rate = wanted(hosts, values)
    return None if rate is None else rate * (1 - values["pod_busbw_tolerance_percent"] / 100)


def passed(run: Run, values: t.Mapping[str, t.Any]) -> bool:
    """Whether a run over several hosts came to its end, right and fast enough."""
    minimum = least(len(run.hosts), values)
    return not run.trouble and not run.wrong and run.top is not None and (minimum is None or run.top >= minimum)


def measured(found: t.Iterable[Run], values: t.Mapping[str, t.Any]) -> dict[bisection.Group, bool]:
    """Whether each group of several hosts passed."""
    return {run.group: passed(run, values) for run in found if run.kind in (RUNG, SEARCH)}


def came_through(found: t.Iterable[Run]) -> list[str]:
    """The hosts that alone ran to their end, in one order for whoever plans a ladder and whoever judges it: another one is no partner, and would
    hang the others.
    """
    alone: dict[str, bool] = {}
    for run in found:
        if run.kind == NODE:
            alone.setdefault(run.hosts[0], not run.trouble and not run.wrong)
    return sorted((host for host, well in alone.items() if well), key=natural)


def blamed(found: t.Sequence[Run], values: t.Mapping[str, t.Any]) -> bisection.Search:
    """Who is to blame for the rungs that failed; nobody where none did."""
    step = ladder.following(came_through(found), measured(found, values), ladder.MOST_SEARCHES)
    return step.found or bisection.Search()


def restored(tried: t.Mapping[str, Run], values: t.Mapping[str, t.Any]) -> list[str]:
    """What restores the rate that a rung lacks, in words; nothing where nothing was tried."""
    good = [f"{name} restores it: {run.top:.4g} GB/s over {len(run.hosts)} hosts" for name, run in tried.items() if passed(run, values)]
    lost = [name for name, run in tried.items() if run.trouble or run.top is None]
    if good or not tried:
        return good
    without = f", of which {', '.join(lost)} came to no rate" if lost else ""
    return [f"none of {', '.join(tried)} restores it{without}"]
