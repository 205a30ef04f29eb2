# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which readings the checks of a layer need from a kind of node."""

from __future__ import annotations

import typing as t

from ..loads.idle_test import IDLE_READINGS
from ..readings import catalogue
from .registry import REGISTRY


def needed_readings(layer: str, kind: str, values: t.Mapping[str, t.Any], phase: str) -> list[str]:
    """The readings that a layer's checks need of a kind of node in a phase: ``before``, ``idle``, ``during`` or ``now``.

    values: its expectations. In a layer that loads the pod it must be known who is busy.
    """
    fabric = values["pod_fabric"]
    # Routing loads the pod only where an operator was asked to shut a link meanwhile.
    loads = layer != "routing" or values["pod_failover"]
    names: dict[str, None] = {}
    for check in REGISTRY[layer].values():
        if check.fabric not in (None, fabric):
            continue
        own = check.in_phase(phase)
        names |= dict.fromkeys(own if kind in check.kinds else ())
        names |= dict.fromkeys(name for when, name, _parameter in check.of_peers if when == phase)
        if fabric == "infiniband" and kind == "host":
            names |= dict.fromkeys(fabric_readings(own))
    if phase == "now":
        own_checks = [check for check in REGISTRY[layer].values() if check.fabric in (None, fabric) and kind in check.kinds]
        names |= dict.fromkeys(("nic_driver", "nic_functions")) if any(check.meanings for check in own_checks) else {}
        names |= {"virtualization": None} if any(check.meanings or check.not_in_guest for check in own_checks) else {}
    if loads and any(check.needs == "load" and check.fabric in (None, fabric) for check in REGISTRY[layer].values()):
        names |= dict.fromkeys(IDLE_READINGS[fabric].get(phase, ()))
    return [name for name in names if kind in catalogue()[name].kinds and not catalogue()[name].load]


def fabric_readings(names: t.Iterable[str]) -> list[str]:
    """What readers of an InfiniBand fabric are asked for some readings, and what shows whose the adapters are."""
    bases = dict.fromkeys(base for name in names for of_platform in catalogue()[name].of_fabric.values() for base in of_platform)
    return [*bases, "ibstat"] if bases else []
