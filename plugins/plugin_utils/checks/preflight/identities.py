# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: addresses that must be those of one rail of the pod only."""

from __future__ import annotations

import typing as t

from ...pod.addressing import is_link_local
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import Finding, check
from .._grouping import planned_rails
from ..place import Place, at_device, at_port

# (host, netdev or device) by the address that it has.
Owners = dict[str, list[tuple[str, str]]]
# By column, the rows of peers that were asked for last, who has which address, and who reports none.
_KEPT: dict[str, tuple[Peers, Owners, list[str]]] = {}
NO_ADDRESS = {"00:00:00:00:00:00", "0x0000000000000000"}
TWICE_MAC = "Two NICs have one MAC address: a cloned image or virtual machine, an address set by hand, or a NIC whose memory was copied."
TWICE_GUID = "Two adapters have one port GUID: an adapter whose firmware was written with another one's identity, or a GUID set by hand."


@check(
    cause="Two hosts have one IP address: both answer ARP or neighbor discovery for it, so that packets of one reach the other and RDMA connections fail "
    "intermittently.",
    fix="Find out from the plan (pod_rails) which of the two owns it, correct the other one's configuration and clear its entries in the leaf's "
    "neighbor table.",
    kind="host",
    of_pod=True,
)
def identities_unique(
    ip_address: Rows, ip_link: Rows, ibstat: Rows, ip_address_of_peers: Peers, ip_link_of_peers: Peers, ibstat_of_peers: Peers, pod_rails: list[Rail],
    pod_node: str,
) -> t.Iterator[Finding]:  # fmt: skip
    """No other NIC of the pod has an address, the MAC address or the port GUID of a rail."""
    rails = planned_rails(pod_rails)
    netdevs, devices = {rail["netdev"] for rail in rails if rail.get("netdev")}, {rail["device"] for rail in rails}
    own = {row["address"]: row["netdev"] for row in ip_address if row["netdev"] in netdevs and not is_link_local(row["address"])}
    owners, _lacking = _owners(ip_address_of_peers, "address", "netdev")
    for address, netdev in own.items():
        if others := _others(owners, address, pod_node):
            yield Finding(at_port(netdev, f"address {address}"), "on this rail only", f"also on {_named(others)}")
    yield from _of_hardware("MAC address", ip_link, ip_link_of_peers, "mac", "netdev", netdevs, pod_node, TWICE_MAC)
    yield from _of_hardware("port GUID", ibstat, ibstat_of_peers, "port_guid", "device", devices, pod_node, TWICE_GUID)


def _of_hardware(
    what: str, rows: Rows, of_peers: Peers, column: str, name: str, rails: t.Container[str], node: str, cause: str
) -> t.Iterator[Finding]:  # fmt: skip
    """The addresses that each rail's NIC has from its factory."""
    mine: dict[str, list[str]] = {}
    at = at_device if name == "device" else at_port
    for row in rows:
        if row[name] in rails and row[column] is None:
            yield Finding(at(row[name], what), "an address of its own", "not reported", "unknown")
        elif row[name] in rails and row[column] not in NO_ADDRESS:
            mine.setdefault(row[column], []).append(row[name])
    owners, lacking = _owners(of_peers, column, name)
    for address, names in mine.items():
        others = [*_others(owners, address, node), *((node, other) for other in names[1:])]
        if others:
            fix = f"Compare the {what} with what is printed on the NIC, and correct that of {names[0]} or of {_named(others)}."
            yield Finding(at(names[0], f"{what} {address}"), "on this rail only", f"also on {_named(others)}", cause=cause, fix=fix)
    if lacking:
        yield Finding(Place(what), "of every host of the pod", f"not reported by {', '.join(lacking)}", "unknown")


def owners_of_addresses(of_peers: Peers) -> Owners:
    """Which hosts have an address, and on which netdev; worked out once for all hosts of a layer."""
    return _owners(of_peers, "address", "netdev")[0]


def _owners(of_peers: Peers, column: str, name: str) -> tuple[Owners, list[str]]:
    """Who has which address, and who reports none; worked out once for all hosts of a layer, which are given the same rows of peers."""
    kept = _KEPT.get(column)
    if kept is None or kept[0] is not of_peers:
        owners: Owners = {}
        for peer, rows in of_peers.items():
            for row in rows:
                if row[column] is not None:
                    owners.setdefault(row[column], []).append((peer, row[name]))
        lacking = sorted(peer for peer, rows in of_peers.items() if rows and all(row[column] is None for row in rows))
        kept = _KEPT[column] = (of_peers, owners, lacking)
    return kept[1], kept[2]


def _others(owners: Owners, address: str, node: str) -> list[tuple[str, str]]:
    return [one for one in owners.get(address, ()) if one[0] != node]


def _named(owners: t.Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{host} {name}" for host, name in owners)
