# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: ports, their speed and who is at their other end."""

from __future__ import annotations

import typing as t

from .. import CannotTell, Finding, check
from .._ports import Rows, by_port, cables_of, mac_of, node_name, port_name, rated, same_end

MAC_DIGITS = 12
End = tuple[str, str]


@check(
    cause="The plan names a port that the node does not have, or a breakout or a line card is missing.",
    fix="Compare the wiring plan with the node's own list of ports.",
)
def ports_present(interface_status: Rows, pod_cables: Rows) -> t.Iterator[Finding]:
    """Every port of the wiring plan exists."""
    present = by_port(interface_status)
    for cable in cables_of(pod_cables):
        if cable["port"] not in present:
            yield Finding(cable["port"], f"a port (to {cable['peer']} {cable['peer_port']})", "no such port")


@check(
    cause="Transceiver mismatch (NIC against switch optic), a damaged or missing cable, or a port that is shut.",
    fix="Compare both transceivers, replace the odd one or the cable, then soak again.",
    required=True,
)
def port_speed(interface_status: Rows, pod_cables: Rows, pod_link_gbit_s: float) -> t.Iterator[Finding]:
    """Every planned port is connected at the rated speed."""
    present = by_port(interface_status)
    for cable in cables_of(pod_cables):
        row, speed = present.get(cable["port"]), rated(cable, pod_link_gbit_s)
        wanted = f"connected at {speed:g} Gb/s"
        if row is None:
            yield Finding(cable["port"], wanted, "no such port")
        elif row["state"] != "connected":
            reason = f" ({row['reason']})" if row.get("reason") else ""
            yield Finding(cable["port"], wanted, row["state"] + reason)
        elif row["speed_gbit_s"] is None:
            yield Finding(cable["port"], wanted, "connected, speed not told", "unknown")
        elif row["speed_gbit_s"] != speed:
            reason = f" ({row['reason']})" if row["reason"] else ""
            yield Finding(cable["port"], wanted, f"connected at {row['speed_gbit_s']:g} Gb/s{reason}")


@check(
    cause="Two cables are swapped, or one is plugged into the wrong port or switch.",
    fix="Move the cable to its planned port, or mend the wiring plan; then read the neighbors again.",
)
def cabling_as_planned(
    interface_status: Rows, ip_link_of_peers: dict[str, Rows], lldp_neighbors_of_peers: dict[str, Rows], pod_cables: Rows, pod_node: str,
    lldp_neighbors: Rows | None = None, mac_table: Rows | None = None, arp_table: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each planned port leads to its planned peer, by LLDP or by the MAC addresses behind it."""
    heard_macs = [*(mac_table or ()), *_on_ports(arp_table or [])]
    of_mac = _owners(heard_macs, lldp_neighbors or [], ip_link_of_peers)
    told: dict[str, list[End]] = {}
    for row in lldp_neighbors or ():
        # The LLDP agent in a NIC's firmware gives its MAC address for its name.
        ends = of_mac.get(mac_of(row["neighbor_port"])) or of_mac.get(mac_of(row["neighbor"])) or [(row["neighbor"], row["neighbor_port"])]
        told.setdefault(port_name(row["port"]), []).extend(ends)
    by_lldp = {port: list(ends) for port, ends in told.items()}
    for row in heard_macs:
        told.setdefault(port_name(row["port"]), []).extend(of_mac.get(mac_of(row["mac"]), ()))
    told = {port: ends for port, ends in told.items() if ends}
    if not told:
        raise CannotTell("neither LLDP nor the MAC or ARP table tells a neighbor")
    up = {port_name(row["port"]) for row in interface_status if row["state"] == "connected"}
    place_of = {(node_name(cable["peer"]), port_name(cable["peer_port"])): cable["port"] for cable in pod_cables}
    for cable in cables_of(pod_cables):
        heard = told.get(port_name(cable["port"]), [])
        end = (cable["peer"], cable["peer_port"])
        fits = any(same_end(one, end) for one in heard)
        # Tables keep an address for minutes after its cable was moved.
        astray = fits and any(_elsewhere(one, place_of, cable) for one in by_lldp.get(port_name(cable["port"]), ()))
        if not heard and port_name(cable["port"]) in up:
            yield Finding(cable["port"], _end(end), "nobody tells", "unknown")
        elif astray or (heard and not fits and not _confirmed(cable, pod_node, heard, lldp_neighbors_of_peers)):
            words = " and ".join(dict.fromkeys(_end(one) + _elsewhere(one, place_of, cable) for one in heard))
            yield Finding(cable["port"], _end(end), words, "unknown" if astray else None)


def _on_ports(arp: Rows) -> Rows:
    """The MAC addresses that answer on an interface; where that is a VLAN's, it is no planned port."""
    return [{"mac": row["mac"], "port": row["interface"]} for row in arp if row["interface"]]


def _owners(mac_table: Rows, lldp: Rows, links: dict[str, Rows]) -> dict[str, list[End]]:
    """The hosts and netdevs of each MAC address that was heard; of those that share one, the NICs: bridges and VLANs borrow theirs."""
    heard = {mac_of(row["mac"]) for row in mac_table} | {mac_of(row[column]) for row in lldp for column in ("neighbor", "neighbor_port")}
    if not any(len(one) == MAC_DIGITS for one in heard):
        return {}
    ends: dict[str, dict[bool, list[End]]] = {}
    for node, rows in links.items():
        for row in rows:
            if row["mac"] and (mac := mac_of(row["mac"])) in heard:
                ends.setdefault(mac, {}).setdefault(row["parent_pci"] is not None, []).append((node, row["netdev"]))
    return {mac: found.get(True) or found[False] for mac, found in ends.items()}


def _confirmed(cable: dict[str, t.Any], node: str, heard: list[End], of_peers: dict[str, Rows]) -> bool:
    """Whether the planned peer is heard under another name of its port (SONiC tells its alias), and hears this end on the planned port."""
    named = any(node_name(one[0]) == node_name(cable["peer"]) for one in heard)
    back = [row for row in of_peers.get(cable["peer"], ()) if port_name(row["port"]) == port_name(cable["peer_port"])]
    return named and any(same_end((row["neighbor"], row["neighbor_port"]), (node, cable["port"])) for row in back)


def _elsewhere(heard: End, place_of: dict[End, str], cable: dict[str, t.Any]) -> str:
    """Where a neighbor is planned that is heard on the wrong port, so that swapped cables name each other."""
    place = place_of.get((node_name(heard[0]), port_name(heard[1])))
    return f", planned on {place}" if place and place != cable["port"] else ""


def _end(end: End) -> str:
    return f"{end[0]} {end[1]}"
