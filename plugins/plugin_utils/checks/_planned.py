# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What checks need of the plan before they judge anything."""

from __future__ import annotations

from ..pod.types import NearCable
from . import CannotTell


def cables_of(cables: list[NearCable]) -> list[NearCable]:
    """The planned cables; a check over none would pass."""
    if not cables:
        raise CannotTell("the wiring plan has no cable of this node")
    return cables


def in_plane(cable: NearCable) -> str:
    """Which plane of the fabric a cable is in, in words; empty where the fabric is one."""
    return f" in plane {cable['plane']}" if cable.get("plane") else ""
