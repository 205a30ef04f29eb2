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
from ..text.shortened import with_bounded_lines
from .deciding_lines import Decided, deciding_line, says_that_ranks_failed, speaking_rank
from .host_names import HostNames
from .last_lines import forms_before, last_line
from .launcher_errors import known_line, with_subject
from .launchers import LAUNCHER_ERRORS, STARTED_FROM_ONE_HOST, given_hosts
from .line_labels import OF_A_RANK, named_process, unlabelled
from .perftest_errors import CONSEQUENCE, KNOWN, PERFTEST_ERRORS, UNNAMED, explain_error
from .rank_errors import follows, known_error
from .schedule import JOBS_READING, NOT_INSTALLED, Job
from .site_log import Said, as_text, of_quoted_ranks, said_lines
from .speakers import speakers
from .unknown_errors import ERROR_FORM, cut, decisive_line, has_a_class, is_bare, names_system_error

Values = dict[str, t.Any]
# What a command of the site printed, to standard output and to standard error.
Streams = t.Sequence[t.Sequence[Said]]
# A script or a pipe (tee) may end with 0 whatever it had started ended with.
OF_A_LAUNCHER = ", though its launcher says that ranks failed"
# What a site's own command is also read as.
OWN_LOG = "collective_timeouts"
# With this status docker and podman say that the image lacks the program.
NO_PROGRAM = 127
# What a job that has been started ends with.
STARTED = frozenset(("ran", "timeout", "hung", "stopped"))
# And with these where it was ended at its limit.
NOT_ENDED = frozenset(("timeout", "hung"))


def job_results(jobs: t.Sequence[Job], collected: Values, addresses: t.Mapping[str, str] | None = None) -> dict[str, ReadingResult]:
    """What a host's jobs gave, by reading: each reading's rows, and one row of ``load_jobs`` for every job.

    collected: what the program on the host collected, ``answers`` by the job's id, and ``ended``; addresses: of ``Schedule``.
    """
    reported: dict[str, ReadingResult] = {JOBS_READING: ReadingResult("ok", text="")}
    named: dict[str, list[tuple[Job, CommandResult]]] = {}
    said = {}
    for job in jobs:
        answer = _answer(job, collected)
        named.setdefault(job.reading or "", []).append((job, answer))
        said[job.id] = _said(answer, _names(job, addresses)) if OWN_LOG in job.also else None
        printed = answer if job.reading else _log(job, answer, collected)
        for name in job.also:
            text = "".join(as_text(lines) for lines in said[job.id] or ()) if name == OWN_LOG else printed.stdout
            named.setdefault(name, []).append((job, replace(printed, source=_source(name), stdout=text)))
    for name, pairs in named.items():
        lost = dict.fromkeys([job.id for job, _answer_of in pairs], None) if not name else {}
        if name:
            one = _read(name, pairs)
            reported[name], lost = one, {job.id: one.lost.get(job.id) for job, _answer_of in pairs}
        for job, answer in pairs:
            if name != (job.reading or ""):
                continue
            missing = collected.get("answers", {}).get(job.id, {}).get("status") == "missing" or (job.runtime != "" and answer.rc == NO_PROGRAM)
            names = _names(job, addresses)
            ended = _ended(_without_labels(answer, said[job.id]), lost[job.id], missing, said[job.id])
            ended |= {"words": names.in_words(ended["words"] or "") or None, "words_of": names.host(ended.get("words_of") or "") or ended.get("words_of")}
            own = {**_last(answer, logs), "speakers": speakers(*logs)} if (logs := said[job.id]) else {}
            reported[JOBS_READING].rows.append({**_blank(), **job.columns, "item": job.id, **ended, **own, "seconds": answer.seconds})
            reported[JOBS_READING].text += f"==> {job.id} <==\n{' '.join(answer.argv)}\n{answer.stdout}{answer.stderr}\n"
    return reported


def _ended(answer: CommandResult, lost: str | None, not_installed: bool, log: Streams | None) -> Values:
    """``status`` (``ok``, ``fail`` or ``unknown``), ``words`` (the tool's own where it is known what they mean) and ``error`` (the kind).

    not_installed: the host has no such program; log: that of a command of the site, whose ``words_of`` and ``words_rank`` are the host and the rank that
    its line is of.
    """
    words = failure_reason(answer) or lost
    tool = answer.argv[0].rpartition("/")[2]
    decided = _decided(answer, log) if log else Decided()
    of_a_rank = known_error(decided.line) is not None and not follows(decided.line)
    if decided.line and (of_a_rank or tool not in STARTED_FROM_ONE_HOST):
        # Without the path of the program, which is no file of the error.
        words = f"{tool} exited with status {answer.rc}{'' if answer.rc else OF_A_LAUNCHER}: {decided.line}"
        return {"status": "unknown", "words": words, "words_of": decided.host, "words_rank": decided.rank, "error": NOT_INSTALLED if not_installed else None}
    known = LAUNCHER_ERRORS if tool in STARTED_FROM_ONE_HOST else PERFTEST_ERRORS if tool.startswith("ib_") else ()
    explained = explain_error(answer.stderr, answer.stdout, known=known) if words and answer.status in ("ran", "timeout") else None
    line = known_line(answer.stderr, answer.stdout, worded=log is not None) if words and tool in STARTED_FROM_ONE_HOST else None
    of_consequence = explained is not None and explained.kind == CONSEQUENCE and line is not None and line not in explained.line
    if line and (explained is None or known_line(explained.line) is None or of_consequence):
        # That a task exited, or that a host was lost, says less than the line that says why.
        return {"status": "unknown", "words": _by(tool, cut(with_subject(line, answer.stderr, answer.stdout))), "error": None}
    if explained and explained.kind == CONSEQUENCE and (reason := _reason(answer.stderr, explained.line)):
        of_launcher = tool in STARTED_FROM_ONE_HOST
        said = with_subject(reason, answer.stderr, answer.stdout) if of_launcher else reason
        return {"status": "unknown", "words": _by(tool, said), "error": None if of_launcher else UNNAMED}
    if explained:
        said = with_subject(str(explained), answer.stderr, answer.stdout) if tool in STARTED_FROM_ONE_HOST else str(explained)
        return {"status": explained.verdict, "words": said, "error": KNOWN if explained.kind in (None, CONSEQUENCE) else explained.kind}
    if words and answer.status == "ran" and tool in STARTED_FROM_ONE_HOST and (first := decisive_line(answer.stderr)):
        # Nothing that is known: the first error, and not the last line, which follows from it.
        words = _by(tool, with_subject(first, answer.stderr))
    if words and answer.status == "ran" and answer.rc and tool.startswith("ib_"):
        line = _unnamed(answer)
        return {"status": "unknown", "words": _by(tool, line) if line else words, "error": UNNAMED}
    return {"status": "unknown" if words else "ok", "words": words, "error": NOT_INSTALLED if not_installed else None}


def _decided(answer: CommandResult, said: Streams) -> Decided:
    """The line that says why a command of the site failed, and of which of its hosts; nothing of one that ended well, or in which no line does."""
    logs = [of_quoted_ranks(lines) for lines in reversed(said)]
    failed = answer.status == "ran" and ((answer.rc or 0) > 0 or (answer.rc == 0 and says_that_ranks_failed(answer.stderr, answer.stdout)))
    decided = deciding_line(*logs) if failed else Decided()
    return decided._replace(host=decided.host or named_process(OF_A_RANK.sub("", decided.line)))


def _last(answer: CommandResult, said: Streams | None) -> Values:
    """What a command of the site had logged last that did not end in time; nothing of one that ended."""
    texts = [as_text(lines, times=True) for lines in said or ()]
    found = last_line(*texts) if answer.status in NOT_ENDED else None
    if found is None:
        return {}
    before = forms_before(*texts)
    return {
        "last_line": found.line, "last_rank": speaking_rank(found.line), "last_clock": found.clock, "last_period": found.period, "before_last": before,
    }  # fmt: skip


def _reason(text: str, consequence: str) -> str:
    """The first line before a consequence that has an error of the system, or whose vocabulary shows what it is of; nothing where none has."""
    before, found, _after = text.partition(consequence)
    lines = before.splitlines() if found else []
    return cut(next((line for line in lines if ERROR_FORM.search(line) and not is_bare(line) and has_a_class(line)), ""))


def _unnamed(answer: CommandResult) -> str:
    """The line of an error that no table knows: one with an error of the system, else the first of standard error."""
    lines = [line for text in (answer.stderr, answer.stdout) for line in text.splitlines()]
    return cut(next((line for line in lines if names_system_error(line) and not is_bare(line)), "")) or decisive_line(answer.stderr)


def _by(tool: str, line: str) -> str:
    """A line of a tool after its name, which most tools print themselves."""
    return line if line.startswith(f"{tool}: ") else f"{tool}: {line}"


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


def _log(job: Job, answer: CommandResult, collected: Values) -> CommandResult:
    """What a command of the site printed, to standard output and error, as a log: it is one however the command ended, or was ended."""
    raw = collected.get("answers", {}).get(job.id)
    if raw is None or raw["status"] not in STARTED:
        return answer
    text = "".join(f"{piece.rstrip()}\n" for piece in (raw["stdout"], raw["stderr"]) if piece.strip())
    return replace(answer, status="ran", rc=0, stdout=text) if text else answer


def _names(job: Job, addresses: t.Mapping[str, str] | None) -> HostNames:
    """The hosts of a job by all that its launcher may call them: what it was given for each, and their addresses."""
    hosts = list(job.columns.get("hosts") or ())
    given = {name: host for name, host in zip(given_hosts(job.argv), hosts) if name != host}
    return HostNames(hosts, {name: (host, None) for name, host in {**(addresses or {}), **given}.items()})


def _said(answer: CommandResult, names: HostNames) -> Streams:
    """The lines of a command of the site, of its standard output and error, with the hosts and ranks that they are of; they are bounded."""
    return said_lines([with_bounded_lines(text) for text in (answer.stdout, answer.stderr)], names)


def _without_labels(answer: CommandResult, said: Streams | None) -> CommandResult:
    """What a job printed without the labels of its launcher, of a command of the site with the ranks and hosts that these tell; other jobs have none.

    Its lines are bounded, whatever the job.
    """
    if said:
        return replace(answer, stdout=as_text(said[0]), stderr=as_text(said[1]))
    answer = replace(answer, stdout=with_bounded_lines(answer.stdout), stderr=with_bounded_lines(answer.stderr))
    if answer.argv[0].rpartition("/")[2] in STARTED_FROM_ONE_HOST:
        return replace(answer, stdout=unlabelled(answer.stdout), stderr=unlabelled(answer.stderr))
    return answer


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
