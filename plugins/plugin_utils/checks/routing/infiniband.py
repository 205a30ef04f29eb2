# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the subnet manager and the tree of an InfiniBand fabric."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import by_port, same_end
from ...pod.tiers import TIERS, WORDS, above
from ...pod.types import NearCable
from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from .._once import once_for_all_nodes
from .._planned import cables_of
from ..place import Place, at_port

SWITCHES = TIERS[1:]


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
    numbers = {int(guid, 16) for guid in masters}
    if len(numbers) > 1:
        yield Finding(Place("subnet manager"), "one master", ", ".join(sorted(masters)))
    # One can be listed twice, by two readers of the subnet or after a hand-over.
    standbys = {int(row["guid"], 16) for row in subnet_managers if row["state"] == "standby"} - numbers
    if len(standbys) < pod_standby_sms:
        yield Finding(Place("standby subnet managers"), f"at least {pod_standby_sms}", str(len(standbys)), "warn")


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
    there = sum(row["neighbor_role"] in SWITCHES for row in fabric_neighbors)
    for cable in own:
        row, end = reported.get(cable["port"]), (cable["peer"], cable["peer_port"])
        if row is None:
            yield Finding(at_port(cable["port"]), f"a link to {' '.join(end)}", f"none ({there} of {len(own)} links to switches)")
        elif not same_end((row["neighbor"], row["neighbor_port"]), end):
            yield Finding(at_port(cable["port"]), f"a link to {' '.join(end)}", f"one to {row['neighbor']} {row['neighbor_port']}")
    for row in fabric_neighbors:
        if row["port"] not in planned and row["neighbor_role"] in SWITCHES:
            yield Finding(at_port(row["port"]), "no unplanned cable between switches of the pod", f"one to {row['neighbor']} {row['neighbor_port']}", "warn")


@check(
    cause="An uplink is missing or down, or the tree was never complete; routing then loads the remaining links.",
    fix="Bring back or add the missing links, so that every leaf has the same number to every spine, and every spine to every super-spine.",
    fabric="infiniband",
    kind="switch",
)
def tree_complete(fabric_neighbors: Rows, pod_role: str, pod_topology: str, pod_plane_spines: list[str]) -> t.Iterator[Finding]:
    """Every leaf is linked to every spine of its plane, by the same number of links to each, and every spine so to super-spines."""
    if pod_topology == "rail_only" or (pod_role != "leaf" and not pod_plane_spines):
        raise NotApplicable("only a leaf below spines is part of a tree")
    links = Counter(row["neighbor"] for row in fabric_neighbors if row["neighbor_role"] == above(pod_role))
    most = max(links.values(), default=0) or 1
    for spine in pod_plane_spines:
        if links[spine] != most:
            yield Finding(Place(f"links to {spine}", peers=(spine,)), f"{most}, as to other {WORDS[above(pod_role)][1]}", str(links[spine]))


@once_for_all_nodes
def _switches_with(of_peers: Peers) -> tuple[int, int]:
    """Of how many switches it is known whether they have adaptive routing on, and of how many of these it is."""
    states = [row["enabled"] for rows in of_peers.values() for row in rows if row["enabled"] is not None]
    return len(states), sum(states)


@check(
    cause="Adaptive routing is off on this switch: the subnet manager has left it out (its routing engine, its list of switches without it, a switch that was "
    "replaced), or its firmware cannot do it. Its flows keep to one path each, and collide there under load.",
    fix="Compare the switch's firmware with that of its peers and the manager's configuration (routing_engine, ar_mode of opensm; UFM), let it sweep the "
    "subnet heavily, and run ibdiagnet --routing again.",
    fabric="infiniband",
    kind="switch",
)
def adaptive_routing_on(adaptive_routing: Rows, adaptive_routing_of_peers: Peers, pod_adaptive_routing: bool) -> t.Iterator[Finding]:
    """Adaptive routing is on where the pod is planned with it (pod_adaptive_routing), and on this switch if it is on most switches (warn)."""
    known, having = _switches_with(adaptive_routing_of_peers)
    enabled = next((row["enabled"] for row in adaptive_routing), None)
    if enabled is None and not known and not pod_adaptive_routing:
        raise NotApplicable("ibdiagnet names no switch that can route adaptively")
    if not pod_adaptive_routing and 2 * having <= known:
        return
    expected = f"on, as on {having} of {known} switches" if having else "on, as planned (pod_adaptive_routing)"
    where = Place("adaptive routing")
    if enabled is None:
        actual = "not reported: ibdiagnet does not name this switch among those that can"
        yield Finding(where, expected, actual, "unknown" if pod_adaptive_routing else "warn", judged=True)
    elif not enabled:
        yield Finding(where, expected, "off", None if pod_adaptive_routing else "warn")
