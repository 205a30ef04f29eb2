# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Silence: which findings follow from a node that does not answer."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from ..pod.rail_ports import leaves_of
from .layer_input import ANSWERED
from .verdicts import Verdict

# What follows from a far end that is off: states of links, sessions and paths. Errors, rates and settings at the same place are faults of their own.
OF_SILENCE = frozenset((
    "rails_present", "ports_present", "port_speed", "channel_members", "bond_members", "cabling_as_planned", "optic_rx_power", "fabric_diagnosed",
    "subnet_manager_up", "topology_as_planned", "tree_complete", "bgp_established", "ospf_full", "ecmp_paths", "kernel_forwards", "rails_reachable",
    "path_carries_full_size", "incasts_ran",
))  # fmt: skip


def explained_by_silence(plan: Plan, verdicts: t.Iterable[Verdict]) -> dict[str, list[str]]:
    """For each silent node, the places whose findings it explains.

    A place is ``node:port`` of the far end of one of its cables, ``node:device`` of a rail on it,
    or ``*:word`` for an address or the name that a finding anywhere speaks of.
    """
    return {one.host: _places(plan, one.host) for one in verdicts if one.check == ANSWERED and one.verdict == "unknown" and one.host}


def _places(plan: Plan, node: str) -> list[str]:
    places = [f"*:{node}"]
    for cable in plan.at[node]:
        near, far = cable.seen_from(node)
        places.append(f"{far.node}:{far.port}")
        places += [f"*:{end.address}" for end in (near, far) if end.address]
    for rail in plan.rails():
        if node in (rail["host"], *leaves_of(rail)):
            places += [f"{rail['host']}:{rail['device']}"] if node in leaves_of(rail) else []
            places += [f"*:{rail['address']}"] if rail["address"] else []
    return places
