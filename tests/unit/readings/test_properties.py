# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a tool prints, a parse gives typed rows or raises its one error, in bounded time, and loses no row in silence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, catalogue, parse
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDINGS = Path(__file__).parents[2] / "recordings"


def gives_rows(case: Path) -> bool:
    """Whether a recording is of rows, not of an error."""
    expected = yaml.safe_load(case.with_suffix(".yml").read_text(encoding="utf-8"))
    return "error" not in expected and bool(expected["rows"])


GOOD = [case for case in sorted(RECORDINGS.glob("*/*/*.txt")) if gives_rows(case)]
PAIRS = sorted({(case.parent.name, case.parent.parent.name) for case in GOOD})
TYPES = {"str": str, "int": int, "asn": int, "float": float, "speed": float, "bool": bool, "list": list, "ints": list, "pci": str, "ipv4": str}
NOISE = ["% Invalid input detected at '^' marker.", "leaf01#", "-bash: line 1: warning: setlocale", "\x00\x01\x02", "x" * 5000, "", "\t", "日本", "{", "]"]
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


@pytest.mark.parametrize(("name", "platform"), PAIRS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_damaged_text_gives_typed_rows_or_the_one_error(name: str, platform: str, data) -> None:
    text = data.draw(st.sampled_from(texts(name, platform)))
    lines = text.split("\n")
    how = data.draw(st.sampled_from(["cut", "drop", "repeat", "shuffle", "noise", "join", "swap"]))
    at = data.draw(st.integers(0, max(len(lines) - 1, 0)))
    if how == "cut":
        text = text[: data.draw(st.integers(0, len(text)))]
    elif how == "drop":
        text = "\n".join(lines[:at] + lines[at + 1 :])
    elif how == "repeat":
        text = "\n".join(lines[: at + 1] * 2 + lines[at + 1 :])
    elif how == "shuffle":
        text = "\n".join(data.draw(st.permutations(lines)))
    elif how == "noise":
        text = "\n".join([*lines[:at], data.draw(st.sampled_from(NOISE)), *lines[at:]])
    elif how == "join":
        text = text + data.draw(st.sampled_from(texts(name, platform)))
    else:
        place = data.draw(st.integers(0, max(len(text) - 1, 0)))
        text = text[:place] + data.draw(st.characters()) + text[place + 1 :]
    holds(name, platform, text)


@pytest.mark.parametrize(("name", "platform"), PAIRS)
def test_line_ends_and_colours_change_nothing(name: str, platform: str) -> None:
    for text in texts(name, platform):
        rows = parse(name, platform, text)
        assert parse(name, platform, text.replace("\r\n", "\n").replace("\n", "\r\n")) == rows
        assert parse(name, platform, "\x1b[0m" + text) == rows


@pytest.mark.parametrize(("name", "platform"), PAIRS)
@pytest.mark.parametrize("junk", ["", " \n\n", "\x00" * 100, "x" * 200_000, "x\n" * 50_000, "{}", "[]", "null", "[" * 5000, "% Invalid input\n", "==> a <==\n"])
def test_junk_is_the_one_error_or_an_honest_nothing(name: str, platform: str, junk: str) -> None:
    rows = holds(name, platform, junk)
    if name in FREE:
        return
    nothing = any(source.none is not None for source in catalogue()[name].platforms[platform])
    assert rows is None or (rows == [] and nothing), "junk gave rows"


@pytest.mark.parametrize(("name", "platform"), PAIRS)
def test_a_huge_text_is_parsed_in_bounded_time(name: str, platform: str) -> None:
    text = max(texts(name, platform), key=len)
    holds(name, platform, text * (200_000 // max(len(text), 1)))
    holds(name, platform, text + "y" * 200_000 + "\n" + text)
    with pytest.raises(ParseError, match="more than any"):
        parse(name, platform, "z" * (9 * 1024 * 1024))
