# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts in words: 1 host and 2 hosts; gpu01, gpu02, gpu03 and 5 more."""

from __future__ import annotations

import typing as t


def counted(number: int, thing: str) -> str:
    """``1 host`` and ``2 hosts``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}{'es' if thing.endswith(('ch', 'ss')) else 's'}"


def some_nodes(nodes: t.Sequence[str]) -> str:
    """The first few of some nodes, and how many more there are."""
    return ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
