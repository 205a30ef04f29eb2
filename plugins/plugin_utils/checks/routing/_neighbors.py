# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a finding of a session with a planned neighbor is."""

from __future__ import annotations

from ...pod.types import Neighbor
from ..place import Place


def planned_neighbor(planned: Neighbor) -> Place:
    """The place of what is found of a session with a planned neighbor."""
    peers = (planned["peer"], *([planned["address"]] if planned["address"] else []))
    return Place(f"{planned['peer']} ({planned['address'] or planned['port']})", port=planned["port"], peers=peers)
