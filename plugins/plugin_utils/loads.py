# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads: what hosts do to each other on purpose, as timetables that begin everywhere at once.

A layer's loads come in steps: the first is planned from the pod, each further one from what the ones before it gave (a failing
pair is tested again with partners that passed; a ladder climbs until a rung breaks), until there is nothing left to do.
"""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field, replace

from . import launchers
from .collecting import Answer, Ask, Reply, reply, trouble
from .perftest import COMPLAINTS, complaint
from .plan import Plan
from .readings import reading

Values = dict[str, t.Any]
Rows = list[Values]
# How a job is told of, besides what its tool printed.
JOBS = "load_jobs"


@dataclass(frozen=True)
class Job:
    """One process of a load on one host.

    id: its name, unique on the host; argv; at, until: seconds of the timetable; again: words with which it is tried again;
    near: the RDMA device whose CPUs it runs on; turn: None, or a number: it may start before its time, once all that its host does
    before this turn has ended; reading: what its output is read as, or None, and also: what else it is read as;
    told: what ``load_jobs`` says of it besides how it ended (the columns of that reading); environment: what it has besides the host's own,
    of which it has nothing that begins with one of ``without``.
    """

    id: str
    argv: list[str]
    at: float
    until: float
    told: Values
    again: tuple[str, ...] = ()
    near: str | None = None
    reading: str | None = None
    also: tuple[str, ...] = ()
    turn: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    def asked(self) -> Values:
        """As the program on the host wants it."""
        told = {"id": self.id, "argv": self.argv, "at": self.at, "until": self.until}
        more = {"again": list(self.again), "near": self.near, "turn": self.turn}
        return {**told, **more, "environment": self.environment, "without": list(self.without)}


@dataclass
class Timetable:
    """One step: the jobs of every host, how long they take together (seconds), and the words that announce it.

    programs: source texts that arguments name as ``{name}``; sampled: whether counters are read meanwhile.
    """

    jobs: dict[str, list[Job]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    sampled: bool = False

    @property
    def seconds(self) -> float:
        """When its last job must have ended."""
        return max((job.until for jobs in self.jobs.values() for job in jobs), default=0.0)

    def dump(self) -> Values:
        """As JSON."""
        return {**asdict(self), "seconds": self.seconds}


def load(document: Values) -> Timetable:
    """The timetable that ``dump`` wrote."""
    tuples = ("again", "also", "without")
    jobs = {host: [Job(**{**one, **{name: tuple(one[name]) for name in tuples}}) for one in its] for host, its in document["jobs"].items()}
    return Timetable(jobs, *(document[key] for key in ("words", "programs", "sampled")))


@dataclass
class Situation:
    """What a step is planned from.

    hosts: those that may take part; idle: what every node said just before the loads, by node and reading; done: the rows of
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


def replies(jobs: t.Sequence[Job], said: Values) -> dict[str, Reply]:
    """What a host's jobs gave, by reading: each reading's rows, and one row of ``load_jobs`` for every job.

    said: what the program on the host collected, ``answers`` by the job's id, and ``ended``.
    """
    told: dict[str, Reply] = {JOBS: Reply("ok", text="")}
    named: dict[str, list[tuple[Job, Answer]]] = {}
    for job in jobs:
        answer = _answer(job, said)
        named.setdefault(job.reading or "", []).append((job, answer))
        for name in job.also:
            named.setdefault(name, []).append((job, replace(answer, source=_source(name))))
    for name, pairs in named.items():
        lost = dict.fromkeys([job.id for job, _answer_of in pairs], None) if not name else {}
        if name:
            one = _read(name, pairs)
            told[name], lost = one, {job.id: one.lost.get(job.id) for job, _answer_of in pairs}
        for job, answer in pairs:
            if name != (job.reading or ""):
                continue
            status, words = _ended(answer, lost[job.id])
            told[JOBS].rows.append({**_blank(), **job.told, "item": job.id, "status": status, "words": words, "seconds": answer.seconds})
            told[JOBS].text += f"==> {job.id} <==\n{' '.join(answer.argv)}\n{answer.stdout}{answer.stderr}\n"
    return told


def _ended(answer: Answer, lost: str | None) -> tuple[str, str | None]:
    """``ok``, ``fail`` or ``unknown``, and the words: the tool's own where it is known what they mean."""
    words = trouble(answer) or lost
    tool = answer.argv[0].rpartition("/")[2]
    known = launchers.COMPLAINTS if tool in launchers.FROM_ONE_HOST else COMPLAINTS if tool.startswith("ib_") else ()
    said = complaint(answer.stderr, answer.stdout, known=known) if words and answer.status in ("ran", "timeout") else None
    return (said.verdict, str(said)) if said else ("unknown" if words else "ok", words)


def _answer(job: Job, said: Values) -> Answer:
    raw = said.get("answers", {}).get(job.id)
    source = _source(job.reading)
    if raw is None:
        return Answer("missing", source, job.argv, None, stderr=f"{job.argv[0]} was not run: {said.get('ended') or 'the load did not start'}")
    kept = {key: raw[key] for key in ("argv", "rc", "stdout", "stderr", "seconds", "cut")}
    # taskset pins it; in words it is the tool that speaks.
    kept["argv"] = kept["argv"][3:] if kept["argv"][:2] == ["taskset", "-c"] else kept["argv"]
    if raw["status"] in ("never", "stopped"):
        ended = "was ended" if raw["status"] == "stopped" else "was not run"
        return Answer("missing", source, **{**kept, "stderr": f"{job.argv[0]} {ended}: {raw['stderr'][-200:]}"})
    return Answer(raw["status"], source, **kept)


class _Any:
    """The source of a job that is read as nothing: exit status 0 is what it must end with."""

    rc = (0,)


def _source(name: str | None) -> t.Any:
    return reading(name).platforms["linux"][0] if name else _Any()


def _read(name: str, pairs: list[tuple[Job, Answer]]) -> Reply:
    what = reading(name)
    ask = Ask(what, what.platforms["linux"], tuple({"item": job.id} for job, _answer_of in pairs))
    return reply(ask, "linux", [answer for _job, answer in pairs])


def _blank() -> Values:
    return {column.name: None for column in reading(JOBS).columns}
