# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the third tier of switches in an inventory and its wiring plan."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from ..pod.tiers import SPINE, SUPER_SPINE
from ..text.counting import some_nodes
from ..text.sorting import natural_key

# A group of the inventory below ``spines``: its nodes are super-spines.
SUPER_SPINES = "super_spines"


def apart_from_spines(groups: t.Mapping[str, t.Sequence[str]]) -> list[str]:
    """Super-spines that no playbook would ask."""
    apart = sorted(set(groups.get(SUPER_SPINES, ())) - set(groups.get("spines", ())), key=natural_key)
    return [f"the inventory group {SUPER_SPINES} must be a child of the group spines, which lacks {some_nodes(apart)}"] if apart else []


def cabled_past_spines(plan: Plan) -> list[str]:
    """Super-spines that have cables to others than spines: what goes over these would be judged by nothing."""
    ends = [pair for cable in plan.cables for pair in ((cable.a, cable.b), (cable.b, cable.a))]
    wrong = [f"{near.node} to {far.node}" for near, far in ends if plan.nodes[near.node].role == SUPER_SPINE and plan.nodes[far.node].role != SPINE]
    return [f"every cable of a super-spine must end at a spine, not as {some_nodes(list(dict.fromkeys(wrong)))}"] if wrong else []
