# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: ports, their speed and who is at their other end."""

from __future__ import annotations

import re
import typing as t

from ...pod.names import Ports, by_port, mac_of, node_name, port_name, rated, same_end
from ...pod.types import NearCable
from ...readings.rows import Rows
from .. import CannotTell, Finding, check
from .._planned import cables_of, in_plane
from ..place import SLOW, WAITS, at_port
from ._lanes import SplitEnd, split_end

MAC_DIGITS = 12
# The rate that an optic or cable is named after: 400GBASE-DR4, 200G-CR4.
MODULE_RATE = re.compile(r"(?<!\d)(\d{2,4})G(?:BASE|-|$)", re.IGNORECASE)
SETTING = (
    "Both ends agree on a lower rate{module}: speed, lanes or FEC are set so on the switch port, or the NIC's firmware or its settings limit the link (a "
    "port split in two, another LINK_TYPE, an old release)."
)
SETTING_FIX = (
    "Compare what is configured at both ends (the switch port's speed, lanes and breakout; ethtool NETDEV and mlxlink -d DEVICE) "
    "and set the rated speed at the end that limits; leave the cable."
)
SMALL_MODULE = "The optic or cable is made for a lower rate ({media}), so that both ends run at it."
SMALL_MODULE_FIX = "Replace the optic or cable at both ends by one of the rated speed."
# Cause and fix of a port that is not connected, by its state.
NOT_CONNECTED = {
    "disabled": (
        "The port is administratively shut.",
        "Enable the port {port} (no shutdown; on InfiniBand ibportstate), or take the cable out of the wiring plan.",
    ),
    "errdisabled": (
        "The switch has disabled the port after errors{reason}.",
        "Remove what the reason names (link flaps, a loop, an optic that is not supported), then enable the port again.",
    ),
    "absent": ("No optic or cable is seated in the port.", "Seat the planned optic or cable in {port}."),
    "notconnect": (
        "No signal arrives: the cable or an optic is missing, loose or damaged, or the port at the far end ({far}) is shut or without power.",
        "See whether {far} is enabled and has light; reseat, clean, then replace the optics and the cable, one at a time.",
    ),
}
TWO_RATES = "The ends report different rates: {far} reports {far_gbit_s:g} Gb/s. Autonegotiation is off or the speed forced at one end, or the optics differ."
TWO_RATES_FIX = "Set speed, lanes and autonegotiation alike at both ends and compare the two optics; replace the one that differs from the plan."
End = tuple[str, str]


@check(
    cause="The plan names a port that the node does not have, or a breakout or a line card is missing.",
    fix="Compare the wiring plan with the node's own list of ports.",
)
def ports_present(interface_status: Rows, pod_cables: list[NearCable]) -> t.Iterator[Finding]:
    """Every port of the wiring plan exists."""
    present = by_port(interface_status)
    for cable in cables_of(pod_cables):
        if cable["port"] not in present:
            yield Finding(at_port(cable["port"]), f"a port (to {cable['peer']} {cable['peer_port']})", "no such port")


@check(
    cause="Transceiver mismatch (NIC against switch optic), a damaged or missing cable, or a port that is shut.",
    fix="Compare both transceivers, replace the odd one or the cable, then soak again.",
    required=True,
)
def port_speed(
    interface_status: Rows, interface_status_of_peers: dict[str, Rows], pod_cables: list[NearCable], pod_link_gbit_s: float, pod_fabric: str,
    pod_node: str = "",
) -> t.Iterator[Finding]:  # fmt: skip
    """Every planned port is connected at the rated speed."""
    present = by_port(interface_status)
    of_peers: dict[str, Ports] = {node: by_port(rows) for node, rows in interface_status_of_peers.items()}
    for cable in cables_of(pod_cables):
        row, speed = present.get(cable["port"]), rated(cable, pod_link_gbit_s)
        wanted = f"connected at {speed:g} Gb/s{in_plane(cable)}"
        if row is None:
            yield Finding(at_port(cable["port"]), wanted, "no such port")
        elif row["state"] != "connected":
            yield _not_connected(cable, wanted, row)
        elif row["speed_gbit_s"] is None:
            yield Finding(at_port(cable["port"]), wanted, "connected, speed not reported", "unknown")
        elif row["speed_gbit_s"] != speed:
            reason = f" ({row['reason']})" if row["reason"] else ""
            if pod_fabric == "infiniband":
                # Both ends of a link always agree: lanes that are lost and an older cable lower the rate of both.
                yield Finding(at_port(cable["port"], state=SLOW), wanted, f"connected at {row['speed_gbit_s']:g} Gb/s{reason}")
                continue
            there = of_peers.get(cable["peer"], Ports())
            split = split_end(((pod_node, cable["port"], present), (cable["peer"], cable["peer_port"], there)), speed)
            yield _slower(cable, speed, row, there.get(cable["peer_port"]), reason, split, pod_node)


def _not_connected(cable: NearCable, wanted: str, row: dict[str, t.Any]) -> Finding:
    """A port without a link, with what its state says of the cause; in another state that of the check."""
    reason = f" ({row['reason']})" if row.get("reason") else ""
    cause, fix = NOT_CONNECTED.get(row["state"], (None, None))
    words = {"port": cable["port"], "far": f"{cable['peer']} {cable['peer_port']}{in_plane(cable)}", "reason": reason}
    where = at_port(cable["port"], state=WAITS if row["state"] == "notconnect" else "")
    return Finding(where, wanted, row["state"] + reason, cause=cause and cause.format(**words), fix=fix and fix.format(**words))


def _slower(
    cable: NearCable, rated_gbit_s: float, row: dict[str, t.Any], far: dict[str, t.Any] | None, reason: str, split: SplitEnd | None, node: str
) -> Finding:  # fmt: skip
    """A port at another speed than its cable's: where both ends agree on it, it is a setting or the module, and no fault of the cable."""
    port, wanted, got = cable["port"], f"connected at {rated_gbit_s:g} Gb/s{in_plane(cable)}", f"connected at {row['speed_gbit_s']:g} Gb/s{reason}"
    if far is None or far["state"] != "connected" or far["speed_gbit_s"] is None:
        return Finding(at_port(port), wanted, got)
    if far["speed_gbit_s"] != row["speed_gbit_s"]:
        cause = TWO_RATES.format(far=f"{cable['peer']} {cable['peer_port']}", far_gbit_s=far["speed_gbit_s"])
        return Finding(at_port(port), wanted, got, cause=cause, fix=TWO_RATES_FIX)
    got += f", and so does {cable['peer']} {cable['peer_port']}"
    if split is not None:
        began_at = (split.node, split.port) if split.node != node else None
        return Finding(at_port(port), wanted, got, cause=split.cause, fix=split.fix, began_at=began_at)
    media = [str(end["media"]) for end in (row, far) if end["media"] and MODULE_RATE.search(str(end["media"]))]
    if any(float(MODULE_RATE.findall(one)[0]) < rated_gbit_s for one in media):
        return Finding(at_port(port), wanted, got, cause=SMALL_MODULE.format(media=", ".join(media)), fix=SMALL_MODULE_FIX)
    module = f", and the module is made for more ({media[0]})" if media else ""
    return Finding(at_port(port, state=SLOW), wanted, got, cause=SETTING.format(module=module), fix=SETTING_FIX)


@check(
    cause="Two cables are swapped, or one is plugged into the wrong port or switch.",
    fix="Move the cable to its planned port, or correct the wiring plan; then read the neighbors again.",
    of_pod=True,
)
def cabling_as_planned(
    interface_status: Rows, ip_link_of_peers: dict[str, Rows], lldp_neighbors_of_peers: dict[str, Rows], pod_cables: list[NearCable], pod_node: str,
    lldp_neighbors: Rows | None = None, mac_table: Rows | None = None, arp_table: Rows | None = None,
    mac_table_of_peers: dict[str, Rows] | None = None, arp_table_of_peers: dict[str, Rows] | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each planned port connects to its planned peer, by LLDP or by the MAC addresses behind it."""
    heard_macs = [*(mac_table or ()), *_on_ports(arp_table or [])]
    of_mac = _owners(heard_macs, lldp_neighbors or [], ip_link_of_peers)
    ends_of: dict[str, list[End]] = {}
    for row in lldp_neighbors or ():
        # The LLDP agent in a NIC's firmware gives its MAC address for its name.
        ends = of_mac.get(mac_of(row["neighbor_port"])) or of_mac.get(mac_of(row["neighbor"])) or [(row["neighbor"], row["neighbor_port"])]
        ends_of.setdefault(port_name(row["port"]), []).extend(ends)
    by_lldp = {port: list(ends) for port, ends in ends_of.items()}
    for row in heard_macs:
        ends_of.setdefault(port_name(row["port"]), []).extend(of_mac.get(mac_of(row["mac"]), ()))
    ends_of = {port: ends for port, ends in ends_of.items() if ends}
    for cable in pod_cables:
        # A host without an LLDP agent hears nobody; its switch has learned it on the planned port, or somewhere on the way there.
        far = [*(mac_table_of_peers or {}).get(cable["peer"], ()), *_on_ports((arp_table_of_peers or {}).get(cable["peer"], []))]
        if port_name(cable["port"]) not in ends_of and _learned(cable, ip_link_of_peers.get(pod_node, []), far):
            ends_of[port_name(cable["port"])] = [(cable["peer"], cable["peer_port"])]
    if not ends_of:
        raise CannotTell("no neighbor in LLDP, the MAC table or the ARP table")
    up = {port_name(row["port"]) for row in interface_status if row["state"] == "connected"}
    place_of = {(node_name(cable["peer"]), port_name(cable["peer_port"])): cable["port"] for cable in pod_cables}
    for cable in cables_of(pod_cables):
        heard = ends_of.get(port_name(cable["port"]), [])
        end = (cable["peer"], cable["peer_port"])
        fits = any(same_end(one, end) for one in heard)
        # Tables keep an address for minutes after its cable was moved: they prove nothing where they disagree, and LLDP is newer.
        astray = fits and any(_elsewhere(one, place_of, cable) for one in by_lldp.get(port_name(cable["port"]), heard))
        if not heard and port_name(cable["port"]) in up:
            yield Finding(at_port(cable["port"]), _end(end), "not reported", "unknown")
        elif astray or (heard and not fits and not _confirmed(cable, pod_node, heard, lldp_neighbors_of_peers)):
            words = " and ".join(dict.fromkeys(_end(one) + _elsewhere(one, place_of, cable) for one in heard))
            yield Finding(at_port(cable["port"]), _end(end), words, "unknown" if astray else None, judged=True)


def _on_ports(arp: Rows) -> Rows:
    """The MAC addresses that answer on an interface; where that is a VLAN's, it is no planned port."""
    return [{"mac": row["mac"], "port": row["interface"]} for row in arp if row["interface"]]


def _learned(cable: NearCable, links: Rows, table: Rows) -> bool:
    """Whether the planned peer, of which this is the table, has learned this end's own MAC address on the planned port and on no other.

    An address that several NICs share, as those of a bond do, says nothing of either.
    """
    netdevs: dict[str, set[str]] = {}
    for row in links:
        if row["mac"] and row["parent_pci"] is not None:
            netdevs.setdefault(mac_of(row["mac"]), set()).add(port_name(row["netdev"]))
    own = {mac for mac, its in netdevs.items() if its == {port_name(cable["port"])}}
    return {port_name(row["port"]) for row in table if mac_of(row["mac"]) in own} == {port_name(cable["peer_port"])}


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


def _confirmed(cable: NearCable, node: str, heard: list[End], of_peers: dict[str, Rows]) -> bool:
    """Whether the planned peer is heard under another name of its port (SONiC reports its alias), and hears this end on the planned port."""
    named = any(node_name(one[0]) == node_name(cable["peer"]) for one in heard)
    back = [row for row in of_peers.get(cable["peer"], ()) if port_name(row["port"]) == port_name(cable["peer_port"])]
    return named and any(same_end((row["neighbor"], row["neighbor_port"]), (node, cable["port"])) for row in back)


def _elsewhere(heard: End, place_of: dict[End, str], cable: NearCable) -> str:
    """Where a neighbor is planned that is heard on the wrong port, so that swapped cables name each other."""
    place = place_of.get((node_name(heard[0]), port_name(heard[1])))
    return f", planned on {place}" if place and place != cable["port"] else ""


def _end(end: End) -> str:
    return f"{end[0]} {end[1]}"
