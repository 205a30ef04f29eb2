# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the messages mean with which vendors' tools answer nothing: of a host whose GPU driver, module or device is not in order, or of a switch."""

from __future__ import annotations

import re
import typing as t


class ToolError(t.NamedTuple):
    """A tool's message instead of an answer: a regular expression of its line, cause and fix."""

    pattern: str
    cause: str
    fix: str


TOOL_ERRORS: tuple[ToolError, ...] = (
    ToolError(
        r"[Dd]river/library version mismatch",
        "The GPU driver's libraries were updated while its old kernel module stays loaded, as an unattended upgrade does.",
        "Drain the host and reboot it, or end all that uses the GPUs and load the new module; then keep the driver's packages from unattended upgrades "
        "(apt-mark hold) and compare software_uniform.",
    ),
    ToolError(
        r"communicate with the NVIDIA driver|Module nvidia not found|No NVIDIA (?:driver|GPU)",
        "The GPU driver's kernel module is not loaded: it was not built for the kernel that runs (after an update of the kernel), Secure Boot refuses it, or "
        "another driver such as nouveau holds the GPUs.",
        "Compare uname -r with dkms status, run modprobe nvidia and read the kernel's log; build or install the module for this kernel, or boot the kernel "
        "of the other hosts.",
    ),
    ToolError(
        r"[Uu]nable to determine the device handle|GPU is lost|[Gg]PU has fallen off the bus",
        "A GPU no longer responds on the PCIe bus, and the tool reports none of the others because of it: its power, its seat, a riser or the GPU itself.",
        "Look for Xid 79 and PCIe errors of the address that it names in the kernel's log, power-cycle the host, then reseat or replace that GPU.",
    ),
    ToolError(
        r"No devices were found",
        "The GPU driver is loaded and found no GPU that it can use: they are not on the PCIe bus, or failed when the driver started them.",
        "Look for the GPUs with lspci and for NVRM lines in the kernel's log; power-cycle the host, and look at the fabric manager where there is an NVSwitch.",
    ),
    ToolError(
        r"ROCk module is NOT loaded|amdgpu not found in modules|[Dd]river not (?:initialized|loaded)",
        "The GPU driver's kernel module (amdgpu) is not loaded: it was not built for the kernel that runs, or is kept from loading.",
        "Compare uname -r with dkms status, run modprobe amdgpu and read the kernel's log; build or install the module for this kernel.",
    ),
    ToolError(
        r"failed to connect to any daemons|error reading from bgpd|bgpd is not running",
        "The routing daemons of the switch (FRR) do not run: they crashed, were not started, or the one for BGP is not switched on.",
        "On the switch look at systemctl status frr (SONiC: docker exec bgp supervisorctl status), at bgpd=yes in /etc/frr/daemons, and at the log and core "
        "files for why they ended; start them again.",
    ),
    ToolError(
        r"(?i:container) \S+ is not running|No such container",
        "The container in which this part of the switch runs is stopped: it crashed, ran out of memory or was not started. On SONiC the bgp container has the "
        "routing, swss and syncd program the ports, lldp and pmon report neighbors and modules.",
        "On the switch look at docker ps -a and show feature status, read the log for why it ended (syslog, show techsupport, /var/core), and start it again "
        "(systemctl reset-failed and restart of its service, such as bgp).",
    ),
    ToolError(
        r"Failed to connect to (?:system (?:scope )?)?bus\b|System has not been booted with systemd|Failed to get D-Bus connection",
        "systemd does not answer on the bus of the system: it is not what this host was booted with (a container, a chroot), or dbus does not run.",
        "Run systemctl status by hand as the run does. Where it answers nobody, look whether process 1 is systemd (ps -p 1) and dbus runs; instead of a "
        "container give the inventory the host that it runs on.",
    ),
)


def known_or_last_line(lines: t.Sequence[str]) -> str:
    """The line of a tool's output that says why it failed: one that is known, else the last one; nothing of no lines."""
    known = next((line for line in lines if known_tool_error(line)), None)
    return known or (lines[-1] if lines else "")


def known_tool_error(text: str) -> ToolError | None:
    """What is known of a tool's message; None where nothing is."""
    return next((one for one in TOOL_ERRORS if re.search(one.pattern, text)), None)
