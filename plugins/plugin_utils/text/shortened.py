# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Long texts for a line of print, and long lines for patterns."""

from __future__ import annotations

GAP = " ... "
# Some patterns take the square of a line's length: a second for ten thousand characters.
LONGEST_LINE = 2000


def shortened(words: str, most: int) -> str:
    """A text of at most ``most`` characters: of a longer one its beginning, and its end, where an error names what was refused."""
    if len(words) <= most:
        return words
    end = (most - len(GAP)) // 3
    return words[: most - len(GAP) - end].rstrip() + GAP + words[len(words) - end :].lstrip()


def with_bounded_lines(text: str) -> str:
    """A text in which the longest lines lack their middle: a progress bar or a dump of numbers in one line may have millions of characters."""
    if len(text) <= LONGEST_LINE:
        return text
    return "".join(shortened(line.rstrip("\r\n"), LONGEST_LINE) + "\n" if len(line) > LONGEST_LINE else line for line in text.splitlines(keepends=True))
