# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the subnet manager and the tree of an InfiniBand fabric."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import Rows, by_port, same_end
from ...pod.types import NearCable
from .. import Finding, NotApplicable, check
from .._planned import cables_of
from ..place import Place, at_port


@check(
    cause="No subnet manager runs, two of them do not see each other, or the standby has died; without a master no new path is set up.",
    fix="Start opensm (or UFM, or the manager on a switch) on the host that should run it, and look at its log for why it stopped.",
    fabric="infiniband",
    kind="switch",
    required=True,
)
def subnet_manager_up(sminfo: Rows, pod_standby_sms: int, subnet_managers: Rows | None = None) -> t.Iterator[Finding]:
    """The subnet that the switch is in has exactly one master subnet manager, and the planned number of standbys."""
    masters = {row["guid"] for row in sminfo if row["state"] == "master"}
    if not masters:
        states = ", ".join(f"{row['guid']} is {row['state']}" for row in sminfo)
        yield Finding(Place("subnet manager"), "one master", states or "no response")
        return
    if subnet_managers is None:
        yield Finding(Place("subnet manager"), "one master and its standbys", "not reported by subnet administration", "unknown")
        return
    masters |= {row["guid"] for row in subnet_managers if row["state"] == "master"}
    if len({int(guid, 16) for guid in masters}) > 1:
        yield Finding(Place("subnet manager"), "one master", ", ".join(sorted(masters)))
    standbys = sum(row["state"] == "standby" for row in subnet_managers)
    if standbys < pod_standby_sms:
        yield Finding(Place("standby subnet managers"), f"at least {pod_standby_sms}", str(standbys), "warn")


@check(
    cause="A cable, adapter or switch is missing, is plugged in elsewhere than planned, or is not in the plan.",
    fix="Compare both ends that are named with the wiring plan, then move the cable or correct the plan.",
    fabric="infiniband",
)
def topology_as_planned(fabric_neighbors: Rows, pod_cables: list[NearCable], pod_role: str) -> t.Iterator[Finding]:
    """Every rail of a host is on its planned leaf, and every switch has its planned links to other switches and no others."""
    reported = by_port(fabric_neighbors)
    planned = {cable["port"] for cable in cables_of(pod_cables)}
    # A host's link is judged at the host alone: the leaf continues with the hosts whose gates are open.
    own = [cable for cable in pod_cables if pod_role == "host" or cable["peer_role"] != "host"]
    there = sum(row["neighbor_role"] in ("leaf", "spine") for row in fabric_neighbors)
    for cable in own:
        row, end = reported.get(cable["port"]), (cable["peer"], cable["peer_port"])
        if row is None:
            yield Finding(at_port(cable["port"]), f"a link to {' '.join(end)}", f"none ({there} of {len(own)} links to switches)")
        elif not same_end((row["neighbor"], row["neighbor_port"]), end):
            yield Finding(at_port(cable["port"]), f"a link to {' '.join(end)}", f"one to {row['neighbor']} {row['neighbor_port']}")
    for row in fabric_neighbors:
        if row["port"] not in planned and row["neighbor_role"] in ("leaf", "spine"):
            yield Finding(at_port(row["port"]), "no unplanned cable between switches of the pod", f"one to {row['neighbor']} {row['neighbor_port']}", "warn")


@check(
    cause="An uplink is missing or down, or the tree was never complete; routing then loads the remaining links.",
    fix="Bring back or add the missing links, so that every leaf has the same number to every spine.",
    fabric="infiniband",
    kind="switch",
)
def tree_complete(fabric_neighbors: Rows, pod_role: str, pod_topology: str, pod_plane_spines: list[str]) -> t.Iterator[Finding]:
    """Every leaf is linked to every spine of its plane, by the same number of links to each."""
    if pod_role != "leaf" or pod_topology == "rail_only":
        raise NotApplicable("only a leaf below spines is part of a tree")
    links = Counter(row["neighbor"] for row in fabric_neighbors if row["neighbor_role"] == "spine")
    most = max(links.values(), default=0) or 1
    for spine in pod_plane_spines:
        if links[spine] != most:
            yield Finding(Place(f"links to {spine}", peers=(spine,)), f"{most}, as to other spines", str(links[spine]))
