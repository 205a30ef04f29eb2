# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes that TextFSM cannot give: a row that comes in pieces, a matrix, a sum, a row's own number, and whether rows are missing.

Everything here works on the raw rows of a template, whose values are still text, and raises ValueError.
"""

from __future__ import annotations

import re
import typing as t

from .rows import Row

# Priorities, and the groups and queues of switches that are named after them.
NUMBERS = 8
UNSAID = ("", "N/A", "[N/A]", "Not Supported", "[Not Supported]", "Insufficient Permissions")


def shaped(raw: list[Row], matrix: dict[str, t.Any] | None, totals: dict[str, str], number: str | None) -> list[Row]:
    """Raw rows after a source's ``matrix``, ``totals`` and ``number``."""
    if matrix:
        raw = _named(_pairs(raw, matrix), raw, matrix)
    for ordinal, row in enumerate(raw):
        for column, kind in totals.items():
            row[column] = _total(row[column], kind)
        if number is not None:
            row[number] = ordinal
    return raw


def merged(raw: list[Row], by: list[str]) -> list[Row]:
    """Rows with the same values of the columns ``by`` as one row: each table of the text reports a piece of it.

    Rows of a kind (equal but for the numbers in their names) report the same columns, or the text is cut off.
    """
    rows: dict[tuple[str, ...], Row] = {}
    for one in raw:
        nameless = [key for key in by if not isinstance(one[key], str)]
        if nameless:
            raise ValueError(f"a row lacks its {nameless[0]}")
        row = rows.setdefault(tuple(one[key] for key in by), dict.fromkeys(one, ""))
        for column, stated in one.items():
            if stated in (None, ""):
                continue
            if row[column] not in ("", stated):
                raise ValueError(f"{' '.join(one[key] for key in by)} has two values of {column}, {row[column]} and {stated}")
            row[column] = stated
    columns_of: dict[str, tuple[str, set[str]]] = {}
    for key, row in rows.items():
        columns = {column for column, value in row.items() if value != ""}
        first, wanted = columns_of.setdefault(re.sub(r"\d+", "", " ".join(key)), (" ".join(key), columns))
        if columns != wanted:
            raise ValueError(f"{first} and {' '.join(key)} differ in {', '.join(sorted(columns ^ wanted))}: the text is cut off")
    return list(rows.values())


def spread(raw: list[Row], how: dict[str, t.Any]) -> list[Row]:
    """A row a number: of cells in turn (after those of its ``tens``) or under a heading of ``numbers``, or of the numbers of a list or a bitmap that are on."""
    rows = []
    for one in raw:
        numbers = re.findall(r"\d+", one[how["numbers"]]) if "numbers" in how else None
        columns = {new: one[old].split() for old, new in how.get("cells", {}).items() if one[old]}
        on = "where" not in how or bool(one[how["where"]])
        columns |= {new: ["yes" if on and str(number) in one[old] else "no" for number in range(NUMBERS)] for old, new in how.get("listed", {}).items()}
        columns |= {new: ["yes" if int(one[old] or "0", 16) >> number & 1 else "no" for number in range(NUMBERS)] for old, new in how.get("bits", {}).items()}
        empty = dict.fromkeys(how.get("cells", {}).values(), "")
        width = max((len(cells) for cells in columns.values()), default=0)
        if numbers is not None and len(numbers) != width:
            raise ValueError(f"a row has {width} cells for {len(numbers)} columns")
        first = 10 * int(one[how["tens"]]) if "tens" in how else 0
        for index in range(width):
            number = str(first + index) if numbers is None else numbers[index]
            rows.append({**one, **empty, how["number"]: number, **{new: cells[index] for new, cells in columns.items()}})
    return rows


def scaled(raw: list[Row], how: dict[str, t.Any]) -> list[Row]:
    """Rows whose ``columns`` are in one unit, by the factor of the unit's word in the column ``by``."""
    for row in raw:
        if row[how["by"]] not in how["factors"]:
            raise ValueError(f"the unit is {row[how['by']][:60]!r}, which is not known")
        factor = how["factors"][row[how["by"]]]
        row.update({column: _times(row[column], factor) for column in how["columns"]})
    return raw


def _times(columns_of: t.Any, factor: float) -> t.Any:
    """A number in another unit; what is none stays as it is, for its column's type to refuse or to take as not reported."""
    try:
        return round(float(columns_of) * factor, 6)
    except (TypeError, ValueError, OverflowError):
        return columns_of


def must_count(raw: list[Row], count: str | dict[str, t.Any]) -> None:
    """The column ``count``, a number or a list of words, states how many rows there must be.

    As ``{column: .., by: [..], where: {..}}`` it states how many of the rows with the same values of ``by`` have those of ``where``;
    with ``unless_silent`` a text may announce nothing, and with ``at_least`` it may have more than it announces.
    """
    how: dict[str, t.Any] = {"column": count} if isinstance(count, str) else count
    groups: dict[tuple[t.Any, ...], list[Row]] = {}
    for row in raw:
        groups.setdefault(tuple(row[column] for column in how.get("by", [])), []).append(row)
    for key, group in groups.items():
        there = sum(all(row[column] == value for column, value in how.get("where", {}).items()) for row in group)
        for stated in {str(row.get(how["column"]) or "").strip() for row in group}:
            wanted = int(stated) if stated.isdecimal() else len(stated.split())
            enough = there >= wanted if how.get("at_least") else there == wanted
            if not enough and (stated or not how.get("unless_silent")):
                of = f" of {' '.join(map(str, key))}" if key else ""
                raise ValueError(f"the text announces {wanted} rows{of} and has {there}: it is cut off, or of a form that is not known")


def _total(values: t.Any, kind: str) -> int | None:
    """``sum`` of the values, or ``count`` of those that are neither the word None nor G, a process that only draws; None where none was stated."""
    stated: list[str] = [value for value in values or () if value.strip() not in UNSAID]
    if not stated:
        return None
    if kind == "count":
        return sum(value not in ("None", "G") for value in stated)
    strange = [value for value in stated if not value.strip().isdecimal()]
    if strange:
        raise ValueError(f"a counter is {strange[0][:60]!r}, which is no number")
    return sum(int(value) for value in stated)


def _pairs(raw: list[Row], how: dict[str, t.Any]) -> list[Row]:
    """One row a pair of a square matrix; what stands on its diagonal is checked and left out."""
    lines = [row for row in raw if row.get("line")]
    there = sorted(row["line"] for row in lines)
    pairs = []
    for row in lines:
        line, columns, cells = row["line"], row["columns"].split(), row["cells"].split()
        if len(columns) != len(cells):
            raise ValueError(f"the row of {line} has {len(cells)} cells for {len(columns)} columns")
        if sorted(columns) != there:
            raise ValueError(f"the matrix has {len(columns)} columns, but {len(lines)} rows, or rows of others")
        for column, cell in zip(columns, cells):
            if (column == line) != (cell == how["itself"]):
                raise ValueError(f"the cell of {line} and {column} is {cell}: the columns are shifted")
            if column != line:
                pairs.append({how["row"]: line, how["column"]: column, how["value"]: cell})
    return pairs


def _named(pairs: list[Row], raw: list[Row], how: dict[str, t.Any]) -> list[Row]:
    """The pairs with the names of the legend; a legend that lacks one of its kind is cut off, and so is a text without it where there must be one."""
    legend = {row["alias"]: row["name"] for row in raw if row.get("alias")}
    kinds = {alias.rstrip("0123456789") for alias in legend} | {how.get("alias")}
    for pair in pairs:
        for column in (how["row"], how["column"]):
            word = pair[column]
            if word not in legend and word.rstrip("0123456789") in kinds:
                raise ValueError(f"the legend lacks {word}")
            pair[column] = legend.get(word, word)
    return pairs
