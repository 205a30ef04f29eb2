# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text to typed rows. Whatever cannot be accounted for is a ParseError, never a missing row."""

from __future__ import annotations

import functools
import io
import json
import re
import textwrap
import typing as t

from ..text.control_characters import ANSI
from .catalogue import HERE, KINDS, Column, Reading, Source, catalogue, reading
from .cells import cell
from .jmespath_functions import HAS_JMESPATH, compiled
from .parsed_texts import ParsedTexts
from .row_transforms import merged, must_count, scaled, shaped, spread
from .rows import Row

try:
    import textfsm

    HAS_TEXTFSM = True
except ImportError:
    HAS_TEXTFSM = False

PROMPT = r"[\w.@:~()/-]+[#>$]"
# Some texts begin with the name of a command as their heading, so that one without a prompt is an echo only before JSON, or where all else is indented.
COMMAND = r"(?:sudo )?(?:show|nv|net|vtysh|ip|lldpctl) .*\n"
INDENTED = r"(?:[ \t]*\n|[ \t]+\S.*(?:\n|\Z))+\Z"
ECHO = re.compile(rf"\A\s*(?:{PROMPT} ?{COMMAND}|{COMMAND}(?=\s*[\[{{]|{INDENTED}))")
LAST_PROMPT = re.compile(rf"(?:\n{PROMPT}[^\S\n]*(?:exit|logout)?[^\S\n]*)+\s*\Z")
PAGER = re.compile(r"^[^\S\n]*-{2,3} ?\(?more\b.*-{2,3}", re.MULTILINE | re.IGNORECASE)
# What no whole answer of a switch holds, wherever it stands.
REFUSED = re.compile(
    r"^[^\S\n]*(?:% ?(?:Invalid|Incomplete|Ambiguous|Unknown command|Unrecognized|Authorization|Permission|Access)|Syntax error"
    r"|Traceback \(most recent|[Ee](?:rror|RROR): |Permission denied|command not found).*",
    re.MULTILINE,
)
# The error of a template's rule for a line with which a switch refuses.
REFUSES = "the switch refuses"
SECTION = re.compile(r"^==> (\S+) <==$", re.MULTILINE)
# What str.splitlines() takes for the end of a line and no tool writes as one: a module whose memory is damaged has it in its names.
NO_LINE_ENDS = re.compile("(?<!\n)\x0c|[\x0b\x1c-\x1e\x85\u2028\u2029]")
ESCAPED = re.compile(r'\\(["\\/])')
MAX_TEXT = 8 * 1024 * 1024

_parsed_texts = ParsedTexts()


class ParseError(ValueError):
    """The text cannot be accounted for as this reading.

    why: one sentence; line: the text's line that no rule knows, where there is one;
    rows: what was understood before it, as evidence and never as an answer; refused: the node does not have the command, or not for this user.
    """

    def __init__(self, name: str, platform: str, why: str, line: str | None = None, rows: t.Sequence[Row] = (), refused: bool = False) -> None:
        self.reading, self.platform, self.why, self.line, self.rows = name, platform, why, line, list(rows)
        self.refused = refused or why == REFUSES
        super().__init__(f"{name} on {platform}: {why}" + (f": {line[:200]!r}" if line else ""))


def parse(name: str, platform: str, stdout: str, item: str | None = None) -> list[Row]:
    """The rows that a tool's text says.

    name: a reading's name, such as ``ibstat``; platform: ``linux``, ``eos``, ``nxos``, ``sonic``, ``cumulus`` or ``frr``.
    stdout: the text as captured; sections headed ``==> mlx5_0 <==`` are parsed each for its item.
    item: the rail, port or target that the text is of, where the text itself does not state it.
    Returns one dict a row, with every column of the reading; None where the tool did not say.
    Raises ParseError for text that no source of the platform accounts for, and for text without a row.
    Raises KeyError for an unknown reading or a platform that the reading does not have.
    """
    what = reading(name)
    if platform not in what.platforms:
        raise KeyError(f"reading {name} has no platform {platform!r}, only {', '.join(what.platforms) or 'what the fabric reports'}")
    errors: list[tuple[bool, int, ParseError]] = []
    json_text = split_sections(stdout)[-1][1].lstrip()[:1] in ("{", "[")
    for source in what.platforms[platform]:
        try:
            return parse_source(what, platform, source, stdout, item)
        except ParseError as failed:
            errors.append((KINDS[platform] == "switch" and json_text == (source.jmespath is not None), len(failed.rows), failed))
    # The alternative that understood most says best what is wrong; of a switch, one that reads the text's own form.
    raise max(errors, key=lambda error: error[:2])[2]


def split_sections(text: str) -> list[tuple[str | None, str]]:
    """Pieces of a text by its ``==> item <==`` headings; (None, text) where it has none."""
    parts = SECTION.split(text) if "==> " in text else [text]
    if len(parts) == 1:
        return [(None, text)]
    pairs: list[tuple[str | None, str]] = [(None, parts[0])] if parts[0].strip() else []
    return pairs + [(parts[i], parts[i + 1].lstrip("\n")) for i in range(1, len(parts), 2)]


def parse_source(what: Reading, platform: str, source: Source, stdout: str, item: str | None = None) -> list[Row]:
    """As ``parse``, by one given source."""
    rows = _parsed_texts.rows(source, stdout, what.name, platform, item)
    if rows is None:
        rows = _parse_text(what, platform, source, stdout, item)
        _parsed_texts.keep(rows, source, stdout, what.name, platform, item)
    return rows


def _parse_text(what: Reading, platform: str, source: Source, stdout: str, item: str | None) -> list[Row]:
    if len(stdout) > MAX_TEXT:
        raise ParseError(what.name, platform, f"{len(stdout)} characters are more than any {source.tool} prints")
    text = ANSI.sub("", stdout)
    # Patterns that begin with a repetition or a line's start are tried at each character, and most texts have neither.
    if "\r" in text:
        text = re.sub(r"\r+\n?", "\n", text)
    text = NO_LINE_ENDS.sub("?", text)
    if "\0" in text:
        raise ParseError(what.name, platform, "the text holds binary data")
    switch = KINDS[platform] == "switch"
    if switch and PAGER.search(text):
        raise ParseError(what.name, platform, "a pager stopped the text: it may lack lines")
    refused = REFUSED.search(text) if switch else None
    if refused:
        raise ParseError(what.name, platform, "the switch refuses the command", refused[0].strip(), refused=True)
    rows: list[Row] = []
    for section, body in split_sections(text):
        rows += _parse_one(what, platform, source, _undressed(body) if switch else body, section or item)
    _must_differ(what, platform, rows)
    return rows


def _undressed(text: str) -> str:
    """A switch's text without the command that a terminal echoed before it, the prompt after it, and what indents all of its lines alike, as in a document."""
    return LAST_PROMPT.sub("\n", textwrap.dedent(ECHO.sub("", textwrap.dedent(text), count=1)))


def _must_differ(what: Reading, platform: str, rows: list[Row]) -> None:
    seen = set()
    for row in rows if what.key else ():
        key = tuple(row[column] for column in what.key)
        if key in seen:
            raise ParseError(what.name, platform, f"the text has two rows of {' '.join(str(one) for one in key if one is not None)}", rows=rows)
        seen.add(key)


def _parse_one(what: Reading, platform: str, source: Source, text: str, item: str | None) -> list[Row]:
    raw, error = _raw_rows(what, platform, source, text)
    rows: list[Row] = []
    try:
        raw = spread(raw, source.spread) if source.spread else raw
        raw = merged(raw, source.merge) if source.merge else raw
        raw = shaped(_pivot(raw, source.pivot) if source.pivot else raw, source.matrix, source.totals, source.number)
        raw = scaled(raw, source.scale) if source.scale else raw
    except ValueError as bad:
        raise ParseError(what.name, platform, *(error or (str(bad), None))) from bad
    lacking = [column for column in source.reported if all(values.get(column) in (None, "") for values in raw)]
    if raw and lacking and error is None:
        raise ParseError(what.name, platform, f"the text ends before it reports {lacking[0]}: it is cut off")
    cells = _cells(what, source)
    for values in raw:
        if source.omit and values.get(source.omit):
            continue
        if source.item and item is not None:
            named = zip(source.item.split(">"), item.split(">"))
            values.update({column: value for column, value in named if not values.get(column)})
        try:
            rows.append(_typed(cells, values))
        except ValueError as bad:
            # A row that the end of the text cut off lacks columns, and the line that ended it says more.
            why, line = error or (str(bad), None)
            raise ParseError(what.name, platform, why, line, rows) from bad
    if error is not None:
        raise ParseError(what.name, platform, error[0], error[1], rows)
    if source.count is not None:
        try:
            must_count(raw, source.count)
        except ValueError as bad:
            raise ParseError(what.name, platform, str(bad), rows=rows) from bad
    if not rows and not (source.none is not None and re.search(source.none, text.strip())):
        raise ParseError(what.name, platform, "printed nothing" if not text.strip() else "no row was found in the text")
    return rows


def _raw_rows(what: Reading, platform: str, source: Source, text: str) -> tuple[list[Row], tuple[str, str | None] | None]:
    if source.jmespath is not None:
        return _query(what, platform, source.jmespath, text), None
    if source.lines is not None:
        text = "\n".join(match[0] for match in re.finditer(source.lines, text, re.MULTILINE))
        text = ESCAPED.sub(r"\1", text) if source.strings else text
    return _template_rows(source.template or "", text)


def _query(what: Reading, platform: str, expression: str, text: str) -> list[Row]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise ParseError(what.name, platform, f"the text is not JSON ({bad})" if text.strip() else "printed nothing") from bad
    try:
        found = compiled(expression)(document)
    except ValueError as bad:
        raise ParseError(what.name, platform, f"the JSON is not of the known shape ({bad})") from bad
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ParseError(what.name, platform, "the JSON is not of the known shape")
    return found


def preload() -> None:
    """Compile every template and expression now: a controller does it once before it forks, not once in each worker."""
    if not (HAS_TEXTFSM and HAS_JMESPATH):
        # Whoever parses says what is missing.
        return
    for what in catalogue().values():
        for sources in what.platforms.values():
            for source in sources:
                if source.jmespath is not None:
                    compiled(source.jmespath)
                else:
                    template(source.template or "")


@functools.cache
def template(name: str) -> t.Any:
    """The compiled TextFSM template of that name; compiled once a process, and reset before each use."""
    if not HAS_TEXTFSM:
        raise ImportError("the Python package textfsm is needed on the controller: pip install textfsm")
    return textfsm.TextFSM(io.StringIO((HERE / "templates" / f"{name}.textfsm").read_text(encoding="utf-8")))


def _template_rows(name: str, text: str) -> tuple[list[Row], tuple[str, str | None] | None]:
    machine = template(name)
    machine.Reset()
    error = None
    try:
        machine.ParseText(text)
    except textfsm.TextFSMError as bad:
        error = _words(str(bad))
    if error is None and machine._cur_state_name.startswith("Until"):
        error = "the text is cut off", None
    header = [column.lower() for column in machine.header]
    return [dict(zip(header, row)) for row in machine._result], error


def _words(message: str) -> tuple[str, str | None]:
    """TextFSM says ``State Error raised. Rule Line: N. Input Line: TEXT.`` or ``Error: WORDS. Rule Line: N. Input Line: TEXT.``"""
    match = re.match(r"(?:State Error raised|Error: (?P<why>.*?))\. Rule Line: \d+\. Input Line: (?P<line>.*?)\.?$", message, re.DOTALL)
    if match is None:
        return message, None
    why = (match["why"] or "a line that no rule knows").strip("\"'")
    return why, match["line"]


def _pivot(raw: list[Row], how: dict[str, t.Any]) -> list[Row]:
    by, name, value, columns = how.get("by", []), how["name"], how["value"], how.get("columns")
    rows: dict[tuple[t.Any, ...], Row] = {}
    seen: dict[tuple[t.Any, ...], t.Any] = {}
    if "meanings" in how:
        raw = [one for one in raw if one[name] in how["columns"]]
    for one in raw:
        key = tuple(one[column] for column in by)
        row = rows.setdefault(key, {column: one[column] for column in by})
        column = columns.get(one[name]) if columns else one[name]
        if seen.setdefault((*key, one[name]), one[value]) != one[value]:
            raise ValueError(f"the text has two values of {one[name]}, {seen[(*key, one[name])]} and {one[value]}")
        if column is not None:
            row[column] = one[value]
    return list(rows.values())


class _Cell(t.NamedTuple):
    """How a source fills a column: its value where the text has none, the column whose value it has then, and what words mean."""

    column: Column
    constant: t.Any
    other: str | None
    mapping: dict[str, str] | None


def _cells(what: Reading, source: Source) -> list[tuple[str, _Cell]]:
    names = ((one.name, one) for one in what.columns)
    return [(name, _Cell(one, source.constant.get(name), source.copy.get(name), source.map.get(name))) for name, one in names]


def _typed(cells: list[tuple[str, _Cell]], values: Row) -> Row:
    row: Row = {}
    for name, (column, constant, other, mapping) in cells:
        value = values.get(name, constant)
        if other is not None and value in (None, ""):
            value = values.get(other)
        if mapping is not None and isinstance(value, str):
            value = mapping.get(" ".join(value.split()), value)
        row[name] = cell(column, value)
    return row
