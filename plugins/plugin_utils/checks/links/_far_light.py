# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The light of a port's lanes, at this end of a cable and at the other: what is sent weakly there arrives weakly here."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name
from ...pod.types import NearCable
from ...readings.rows import Peers, Rows
from .._once import once_for_all_nodes

# Below this a receiver sees no light at all; tools write 0 mW as -40 dBm.
NO_LIGHT_DBM = -30.0
# As many channels a module of CMIS reports, also where it has fewer lanes, as one of 400GBASE-DR4 in a host.
CHANNELS = 8
# By node and port the rows of its lanes of light.
LanesOfNodes = t.Mapping[str, t.Mapping[str, Rows]]


def lanes_of_light(transceivers: Rows) -> dict[str, Rows]:
    """The rows of each port's lanes of light: a module may have fewer of them than of copper or than channels, and the others are always dark."""
    lanes: dict[str, Rows] = {}
    for row in transceivers:
        if row["lane"] is None or row["media_lanes"] is None or row["lane"] <= row["media_lanes"]:
            lanes.setdefault(port_name(row["port"]), []).append(row)
    return {port: _channels_in_use(rows) if len(rows) == CHANNELS else rows for port, rows in lanes.items()}


def _channels_in_use(rows: Rows) -> Rows:
    """The first half of a module's channels where it has no other lanes: the second half has neither current nor light, the first has some."""
    if any(row["lane"] is None or row["media_lanes"] is not None for row in rows):
        return rows
    first = [row for row in rows if row["lane"] <= CHANNELS // 2]
    if len(first) == CHANNELS // 2 and any(row["tx_bias_ma"] for row in first) and all(_off(row) for row in rows if row["lane"] > CHANNELS // 2):
        return first
    return rows


def _off(row: dict[str, t.Any]) -> bool:
    """Whether a channel has, as far as the module measures all three, neither current nor sent nor received light."""
    powers = (row["tx_power_dbm"], row["rx_power_dbm"])
    return row["tx_bias_ma"] == 0 and all(power is not None and power <= NO_LIGHT_DBM for power in powers)


@once_for_all_nodes
def lanes_of_nodes(transceivers_of_peers: Peers) -> LanesOfNodes:
    """The lanes of light of every node that reported its modules."""
    return {node: lanes_of_light(rows) for node, rows in transceivers_of_peers.items()}


def lanes_at_far_end(cable: NearCable, of_nodes: LanesOfNodes) -> Rows:
    """Those of the module at the other end of a cable."""
    return of_nodes.get(cable["peer"], {}).get(port_name(cable["peer_port"]), [])


def dark_lanes(rows: Rows) -> int:
    """How many lanes of a module receive less than its alarm limit."""
    return sum(row["rx_power_dbm"] is not None and row["rx_low_alarm_dbm"] is not None and row["rx_power_dbm"] < row["rx_low_alarm_dbm"] for row in rows)


def weak_lanes(rows: Rows, floor: float) -> int:
    """How many lanes of a module send less than a floor, in dBm."""
    return sum(row["tx_power_dbm"] is not None and row["tx_power_dbm"] < floor for row in rows)
