# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3, congestion: the pod is congested on purpose, and must mark, back off, pause briefly and lose nothing."""

from __future__ import annotations

from . import (
    across,
    alike,
    headroom,
    infiniband,
    learned,
    load,
    marks,
    notifications,
    other_classes,
    pauses,
    settings,
    spines,
    switches,
    unmarked,
    uplinks,
    watchdog,
)

__all__ = [
    "across",
    "alike",
    "headroom",
    "infiniband",
    "learned",
    "load",
    "marks",
    "notifications",
    "other_classes",
    "pauses",
    "settings",
    "spines",
    "switches",
    "unmarked",
    "uplinks",
    "watchdog",
]
