# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sorting as a person sorts: gpu2 before gpu10."""

from __future__ import annotations

import re

NUMBERS = re.compile(r"(\d+)")


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """A key to sort names by."""
    return [(1, int(piece), "") if piece.isdigit() else (0, 0, piece) for piece in NUMBERS.split(name)]


def lasting(seconds: float) -> str:
    """``45 s``, ``3 min 0 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
