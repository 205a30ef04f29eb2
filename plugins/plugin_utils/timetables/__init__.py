# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each layer loads: one planner a layer, ``Situation`` to ``Timetable``, or None where nothing is left to do."""

from __future__ import annotations

import typing as t

from ..loads import Situation, Timetable
from ..plan import Node
from . import _ranks, collectives, congestion, rdma, training

PLANNERS: dict[str, t.Callable[[Situation], Timetable | None]] = {
    "congestion": congestion.plan,
    "rdma": rdma.plan,
    "collectives": collectives.plan,
    "training": training.plan,
}


def refused(layer: str, nodes: t.Mapping[str, Node], hosts: t.Sequence[str]) -> dict[str, str]:
    """The hosts that a layer's loads cannot be started on as the pod wants them, and why."""
    return _ranks.refused(nodes, hosts) if layer in ("collectives", "training") else {}
