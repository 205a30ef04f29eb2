# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3, congestion: whether a leaf has learned where the NICs are that it has just forwarded for."""

from __future__ import annotations

import typing as t

from ...pod.names import mac_of
from ...pod.rail_ports import leaves_of
from ...pod.types import PodRail
from ...readings.rows import Rows
from .. import Finding, NotApplicable, check
from .._counters import incasts_of_node
from ..place import at_port

LOADED = ("sender", "receiver")


@check(
    cause="The switch has the NIC's address in its ARP table and its MAC address in no MAC table, though it has just sent: it floods what goes there to all "
    "ports of the VLAN. Flooded packets of a lossless class fill and pause ports that have nothing to do with it, which can end in a deadlock.",
    fix="Look for what takes the entry away (show mac address-table address MAC: a shorter lifetime than that of ARP, MAC moves, a full table, port security), "
    "set the MAC table's lifetime above that of ARP, and drop lossless packets of unknown destinations rather than flood them.",
    fabric="roce",
    kind="switch",
    severity="warn",
    needs="load",
)
def hosts_learned(
    pod_incasts: Rows, pod_incast_refused: str, pod_leaf_rails: list[PodRail], pod_node: str, arp_table: Rows | None = None, mac_table: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """After the load the MAC address of each NIC that was in it is in the leaf's MAC table."""
    loaded = {(row["peer"], row["device"]): row["port"] for row in incasts_of_node(pod_incasts, pod_incast_refused) if row["role"] in LOADED}
    macs = {row["address"]: mac_of(row["mac"]) for row in arp_table or () if row["mac"]}
    known = {mac_of(row["mac"]) for row in mac_table or ()}
    # A bond's packets arrive at one of two leaves.
    behind = [rail for rail in pod_leaf_rails if leaves_of(rail) == [pod_node] and (rail["host"], rail["device"]) in loaded and rail["address"] in macs]
    missing = [rail for rail in behind if macs[str(rail["address"])] not in known]
    if 2 * len(missing) >= len(behind):
        raise NotApplicable("the switch routes its ports to hosts, or does not report its ARP and MAC tables")
    for rail in missing:
        where = at_port(loaded[rail["host"], rail["device"]], peers=(rail["host"],))
        yield Finding(where, f"an entry of {rail['host']} {rail['device']} in the MAC table", f"none of {macs[str(rail['address'])]}")
