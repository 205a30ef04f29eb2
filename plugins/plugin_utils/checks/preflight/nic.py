# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: rail NICs, their MTU and their addresses."""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from ...pod.addressing import IN_WORDS, KERNEL_FAMILY, gid_family, is_link_local
from ...pod.rail_ports import members_of, rail_ports
from ...pod.types import Rail
from ...readings.nic_drivers import forms_of, generations_of
from ...text.ranges import ranges
from .. import CannotTell, Finding, NotApplicable, check
from .._grouping import Rows, grouped, not_reported, planned_rails, several
from .._odd_ones import odd_ones, undecided
from ..place import Place, at_device, at_gpu, at_port
from ._not_started import without_rdma
from ._port_states import MOST_CAUSE, MOST_FIX, of_port_state
from .identities import Peers, owners_of_addresses

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
# Of so many rails of a host, if they are most of them, one common cause is looked for.
MANY_RAILS = 4
# Kepler, Maxwell and Pascal come before Volta.
OLD_GPU = re.compile(r"\b(?:[KMP]\d{1,4}m?|GTX \d+|TITAN (?:X|Xp|Z))\b")


OF_SUBNET_CAUSE = (
    "The subnet manager gives a link the MTU that its partition and both ports allow: the partition is set up without mtu=5 (partitions.conf of opensm; its "
    "default is 2048 bytes), or a port at one end has a smaller largest MTU."
)
OF_SUBNET_FIX = (
    "Set mtu=5 (4096 bytes) of the partition in partitions.conf of opensm, or in UFM, and let the manager sweep the subnet heavily; where only some rails have "
    "a small one, compare max_mtu (ibv_devinfo) of both ends."
)


NAMED_ANEW_CAUSE = (
    "The netdev of this NIC is called {netdev} on the host and not {planned}: what is set up by name (address, MTU, classes, PFC) is not applied to it. "
    "Predictable names change with the release of systemd (its naming scheme), kernel and driver (np0 is the port that the driver tells, or tells too late), a "
    "card in another slot, or a .link file that was lost."
)
NAMED_ANEW_FIX = (
    "Compare udevadm info /sys/class/net/{netdev} with the same of another host; pin the name by PCI address or MAC address (a .link file of systemd), apply "
    "it (udevadm trigger, or a boot) and set up the netdev again. Where the new name is to stay, correct pod_rails and what is set up by name."
)
RENAMED_CAUSE = "The host numbers its NICs in another order than the plan (a card was added or replaced, a naming rule lost): this is another rail's NIC."
RENAMED_FIX = "Compare rdma link and the PCI addresses with pod_rails; bring back the names (udev rules, persistent naming) or the order of the cards."


@check(
    cause="The NIC is missing on the PCIe bus, its driver is not loaded, its cable is out, or a leaf's port is shut.",
    fix="Look for the device with lspci, load its driver, then look at the cable and the leaf's port.",
    required=True,
)
def rails_present(ibstat: Rows, rdma_link: Rows, pod_rails: list[Rail], pod_fabric: str, nic_driver: Rows | None = None) -> t.Iterator[Finding]:
    """Every rail's RDMA device is present, Active and LinkUp, and on its planned netdev."""
    ports, links = grouped(ibstat, "device"), grouped(rdma_link, "device")
    rails = planned_rails(pod_rails)
    down = [rail for rail in rails if (rows := ports.get(rail["device"])) and _states(rows[0]) != ("Active", "LinkUp")]
    leaves = {rail.get("leaf", "") for rail in down}
    for rail in rails:
        rows, link = ports.get(rail["device"]), links.get(rail["device"], [None])[0]
        if not rows or link is None:
            cause, fix = without_rdma(rail, nic_driver or ()) if not rows else (None, None)
            actual = "no such RDMA device" if not rows else "no RDMA link of that device"
            yield Finding(at_device(rail["device"]), "Active and LinkUp", actual, cause=cause, fix=fix)
        elif rail.get("netdev") and link["netdev"] not in (None, rail["netdev"], *members_of(rail)):
            # A bond's RDMA device is of one of its members.
            yield _on_another_netdev(rail, link["netdev"], rails)
        elif rail in down:
            state, physical_state = _states(rows[0])
            cause, fix = of_port_state(pod_fabric, state, physical_state, leaves.copy().pop() if len(leaves) == 1 else "")
            if len(down) >= MANY_RAILS and 2 * len(down) > len(rails) and state == "Down":
                cause, fix = MOST_CAUSE.format(number=len(down), all=len(rails)), MOST_FIX
            yield Finding(at_device(rail["device"]), "Active and LinkUp", f"{state} and {physical_state}", cause=cause, fix=fix)


def _at_others(address: str, have: t.Sequence[t.Any], of_peers: Peers, node: str) -> tuple[str, str] | None:
    """Cause and fix of a rail that has another address than its own, which other hosts have; None where nobody has it, or this rail has it too."""
    owners = owners_of_addresses(of_peers)
    others = [f"{host} {netdev}" for host, netdev in owners.get(address, ()) if host != node]
    if not others or any(str(one.ip) == address for one in have) or not have:
        return None
    return AT_OTHERS_CAUSE.format(address=address, others=ranges(others)), AT_OTHERS_FIX


def _on_another_netdev(rail: Rail, netdev: str, rails: list[Rail]) -> Finding:
    """A rail whose RDMA device is of a netdev that is another rail's, or that the plan does not know."""
    if netdev in {port["netdev"] for port in rail_ports(rails)}:
        return Finding(at_device(rail["device"]), f"netdev {rail['netdev']}", netdev, cause=RENAMED_CAUSE, fix=RENAMED_FIX)
    words = {"netdev": netdev, "planned": rail["netdev"]}
    where = Place(rail["device"], device=rail["device"], of="netdev")
    return Finding(where, f"netdev {rail['netdev']}", netdev, cause=NAMED_ANEW_CAUSE.format(**words), fix=NAMED_ANEW_FIX.format(**words))


def _states(row: dict[str, t.Any]) -> tuple[str | None, str | None]:
    return row["state"], row["physical_state"]


@check(
    cause="The adapter is of a generation or transport that cannot carry GPUDirect RDMA over RoCE v2 or InfiniBand.",
    fix="Replace the adapter, or take its device out of pod_rails.",
)
def adapters_capable(devinfo: Rows, pod_rails: list[Rail], pod_fabric: str, gpus: Rows | None = None) -> t.Iterator[Finding]:
    """Every rail supports the pod's fabric and is ConnectX-5 or later where it is a ConnectX, every GPU is Volta or later."""
    wanted = {"roce": "Ethernet", "infiniband": "InfiniBand"}[pod_fabric]
    reported = grouped(devinfo, "device")
    for rail in planned_rails(pod_rails):
        row = reported.get(rail["device"], [None])[0]
        if row is None:
            yield Finding(at_device(rail["device"]), "an RDMA adapter", "no such RDMA device")
        elif "iwarp" in row["transport"].lower():
            yield Finding(at_device(rail["device"]), "RoCE v2 or InfiniBand", row["transport"])
        elif row["link_layer"] not in (None, wanted):
            yield Finding(at_device(rail["device"]), f"link layer {wanted}", row["link_layer"])
        elif row["link_layer"] is None or row["vendor_id"] is None:
            yield Finding(at_device(rail["device"]), f"the vendor of an adapter on {wanted}", "not reported", "unknown")
        elif (known := generations_of(row["vendor_id"])) is not None and row["vendor_part_id"] is None:
            yield Finding(at_device(rail["device"]), f"{known['least']} on {wanted}", "not reported", "unknown")
        elif known is not None and row["vendor_part_id"] in known["too_old"]:
            yield Finding(at_device(rail["device"]), known["least"], known["too_old"][row["vendor_part_id"]])
    for gpu in gpus or ():
        if OLD_GPU.search(gpu["name"]):
            yield Finding(at_gpu(gpu["gpu"]), "Volta or later", gpu["name"])


@check(
    cause="A host was reimaged or its kernel updated, so that its NICs run under another driver, or under the kernel's own in place of the vendor's; "
    "or a guest has whole NICs where its peers have virtual functions, or the reverse.",
    fix="Install the driver of the group's other hosts (ethtool -i NETDEV names driver and version), or replace the odd NIC; "
    "of a guest, have its hypervisor pass through what its peers have (whole NICs or virtual functions).",
    scope="group",
    fabric="roce",
)
def nic_driver_uniform(
    nic_driver: dict[str, Rows], pod_rails: list[Rail], nic_functions: dict[str, Rows | None] | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """The rails of a gate group have one driver, all the vendor's or all the kernel's own, and all are whole NICs or all virtual functions."""
    netdevs = {str(rail["netdev"]) for rail in rail_ports(planned_rails(pod_rails))}
    rows = {host: [row for row in its if row["netdev"] in netdevs and row["version"] is not None] for host, its in nic_driver.items()}
    functions = nic_functions or {}
    values = {(host, netdev): form.name for host, its in rows.items() for netdev, form in forms_of(its, functions.get(host)).items()}
    yield from not_reported(nic_driver, values, netdevs, "a driver and version as its group")
    yield from undecided(values, Place("driver of the rails"), "one driver")
    odd: dict[tuple[str, str, str], list[str]] = {}
    for (host, netdev), value, usual in odd_ones(values):
        odd.setdefault((host, value, usual), []).append(netdev)
    for (host, value, usual), its in odd.items():
        # What is of a whole host is one finding.
        whole = len(its) == sum(of == host for of, _netdev in values) > 1
        for where in [Place(f"all {len(its)} rails")] if whole else map(at_device, its):
            yield Finding(where, f"driver {usual}, as its group", value, host=host)


@check(
    cause="The rail's netdev has a small MTU, or another one than its leaf; RDMA then falls back to smaller packets.",
    fix="Set the netdev's MTU to the fabric's (4200 or more carries an RDMA MTU of 4096), persistently.",
)
def mtu(ip_link: Rows, devinfo: Rows, pod_rails: list[Rail], pod_rdma_mtu: int, pod_mtu: int | None, pod_fabric: str) -> t.Iterator[Finding]:
    """Every rail's active RDMA MTU and its netdev's MTU are as planned."""
    links, devices = ({row[key]: row for row in rows} for key, rows in (("netdev", ip_link), ("device", devinfo)))
    for rail in planned_rails(pod_rails):
        device, link = devices.get(rail["device"]), links.get(rail.get("netdev"))
        if device is None or (link is None and pod_fabric == "roce"):
            yield Finding(at_device(rail["device"]), "an MTU", "not reported", "unknown")
            continue
        if device["active_mtu"] != pod_rdma_mtu:
            own = (OF_SUBNET_CAUSE, OF_SUBNET_FIX) if pod_fabric == "infiniband" else (None, None)
            yield Finding(at_device(rail["device"]), f"active RDMA MTU {pod_rdma_mtu}", str(device["active_mtu"]), cause=own[0], fix=own[1])
        if pod_mtu is not None and link is not None and link["mtu"] != pod_mtu:
            yield Finding(at_port(rail["netdev"]), f"MTU {pod_mtu}", str(link["mtu"]), value=pod_mtu)


@check(
    cause="One host or rail is configured differently from the rest.",
    fix="Give the deviating rail the MTU of the others, persistently.",
    scope="group",
    fabric="roce",
)
def mtu_uniform(ip_link: dict[str, Rows], pod_rails: list[Rail]) -> t.Iterator[Finding]:
    """The rails of a gate group have one netdev MTU."""
    several(ip_link)
    netdevs = {rail["netdev"] for rail in planned_rails(pod_rails)}
    values = {(host, row["netdev"]): row["mtu"] for host, rows in ip_link.items() for row in rows if row["netdev"] in netdevs}
    yield from not_reported(ip_link, values, netdevs, "an MTU as its group")
    yield from undecided(values, Place("MTU of the rails"), "one MTU")
    for (host, netdev), value, usual in odd_ones(values):
        yield Finding(at_port(netdev), f"MTU {usual}, as its group", str(value), host=host, value=usual)


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
