# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of several hosts that are down at one leaf."""

from __future__ import annotations

import typing as t

from ...pod.types import NearCable, PodRail
from ...readings.rows import Peers
from .. import Finding, NotApplicable, check
from .._at_one_leaf import LEAST_HOSTS, Behind, Nic
from .._once import once_for_all_nodes

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
def _down(ibstat_of_peers: Peers) -> dict[Nic, bool | None]:
    """Whether each NIC that is reported has no link; None where its state is not reported."""
    return {(host, row["device"]): None if row["state"] is None else row["state"] == "Down" for host, rows in ibstat_of_peers.items() for row in rows}


@check(
    cause="A line card of the leaf, or a group of its ports, is down or shut, so that several hosts have no link there.",
    fix="Look at the leaf for what the ports have in common, before any NIC or cable.",
    kind="switch",
)
def hosts_have_links(
    ibstat_of_peers: Peers, pod_leaf_rails: list[PodRail], pod_remote_rails: list[PodRail], pod_cables: list[NearCable], pod_node: str
) -> t.Iterator[Finding]:  # fmt: skip
    """No links of several hosts are down at one leaf alone."""
    behind, down = Behind.of(pod_node, pod_leaf_rails, pod_remote_rails, pod_cables), _down(ibstat_of_peers)
    if behind.hosts(down) < LEAST_HOSTS:
        raise NotApplicable(f"fewer than {LEAST_HOSTS} hosts with a rail at this switch report its state, which rails_present judges host by host")
    yield from behind.shared(down, "a link to {nic}", "down at {nic}", CAUSE, FIX)
