# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Responses: what a node's command output amounts to as readings."""

from __future__ import annotations

import contextlib
import fnmatch
import re
import typing as t
from dataclasses import replace
from types import MappingProxyType

from ..readings import ParseError, Reading
from ..readings.parsing import parse_source, split_sections
from ..text.ranges import ranges
from ..text.shortened import shortened
from .queries import item_labels
from .tool_errors import known_or_last_line
from .types import CommandResult, KeptCommand, Query, ReadingResult

Values = dict[str, t.Any]
MOST_REASONS = 3
NO_PERMISSION = re.compile(r"permission denied|operation not permitted|must be root|requires? root|not authorized|access denied|are you root", re.IGNORECASE)


def reading_result(ask: Query, platform: str, answers: t.Sequence[CommandResult]) -> ReadingResult:
    """One reading from the answers to its commands, in the order of its items."""
    if not answers:
        # A mesh may be empty where no other host takes part; a host without rails may not.
        return ReadingResult("ok") if ask.reading.partial else ReadingResult("unknown", "no command is planned for it")
    if ask.reading.where_installed and all(answer.status == "missing" for answer in answers):
        return ReadingResult("not_applicable", answers[0].stderr)
    result = ReadingResult("ok")
    pieces = []
    named = item_labels(ask)
    whole = bool(answers) and answers[0].source.foreach is None
    for label, answer in [(None, answers[0])] if whole else zip(named, answers):
        pieces.append((f"==> {label} <==\n" if label else "") + _text(answer))
        words = failure_reason(answer)
        result.error = result.error or failure_line(answer)
        if words is None:
            try:
                result.rows += _parsed(ask, platform, answer, label)
                continue
            except ParseError as error:
                words = f"{answer.source.tool}: {error.why}" + (f": {error.line[:120]!r}" if error.line else _stderr_hint(answer))
                result.unparsed |= bool(answer.stdout.strip()) and not error.refused
        result.lost[label or ""] = words
    result.text = "".join(piece if piece.endswith("\n") or not piece else piece + "\n" for piece in pieces)
    if result.lost and not (ask.reading.partial and result.rows):
        result.status = "unknown"
        result.words = _lost_words(result.lost)
    return result


def _lost_words(lost: t.Mapping[str, str]) -> str:
    """Why some items have no rows: what they share is printed once, and of many reasons the first few."""
    of_reason: dict[str, list[str]] = {}
    for label, words in lost.items():
        of_reason.setdefault(words, []).extend([label] if label else [])
    reasons = [f"{ranges(labels)}: {words}" if labels else words for words, labels in of_reason.items()]
    return "; ".join([*reasons[:MOST_REASONS], *([f"and {len(reasons) - MOST_REASONS} more"] if len(reasons) > MOST_REASONS else [])])


def _stderr_hint(answer: CommandResult) -> str:
    """What a tool that printed nothing reported beside it."""
    last = answer.stderr.strip().splitlines()[-1:] if not answer.stdout.strip() else []
    return f" ({shortened(last[0], 200)})" if last else ""


def _parsed(ask: Query, platform: str, answer: CommandResult, label: str | None) -> list[Values]:
    """Rows by the source that was asked, or by another that reads the same command's text of another version.

    Raises ParseError, the first source's.
    """
    same = [source for source in ask.sources if source is not answer.source and source.command == answer.source.command]
    text = _text(answer)
    try:
        return parse_source(ask.reading, platform, answer.source, text, label)
    except ParseError:
        for source in same:
            with contextlib.suppress(ParseError):
                return parse_source(ask.reading, platform, source, text, label)
        raise


def _text(answer: CommandResult) -> str:
    """What an answer says: what the tool printed, and what it printed beside it where that is part of it."""
    wanted = answer.source.stderr
    beside = "".join(line for line in answer.stderr.splitlines(keepends=True) if wanted and re.search(wanted, line))
    return answer.stdout + ("\n" if beside and answer.stdout and not answer.stdout.endswith("\n") else "") + beside


def failure_reason(answer: CommandResult) -> str | None:
    """Why an answer is none, in words; None where its text is to be parsed."""
    tool = answer.argv[0]
    if answer.status in ("missing", "failed"):
        return answer.stderr
    if answer.status == "denied":
        return f"no permission to run {tool}: {answer.stderr}"
    if answer.status in ("timeout", "hung"):
        return f"{tool} did not end in time" if answer.status == "timeout" else f"{tool} hangs in the kernel and was left behind"
    if answer.cut:
        return f"{tool} printed more than the 8 MiB that are kept"
    if answer.rc is not None and answer.rc not in answer.source.rc:
        printed = _printed(answer)
        if NO_PERMISSION.search(answer.stderr) or NO_PERMISSION.search(answer.stdout[-500:]):
            return f"no permission: {tool}: {shortened(printed, 200)}"
        ended = f"was ended by signal {-answer.rc}" if answer.rc < 0 else f"exited with status {answer.rc}"
        # A tool that says nothing (grep -s) at least shows what it was to read.
        why = " ".join(printed.split()) or " ".join(word for word in answer.argv[1:] if word.startswith("/"))
        return f"{tool} {ended}" + (f": {shortened(why, 200)}" if why else "")
    return None


def failure_line(answer: CommandResult) -> str:
    """The line with which a command that failed says why, as it printed it; nothing of one that did not fail, or says nothing."""
    if answer.status == "failed":
        return answer.stderr
    if answer.status != "ran" or answer.rc is None or answer.rc in answer.source.rc:
        return ""
    # What one that crashed has printed until then is no error.
    return _printed(answer) if answer.rc > 0 or answer.stderr.strip() else ""


def _printed(answer: CommandResult) -> str:
    return known_or_last_line((answer.stderr.strip() or answer.stdout.strip()).splitlines())


def kept_rows(what: Reading, rows: list[Values]) -> list[Values]:
    """The rows that a run keeps of a reading; the evidence keeps all."""
    return [row for row in rows if any(fnmatch.fnmatchcase(row["name"], pattern) for pattern in what.keep)] if what.keep else rows


def kept_failures(ask: Query, kept: t.Sequence[KeptCommand]) -> tuple[dict[str, str], str]:
    """Why kept texts are no answers, by their item, and the first line with which a command says so: a tool's exit status is no part of its text.

    kept: the kept commands of the reading, one an item; or, of a switch, one an alternative, of which any may have answered.
    """
    rc = {source.tool: {one for other in ask.sources if other.tool == source.tool for one in other.rc} for source in ask.sources}
    words, lines = [], []
    for one in kept:
        tool = str(one["argv"][0]).split()[0]
        source = replace(ask.sources[0], rc=tuple(rc.get(tool, {0})))
        answer = CommandResult(one["status"], source, one["argv"], one["rc"], stderr=one["stderr"], cut=one["cut"])
        words.append(failure_reason(answer))
        lines.append(failure_line(answer))
    error = next(filter(None, lines), "")
    named = item_labels(ask)
    if None in named or len(words) != len(named):
        return ({"": words[0]}, error) if words and None not in words and words[0] else ({}, "")
    return {label: word for label, word in zip(named, words) if label and word}, error


def from_evidence(ask: Query, platform: str, text: str, troubled: t.Mapping[str, str] = MappingProxyType({}), failure: str = "") -> ReadingResult:
    """One reading from kept text, of a run or captured by hand; sections are headed ``==> item <==``.

    troubled: the items whose text is no answer, with the words why; failure: the line with which a command failed.
    """
    result = ReadingResult("ok", text=text, lost=dict(troubled), error=failure)
    for section, body in split_sections(text):
        if (section or "") in troubled:
            continue
        error: ParseError | None = None
        for source in ask.sources:
            try:
                result.rows += parse_source(ask.reading, platform, source, body, section)
                error = None
                break
            except ParseError as failed:
                error = failed if error is None or len(failed.rows) > len(error.rows) else error
        if error is not None:
            result.lost[section or ""] = error.why + (f": {error.line[:120]!r}" if error.line else "")
            result.unparsed |= bool(body.strip()) and not error.refused
    missing = [label for label in item_labels(ask) if label] if not ask.reading.partial else []
    present = {section for section, _body in split_sections(text)}
    if None not in present:
        result.lost |= {label: "no text is kept of it" for label in missing if label not in present}
    if result.lost and not (ask.reading.partial and result.rows):
        result.status, result.words = "unknown", "; ".join(f"{label}: {words}" if label else words for label, words in list(result.lost.items())[:3])
    return result
