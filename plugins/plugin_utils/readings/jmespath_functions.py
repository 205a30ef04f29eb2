# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JMESPath with the functions that tables need: JMESPath alone loses the key of a row and the parent of a list."""

from __future__ import annotations

import functools
import typing as t

try:
    import jmespath
    import jmespath.exceptions
    import jmespath.functions

    HAS_JMESPATH = True
except ImportError:
    HAS_JMESPATH = False


if HAS_JMESPATH:

    class Tables(jmespath.functions.Functions):
        """``rows(object, 'column')``, ``pairs(object, 'column', 'column')``, ``unnest(array, 'field')``, ``tables(object, 'name', ...)``, ``piece(...)``."""

        @jmespath.functions.signature({"types": ["object"]}, {"types": ["string"], "variadic": True})
        def _func_tables(self, document: dict[str, t.Any], *names: str) -> list[dict[str, t.Any]]:
            """Each row of the innermost of NX-OS's nested tables, over the columns of the rows around it.

            A row without the next table is an error; it is gone where the name ends in ``?`` and stays as it is where in ``*``.
            """
            rows = [document]
            for name in names:
                rows = [{**_plain(row), **inner} for row in rows for inner in _inner(row, name)]
            return rows

        @jmespath.functions.signature({"types": ["string", "null"]}, {"types": ["string"]}, {"types": ["number"]})
        def _func_piece(self, text: str | None, separator: str, number: int) -> str | None:
            """The first (0) or last (-1) piece of a text."""
            return None if text is None else text.split(separator)[int(number)]

        @jmespath.functions.signature({"types": ["object", "null"]}, {"types": ["string"]}, {"types": ["string"]})
        def _func_pairs(self, table: dict[str, t.Any] | None, key: str, value: str) -> list[dict[str, t.Any]] | None:
            """Each entry of an object as a row of its key and its value."""
            return None if table is None else [{key: one, value: other} for one, other in table.items()]

        @jmespath.functions.signature({"types": ["object", "null"]}, {"types": ["string"]})
        def _func_rows(self, table: dict[str, t.Any] | None, column: str) -> list[dict[str, t.Any]] | None:
            """Each entry of an object, or each element of an entry that is a list, with its key as a column.

            Raises ValueError for what is no object, since it would be a row that no one misses.
            """
            if table is None:
                return None
            entries = [(key, row) for key, value in table.items() for row in (value if isinstance(value, list) else [value])]
            strange = next((key for key, row in entries if not isinstance(row, dict)), None)
            if strange is not None:
                raise ValueError(f"{strange[:60]!r} holds no object")
            return [{**row, column: key} for key, row in entries]

        @jmespath.functions.signature({"types": ["array", "null"]}, {"types": ["string"]})
        def _func_unnest(self, table: list[dict[str, t.Any]] | None, field: str) -> list[dict[str, t.Any]] | None:
            """Each element of ``field`` of each row, over the row's own columns; a row without elements is gone."""
            if table is None:
                return None
            return [{**{key: value for key, value in row.items() if key != field}, **child} for row in table for child in row.get(field) or []]


def _plain(row: dict[str, t.Any]) -> dict[str, t.Any]:
    return {key: value for key, value in row.items() if not key.startswith("TABLE_")}


def _inner(row: dict[str, t.Any], name: str) -> list[dict[str, t.Any]]:
    """The rows of one table of a row: NX-OS gives several as a list and one as itself."""
    word = name.rstrip("?*")
    if f"TABLE_{word}" not in row and name != word:
        return [row] if name.endswith("*") else []
    rows = [inner for table in _several(row.get(f"TABLE_{word}")) for inner in _several(table.get(f"ROW_{word}") if isinstance(table, dict) else None)]
    if not rows or not all(isinstance(inner, dict) for inner in rows):
        raise ValueError(f"the table {word[:60]} is missing or holds no row")
    return rows


def _several(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else [value]


@functools.cache
def compiled(expression: str) -> t.Callable[[t.Any], t.Any]:
    """The expression as a function of a document.

    The function raises ValueError where the document is not of the shape that the expression needs.
    """
    if not HAS_JMESPATH:
        raise ImportError("the Python package jmespath is needed on the controller: pip install jmespath")
    query = jmespath.compile(expression)
    options = jmespath.Options(custom_functions=Tables())

    def search(document: t.Any) -> t.Any:
        try:
            return query.search(document, options=options)
        except (jmespath.exceptions.JMESPathError, AttributeError, TypeError, KeyError) as bad:
            raise ValueError(str(bad).splitlines()[0]) from bad

    return search
