# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Long texts for a line of print."""

from __future__ import annotations

GAP = " ... "


def shortened(words: str, most: int) -> str:
    """A text of at most ``most`` characters: of a longer one its beginning, and its end, where an error names what was refused."""
    if len(words) <= most:
        return words
    end = (most - len(GAP)) // 3
    return words[: most - len(GAP) - end].rstrip() + GAP + words[len(words) - end :].lstrip()
