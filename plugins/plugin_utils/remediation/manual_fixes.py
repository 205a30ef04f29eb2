# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixes that are described and not made: MTU, kernel command line and ACS, in the commands of the host's own distribution and network stack."""

from __future__ import annotations

import typing as t

from ..evaluate.verdicts import FindingRecord, place_of
from ..run.documents import Report

KERNEL = {"iommu_as_expected": "iommu=pt", "hugepages_reserved": "default_hugepagesz=1G hugepagesz=1G hugepages={pages}"}
# An RDMA MTU of 4096 needs room for its headers.
ROOM = 4200
Values = t.Mapping[str, t.Any]


def manual_fixes(report: Report, host: str, values: Values, stack: Values) -> list[str]:
    """The fixes of a host's findings, a text of commands each.

    stack: what the module ``host_stack`` reported: ``managers`` by netdev, ``boot_loader``.
    """
    netdevs: dict[str, int] = {}
    bridges, arguments = [], []
    rails = {rail["device"]: rail.get("netdev") or rail["device"] for rail in values["pod_rails"]}
    for verdict in report["verdicts"]:
        wrong = [one for one in verdict["findings"] if one["host"] == host and one["severity"] == "fail"]
        if verdict["check"] in ("mtu", "mtu_uniform"):
            netdevs |= {rails.get(name, name): _mtu(one, values) for one in wrong if (name := place_of(one).interface)}
        elif verdict["check"] == "acs_as_expected":
            bridges += [pci for one in wrong if (pci := place_of(one).pci)]
        elif verdict["check"] in KERNEL and wrong and values["pod_virtualization"] in ("none", "container"):
            arguments.append(KERNEL[verdict["check"]].format(pages=values["pod_hugepages_1g"]))
    fixes = [mtu_fix(netdev, size, stack["managers"].get(netdev) or {}) for netdev, size in netdevs.items()]
    return fixes + ([kernel_fix(" ".join(arguments), stack["boot_loader"])] if arguments else []) + ([acs_fix(bridges)] if bridges else [])


def _mtu(finding: FindingRecord, values: Values) -> int:
    """What the finding's netdev should have; a finding of the RDMA MTU does not name that."""
    return int(finding.get("value") or values["pod_mtu"] or ROOM)


def mtu_fix(netdev: str, size: int, manager: Values) -> str:
    """How a netdev gets another MTU for good."""
    file = manager.get("file") or ""
    ways = {
        "netplan": [f"netplan set ethernets.{netdev}.mtu={size}   # in {file}", "netplan apply"],
        "networkd": [
            f"mkdir -p /etc/systemd/network/{file.rpartition('/')[2]}.d",
            f"printf '[Link]\\nMTUBytes={size}\\n' >/etc/systemd/network/{file.rpartition('/')[2]}.d/mtu.conf   # beside {file}",
            f"networkctl reload && networkctl reconfigure {netdev}",
        ],
        "networkmanager": [
            f'nmcli connection modify "$(nmcli -g GENERAL.CONNECTION device show {netdev})" 802-3-ethernet.mtu {size}   # {file}',
            f"nmcli device reapply {netdev}",
        ],
        "ifcfg": [f"echo MTU={size} >>{file}   # or change its line MTU=", "nmcli connection reload", f"nmcli device connect {netdev}"],
        "ifupdown": [f"put 'mtu {size}' below 'iface {netdev}' in {file}", f"ifdown {netdev} && ifup {netdev}"],
    }
    unknown = [f"ip link set dev {netdev} mtu {size}", f"then find out who configures {netdev}, and say it there; no file known to us does"]
    return "\n".join([f"MTU of {netdev}, by {manager.get('kind') or 'hand'}:", *(f"    {line}" for line in ways.get(manager.get("kind") or "", unknown))])


def kernel_fix(arguments: str, loader: str | None) -> str:
    """How the kernel gets further arguments."""
    grub = f"add {arguments} to GRUB_CMDLINE_LINUX in /etc/default/grub"
    ways = {
        "grubby": [f"grubby --update-kernel=ALL --args='{arguments}'", "reboot"],
        "update_grub": [grub, "update-grub", "reboot"],
        "grub_mkconfig": [grub, "grub2-mkconfig -o /boot/grub2/grub.cfg", "reboot"],
        "kernel_cmdline": [f"add {arguments} to /etc/kernel/cmdline", "kernel-install add-all", "reboot"],
    }
    lines = ways.get(loader or "", [f"add {arguments} where the boot loader has the kernel's command line", "reboot"])
    return "\n".join([f"kernel command line, by {loader or 'hand'}:", *(f"    {line}" for line in lines)])


def acs_fix(bridges: t.Sequence[str]) -> str:
    """How bridges stop redirecting."""
    lines = [f"    setpci -s {bridge} ECAP_ACS+0x6.w=0000" for bridge in bridges]
    return "\n".join(["ACS, until the next boot; for good switch it off in the BIOS, or have a unit do this at boot:", *lines])
