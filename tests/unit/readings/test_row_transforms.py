# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrices, sums, row numbers and announced counts: what is missing is an error, and what is not said is not zero."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.catalogue import Column, Reading, Source
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.cells import CONVERT, cell
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import parse_source
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.row_transforms import must_count, scaled, shaped, spread

PAIRS = {"row": "device", "column": "peer", "value": "connection", "itself": "X"}


def line(name: str, cells: str, columns: str = "A0 B0") -> dict[str, t.Any]:
    return {"line": name, "columns": columns, "cells": cells, "alias": "", "name": ""}


def alias(word: str, name: str) -> dict[str, t.Any]:
    return {"line": "", "columns": "A0 B0", "cells": "", "alias": word, "name": name}


def test_matrix_gives_a_row_a_pair_by_the_names_of_its_legend() -> None:
    rows = shaped([line("A0", "X PIX"), line("B0", "SYS X"), alias("B0", "mlx5_0")], PAIRS, {}, None)
    assert rows == [
        {"device": "A0", "peer": "mlx5_0", "connection": "PIX"},
        {"device": "mlx5_0", "peer": "A0", "connection": "SYS"},
    ]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ([line("A0", "X PIX"), line("B0", "SYS")], "row of B0 has 1 cells for 2 columns"),
        ([line("A0", "X PIX"), line("B0", "SYS X PIX")], "row of B0 has 3 cells"),
        ([line("A0", "X PIX")], "2 columns, but 1 rows"),
        ([line("A0", "X PIX"), line("C0", "SYS X")], "rows of others"),
        ([line("A0", "X PIX"), line("A0", "X PIX")], "rows of others"),
        ([line("A0", "X PIX"), line("B0", "X SYS")], "columns are shifted"),
        ([line("B0", "X PIX", "B0 B1"), line("B1", "PIX X", "B0 B1"), alias("B0", "mlx5_0")], "legend lacks B1"),
    ],
)
def test_matrix_that_is_not_whole_is_an_error(raw: list[dict[str, t.Any]], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        shaped(raw, PAIRS, {}, None)


@pytest.mark.parametrize(
    ("values", "kind", "total"),
    [
        (["1", "0", "3"], "sum", 4),
        (["N/A", "3"], "sum", 3),
        (["N/A"], "sum", None),
        ([], "sum", None),
        (["None"], "count", 0),
        (["4711", "4712"], "count", 2),
        (["N/A"], "count", None),
    ],
)
def test_total_is_none_where_nothing_was_reported(values: list[str], kind: str, total: int | None) -> None:
    assert shaped([{"errors": values}], None, {"errors": kind}, None) == [{"errors": total}]


def test_total_of_a_word_is_an_error() -> None:
    with pytest.raises(ValueError, match="'Unknown Error', which is no number"):
        shaped([{"errors": ["0", "Unknown Error"]}], None, {"errors": "sum"}, None)


def test_number_is_that_of_the_row() -> None:
    assert shaped([{}, {}], None, {}, "gpu") == [{"gpu": 0}, {"gpu": 1}]


@pytest.mark.parametrize("output", ["2", "GPU0 GPU1"])
def test_count_is_a_number_or_a_list_of_words(output: str) -> None:
    must_count([{"all": output}, {"all": output}], "all")
    with pytest.raises(ValueError, match="announces 2 rows and has 1"):
        must_count([{"all": output}], "all")


def test_count_may_be_of_each_group_and_may_be_untold() -> None:
    how = {"column": "best", "by": ["prefix"], "where": {"selected": "*via"}}
    rows = [{"prefix": "a", "best": "1", "selected": "*via"}, {"prefix": "a", "best": "1", "selected": "via"}]
    must_count([*rows, {"prefix": "b", "best": "1", "selected": "*via"}], how)
    with pytest.raises(ValueError, match="announces 2 rows of b and has 1"):
        must_count([*rows, {"prefix": "b", "best": "2", "selected": "*via"}], how)
    must_count([{"all": ""}], {"column": "all", "unless_silent": True})


def test_what_must_be_reported_may_be_unknown_but_not_absent() -> None:
    column = Column("count", "int", True, stated=True)
    assert cell(column, "N/A") is None and cell(column, "0") == 0
    for absent in (None, ""):
        with pytest.raises(ValueError, match="a row lacks its count"):
            cell(column, absent)


@pytest.mark.parametrize("text", ["1", "x", ""])
def test_count_that_does_not_hold_keeps_the_rows_as_evidence(text: str) -> None:
    what = Reading("r", "d", (Column("name", "str", False),), {})
    source = Source("tool", jmespath="[@]", count="all")
    with pytest.raises(ParseError) as caught:
        parse_source(what, "linux", source, f'{{"name": "a", "all": "{text} x y"}}')
    assert caught.value.rows == [{"name": "a"}]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:9B:00.0", "0000:9b:00.0"),
        ("PCI:0000:9b:00", "0000:9b:00.0"),
        ("17:00.1", "0000:17:00.1"),
        ("10000:e1:00.0", "10000:e1:00.0"),
        ("00000008:01:00.0", "0008:01:00.0"),
    ],
)
def test_pci_address_has_one_spelling(text: str, address: str) -> None:
    assert CONVERT["pci"](text) == address


@pytest.mark.parametrize("text", ["0000:9b:0", "9b", "0000:9b:00.8", "GPU0"])
def test_no_pci_address_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        CONVERT["pci"](text)


def test_numbers_come_to_one_unit() -> None:
    how = {"by": "unit", "columns": ["rate"], "factors": {"Gb": 1.0, "MiB": 0.008388608}}
    assert scaled([{"unit": "MiB", "rate": "100"}, {"unit": "Gb", "rate": "2.5"}, {"unit": "Gb", "rate": ""}], how) == [
        {"unit": "MiB", "rate": 0.838861},
        {"unit": "Gb", "rate": 2.5},
        {"unit": "Gb", "rate": ""},
    ]
    with pytest.raises(ValueError, match="unit is 'KiB', which is not known"):
        scaled([{"unit": "KiB", "rate": "1"}], how)


def test_cells_lists_and_bitmaps_become_a_row_a_number() -> None:
    rows = spread([{"port": "a", "rx_cells": "5 6", "tx_cells": ""}], {"number": "priority", "cells": {"rx_cells": "rx", "tx_cells": "tx"}})
    assert [(row["priority"], row["rx"], row["tx"]) for row in rows] == [("0", "5", ""), ("1", "6", "")]
    listed = spread([{"port": "a", "on": "1,7"}], {"number": "priority", "listed": {"on": "pfc"}})
    assert [row["priority"] for row in listed if row["pfc"] == "yes"] == ["1", "7"] and len(listed) == 8
    bits = spread([{"port": "a", "on": "88"}], {"number": "priority", "bits": {"on": "pfc"}})
    assert [row["priority"] for row in bits if row["pfc"] == "yes"] == ["3", "7"]
    off = spread([{"port": "a", "on": "1,7", "pausing": ""}], {"number": "priority", "listed": {"on": "pfc"}, "where": "pausing"})
    assert [row["pfc"] for row in off] == ["no"] * 8


def test_cells_are_of_the_numbers_of_their_heading() -> None:
    how = {"number": "group", "numbers": "groups", "cells": {"cells": "dropped"}}
    rows = spread([{"groups": "PG0  PG3", "cells": "5 6"}], how)
    assert [(row["group"], row["dropped"]) for row in rows] == [("0", "5"), ("3", "6")]
    with pytest.raises(ValueError, match="a row has 1 cells for 2 columns"):
        spread([{"groups": "PG0  PG3", "cells": "5"}], how)


def test_an_ipv4_address_in_any_spelling():
    for text in ("10.51.0.1", "::ffff:10.51.0.1", "0000:0000:0000:0000:0000:ffff:0a33:0001"):
        assert CONVERT["ipv4"](text) == "10.51.0.1"
    assert CONVERT["ipv4"]("fe80:0000:0000:0000:5e25:73ff:feaa:0100") is None
    with pytest.raises(ValueError, match="does not appear"):
        CONVERT["ipv4"]("10.51.0")


@pytest.mark.parametrize("value", ["nan", "NaN", float("nan")])
def test_what_is_no_number_is_an_error_and_never_within_a_limit(value) -> None:
    with pytest.raises(ValueError, match=r"(?i)power_dbm is 'nan', which is no float"):
        cell(Column("power_dbm", "float", False), value)


def test_count_may_be_what_there_is_at_least() -> None:
    how = {"column": "all", "at_least": True}
    must_count([{"all": "1"}, {"all": "1"}], how)
    with pytest.raises(ValueError, match="announces 2 rows and has 1"):
        must_count([{"all": "2"}], how)


def test_row_that_is_omitted_counts_in_the_total() -> None:
    what = Reading("r", "d", (Column("name", "str", False),), {})
    source = Source("tool", jmespath="@", count="all", omit="incomplete")
    assert parse_source(what, "linux", source, '[{"name": "a", "all": "2"}, {"all": "2", "incomplete": "INCOMPLETE"}]') == [{"name": "a"}]
