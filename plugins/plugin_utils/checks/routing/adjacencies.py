# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the OSPF adjacencies of a switch."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name
from ...pod.types import Neighbor
from ...readings.rows import Rows
from .. import Finding, NotApplicable, check
from ..place import Place
from .sessions import WITH_SPINES

FULL = "Full"
MTU = (
    "The two ends exchange no databases: their MTU differs (OSPF compares it), or large packets are lost on the link.",
    "Compare the MTU of {port} with that of {peer} (path_mtu), then look for loss on the cable.",
)
ONE_WAY = (
    "This end hears {peer}, and {peer} does not hear it: an access list, an authentication that differs, or a link that carries one way only.",
    "Look at the counters and access lists of the port on {peer}, and at the OSPF authentication of both ends.",
)
BOTH_OTHER = (
    "Both ends are neither designated nor backup router, so that they exchange nothing: the network type is broadcast with priority 0 at both ends.",
    "Set the network type of both ends to point-to-point.",
)
# What a state below Full says of the cause.
OF_STATE = {"ExStart": MTU, "Exchange": MTU, "Loading": MTU, "Init": ONE_WAY, "2-Way": BOTH_OTHER}


@check(
    cause="No hello of the neighbor arrives: the link is down, OSPF does not run on the port at one end (passive, not in the area), or area, timers, network "
    "mask or authentication differ.",
    fix="Compare area, hello and dead timers, network type, mask and authentication of both ports (show ip ospf interface), after port_speed and path_mtu.",
    fabric="roce",
    required=WITH_SPINES,
    when=("pod_underlay", ("ospf",)),
)
def ospf_full(ospf_neighbors: Rows, pod_neighbors: list[Neighbor]) -> t.Iterator[Finding]:
    """Every planned link to another switch has an OSPF adjacency in Full."""
    if not pod_neighbors:
        raise NotApplicable("no cable to another switch is planned")
    by_port: dict[str, Rows] = {}
    by_address: dict[str, Rows] = {}
    for row in ospf_neighbors:
        by_port.setdefault(port_name(row["interface"].partition(".")[0]), []).append(row)
        by_address.setdefault(row["address"], []).append(row)
    for one in pod_neighbors:
        rows = by_port.get(port_name(one["port"])) or by_address.get(str(one["address"]), [])
        where, expected = Place(f"{one['peer']} ({one['port']})", port=one["port"], peers=(one["peer"],)), "an OSPF neighbor in Full"
        if not rows:
            yield Finding(where, expected, "no neighbor")
        elif not any(row["state"] == FULL for row in rows):
            state = str(rows[0]["state"])
            cause, fix = (words.format(port=one["port"], peer=one["peer"]) for words in OF_STATE[state]) if state in OF_STATE else (None, None)
            yield Finding(where, expected, state, cause=cause, fix=fix)
