# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recorded finding is on, by the plan: the rail, its leaf, and the host behind a switch's port."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from .verdicts import VerdictRecord, place_of


def add_places(plan: Plan, records: t.Iterable[VerdictRecord]) -> None:
    """Name in each recorded finding what it is on: of a host's rail the ``rail`` (its RDMA device) and its ``leaf``, of a switch's
    port the ``peer``, the host behind it.

    Findings of many hosts that share a leaf have one root. What is of a bond as a whole is on none of its leaves, what is of its member on the member's.
    """
    rails = {(rail["host"], name): rail for rail in plan.rails() for name in (rail["device"], rail["netdev"], *rail.get("members", ())) if name}
    for record in records:
        for finding in record["findings"]:
            place, host = place_of(finding), finding["host"] or ""
            rail = rails.get((host, place.interface or ""))
            behind, far = plan.far_end(host, place.interface), plan.far_end(host, place.port)
            of_member = behind.node if behind is not None else None
            one_leaf = of_member if rail and "members" in rail else rail["leaf"] if rail else None
            finding["leaf"], finding["rail"] = one_leaf, rail["device"] if rail else None
            finding["peer"] = far.node if far is not None and plan.nodes[far.node].kind == "host" else None
