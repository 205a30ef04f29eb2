# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who configures a host's netdevs, and how its kernel gets its command line: as the files that do it state, below a root."""

from __future__ import annotations

import fnmatch
import glob
import os
import re

from ansible_collections.gpufabric.pyramid.plugins.module_utils import repairing

# In the order in which one writes the files of the next: netplan's are made into those of networkd or NetworkManager.
NETPLAN = ("etc/netplan/*.yaml", "etc/netplan/*.yml", "run/netplan/*.yaml", "usr/lib/netplan/*.yaml")
NETWORKD = ("etc/systemd/network/*.network", "run/systemd/network/*.network", "usr/lib/systemd/network/*.network")
NETWORK_MANAGER = ("etc/NetworkManager/system-connections/*", "run/NetworkManager/system-connections/*")
IFUPDOWN = ("etc/network/interfaces", "etc/network/interfaces.d/*")
IFCFG = "etc/sysconfig/network-scripts/ifcfg-%s"
NAME = re.compile(r"^\s*Name\s*=\s*(.+?)\s*$", re.MULTILINE)
INTERFACE = re.compile(r"^\s*interface-name\s*=\s*(\S+)", re.MULTILINE)


def _texts(root, patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            text = repairing.text_of(path) if os.path.isfile(path) else None
            if text is not None:
                yield path, text


def _is_of(kind, text, netdev):
    """Whether a file of one kind configures a netdev."""
    if kind == "networkd":
        return any(fnmatch.fnmatchcase(netdev, pattern) for line in NAME.findall(text) for pattern in line.split() if not pattern.startswith("!"))
    if kind == "networkmanager":
        return netdev in INTERFACE.findall(text)
    if kind == "ifupdown":
        return re.search(rf"^\s*iface\s+{re.escape(netdev)}\s", text, re.MULTILINE) is not None
    return re.search(rf"^\s*[\"']?{re.escape(netdev)}[\"']?\s*:", text, re.MULTILINE) is not None


def manager(root, netdev):
    """Who configures a netdev, and by which file (as the host calls it): netplan, networkd, networkmanager, ifcfg, ifupdown; or None twice."""
    for kind, patterns in (("netplan", NETPLAN), ("networkmanager", NETWORK_MANAGER), ("networkd", NETWORKD), ("ifupdown", IFUPDOWN)):
        for path, text in _texts(root, patterns):
            if _is_of(kind, text, netdev):
                return kind, "/" + os.path.relpath(path, root)
    place = IFCFG % netdev
    return ("ifcfg", "/" + place) if os.path.isfile(os.path.join(root, place)) else (None, None)


def renewing(root, netdev):
    """The command that gives a netdev its configured addresses again, and touches no other netdev.

    Raises Broken where no one is known to configure it.
    """
    kind, path = manager(root, netdev)
    if kind == "netplan":
        by_manager = "NetworkManager" in (repairing.text_of(root, path.lstrip("/")) or "")
        kind = "networkmanager" if by_manager else "networkd"
    if kind == "networkd":
        return [repairing.tool("networkctl"), "reconfigure", netdev]
    if kind in ("networkmanager", "ifcfg"):
        return [repairing.tool("nmcli"), "device", "connect", netdev]
    if kind == "ifupdown":
        return [repairing.tool("ifup"), "--force", netdev]
    raise repairing.Broken(f"no file of netplan, NetworkManager, systemd-networkd, ifupdown or ifcfg configures {netdev}")


def distribution(root):
    """The words that /etc/os-release has for the distribution and those it is like, such as ubuntu and debian."""
    text = repairing.text_of(root, "etc/os-release") or repairing.text_of(root, "usr/lib/os-release") or ""
    words = re.findall(r"^(?:ID|ID_LIKE)=[\"']?([^\"'\n]*)", text, re.MULTILINE)
    return [word.lower() for line in words for word in line.split()]


def boot_loader(root):
    """How the kernel gets its command line: grubby, update_grub, grub_mkconfig, kernel_cmdline (systemd-boot), or None."""
    like = distribution(root)
    has_grub = os.path.isfile(os.path.join(root, "etc/default/grub"))
    if has_grub and {"rhel", "fedora", "centos"} & set(like):
        return "grubby"
    if has_grub and {"debian", "ubuntu"} & set(like):
        return "update_grub"
    if has_grub:
        return "grub_mkconfig"
    return "kernel_cmdline" if os.path.isfile(os.path.join(root, "etc/kernel/cmdline")) else None
