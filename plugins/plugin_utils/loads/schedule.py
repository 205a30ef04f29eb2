# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schedule of one step of a layer's loads: the jobs of every host, which begin everywhere at once."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field

from ..pod.plan import Plan
from ..readings.rows import Rows

Values = dict[str, t.Any]
# How a job is described, besides what its tool printed.
JOBS_READING = "load_jobs"
# The kind of error of a job whose program the host does not have.
NOT_INSTALLED = "not_installed"


@dataclass(frozen=True)
class Job:
    """One process of a load on one host.

    id: its name, unique on the host; argv; at, until: seconds of the schedule; again: words with which it is tried again;
    near: the RDMA device whose CPUs it runs on; turn: None, or a number: it may start before its time, once all that its host does
    before this turn has ended; reading: what its output is read as, or None, and also: what else it is read as;
    runtime: docker, podman or enroot where it starts containers, which are removed where they outlive it;
    columns: what ``load_jobs`` has of it besides how it ended (the columns of that reading); environment: what it has besides the host's own,
    of which it has nothing that begins with one of ``without``.
    """

    id: str
    argv: list[str]
    at: float
    until: float
    columns: Values
    again: tuple[str, ...] = ()
    near: str | None = None
    reading: str | None = None
    also: tuple[str, ...] = ()
    turn: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    runtime: str = ""

    def asked(self) -> Values:
        """As the program on the host wants it."""
        columns = {"id": self.id, "argv": self.argv, "at": self.at, "until": self.until}
        more = {"again": list(self.again), "near": self.near, "turn": self.turn}
        return {**columns, **more, "environment": self.environment, "without": list(self.without), "runtime": self.runtime}


@dataclass
class Schedule:
    """One step: the jobs of every host, how long they take together (seconds), and the words that announce it.

    programs: source texts that arguments name as ``{name}``; sampled: whether counters are read meanwhile; addresses: by what a log may call a host that is
    not its name, the host.
    """

    jobs: dict[str, list[Job]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    sampled: bool = False
    addresses: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """When its last job must have ended."""
        return max((job.until for jobs in self.jobs.values() for job in jobs), default=0.0)

    def dump(self) -> Values:
        """As JSON."""
        return {**asdict(self), "seconds": self.seconds}


def load_schedule(document: Values) -> Schedule:
    """The schedule that ``dump`` wrote."""
    tuples = ("again", "also", "without")
    jobs = {host: [Job(**{**one, **{name: tuple(one[name]) for name in tuples}}) for one in its] for host, its in document["jobs"].items()}
    return Schedule(jobs, *(document[key] for key in ("words", "programs", "sampled", "addresses")))


@dataclass
class StepInput:
    """What a step is planned from.

    hosts: those that may take part; idle: what every node reported just before the loads, by node and reading; done: the rows of
    the earlier steps, by reading and host.
    """

    plan: Plan
    hosts: list[str]
    step: int
    idle: dict[str, dict[str, Rows]]
    done: dict[str, dict[str, Rows]]

    @property
    def values(self) -> Values:
        """The pod's expectations."""
        return next(iter(self.plan.nodes.values())).values
