# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: the addresses of rails, and the GIDs that follow from them."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.addressing import IN_WORDS, KERNEL_FAMILY, gid_family, is_link_local
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from ...text.ranges import ranges
from .. import CannotTell, Finding, NotApplicable, check
from .._grouping import grouped, not_reported, planned_rails, several
from .._odd_ones import odd_ones, undecided
from ..place import Place, at_device, at_port
from .identities import owners_of_addresses

try:
    import netaddr

    HAS_NETADDR = True
except ImportError:
    HAS_NETADDR = False

SHIFTED = (
    "Another address of the netdev (a second IPv4 or IPv6 address, a VLAN) came before the planned one and shifted the GID table; "
    "jobs that use the planned index send from another address, or fail."
)
SHIFTED_FIX = (
    "Remove the extra address that show_gids lists for the device, then set its netdev down and up, which rebuilds the table; or unset NCCL_IB_GID_INDEX."
)
# What a host gives itself where no DHCP server answers (RFC 3927).
SELF_ASSIGNED = netaddr.IPNetwork("169.254.0.0/16") if HAS_NETADDR else ()
NO_LEASE_CAUSE = "The rail has an address that the host gave itself (169.254.0.0/16): no DHCP server answered it, or its configuration was not applied."
NO_LEASE_FIX = "Renew the lease (networkctl renew, dhclient) and look why it was lost: the DHCP server, its relay on the leaf; or give it a static address."
TAKEN_CAUSE = "Another node on the link has {address} already: the kernel found it so when the address was set (dadfailed), and sends nothing from it."
TAKEN_FIX = (
    "Find the other node by its MAC address (ndisc6 {address} {netdev}, or the neighbor table of the leaf) and give it its own address; "
    "then delete {address} from {netdev} and add it again (ip -6 address), which tries it anew."
)
AT_OTHERS_CAUSE = (
    "{address} is set at {others}, and this rail has another one: the addresses of the two were exchanged, or one host has the configuration of the other "
    "(its number or name in the inventory, a cloned image, a DHCP reservation for the wrong MAC address)."
)
AT_OTHERS_FIX = (
    "Compare host name, MAC addresses and addresses of both with pod_rails, and give each its own, persistently; then clear their entries in the leaf's "
    "neighbor table."
)


def _of_family(rows: Rows, rail: Rail, family: str) -> Rows:
    """The RoCE v2 GIDs that a device has of its netdev's own routed addresses of a family; those of a VLAN or macvlan on it are none of the rail's."""
    return [
        row for row in rows
        if row["version"] == "v2" and gid_family(row["gid"]) == family and row["netdev"] in (None, rail.get("netdev"))
    ]  # fmt: skip


@check(
    cause="The rail has no address of the pod's family, or two, or its address came after the RDMA device took its GIDs.",
    fix="Give the rail's netdev its one planned address (of IPv6 without temporary ones), then look at show_gids.",
    fabric="roce",
    remedy="gid",
)
def gid_index(gids: Rows, pod_rails: list[Rail], pod_gid_index: int | None, pod_address_family: str) -> t.Iterator[Finding]:
    """Every rail has exactly one RoCE v2 GID of a routed address of the pod's family, at the planned index where there is one."""
    reported = grouped(gids, "device")
    for rail in planned_rails(pod_rails):
        rows = _of_family(reported.get(rail["device"], []), rail, pod_address_family)
        if len(rows) != 1:
            yield Finding(at_device(rail["device"]), f"one {IN_WORDS[pod_address_family]} RoCE v2 GID", str(len(rows)))
        elif pod_gid_index is not None and rows[0]["index"] != pod_gid_index:
            there = next((row["gid"] for row in reported[rail["device"]] if row["index"] == pod_gid_index), None)
            got = f"{rows[0]['index']}: the index moved from {pod_gid_index} to {rows[0]['index']}" + (f", and {pod_gid_index} is {there}" if there else "")
            yield Finding(at_device(rail["device"]), f"GID index {pod_gid_index}", got, cause=SHIFTED, fix=SHIFTED_FIX)


@check(
    cause="A VLAN, a second address or another driver shifts the GID table of some rails; jobs use one index for all.",
    fix="Compare show_gids of the deviating rail with another; remove the extra address or VLAN, or bring its netdev down and up, which rebuilds the table.",
    scope="group",
    fabric="roce",
)
def gid_index_uniform(gids: dict[str, Rows], pod_rails: list[Rail], pod_address_family: str) -> t.Iterator[Finding]:
    """The RoCE v2 GID of the pod's address family has one index on all rails of a gate group."""
    several(gids)
    rails = {rail["device"]: rail for rail in planned_rails(pod_rails)}
    devices = set(rails)
    values = {
        (host, device): row["index"]
        for host, rows in gids.items()
        for device, its in grouped(rows, "device").items()
        if device in rails
        for row in _of_family(its, rails[device], pod_address_family)
    }
    yield from not_reported(gids, values, devices, "a GID index as its group", at_device)
    yield from undecided(values, Place("GID index of the rails"), "one GID index")
    for (host, device), value, usual in odd_ones(values):
        yield Finding(at_device(device), f"GID index {usual}, as its group", str(value), host=host)


@check(
    cause="The rail has another address or prefix length than the plan, so that peers or policy routes miss it.",
    fix="Give the rail its planned address with its prefix length, persistently.",
    fabric="roce",
)
def address_plan(
    ip_address: Rows, pod_rails: list[Rail], pod_address_family: str, ip_address_of_peers: Peers | None = None, pod_node: str = ""
) -> t.Iterator[Finding]:
    """Every rail that has a planned address has it, with its prefix length, and may use it."""
    with_address = [rail for rail in planned_rails(pod_rails) if rail.get("address")]
    if not with_address:
        raise NotApplicable("pod_rails has no addresses")
    if not HAS_NETADDR:
        raise CannotTell("the Python package netaddr is needed on the controller")
    family = KERNEL_FAMILY[pod_address_family]
    # Every netdev has a link-local address of IPv6; one of IPv4 is what it has in place of its own.
    routed = [row for row in ip_address if row["family"] == family and not (family == "inet6" and is_link_local(row["address"]))]
    reported = grouped(routed, "netdev")
    for rail in with_address:
        wanted = netaddr.IPNetwork(str(rail["address"]))
        have = [netaddr.IPNetwork(f"{row['address']}/{row['prefix_length']}") for row in reported.get(rail["netdev"], [])]
        exact = [one for one in have if one.ip == wanted.ip and ("/" not in str(rail["address"]) or one.prefixlen == wanted.prefixlen)]
        if not exact:
            own = (NO_LEASE_CAUSE, NO_LEASE_FIX) if have and all(one.ip in SELF_ASSIGNED for one in have) else (None, None)
            own = _at_others(str(wanted.ip), have, ip_address_of_peers or {}, pod_node) or own
            got = ", ".join(map(str, have)) or f"no {IN_WORDS[pod_address_family]} address"
            yield Finding(at_port(rail["netdev"]), str(rail["address"]), got, cause=own[0], fix=own[1])
        elif any(row["at_another_node"] and netaddr.IPAddress(row["address"]) == wanted.ip for row in reported[rail["netdev"]]):
            words = {"address": str(wanted.ip), "netdev": rail["netdev"]}
            yield Finding(
                at_port(rail["netdev"]), f"{wanted} in use", "dadfailed: not in use", cause=TAKEN_CAUSE.format(**words), fix=TAKEN_FIX.format(**words)
            )
    places = {(row["address"], row["netdev"]) for row in routed}
    for address, number in Counter(address for address, _netdev in sorted(places)).items():
        yield from [Finding(Place(address), "on one netdev", "on several")] * (number > 1)


def _at_others(address: str, have: t.Sequence[t.Any], of_peers: Peers, node: str) -> tuple[str, str] | None:
    """Cause and fix of a rail that has another address than its own, which other hosts have; None where nobody has it, or this rail has it too."""
    owners = owners_of_addresses(of_peers)
    others = [f"{host} {netdev}" for host, netdev in owners.get(address, ()) if host != node]
    if not others or any(str(one.ip) == address for one in have) or not have:
        return None
    return AT_OTHERS_CAUSE.format(address=address, others=ranges(others)), AT_OTHERS_FIX
