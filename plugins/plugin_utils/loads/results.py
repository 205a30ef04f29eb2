# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the jobs of a load returned, as readings."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..collect.responses import failure_reason, reading_result
from ..collect.types import CommandResult, Query, ReadingResult
from ..readings import reading
from .launcher_errors import known_line
from .launchers import LAUNCHER_ERRORS, STARTED_FROM_ONE_HOST
from .perftest_errors import PERFTEST_ERRORS, explain_error
from .schedule import JOBS_READING, NOT_INSTALLED, Job

Values = dict[str, t.Any]


def job_results(jobs: t.Sequence[Job], collected: Values) -> dict[str, ReadingResult]:
    """What a host's jobs gave, by reading: each reading's rows, and one row of ``load_jobs`` for every job.

    collected: what the program on the host collected, ``answers`` by the job's id, and ``ended``.
    """
    reported: dict[str, ReadingResult] = {JOBS_READING: ReadingResult("ok", text="")}
    named: dict[str, list[tuple[Job, CommandResult]]] = {}
    for job in jobs:
        answer = _answer(job, collected)
        named.setdefault(job.reading or "", []).append((job, answer))
        for name in job.also:
            named.setdefault(name, []).append((job, replace(answer, source=_source(name))))
    for name, pairs in named.items():
        lost = dict.fromkeys([job.id for job, _answer_of in pairs], None) if not name else {}
        if name:
            one = _read(name, pairs)
            reported[name], lost = one, {job.id: one.lost.get(job.id) for job, _answer_of in pairs}
        for job, answer in pairs:
            if name != (job.reading or ""):
                continue
            ended = _ended(answer, lost[job.id], collected.get("answers", {}).get(job.id, {}).get("status") == "missing")
            reported[JOBS_READING].rows.append({**_blank(), **job.columns, "item": job.id, **ended, "seconds": answer.seconds})
            reported[JOBS_READING].text += f"==> {job.id} <==\n{' '.join(answer.argv)}\n{answer.stdout}{answer.stderr}\n"
    return reported


def _ended(answer: CommandResult, lost: str | None, not_installed: bool) -> Values:
    """``status`` (``ok``, ``fail`` or ``unknown``), ``words`` (the tool's own where it is known what they mean) and ``error`` (the kind).

    not_installed: the host has no such program.
    """
    words = failure_reason(answer) or lost
    tool = answer.argv[0].rpartition("/")[2]
    known = LAUNCHER_ERRORS if tool in STARTED_FROM_ONE_HOST else PERFTEST_ERRORS if tool.startswith("ib_") else ()
    explained = explain_error(answer.stderr, answer.stdout, known=known) if words and answer.status in ("ran", "timeout") else None
    line = known_line(answer.stderr, answer.stdout) if words and tool in STARTED_FROM_ONE_HOST else None
    if line and (explained is None or known_line(explained.line) is None):
        # That a task exited says less than the line that says why.
        return {"status": "unknown", "words": f"{tool}: {line[:300]}", "error": None}
    if explained:
        return {"status": explained.verdict, "words": str(explained), "error": explained.kind}
    return {"status": "unknown" if words else "ok", "words": words, "error": NOT_INSTALLED if not_installed else None}


def _answer(job: Job, explained: Values) -> CommandResult:
    raw = explained.get("answers", {}).get(job.id)
    source = _source(job.reading)
    if raw is None:
        return CommandResult("missing", source, job.argv, None, stderr=f"{job.argv[0]} was not run: {explained.get('ended') or 'the load did not start'}")
    kept = {key: raw[key] for key in ("argv", "rc", "stdout", "stderr", "seconds", "cut")}
    # taskset pins it; in words it is the tool that speaks.
    kept["argv"] = kept["argv"][3:] if kept["argv"][:2] == ["taskset", "-c"] else kept["argv"]
    if raw["status"] in ("never", "stopped"):
        ended = "was ended" if raw["status"] == "stopped" else "was not run"
        return CommandResult("missing", source, **{**kept, "stderr": f"{job.argv[0]} {ended}: {raw['stderr'][-200:]}"})
    return CommandResult(raw["status"], source, **kept)


class _Any:
    """The source of a job that is read as nothing: exit status 0 is what it must end with."""

    rc = (0,)


def _source(name: str | None) -> t.Any:
    return reading(name).platforms["linux"][0] if name else _Any()


def _read(name: str, pairs: list[tuple[Job, CommandResult]]) -> ReadingResult:
    what = reading(name)
    ask = Query(what, what.platforms["linux"], tuple({"item": job.id} for job, _answer_of in pairs))
    return reading_result(ask, "linux", [answer for _job, answer in pairs])


def _blank() -> Values:
    return {column.name: None for column in reading(JOBS_READING).columns}
