# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the MAC addresses that hosts and leaves have for the rails of the pod, against those that the NICs report."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import mac_of
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from .._grouping import planned_rails
from .._once import once_for_all_nodes
from ..place import Place, at_device, at_port

NONE_KNOWN = "no entry of this node is of an address that one other NIC of the pod has"
BY_ANOTHER_HOST = (
    "{other_host} answers for {address} with its {other}, and {host} {own} has the address: {other_host} had it before or has it too (in a network namespace, "
    "a VM or a container), or answers for others (proxy_arp)."
)
BY_ANOTHER_HOST_FIX = (
    "On {other_host} look for {address} (ip address, in every network namespace: ip netns, lsns -t net) and at sysctl net.ipv4.conf.{other}.proxy_arp; "
    "remove it there, then delete this entry."
)
ONE_ANSWERS = (
    "One NIC of this host answers ARP for the addresses of its other ones, as Linux does by default where several NICs are in one subnet (ARP flux): what is "
    "sent to these rails arrives at that NIC, which answers pings to them and drops RDMA."
)
ONE_ANSWERS_FIX = (
    "Set net.ipv4.conf.all.arp_ignore = 1 (or 2) and net.ipv4.conf.all.arp_announce = 2 in /etc/sysctl.d of this host, or give each rail a subnet of its own; "
    "then flush the entries of the nodes named (ip neigh flush, clear arp-cache)."
)
# Where no switch reports its ARP table; one object, since what is computed once is kept by its arguments.
NO_TABLES: Peers = {}


class Owner(t.NamedTuple):
    """The one NIC of the pod that has an address, and the MAC address that it reports; reported: in the NIC's own writing."""

    host: str
    netdev: str
    mac: str
    reported: str


class Answer(t.NamedTuple):
    """The MAC address that a node has learned for an address, and the netdev that has the address."""

    mac: str
    address: str
    netdev: str
    learned_by: str


@once_for_all_nodes
def _owners(ip_address_of_peers: Peers, ip_link_of_peers: Peers) -> dict[str, Owner]:
    """Who has which address; an address of several NICs, such as that of a bridge for containers, is left out."""
    found: dict[str, list[Owner]] = {}
    for host, rows in ip_address_of_peers.items():
        macs = {row["netdev"]: row["mac"] for row in ip_link_of_peers.get(host, ())}
        for row in rows:
            reported = macs.get(row["netdev"]) or ""
            found.setdefault(row["address"], []).append(Owner(host, row["netdev"], mac_of(reported), reported))
    return {address: owners[0] for address, owners in found.items() if len(owners) == 1 and owners[0].mac}


@once_for_all_nodes
def _nics(ip_link_of_peers: Peers) -> dict[str, set[tuple[str, str]]]:
    """The host and netdev of each NIC by its MAC address; those of a bond have one."""
    found: dict[str, set[tuple[str, str]]] = {}
    for host, rows in ip_link_of_peers.items():
        for row in rows:
            found.setdefault(mac_of(row["mac"] or ""), set()).add((host, row["netdev"]))
    return found


@once_for_all_nodes
def _unlike(tables: Peers, ip_address_of_peers: Peers, ip_link_of_peers: Peers) -> dict[str, list[dict[str, t.Any]]]:
    """The entries of each node that are not of the NIC which has the address: few, where a table has a row for each rail of the pod."""
    owners = _owners(ip_address_of_peers, ip_link_of_peers)
    return {node: unlike for node, rows in tables.items() if (unlike := _unlike_in(rows, owners))}


def _unlike_in(rows: Rows, owners: t.Mapping[str, Owner]) -> list[dict[str, t.Any]]:
    """Those of a table; most entries are written as the NIC writes its own MAC address, and need no further look."""
    known = ((row, owners.get(row["address"])) for row in rows)
    return [row for row, owner in known if owner is not None and row["mac"] != owner.reported and mac_of(row["mac"]) != owner.mac]


@once_for_all_nodes
def _answering_for_others(tables: Peers, ip_address_of_peers: Peers, ip_link_of_peers: Peers) -> set[str]:
    """MAC addresses under which several of the pod's NICs are known somewhere: of a switch that answers for them (proxy ARP), and of no NIC."""
    owners, nics = _owners(ip_address_of_peers, ip_link_of_peers), _nics(ip_link_of_peers)
    unlike = _unlike(tables, ip_address_of_peers, ip_link_of_peers)
    pairs = {(mac_of(row["mac"]), owners[row["address"]]) for rows in unlike.values() for row in rows}
    counted = Counter(mac for mac, _owner in pairs if mac not in nics)
    return {mac for mac, times in counted.items() if times > 1}


def _wrong(where: Place, row: dict[str, t.Any], owner: Owner, ip_link_of_peers: Peers) -> Finding:
    """An entry that is not of the NIC which has the address, with the other host whose NIC it is of where one has it."""
    mac = mac_of(row["mac"])
    of = sorted(_nics(ip_link_of_peers).get(mac, ()))
    other_host, other = of[0] if len({host for host, _netdev in of}) == 1 else ("", "")
    words = f"{_written(mac)}{f' ({other_host} {other})' if other else ''}, where {owner.host} {owner.netdev} has the address"
    if other_host in {"", owner.host}:
        return Finding(where, _written(owner.mac), words)
    names = {"host": owner.host, "own": owner.netdev, "other_host": other_host, "other": other, "address": row["address"]}
    return Finding(where, _written(owner.mac), words, cause=BY_ANOTHER_HOST.format(**names), fix=BY_ANOTHER_HOST_FIX.format(**names))


@once_for_all_nodes
def _answered_by_another_nic(
    neighbor_tables: Peers, arp_tables: Peers, ip_address_of_peers: Peers, ip_link_of_peers: Peers
) -> dict[str, list[Answer]]:  # fmt: skip
    """The answers of each host for an address of its own by another NIC than the one that has it."""
    owners = _owners(ip_address_of_peers, ip_link_of_peers)
    found: dict[str, list[Answer]] = {}
    # Those of hosts last, since they are asked for once more and the last result is kept.
    of_switches = _unlike(arp_tables, ip_address_of_peers, ip_link_of_peers)
    of_hosts = _unlike(neighbor_tables, ip_address_of_peers, ip_link_of_peers)
    for node, rows in (*of_hosts.items(), *of_switches.items()):
        for row in rows:
            owner = owners[row["address"]]
            if owner.host != node and _is_of_another_nic(row, owner, ip_link_of_peers):
                found.setdefault(owner.host, []).append(Answer(mac_of(row["mac"]), row["address"], owner.netdev, node))
    return found


def _is_of_another_nic(row: dict[str, t.Any], owner: Owner, ip_link_of_peers: Peers) -> bool:
    """Whether an entry is of another NIC of the host that has the address; of IPv6 the NIC alone answers that has it, and the entry is an old one."""
    mac = mac_of(row["mac"])
    return "." in row["address"] and mac != owner.mac and owner.host in {host for host, _netdev in _nics(ip_link_of_peers).get(mac, ())}


@check(
    cause="This host keeps a MAC address for its partner that is not that of the NIC which has the address now: the partner's NIC was replaced or the address "
    "moved, and the entry is a static one, or RDMA has used it without a new ARP request. What is sent there is lost.",
    fix="Delete the entry (ip neigh del ADDRESS dev NETDEV), so that ARP or neighbor discovery learns it anew; where it comes back, correct what sets it "
    "(ip neigh show nud permanent, /etc/ethers, systemd-networkd).",
    fabric="roce",
    kind="host",
)
def neighbor_entries(
    neighbor_table: Rows, neighbor_table_of_peers: Peers, ip_address_of_peers: Peers, ip_link_of_peers: Peers, pod_rails: list[Rail], pod_node: str,
    arp_table_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """The MAC address that a host has for a rail of another host is that of the NIC that has the address."""
    devices = {rail["netdev"]: rail["device"] for rail in planned_rails(pod_rails) if rail.get("netdev")}
    answers = _answered_by_another_nic(neighbor_table_of_peers, arp_table_of_peers or NO_TABLES, ip_address_of_peers, ip_link_of_peers).get(pod_node, [])
    # No RDMA is sent to the host's other addresses, such as those of several management NICs in one subnet.
    own = list(_of_answers([one for one in answers if one.netdev in devices], devices, pod_node, ip_link_of_peers))
    yield from own
    others = _answering_for_others(neighbor_table_of_peers, ip_address_of_peers, ip_link_of_peers)
    owners = _owners(ip_address_of_peers, ip_link_of_peers)

    def judged(row: dict[str, t.Any]) -> bool:
        owner = owners.get(row["address"])
        return owner is not None and owner.host != pod_node and row["netdev"] in devices and mac_of(row["mac"]) not in others

    for row in _unlike_in(neighbor_table, owners):
        owner = owners[row["address"]]
        if judged(row) and not _is_of_another_nic(row, owner, ip_link_of_peers):
            where = at_device(devices[row["netdev"]], f"entry of {row['address']}", peers=(owner.host, row["address"]))
            yield _wrong(where, row, owner, ip_link_of_peers)
    if not own and not any(map(judged, neighbor_table)):
        raise NotApplicable(NONE_KNOWN)


def _of_answers(answers: list[Answer], devices: dict[str, str], node: str, ip_link_of_peers: Peers) -> t.Iterator[Finding]:
    """A finding for each NIC of this host that answers for rails of its other NICs."""
    for mac in dict.fromkeys(one.mac for one in answers):
        netdevs = sorted(netdev for host, netdev in _nics(ip_link_of_peers)[mac] if host == node)
        device = next((devices[netdev] for netdev in netdevs if netdev in devices), None)
        where = at_device(device) if device else at_port(netdevs[0])
        addresses = ", ".join(sorted({one.address for one in answers if one.mac == mac}))
        nodes = ", ".join(sorted({one.learned_by for one in answers if one.mac == mac}))
        yield Finding(where, "each NIC answers for its own address", f"it answers for {addresses}, as {nodes} learned", cause=ONE_ANSWERS, fix=ONE_ANSWERS_FIX)


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
        # Which NIC of a host answers is the host's own doing, and neighbor_entries has it.
        if mac_of(row["mac"]) != owner.mac and not _is_of_another_nic(row, owner, ip_link_of_peers):
            where = at_port(row["interface"] or "ARP", f"entry of {row['address']}", peers=(owner.host, row["address"]))
            yield _wrong(where, row, owner, ip_link_of_peers)
    if not judged:
        raise NotApplicable(NONE_KNOWN)


def _written(mac: str) -> str:
    """A MAC address as people write it."""
    return ":".join(mac[place : place + 2] for place in range(0, len(mac), 2))
