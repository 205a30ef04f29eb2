# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of several hosts that are down at one leaf, which is the leaf's doing and not each host's."""

from __future__ import annotations

import typing as t

from ...pod.rail_ports import leaves_of
from ...pod.types import NearCable, PodRail
from ...text.ranges import ranges
from .. import Finding, NotApplicable, check
from .._once import Peers, once_for_all_nodes
from ..place import at_port

# Of fewer hosts nothing is said: two cables may well be bad at one leaf.
LEAST_HOSTS = 3
Nic = tuple[str, str]
CAUSE = (
    "Links of {number} hosts to {leaf} are down, at its ports {ports}, and most others of these hosts are up: what they share is {leaf}, and not {number} NICs "
    "or cables. One of its line cards, or what supplies and drives a group of its ports (a chip, a gearbox, power, a daemon), is down, or these ports were "
    "shut or set to another rate."
)
FIX = (
    "Look at {leaf} for what its ports {ports} have in common: whether they are shut, state and log of its line cards (show module, show chassis modules "
    "status), power of the modules and their daemon (xcvrd, syncd) since its last boot; reset that card or open the ports. Where {leaf} has nothing, look at "
    "what was run on all of these hosts."
)


@once_for_all_nodes
def _up(ibstat_of_peers: Peers) -> dict[Nic, bool | None]:
    """Whether each NIC that is reported has a link; None where its state is not reported."""
    return {(host, row["device"]): None if row["state"] is None else row["state"] != "Down" for host, rows in ibstat_of_peers.items() for row in rows}


@check(
    cause="A line card of the leaf, or a group of its ports, is down or shut, so that several hosts have no link there.",
    fix="Look at the leaf for what the ports have in common, before any NIC or cable.",
    kind="switch",
)
def hosts_have_links(
    ibstat_of_peers: Peers, pod_leaf_rails: list[PodRail], pod_remote_rails: list[PodRail], pod_cables: list[NearCable], pod_node: str
) -> t.Iterator[Finding]:  # fmt: skip
    """No links of several hosts are down at one leaf alone."""
    # A bond has links to two leaves.
    behind = [rail for rail in pod_leaf_rails if leaves_of(rail) == [pod_node]]
    up = _up(ibstat_of_peers)
    if len({rail["host"] for rail in behind if up.get((rail["host"], rail["device"])) is not None}) < LEAST_HOSTS:
        raise NotApplicable(f"fewer than {LEAST_HOSTS} hosts with a rail at this switch report its state, which rails_present judges host by host")
    rails = [*behind, *pod_remote_rails]
    down = {(rail["host"], rail["device"]) for rail in rails if up.get((rail["host"], rail["device"])) is False}
    mine = [rail for rail in behind if (rail["host"], rail["device"]) in down and _is_well(rail["host"], rails, down)]
    # What is down all over the pod is not of one leaf.
    if len({rail["host"] for rail in mine}) < LEAST_HOSTS or 2 * len(mine) <= len(down):
        return
    ports = {(rail["host"], rail["device"]): _port(rail, pod_cables) for rail in mine}
    named = {"leaf": pod_node, "number": len({rail["host"] for rail in mine}), "ports": ranges(list(ports.values()))}
    for (host, device), port in ports.items():
        yield Finding(
            at_port(port, peers=(host,)), f"a link to {host} {device}", f"down at {host} {device}", cause=CAUSE.format(**named), fix=FIX.format(**named)
        )


def _is_well(host: str, rails: t.Iterable[PodRail], down: t.Container[Nic]) -> bool:
    """Whether most of a host's links are up, so that what is down is not of the host."""
    states = [(host, rail["device"]) in down for rail in rails if rail["host"] == host]
    return 2 * sum(states) <= len(states) and not all(states)


def _port(rail: PodRail, cables: t.Iterable[NearCable]) -> str:
    """The leaf's port that a rail is cabled to; the rail by its name where only the rail says which leaf it is at."""
    ends = (rail["netdev"], rail["device"])
    return next((cable["port"] for cable in cables if cable["peer"] == rail["host"] and cable["peer_port"] in ends), f"to {rail['host']}")
