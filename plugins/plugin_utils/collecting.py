# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collecting: which commands a node is asked for a layer, and what its answers come to as readings."""

from __future__ import annotations

import contextlib
import fnmatch
import re
import typing as t
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from .readings import ParseError, Reading, Source, reading
from .readings.parsing import parse_source, split_sections

Values = dict[str, t.Any]
REFUSED = re.compile(r"permission denied|operation not permitted|must be root|requires? root|not authorized|access denied|are you root", re.IGNORECASE)


@dataclass(frozen=True)
class Ask:
    """One reading of one node: the sources that apply there, and the items that they are repeated for."""

    reading: Reading
    sources: tuple[Source, ...]
    items: tuple[Values, ...]


@dataclass
class Answer:
    """What one command said: as ``side_by_side.answer`` tells it."""

    status: str
    source: Source
    argv: list[str]
    rc: int | None = 0
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    cut: bool = False


@dataclass
class Reply:
    """One reading as a node told it.

    status: ok, unknown or not_applicable; words: why not ok; rows; text: the evidence, in sections where there are items;
    lost: items of a partial reading that did not answer, with their words.
    """

    status: str
    words: str = ""
    rows: list[Values] = field(default_factory=list)
    text: str = ""
    lost: dict[str, str] = field(default_factory=dict)


def asks(names: t.Iterable[str], node: Values) -> tuple[list[Ask], dict[str, Reply]]:
    """What to ask a node for some readings, and the readings that do not apply to it.

    node: its ``platform``, its ``values`` (``when`` of a source needs them) and its ``items`` by kind (``rail``, ``ping``, ...).
    """
    wanted, apart = [], {}
    for name in names:
        what = reading(name)
        rows = what.platforms.get(node["platform"], ())
        sources = tuple(source for source in rows if all(node["values"].get(key) == value for key, value in source.when.items()))
        if rows and not sources:
            needs = " or ".join(sorted({f"{key} {value}" for source in rows for key, value in source.when.items()}))
            apart[name] = Reply("not_applicable", f"{name} is for {needs}")
        elif any(source.foreach == "fabric" and "fabric" not in node["items"] for source in sources):
            apart[name] = Reply("not_applicable", f"{name} is told by the readers of the fabric")
        elif rows:
            items: list[Values] = next((node["items"].get(source.foreach, []) for source in sources if source.foreach), [{}])
            wanted.append(Ask(what, sources, tuple(items)))
    return wanted, apart


def labels(ask: Ask) -> list[str | None]:
    """The items' names as evidence is headed by them; None where a reading has no items."""
    column = next((source.item for source in ask.sources if source.foreach), None)
    if column is None:
        return [None]
    return [str(item["item"] if "item" in item else item["netdev"] if column in ("netdev", "port") else item[column]) for item in ask.items]


def commands(wanted: t.Sequence[Ask]) -> list[Values]:
    """The request's commands for ``side_by_side.answer``; their ids are ``reading number``."""
    result = []
    for ask in wanted:
        for number, item in enumerate(ask.items):
            filling = _Filling(item)
            alternatives = [{"argv": source.argv(filling), "rc": list(source.rc)} for source in ask.sources]
            exclusive = ask.sources[0].exclusive
            result.append(
                {
                    "id": f"{ask.reading.name} {number}",
                    "alternatives": alternatives,
                    "timeout": max(source.timeout_seconds for source in ask.sources),
                    "exclusive": exclusive.format_map(filling) if exclusive else None,
                }
            )
    return result


class _Filling(dict[str, t.Any]):
    """An item's values; what only the node knows stays a token for it."""

    def __missing__(self, key: str) -> str:
        return f"{{pci:{self['device']}}}" if key == "pci" and "device" in self else f"{{{key}}}"


def reply(ask: Ask, platform: str, answers: t.Sequence[Answer]) -> Reply:
    """One reading from the answers to its commands, in the order of its items."""
    if not answers:
        # A mesh may be empty where nobody else climbs; a host without rails may not.
        return Reply("ok") if ask.reading.partial else Reply("unknown", "nothing is planned to be asked for it")
    if ask.reading.where_installed and all(answer.status == "missing" for answer in answers):
        return Reply("not_applicable", answers[0].stderr)
    result = Reply("ok")
    pieces = []
    named = labels(ask)
    whole = bool(answers) and answers[0].source.foreach is None
    for label, answer in [(None, answers[0])] if whole else zip(named, answers):
        pieces.append((f"==> {label} <==\n" if label else "") + answer.stdout)
        words = trouble(answer)
        if words is None:
            try:
                result.rows += _parsed(ask, platform, answer, label)
                continue
            except ParseError as error:
                words = f"{answer.source.tool}: {error.why}" + (f": {error.line[:120]!r}" if error.line else _muttered(answer))
        result.lost[label or ""] = words
    result.text = "".join(piece if piece.endswith("\n") or not piece else piece + "\n" for piece in pieces)
    if result.lost and not (ask.reading.partial and result.rows):
        result.status = "unknown"
        result.words = "; ".join(dict.fromkeys(f"{label}: {words}" if label and not whole else words for label, words in list(result.lost.items())[:3]))
        result.words += f"; and {len(result.lost) - 3} more" if len(result.lost) > 3 else ""
    return result


def _muttered(answer: Answer) -> str:
    """What a tool that printed nothing said beside it."""
    last = answer.stderr.strip().splitlines()[-1:] if not answer.stdout.strip() else []
    return f" ({last[0][:200]})" if last else ""


def _parsed(ask: Ask, platform: str, answer: Answer, label: str | None) -> list[Values]:
    """Rows by the source that was asked, or by another that reads the same command's text of another version.

    Raises ParseError, the first source's.
    """
    same = [source for source in ask.sources if source is not answer.source and source.command == answer.source.command]
    try:
        return parse_source(ask.reading, platform, answer.source, answer.stdout, label)
    except ParseError:
        for source in same:
            with contextlib.suppress(ParseError):
                return parse_source(ask.reading, platform, source, answer.stdout, label)
        raise


def trouble(answer: Answer) -> str | None:
    """Why an answer is none, in words; None where its text is to be parsed."""
    tool = answer.argv[0]
    said = (answer.stderr.strip() or answer.stdout.strip()).splitlines()[-1:] or [""]
    if answer.status in ("missing", "failed"):
        return answer.stderr
    if answer.status == "denied":
        return f"no permission to run {tool}: {answer.stderr}"
    if answer.status in ("timeout", "hung"):
        return f"{tool} did not end in time" if answer.status == "timeout" else f"{tool} hangs in the kernel and was left behind"
    if answer.cut:
        return f"{tool} printed more than is kept"
    if answer.rc is not None and answer.rc not in answer.source.rc:
        if REFUSED.search(answer.stderr) or REFUSED.search(answer.stdout[-500:]):
            return f"no permission: {tool}: {said[0][:200]}"
        ended = f"was ended by signal {-answer.rc}" if answer.rc < 0 else f"exited with status {answer.rc}"
        return f"{tool} {ended}" + (f": {said[0][:200]}" if said[0] else "")
    return None


def kept(what: Reading, rows: list[Values]) -> list[Values]:
    """The rows that a run keeps of a reading; the evidence keeps all."""
    return [row for row in rows if any(fnmatch.fnmatchcase(row["name"], pattern) for pattern in what.keep)] if what.keep else rows


def kept_troubles(ask: Ask, said: t.Sequence[Values]) -> dict[str, str]:
    """Why kept texts are no answers, by their item: a tool's exit status is no part of its text.

    said: the kept commands of the reading, one an item; or, of a switch, one an alternative, of which any may have answered.
    """
    rc = {source.tool: {one for other in ask.sources if other.tool == source.tool for one in other.rc} for source in ask.sources}
    words = []
    for one in said:
        tool = str(one["argv"][0]).split()[0]
        source = replace(ask.sources[0], rc=tuple(rc.get(tool, {0})))
        words.append(trouble(Answer(**{key: value for key, value in one.items() if key != "reading"}, source=source)))
    named = labels(ask)
    if None in named or len(words) != len(named):
        return {"": words[0]} if words and None not in words and words[0] else {}
    return {label: word for label, word in zip(named, words) if label and word}


def from_evidence(ask: Ask, platform: str, text: str, troubled: t.Mapping[str, str] = MappingProxyType({})) -> Reply:
    """One reading from kept text, of a run or captured by hand; sections are headed ``==> item <==``.

    troubled: the items whose text is no answer, with the words why.
    """
    result = Reply("ok", text=text, lost=dict(troubled))
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
    missing = [label for label in labels(ask) if label] if not ask.reading.partial else []
    present = {section for section, _body in split_sections(text)}
    if None not in present:
        result.lost |= {label: "no text is kept of it" for label in missing if label not in present}
    if result.lost and not (ask.reading.partial and result.rows):
        result.status, result.words = "unknown", "; ".join(f"{label}: {words}" if label else words for label, words in list(result.lost.items())[:3])
    return result
