# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows by a key, and the odd ones of a group."""

from __future__ import annotations

import typing as t
from collections import Counter

Rows = list[dict[str, t.Any]]
Key = t.TypeVar("Key")


def grouped(rows: Rows, column: str) -> dict[t.Any, Rows]:
    """The rows by the value of a column."""
    result: dict[t.Any, Rows] = {}
    for row in rows:
        result.setdefault(row[column], []).append(row)
    return result


def odd_ones(values: t.Mapping[Key, t.Any]) -> t.Iterator[tuple[Key, t.Any, t.Any]]:
    """Each (key, value, usual value) whose value is not the commonest one; of equally common ones the smallest is usual."""
    if not values:
        return
    usual = max(sorted(Counter(values.values()).items(), key=lambda item: str(item[0])), key=lambda item: item[1])[0]
    for key, value in values.items():
        if value != usual:
            yield key, value, usual
