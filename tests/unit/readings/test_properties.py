# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a tool prints, a parse gives typed rows or raises its one error, in bounded time, and loses no row in silence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, catalogue, parse
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.yaml_text import from_yaml
from ansible_collections.gpufabric.pyramid.tests.cases import check_each
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDINGS = Path(__file__).parents[2] / "recordings"


def gives_rows(case: Path) -> bool:
    """Whether a recording is of rows, not of an error."""
    expected = from_yaml(case.with_suffix(".yml").read_text(encoding="utf-8"))
    return "error" not in expected and bool(expected["rows"])


GOOD = [case for case in sorted(RECORDINGS.glob("*/*/*.txt")) if gives_rows(case)]
PAIRS = sorted({(case.parent.name, case.parent.parent.name) for case in GOOD})
TYPES = {
    "str": str, "int": int, "asn": int, "float": float, "speed": float, "bool": bool, "list": list, "ints": list, "pci": str, "ipv4": str,
    "duration": float,
    "size": float,
}  # fmt: skip
NOISE = ["% Invalid input detected at '^' marker.", "leaf01#", "-bash: line 1: warning: setlocale", "\x00\x01\x02", "x" * 5000, "", "\t", "日本", "{", "]"]
JUNK = {
    "nothing": "", "blanks": " \n\n", "zeros": "\x00" * 100, "one long line": "x" * 200_000, "many lines": "x\n" * 50_000, "object": "{}", "list": "[]",
    "null": "null", "brackets": "[" * 5000, "refusal": "% Invalid input\n", "file name": "==> a <==\n",
}  # fmt: skip
LONGEST_SECONDS = 3.0
# Any word is a kernel parameter.
FREE = {"kernel_cmdline"}


def texts(name: str, platform: str) -> list[str]:
    """The recordings that parse."""
    return [case.read_text(encoding="utf-8") for case in GOOD if (case.parent.name, case.parent.parent.name) == (name, platform)]


def holds(name: str, platform: str, text: str) -> list[dict] | None:
    """The rows, whole and typed; None where the one error was raised."""
    began = time.process_time()
    try:
        rows = parse(name, platform, text)
    except ParseError as error:
        assert error.reading == name and error.why
        return None
    finally:
        assert time.process_time() - began < LONGEST_SECONDS
    columns = {column.name: column for column in catalogue()[name].columns}
    for row in rows:
        assert set(row) == set(columns)
        for key, value in row.items():
            if value is None:
                assert columns[key].optional
            else:
                kind = TYPES[columns[key].type]
                assert isinstance(value, kind) and isinstance(value, bool) == (kind is bool), (key, value)
    return rows


def damaged(text: str, others: list[str], data: st.DataObject) -> str:
    """A recording that was cut, mixed up or written over, or with another after it."""
    lines = text.split("\n")
    how = data.draw(st.sampled_from(["cut", "drop", "repeat", "shuffle", "noise", "join", "swap"]))
    at = data.draw(st.integers(0, max(len(lines) - 1, 0)))
    if how == "cut":
        return text[: data.draw(st.integers(0, len(text)))]
    if how == "drop":
        return "\n".join(lines[:at] + lines[at + 1 :])
    if how == "repeat":
        return "\n".join(lines[: at + 1] * 2 + lines[at + 1 :])
    if how == "shuffle":
        return "\n".join(data.draw(st.permutations(lines)))
    if how == "noise":
        return "\n".join([*lines[:at], data.draw(st.sampled_from(NOISE)), *lines[at:]])
    if how == "join":
        return text + data.draw(st.sampled_from(others))
    place = data.draw(st.integers(0, max(len(text) - 1, 0)))
    return text[:place] + data.draw(st.characters()) + text[place + 1 :]


def called(pair: tuple[str, str]) -> str:
    """A reading on a platform, as a failure names it."""
    return f"{pair[0]} on {pair[1]}"


@pytest.mark.exhaustive
def test_a_damaged_text_gives_typed_rows_or_the_one_error() -> None:
    def check(pair: tuple[str, str]) -> None:
        recorded = texts(*pair)

        @settings(max_examples=25, deadline=None)
        @given(data=st.data())
        def examples(data: st.DataObject) -> None:
            holds(*pair, damaged(data.draw(st.sampled_from(recorded)), recorded, data))

        examples()

    check_each(PAIRS, check, called)


def test_line_ends_and_colours_change_nothing() -> None:
    def check(pair: tuple[str, str]) -> None:
        for text in texts(*pair):
            rows = parse(*pair, text)
            assert parse(*pair, text.replace("\r\n", "\n").replace("\n", "\r\n")) == rows
            assert parse(*pair, "\x1b[0m" + text) == rows

    check_each(PAIRS, check, called)


# Fifty thousand lines for each parser take a minute.
@pytest.mark.parametrize("junk", [pytest.param(name, marks=[pytest.mark.exhaustive] * (name == "many lines")) for name in JUNK])
def test_junk_is_the_one_error_or_an_honest_nothing(junk: str) -> None:
    def check(pair: tuple[str, str]) -> None:
        name, platform = pair
        rows = holds(name, platform, JUNK[junk])
        if name not in FREE:
            nothing = any(source.none is not None for source in catalogue()[name].platforms[platform])
            assert rows is None or (rows == [] and nothing), "junk gave rows"

    check_each(PAIRS, check, called)


@pytest.mark.exhaustive
def test_a_huge_text_is_parsed_in_bounded_time() -> None:
    def check(pair: tuple[str, str]) -> None:
        text = max(texts(*pair), key=len)
        holds(*pair, text * (200_000 // max(len(text), 1)))
        holds(*pair, text + "y" * 200_000 + "\n" + text)
        with pytest.raises(ParseError, match="more than any"):
            parse(*pair, "z" * (9 * 1024 * 1024))

    check_each(PAIRS, check, called)
