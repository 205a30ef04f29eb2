# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: how much a leaf carries upwards."""

from __future__ import annotations

import typing as t

from ...pod.names import rated
from ...pod.tiers import WORDS, above, below
from ...pod.types import NearCable
from ...readings.rows import Rows
from .. import Finding, NotApplicable, check
from ..place import Place


@check(
    cause="The switch has fewer or slower uplinks than what is below it can fill, by plan or because the plan is incomplete.",
    fix="Add uplinks, or set pod_oversubscription_max to what the pod was built for.",
    kind="switch",
)
def oversubscription(
    pod_role: str, pod_topology: str, pod_cables: list[NearCable], pod_link_gbit_s: float, pod_oversubscription_warn: float, pod_oversubscription_max: float,
    fabric_neighbors: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """What is below a leaf, or a spine under super-spines, is within the planned ratio of its uplinks, by the plan and where a fabric is read by its links."""
    upper, lower = above(pod_role), below(pod_role)
    down, up = ([rated(cable, pod_link_gbit_s) for cable in pod_cables if cable["peer_role"] == role] for role in (lower, upper))
    if pod_topology == "rail_only" or (pod_role != "leaf" and not up):
        raise NotApplicable("only a leaf below spines is oversubscribed")
    uplinks, whose = len(up), "in the wiring plan"
    if fabric_neighbors is not None:
        reported = sum(row["neighbor_role"] == upper for row in fabric_neighbors)
        uplinks, whose = (reported, "in the fabric") if reported < uplinks else (uplinks, whose)
    if not uplinks:
        yield Finding(Place("uplinks"), "at least one", f"none {whose}")
        return
    ratio = sum(down) / (sum(up) * uplinks / len(up))
    words = f"{ratio:.3g}:1 ({len(down)} {'host ports' if lower == 'host' else f'ports to {WORDS[lower][1]}'}, {uplinks} uplinks)"
    if ratio > pod_oversubscription_max:
        yield Finding(Place("uplinks"), f"at most {pod_oversubscription_max:g}:1", words)
    elif ratio > pod_oversubscription_warn:
        yield Finding(Place("uplinks"), f"at most {pod_oversubscription_warn:g}:1", words, "warn")
