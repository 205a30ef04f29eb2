# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of texts that this process parsed before: most NICs of a pod print the same settings, and a switch's text is parsed twice."""

from __future__ import annotations

import marshal
import typing as t
from collections import OrderedDict

from .rows import Row

# A process keeps so much text, and none that is longer than the second number, which hardly comes twice.
MOST_CHARACTERS = 4 * 1024 * 1024
LONGEST = 64 * 1024


class ParsedTexts:
    """The rows of the texts that were used last; each caller gets rows of its own."""

    def __init__(self, most_characters: int = MOST_CHARACTERS) -> None:
        self._most, self._characters = most_characters, 0
        self._kept: OrderedDict[tuple[t.Any, ...], tuple[t.Any, bytes]] = OrderedDict()

    def rows(self, source: t.Any, text: str, *by: str | None) -> list[Row] | None:
        """The rows of this very text by this source; None where it is not kept.

        by: what else the rows depend on.
        """
        found = self._kept.get((id(source), text, *by))
        # An object's id is its own only as long as it exists.
        if found is None or found[0] is not source:
            return None
        self._kept.move_to_end((id(source), text, *by))
        rows: list[Row] = marshal.loads(found[1])
        return rows

    def keep(self, rows: list[Row], source: t.Any, text: str, *by: str | None) -> None:
        """Keep the rows of a text, and give up those that were not used for longest."""
        if len(text) > min(LONGEST, self._most) or (id(source), text, *by) in self._kept:
            return
        try:
            kept = marshal.dumps(rows)
        except ValueError:
            # A value of a type of its own, such as a name that Ansible tagged.
            return
        self._kept[(id(source), text, *by)] = source, kept
        self._characters += len(text)
        while self._characters > self._most:
            key, _rows = self._kept.popitem(last=False)
            self._characters -= len(key[1])
