# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of one node's readings, made from the tables of a whole InfiniBand fabric. What cannot be determined raises ValueError."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..readings.rows import Row, Rows
from .fabric_names import FabricEnd, guid_of, is_aggregation

# Lane rate on the wire to the rate that its generation is called by, in Gb/s (IBTA volume 1; NVIDIA's rates for HDR and later).
GENERATIONS = {
    2.5: ("SDR", 2.5), 5.0: ("DDR", 5.0), 10.0: ("QDR", 10.0), 10.3125: ("FDR10", 10.0), 14.0625: ("FDR", 14.0),
    25.78125: ("EDR", 25.0), 53.125: ("HDR", 50.0), 106.25: ("NDR", 100.0), 212.5: ("XDR", 200.0),
}  # fmt: skip
# Where the counters of PortCounters end and stop (IBTA volume 1, PortCounters); PortCountersExtended has 64 bits.
COUNTERS = {
    "SymbolErrorCounter": ("symbol_errors", 0xFFFF),
    "LinkErrorRecoveryCounter": ("link_recoveries", 0xFF),
    "LinkDownedCounter": ("link_downs", 0xFF),
    "PortRcvErrors": ("rx_errors", 0xFFFF),
    "PortRcvRemotePhysicalErrors": ("rx_remote_errors", 0xFFFF),
    "PortXmitDiscards": ("tx_discards", 0xFFFF),
    "LocalLinkIntegrityErrors": ("local_integrity_errors", 0xF),
    "ExcessiveBufferOverrunErrors": ("buffer_overruns", 0xF),
    "PortXmitWait": ("tx_waits", 0xFFFFFFFF),
}
# A port that has a link and is not active waits for a subnet manager.
UNMANAGED = dict.fromkeys(("Init", "Armed"), ", not set up by a subnet manager")


@dataclass(frozen=True)
class FabricPort:
    """One port of a planned node: its planned name, its row of a fabric's table, its other end, and the view that reported it."""

    name: str
    row: Row
    peer: FabricEnd | None
    view: t.Any


class Fabric(t.Protocol):
    """What the makers need of all that was read."""

    plan: t.Any
    tables: dict[str, dict[t.Any, Rows]]
    views: t.Sequence[t.Any]


def interface_status(_fabric: Fabric, ports: t.Mapping[str, FabricPort]) -> Rows:
    """State and rate of each port; the reason has width, generation and the other end."""
    return [_status(port) for port in ports.values()]


def _status(port: FabricPort) -> Row:
    row = port.row
    lanes, lane = row["lanes"], row["lane_gbit_s"]
    up = row["state"] == "Active"
    generation, nominal = GENERATIONS.get(lane, ("unknown", None))
    to = f" to {port.peer.node} {port.peer.port}" if port.peer else ""
    down = "disabled" if row["physical_state"] == "Disabled" else "notconnect" if row["state"] == "Down" else row["state"].lower()
    return {
        "port": port.name,
        "state": "connected" if up else down,
        "speed_gbit_s": lanes * nominal if up and lanes and nominal else None,
        "media": None,
        "vlan": None,
        "lanes": None,
        "reason": f"{lanes}X {generation}{to}" if up and lanes else f"{row['physical_state']}{to}{UNMANAGED.get(row['state'], '')}",
    }


def lldp_neighbors(_fabric: Fabric, ports: t.Mapping[str, FabricPort]) -> Rows:
    """Who is at the other end of each port that has one."""
    return [{"port": port.name, "neighbor": port.peer.node, "neighbor_port": port.peer.port} for port in ports.values() if port.peer]


def fabric_neighbors(fabric: Fabric, ports: t.Mapping[str, FabricPort]) -> Rows:
    """Who is at the other end of each link, and as what it is planned."""
    return [
        {
            "port": port.name,
            "neighbor": port.peer.node,
            "neighbor_port": port.peer.port,
            "neighbor_role": fabric.plan.nodes[port.peer.node].role if port.peer.node in fabric.plan.nodes else None,
            "width": port.row["width"],
            "speed": port.row["speed"],
        }
        for port in ports.values()
        if port.peer and not is_aggregation(port.row["peer"])
    ]


def link_errors(fabric: Fabric, ports: t.Mapping[str, FabricPort]) -> Rows:
    """The error counters of each port; a port that ibqueryerrors does not name has none above zero, if all were asked.

    What did not answer has no row.
    """
    silent = {view: _not_answering(view, fabric.tables["fabric_errors"][view]) for view in {port.view for port in ports.values()}}
    for view, lids in silent.items():
        _others_were_asked(view, fabric.tables["fabric_errors"][view], fabric.tables["fabric_links"].get(view, []), lids)
    ports = {name: port for name, port in ports.items() if port.row["lid"] not in silent[port.view]}
    values = {(view, guid_of(row["guid"]), row["port"], row["counter"]): row["value"] for view, rows in fabric.tables["fabric_errors"].items() for row in rows}
    return [_errors(port, values) for port in ports.values()]


def _not_answering(view: t.Any, errors: Rows) -> set[int]:
    """The LIDs of the nodes that did not answer; ValueError where one of them is not named."""
    failed = sum(row["value"] for row in errors if row["counter"] == "queries_failed")
    named = [row["value"] for row in errors if row["counter"] == "query_failed"]
    if failed > len(named):
        raise ValueError(f"{view.reader} {view.via}: {failed} nodes of the fabric did not report their counters")
    return set(named)


def _others_were_asked(view: t.Any, errors: Rows, links: Rows, silent: set[int]) -> None:
    asked = sum(row["value"] for row in errors if row["counter"] == "ports_checked")
    others = sum(row["lid"] not in silent for row in links)
    if asked < others:
        raise ValueError(f"{view.reader} {view.via}: counters of {asked} ports were asked, and the fabric has {others}")


def _errors(port: FabricPort, values: t.Mapping[tuple[t.Any, ...], int]) -> Row:
    result: Row = {"port": port.name, "peer": f"{port.peer.node} {port.peer.port}" if port.peer else None, "saturated": []}
    for counter, (column, end) in COUNTERS.items():
        result[column] = values.get((port.view, guid_of(port.row["guid"]), port.row["port"], counter), 0)
        if result[column] == end:
            result["saturated"].append(counter)
    return result


def _of_ports(table: str, column: str) -> t.Callable[[Fabric, t.Mapping[str, FabricPort]], Rows]:
    """What ibdiagnet has of each port in one column of a table, None where it has no row of it."""

    def rows(fabric: Fabric, ports: t.Mapping[str, FabricPort]) -> Rows:
        values = {(view, guid_of(row["guid"]), row["port"]): row[column] for view, rows in fabric.tables[table].items() for row in rows}
        return [{"port": port.name, column: values.get((port.view, guid_of(port.row["guid"]), port.row["port"]))} for port in ports.values()]

    return rows


def adaptive_routing(fabric: Fabric, ports: t.Mapping[str, FabricPort]) -> Rows:
    """Whether adaptive routing is enabled on the node that has these ports, in one row."""
    enabled = {(view, guid_of(row["guid"])): row["enabled"] for view, rows in fabric.tables["fabric_routing"].items() for row in rows}
    nodes = dict.fromkeys((port.view, guid_of(port.row["guid"])) for port in ports.values())
    return [{"enabled": enabled.get(node)} for node in nodes][:1]


def _of_subnet(name: str) -> t.Callable[[Fabric, t.Mapping[str, FabricPort]], Rows]:
    """Rows that are of a whole subnet, once for each that the node is in."""

    def rows(fabric: Fabric, ports: t.Mapping[str, FabricPort]) -> Rows:
        views = dict.fromkeys(port.view for port in ports.values())
        return [row for view in views for row in fabric.tables[name][view]]

    return rows


MAKERS: dict[str, t.Callable[[t.Any, t.Mapping[str, FabricPort]], Rows]] = {
    "interface_status": interface_status,
    "lldp_neighbors": lldp_neighbors,
    "fabric_neighbors": fabric_neighbors,
    "link_errors": link_errors,
    "link_bit_errors": _of_ports("fabric_bit_errors", "pre_fec_ber"),
    "module_temperatures": _of_ports("fabric_modules", "temperature_c"),
    "adaptive_routing": adaptive_routing,
    "sminfo": _of_subnet("sminfo"),
    "subnet_managers": _of_subnet("subnet_managers"),
}
