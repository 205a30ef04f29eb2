# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each layer loads: one planner a layer, ``StepInput`` to ``Schedule``, or None where nothing is left to do."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.plan import Node
from ..schedule import Schedule, StepInput
from . import _ranks
from .collectives import plan_collectives
from .congestion import plan_congestion
from .failover import plan_failover
from .rdma import plan_rdma
from .training import plan_training

PLANNERS: dict[str, t.Callable[[StepInput], Schedule | None]] = {
    "routing": plan_failover,
    "congestion": plan_congestion,
    "rdma": plan_rdma,
    "collectives": plan_collectives,
    "training": plan_training,
}


def plan_step(layer: str, situation: StepInput) -> Schedule | None:
    """The next step of a layer's loads, with what logs may call its hosts; None where no step is left."""
    schedule = PLANNERS[layer](situation)
    # The address of a rail says which rail it is of, and stays in what is reported.
    known = situation.plan.of_all()["pod_host_addresses"] if schedule else {}
    return replace(schedule, addresses={name: host for name, (host, device) in known.items() if device is None}) if schedule else None


def not_loadable(layer: str, nodes: t.Mapping[str, Node], hosts: t.Sequence[str]) -> dict[str, str]:
    """The hosts that a layer's loads cannot be started on as the pod wants them, and why."""
    return _ranks.refused(nodes, hosts) if layer in ("collectives", "training") else {}
