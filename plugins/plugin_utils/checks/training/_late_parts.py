# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks' own parts, data or computation, made a step of training longer, and whether those of most ranks did."""

from __future__ import annotations

import statistics
import typing as t

from ...readings.rows import Peers, Rows
from .._once import once_for_all_nodes

# A rank's own part explains a slow step where it grew by at least this share of what the step was too long.
EXPLAINS = 0.5
PARTS = {
    "data_ms": (
        "the wait for its data",
        "The other ranks waited for this rank's data in those steps: its storage was late, or its data loader had too little CPU.",
        "Look at dataset_feeds of its host, at the CPU load and the number of its loader's workers, and at the storage's client at that time.",
    ),
    "compute_ms": (
        "its own computation",
        "The other ranks waited for this rank's computation in those steps: its GPU was slowed down (heat, power), or its process was interrupted.",
        "Compare its GPU's clocks, temperature and power with the others', and look at what else runs on its host and at its kernel log.",
    ),
}
# Where most ranks of several hosts were late in the same steps.
SHARED = {
    "data_ms": (
        "Most ranks of several hosts waited for their data in the same steps: what they share was late (the storage, its network, or the service that streams "
        "the data), and no single host.",
        "Look at the storage's servers, their network and what else reads from them at the time of those steps; raise the number of batches that the loaders "
        "fetch ahead.",
    ),
    "compute_ms": (
        "Most ranks of several hosts took longer for their own computation in the same steps: what they share disturbs them (the program's garbage "
        "collection or compilation, a limit of power or cooling, a job that runs on all hosts), and no single host.",
        "Look at what the program does in those steps, at the GPUs' clocks and throttle reasons on all hosts, and at what runs on all of them at that time.",
    ),
}


def of_ranks(steps: Rows) -> dict[int, Rows]:
    """The steps of each rank, in order."""
    result: dict[int, Rows] = {}
    for row in sorted(steps, key=lambda row: row["step"]):
        result.setdefault(row["rank"], []).append(row)
    return result


class Late(t.NamedTuple):
    """Whose own part made a step longer: the part's column, by how many ms of each rank that it explains the step for, and whether it is most of all ranks."""

    part: str
    ms: dict[int, float]
    shared: bool

    @property
    def longest_ms(self) -> float:
        """By how many ms of the rank that was latest."""
        return max(self.ms.values())

    def of(self, rank: int) -> tuple[str, str, str]:
        """By how much the part of a rank was longer, in words, with cause and fix."""
        words, cause, fix = PARTS[self.part]
        reported = f"{words} took {self.ms[rank]:.4g} ms more"
        return (f"{reported}, as of most ranks of several hosts", *SHARED[self.part]) if self.shared else (reported, cause, fix)


@once_for_all_nodes
def late_parts(steps: Peers) -> dict[int, Late]:
    """By step the part and the ranks that explain what it is above the usual; steps that none explains are left out, and so are windows of steps.

    steps: the rows of all hosts.
    """
    hosts = {row["rank"]: host for host, rows in steps.items() for row in rows}
    of_rank = of_ranks([row for rows in steps.values() for row in rows if row["steps"] == 1 and row["compute_ms"] is not None])
    grown: dict[int, dict[str, dict[int, float]]] = {}
    longer: dict[int, float] = {}
    for rank, rows in of_rank.items():
        usual = {column: statistics.median(row[column] for row in rows) for column in ("step_ms", *PARTS)}
        for row in rows:
            longer[row["step"]] = max(longer.get(row["step"], 0.0), row["step_ms"] - usual["step_ms"])
            for column in PARTS:
                grown.setdefault(row["step"], {}).setdefault(column, {})[rank] = row[column] - usual[column]
    found: dict[int, Late] = {}
    for step, of_parts in grown.items():
        part = max(of_parts, key=lambda column: max(of_parts[column].values()))
        late = {rank: ms for rank, ms in of_parts[part].items() if ms > 0 and ms >= EXPLAINS * longer[step]}
        if late:
            found[step] = Late(part, late, 2 * len(late) > len(of_parts[part]) and len({hosts[rank] for rank in late}) > 1)
    return found


def without(rows: Rows, late: t.Mapping[int, Late], mine: set[int]) -> Rows:
    """A rank's steps as long as they would have been without the late parts of ranks of other hosts alone."""
    return [
        {**row, "step_ms": row["step_ms"] - one.longest_ms} if (one := late.get(row["step"])) is not None and mine.isdisjoint(one.ms) else row for row in rows
    ]
