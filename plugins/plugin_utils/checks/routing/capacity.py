# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: how much a leaf carries upwards."""

from __future__ import annotations

import typing as t

from ...pod.names import Rows, rated
from ...pod.types import NearCable
from .. import Finding, NotApplicable, check
from ..place import Place


@check(
    cause="The leaf has fewer or slower uplinks than its hosts can fill, by plan or because the plan is incomplete.",
    fix="Add uplinks, or set pod_oversubscription_max to what the pod was built for.",
    kind="switch",
)
def oversubscription(
    pod_role: str, pod_topology: str, pod_cables: list[NearCable], pod_link_gbit_s: float, pod_oversubscription_warn: float, pod_oversubscription_max: float,
    fabric_neighbors: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """A leaf's host bandwidth is within the planned ratio of its uplink bandwidth, by the plan and, where the fabric is read, by its links."""
    if pod_role != "leaf" or pod_topology == "rail_only":
        raise NotApplicable("only a leaf below spines is oversubscribed")
    down, up = ([rated(cable, pod_link_gbit_s) for cable in pod_cables if cable["peer_role"] == role] for role in ("host", "spine"))
    uplinks, whose = len(up), "in the wiring plan"
    if fabric_neighbors is not None:
        reported = sum(row["neighbor_role"] == "spine" for row in fabric_neighbors)
        uplinks, whose = (reported, "in the fabric") if reported < uplinks else (uplinks, whose)
    if not uplinks:
        yield Finding(Place("uplinks"), "at least one", f"none {whose}")
        return
    ratio = sum(down) / (sum(up) * uplinks / len(up))
    words = f"{ratio:.3g}:1 ({len(down)} host ports, {uplinks} uplinks)"
    if ratio > pod_oversubscription_max:
        yield Finding(Place("uplinks"), f"at most {pod_oversubscription_max:g}:1", words)
    elif ratio > pod_oversubscription_warn:
        yield Finding(Place("uplinks"), f"at most {pod_oversubscription_warn:g}:1", words, "warn")
