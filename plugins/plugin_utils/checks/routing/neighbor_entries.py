# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the MAC addresses that hosts and leaves have for the rails of the pod, against those that the NICs report."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import mac_of
from ...pod.types import Rail
from .. import Finding, NotApplicable, check
from .._grouping import Rows, planned_rails
from .._once import Peers, once_for_all_nodes
from ..place import Place, at_device, at_port

NONE_KNOWN = "no entry of this node is of an address that one other NIC of the pod has"
BY_ANOTHER_NIC = (
    "{host} answers ARP for {address}, which its {own} has, with the MAC address of its {other}: several of its NICs are in one subnet and Linux answers on "
    "any of them (ARP flux). RoCE packets for the address reach a NIC that does not have it, and are dropped."
)
BY_ANOTHER_NIC_FIX = (
    "On {host} set net.ipv4.conf.all.arp_ignore to 1 and arp_announce to 2, persistently, then delete this entry; or give each rail a subnet of its own."
)
BY_ANOTHER_HOST = (
    "{other_host} answers for {address} with its {other}, and {host} {own} has the address: {other_host} had it before or has it too (in a network namespace, "
    "a VM or a container), or answers for others (proxy_arp)."
)
BY_ANOTHER_HOST_FIX = (
    "On {other_host} look for {address} (ip address, in every network namespace: ip netns, lsns -t net) and at sysctl net.ipv4.conf.{other}.proxy_arp; "
    "remove it there, then delete this entry."
)


class Owner(t.NamedTuple):
    """The one NIC of the pod that has an address, and the MAC address that it reports."""

    host: str
    netdev: str
    mac: str


@once_for_all_nodes
def _owners(ip_address_of_peers: Peers, ip_link_of_peers: Peers) -> dict[str, Owner]:
    """Who has which address; an address of several NICs, such as that of a bridge for containers, is left out."""
    found: dict[str, list[Owner]] = {}
    for host, rows in ip_address_of_peers.items():
        macs = {row["netdev"]: row["mac"] for row in ip_link_of_peers.get(host, ())}
        for row in rows:
            found.setdefault(row["address"], []).append(Owner(host, row["netdev"], mac_of(macs.get(row["netdev"]) or "")))
    return {address: owners[0] for address, owners in found.items() if len(owners) == 1 and owners[0].mac}


@once_for_all_nodes
def _nics(ip_link_of_peers: Peers) -> dict[str, Owner]:
    """The NICs of hosts by their MAC addresses; without those that several hosts have, such as of interfaces to containers."""
    found: dict[str, dict[str, Owner]] = {}
    for host, rows in ip_link_of_peers.items():
        for row in rows:
            if mac := mac_of(row["mac"] or ""):
                found.setdefault(mac, {}).setdefault(host, Owner(host, row["netdev"], mac))
    return {mac: next(iter(of_hosts.values())) for mac, of_hosts in found.items() if len(of_hosts) == 1}


@once_for_all_nodes
def _answering_for_others(tables: Peers, ip_address_of_peers: Peers, ip_link_of_peers: Peers) -> set[str]:
    """MAC addresses under which several of the pod's NICs are known somewhere: of a switch that answers for them (proxy ARP), and of no NIC."""
    owners = _owners(ip_address_of_peers, ip_link_of_peers)
    pairs = {(mac_of(row["mac"]), owners[row["address"]]) for rows in tables.values() for row in rows if row["address"] in owners}
    counted = Counter(mac for mac, owner in pairs if mac != owner.mac)
    return {mac for mac, times in counted.items() if times > 1 and mac not in _nics(ip_link_of_peers)}


def _wrong(where: Place, row: dict[str, t.Any], owner: Owner, nics: t.Mapping[str, Owner]) -> Finding:
    """An entry that is not of the NIC which has the address, with whose NIC it is of where that is known."""
    mac = mac_of(row["mac"])
    of = nics.get(mac)
    words = f"{_written(mac)}{f' ({of.host} {of.netdev})' if of else ''}, where {owner.host} {owner.netdev} has the address"
    if of is None or (of.host == owner.host and ":" in row["address"]):
        # Of IPv6 a host answers for an address on the NIC that has it alone.
        return Finding(where, _written(owner.mac), words)
    names = {"host": owner.host, "own": owner.netdev, "other_host": of.host, "other": of.netdev, "address": row["address"]}
    cause, fix = (BY_ANOTHER_NIC, BY_ANOTHER_NIC_FIX) if of.host == owner.host else (BY_ANOTHER_HOST, BY_ANOTHER_HOST_FIX)
    return Finding(where, _written(owner.mac), words, cause=cause.format(**names), fix=fix.format(**names))


@check(
    cause="This host keeps a MAC address for its partner that is not that of the NIC which has the address now: the partner's NIC was replaced or the address "
    "moved, and the entry is a static one, or RDMA has used it without a new ARP request. What is sent there is lost.",
    fix="Delete the entry (ip neigh del ADDRESS dev NETDEV), so that ARP or neighbor discovery learns it anew; where it comes back, correct what sets it "
    "(ip neigh show nud permanent, /etc/ethers, systemd-networkd).",
    fabric="roce",
    kind="host",
)
def neighbor_entries(
    neighbor_table: Rows, neighbor_table_of_peers: Peers, ip_address_of_peers: Peers, ip_link_of_peers: Peers, pod_rails: list[Rail], pod_node: str
) -> t.Iterator[Finding]:  # fmt: skip
    """The MAC address that a host has for a rail of another host is that of the NIC that has the address."""
    devices = {rail["netdev"]: rail["device"] for rail in planned_rails(pod_rails) if rail.get("netdev")}
    others = _answering_for_others(neighbor_table_of_peers, ip_address_of_peers, ip_link_of_peers)
    judged = 0
    for row in neighbor_table:
        owner = _owners(ip_address_of_peers, ip_link_of_peers).get(row["address"])
        if owner is None or owner.host == pod_node or row["netdev"] not in devices or mac_of(row["mac"]) in others:
            continue
        judged += 1
        if mac_of(row["mac"]) != owner.mac:
            where = at_device(devices[row["netdev"]], f"entry of {row['address']}", peers=(owner.host, row["address"]))
            yield _wrong(where, row, owner, _nics(ip_link_of_peers))
    if not judged:
        raise NotApplicable(NONE_KNOWN)


@check(
    cause="This switch keeps a MAC address for a host that is not that of the NIC which has the address now: the NIC was replaced or the address moved, and "
    "the entry is a static one or its lifetime is not over. What is sent to the host is lost.",
    fix="Clear the entry (clear arp-cache, ip neigh flush), and look for static entries in the switch's configuration and for a second host with the address.",
    fabric="roce",
    kind="switch",
)
def switch_neighbor_entries(arp_table: Rows, arp_table_of_peers: Peers, ip_address_of_peers: Peers, ip_link_of_peers: Peers) -> t.Iterator[Finding]:
    """The MAC address that a switch has for a rail of a host is that of the NIC that has the address."""
    others = _answering_for_others(arp_table_of_peers, ip_address_of_peers, ip_link_of_peers)
    judged = 0
    for row in arp_table:
        owner = _owners(ip_address_of_peers, ip_link_of_peers).get(row["address"])
        if owner is None or mac_of(row["mac"]) in others:
            continue
        judged += 1
        if mac_of(row["mac"]) != owner.mac:
            where = at_port(row["interface"] or "ARP", f"entry of {row['address']}", peers=(owner.host, row["address"]))
            yield _wrong(where, row, owner, _nics(ip_link_of_peers))
    if not judged:
        raise NotApplicable(NONE_KNOWN)


def _written(mac: str) -> str:
    """A MAC address as people write it."""
    return ":".join(mac[place : place + 2] for place in range(0, len(mac), 2))
