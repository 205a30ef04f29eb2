# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: rail NICs and their MTU."""

from __future__ import annotations

import re
import typing as t

from ...pod.rail_ports import members_of, rail_ports
from ...pod.types import Rail
from ...readings.nic_drivers import forms_of, generations_of
from ...readings.rows import Rows
from .. import Finding, check
from .._grouping import grouped, not_reported, planned_rails, several
from .._odd_ones import odd_ones, undecided
from ..place import Place, at_device, at_gpu, at_port
from ._not_started import without_rdma
from ._port_states import MOST_CAUSE, MOST_FIX, of_port_state

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


def _on_another_netdev(rail: Rail, netdev: str, rails: list[Rail]) -> Finding:
    """A rail whose RDMA device is of a netdev that is another rail's, or that the plan does not know."""
    if netdev in {port.get("netdev") for port in rail_ports(rails)}:
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
