# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and numbers as a person says them: gpu2 before gpu10, 1 host and 2 hosts."""

from __future__ import annotations

import re

NUMBERS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key to sort names by."""
    return [(1, int(piece), "") if piece.isdigit() else (0, 0, piece) for piece in NUMBERS.split(name)]


def counted(number: int, thing: str) -> str:
    """``1 host`` and ``2 hosts``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}{'es' if thing.endswith('ch') else 's'}"
