# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept of texts that were parsed before."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parsing, reading
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsed_texts import ParsedTexts

SOURCE, OTHER = object(), object()
LSMOD = "Module                  Size  Used by\nib_core               425984  2 rdma_cm,ib_uverbs\nrdma_cm               118784  0\n"


class Tagged(str):
    """A name of a type of its own."""


def test_each_caller_gets_rows_of_its_own() -> None:
    texts = ParsedTexts()
    texts.keep([{"name": "a", "used_by": ["b"]}], SOURCE, "text", "item")
    first = texts.rows(SOURCE, "text", "item")
    assert first == [{"name": "a", "used_by": ["b"]}]
    first[0]["used_by"].append("c")
    first[0]["name"] = "changed"
    assert texts.rows(SOURCE, "text", "item") == [{"name": "a", "used_by": ["b"]}]


def test_rows_are_of_this_source_this_text_and_this_item() -> None:
    texts = ParsedTexts()
    texts.keep([{"name": "a"}], SOURCE, "text", "item")
    assert texts.rows(OTHER, "text", "item") is None
    assert texts.rows(SOURCE, "text ", "item") is None
    assert texts.rows(SOURCE, "text", "another") is None
    assert texts.rows(SOURCE, "text", None) is None


def test_a_source_that_took_the_place_of_another_in_memory_is_not_taken_for_it() -> None:
    texts = ParsedTexts()
    texts.keep([{"name": "a"}], SOURCE, "text")
    (key,) = texts._kept
    texts._kept[key] = OTHER, texts._kept[key][1]
    assert texts.rows(SOURCE, "text") is None


def test_what_was_not_used_for_longest_goes_first() -> None:
    texts = ParsedTexts(most_characters=8)
    texts.keep([{"of": "a"}], SOURCE, "aaaa")
    texts.keep([{"of": "b"}], SOURCE, "bbbb")
    assert texts.rows(SOURCE, "aaaa") == [{"of": "a"}]
    texts.keep([{"of": "c"}], SOURCE, "cccc")
    assert texts.rows(SOURCE, "bbbb") is None
    assert (texts.rows(SOURCE, "aaaa"), texts.rows(SOURCE, "cccc")) == ([{"of": "a"}], [{"of": "c"}])
    texts.keep([{"of": "d"}], SOURCE, "d" * 9)
    assert texts.rows(SOURCE, "d" * 9) is None
    assert texts.rows(SOURCE, "aaaa") == [{"of": "a"}]


def test_rows_with_a_value_of_a_type_of_its_own_are_not_kept() -> None:
    texts = ParsedTexts()
    texts.keep([{"name": Tagged("a")}], SOURCE, "text")
    assert texts.rows(SOURCE, "text") is None


def test_a_text_that_comes_again_is_not_parsed_again_and_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_parsed_texts", ParsedTexts())
    calls = []
    whole = parsing._parse_text
    monkeypatch.setattr(parsing, "_parse_text", lambda *given: calls.append(given) or whole(*given))
    source = reading("lsmod").platforms["linux"][0]
    first = parsing.parse_source(reading("lsmod"), "linux", source, LSMOD)
    assert len(first) == 2 and parsing.parse_source(reading("lsmod"), "linux", source, LSMOD) == first
    assert len(calls) == 1


def test_an_error_is_raised_each_time() -> None:
    source = reading("lsmod").platforms["linux"][0]
    for _time in range(2):
        with pytest.raises(parsing.ParseError):
            parsing.parse_source(reading("lsmod"), "linux", source, "")
