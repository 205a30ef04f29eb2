# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What switches drop on the way in in other priority groups than that of RoCE."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name
from .. import Finding
from ..place import at_port

Grown = dict[tuple[str, t.Any], dict[str, int]]
# No other traffic of a pod under test loses so many packets in seconds in which it is loaded.
OF_THE_LOAD = 10_000
IN_ANOTHER_GROUP = (
    "What hosts send under load is dropped in another priority group than that of RoCE: at this switch the class goes into a priority group that is not "
    "lossless (TC_TO_PRIORITY_GROUP_MAP is missing at the port or maps it otherwise, or the ASIC was not programmed so), so that it is not paused."
)
IN_ANOTHER_GROUP_FIX = (
    "On SONiC compare TC_TO_PRIORITY_GROUP_MAP, tc_to_pg_map of PORT_QOS_MAP and the lossless BUFFER_PG of the port with those of another leaf (config qos "
    "reload makes them anew), then the ASIC's own map of that port; elsewhere the map from traffic class to priority group."
)


def is_of(queue: t.Any, priority: int) -> bool:
    """Whether a queue's name (``UC3``, ``ALL3``, ``3``), a priority group's number or the lack of either is of the RoCE priority."""
    return queue is None or str(queue).upper() in {f"{kind}{priority}" for kind in ("", "UC", "ALL")}


def dropped_in_others(grown: Grown, port: str, priority: int) -> list[tuple[t.Any, int]]:
    """The priority groups of a port other than that of RoCE which dropped packets, each with how many."""
    mine = [(group, one["dropped_packets"]) for (where, group), one in grown.items() if where == port_name(port) and not is_of(group, priority)]
    return [(group, count) for group, count in mine if count]


def lost_in_another_group(grown: Grown, port: str, priority: int, few: str) -> t.Iterator[Finding]:
    """A finding for each of them that dropped so much that it must be the load."""
    for group, count in dropped_in_others(grown, port, priority):
        if count >= OF_THE_LOAD:
            words = f"{count} packets of priority group {group}"
            yield Finding(at_port(port), f"{few} dropped on the way in", words, cause=IN_ANOTHER_GROUP, fix=IN_ANOTHER_GROUP_FIX)
