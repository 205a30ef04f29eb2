# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each event of the kernel's log means: its severity, cause and fix, as a table, and which events are judged otherwise than alone."""

from __future__ import annotations

import typing as t


class Event(t.NamedTuple):
    """How an event of the kernel's log is judged.

    severity: what it is at least; serious: the severities of its line for which it fails; expected; what: it, in words; place: what it is on, where
    no device is.
    """

    severity: str | None
    expected: str
    what: str
    cause: str
    fix: str
    serious: frozenset[str] = frozenset()
    place: str = ""


NEIGHBORS_FULL = (
    "The kernel's table of neighbors was full: it keeps at most gc_thresh3 entries for hosts and containers together, and what has no entry cannot be "
    "reached, not always the same addresses."
)
NEIGHBORS_FULL_FIX = (
    "Raise gc_thresh1, gc_thresh2 and gc_thresh3 of net.ipv4.neigh.default and net.ipv6.neigh.default in /etc/sysctl.d above the number of the host's "
    "neighbors (ip neigh), and look for what fills the table."
)
SERIOUS, FATAL = frozenset(("fatal", "nonfatal")), frozenset(("fatal",))
EVENTS: dict[str, Event] = {
    "sxid": Event(
        "warn", "no error of an NVSwitch", "SXid {code} ({severity})", "An NVSwitch reported an error of itself or of an NVLink port; a fatal one stops jobs.",
        "Look at the Fabric Manager's log for the link named, reset all GPUs and NVSwitches of the host, and replace the tray or board where it comes back.",
        FATAL,
    ),
    "pcie_error": Event(
        "warn", "no PCIe error", "{severity} PCIe error", "The PCIe link of the device lost or damaged packets: a bad seat, riser, cable or slot.",
        "Compare lspci -vvv (AER status, link width and speed) with a healthy host; reseat the card, then replace riser, cable or card.", SERIOUS,
    ),
    "nic_overheated": Event(
        None, "no NIC above its temperature limit", "NIC above its temperature limit", "The NIC or its module is too hot: fans or air flow.",
        "Look at fans, air baffles and inlet temperature of the host; compare the NIC's temperature with the other rails (mlxlink -m, mget_temp).",
    ),
    "nic_power": Event(
        "warn", "enough power of the PCIe slot", "insufficient power on the PCIe slot", "The slot advertises less power than the NIC and its module may need.",
        "Compare with the host's other slots; set the slot power limit in the BIOS, or connect the card's auxiliary power.",
    ),
    "module_error": Event(
        None, "no error of a module or cable", "error of the module or cable", "The NIC reports that its optic or cable is faulty, too hot or not supported.",
        "Read the log's line; reseat or replace the module or cable of the rail.",
    ),
    "nic_failed": Event(
        None, "a NIC whose firmware responds", "the firmware stopped or reported a fatal error",
        "The NIC's firmware stopped, answered its driver's commands too late or never (timeout), or reported a fatal error.",
        "Collect the firmware's dump (devlink health), power-cycle the host, update the firmware, and replace the NIC where it comes back.",
    ),
    "nic_not_started": Event(
        None, "every NIC taken by its driver", "the NIC's driver could not start it",
        "The driver found the NIC on the PCIe bus and gave it up as it was probed, so that it has no network and no RDMA device: the driver and the NIC's "
        "firmware do not fit (an older driver of the kernel, a newer firmware), the firmware does not respond, or memory or addresses were not granted.",
        "Read the driver's lines before this one; compare driver (modinfo, ofed_info -s) and firmware (mstflint -d PCI query) with another host's, bring them "
        "to the same releases, and power-cycle the host; replace the NIC where it comes back.",
    ),
    "slot_lost": Event(
        None, "a PCIe link in every slot", "the slot lost its PCIe link or its card",
        "The PCIe link of the slot went down without an order, and the kernel removed the card that is in it: its seat, its power, a riser or cable, or the "
        "card itself, which reset or died.",
        "Power-cycle the host (a boot may leave the slot off), reseat the card and its riser; read the log of the management controller (ipmitool sel) for "
        "power of the slot; then move the card to another slot to see whether the fault follows it.",
    ),
    "task_hung": Event(
        "warn", "no task that hangs in the kernel", "a task hung in the kernel",
        "A process hung in the kernel for minutes and cannot be killed: a driver (its RDMA or storage transport) or a file system waits for hardware or a "
        "server that does not answer. What the process holds stays in use.",
        "Read the call trace below the line, which names the driver; look whether it is still there (ps, state D); where the server is back and it is, boot "
        "the host, and bring the driver to the release of the other hosts.", place="kernel",
    ),
    "disk_error": Event(
        None, "no error of a disk", "errors of the disk {device}",
        "A disk of this host did not read or write what it was told, or its controller no longer answered; a file system on it may now be read-only. What lies "
        "on it (checkpoints, data, images, logs) fails with an input/output error.",
        "Read the lines of the kernel's log; look at smartctl -a or nvme smart-log of the disk and at its PCIe link, move what the jobs write elsewhere, and "
        "replace the disk.", place="disks",
    ),
    "peermem_error": Event(
        "warn", "no error of nvidia-peermem", "error of nvidia-peermem", "nvidia-peermem could not register or release GPU memory for the RDMA stack.",
        "Compare the driver's version with that of the module, load it again, or use DMA-BUF instead.",
    ),
    "ras_error": Event(
        "warn", "no hardware error of a GPU", "{severity} hardware error of the GPU", "The GPU's memory or logic has errors that its RAS counters report.",
        "Look at amd-smi metric --ecc; retire the pages with a reset, and replace the GPU where uncorrectable errors come back.", FATAL,
    ),
    "cpu_throttled": Event(
        "warn", "no processor slowed down by heat", "processors slowed down by heat (temperature above threshold, clock throttled)",
        "The host's processors were too hot and were slowed down, so that its ranks feed their GPUs late.",
        "Look at fans, air baffles, heat sinks and inlet temperature of the host, and compare its processors' temperatures (ipmitool sdr) with another's.",
        place="processors",
    ),
    "cpu_stuck": Event(
        None, "no processor stuck in the kernel", "a processor was stuck in the kernel (soft lockup, hard lockup or RCU stall)",
        "A processor of the host was stuck in the kernel for 20 s and more, and each process on it: a driver's or the kernel's fault, or too little memory.",
        "Read the call trace below the log's line: it names the driver and the process; compare kernel and drivers with another host's.", place="processors",
    ),
    "memory_error": Event(
        "warn", "no error of the host's memory", "{severity} errors of the memory module {device}",
        "A memory module of the host has errors: corrected ones that come back lead to one that is not, which ends processes or the host.",
        "Find the memory module by its slot (ras-mc-ctl --layout, ipmitool sel list), reseat or replace it, and test the host's memory.", FATAL,
        place="memory",
    ),
    "dma_refused": Event(
        None, "no DMA that the IOMMU refused", "the IOMMU refused DMA of the device",
        "The IOMMU refused what the device read or wrote: it translates the device's addresses, and this one was not mapped, or not any more (peer access "
        "without pass-through, a driver that failed or was loaded again). What the device sent or received is lost.",
        "Look at iommu_as_expected (iommu=pt on the kernel command line) and reboot; where it comes back, update its driver and firmware and the BIOS.",
    ),
    "queue_timeout": Event(
        "warn", "no transmit queue that times out", "a transmit queue timed out",
        "A queue of the NIC sent nothing for seconds until its driver opened it again: its completions or interrupts were lost or late (an interrupt on a "
        "processor that is busy or stuck), or its firmware hung.",
        "Read the driver's lines that follow in the kernel's log; compare firmware, driver and the affinity of its interrupts (/proc/interrupts) with another "
        "host's, and replace the NIC where it comes back.",
    ),
    "neighbors_full": Event(
        "warn", "room for every neighbor", "the kernel's table of neighbors was full", NEIGHBORS_FULL, NEIGHBORS_FULL_FIX, place="neighbor table",
    ),
    "nic_limit": Event(
        "warn", "no limit of a NIC reached", "the NIC had no more of what a process asked for",
        "The NIC's firmware had no more of what the command named asks for: user access regions (ALLOC_UAR), memory keys (CREATE_MKEY), queue pairs or "
        "completion queues. The process could not open the NIC, or register memory with it, and was told that it cannot allocate memory.",
        "Look for processes that hold them (rdma resource show), and start fewer ranks on the host; of ALLOC_UAR give the NIC more with "
        "PF_LOG_BAR_SIZE (mlxconfig) and boot; compare both with another host's.",
    ),
    "connections_full": Event(
        "warn", "room for every connection", "the kernel's table of connections was full and packets were dropped",
        "The kernel follows the host's connections (nf_conntrack, for a firewall or the services of Kubernetes) and had no room for another one, so that it "
        "dropped packets: connections of launchers, NCCL's bootstrap and storage fail or stall. RDMA does not pass it.",
        "Raise net.netfilter.nf_conntrack_max, compare it with nf_conntrack_count, look for what opens so many connections (conntrack -L), or leave the jobs' "
        "traffic out of it (notrack).", place="connections",
    ),
    "clock_unstable": Event(
        "warn", "the processor's time stamp counter as the clock", "the kernel gave up the processor's time stamp counter (tsc) as its clock",
        "The kernel found the time stamp counter (tsc) unstable and takes a slow clock (hpet, acpi_pm) in its place: each call for the time costs a "
        "microsecond and more, which slows down what polls, measures or logs, on this host alone.",
        "Look at /sys/devices/system/clocksource/clocksource0/current_clocksource here and on another host; boot the host, compare BIOS and kernel command "
        "line (tsc=) with another one's; where it comes back, update the BIOS or have the board looked at.", place="clock",
    ),
    "machine_check": Event(
        "warn", "no machine check of a processor", "{severity} machine check of a processor",
        "A processor reported a machine check: an error of itself, of its caches or links, or of the memory or PCIe behind it. One that was not corrected may "
        "have ended a process or the host.",
        "Decode it (rasdaemon, mcelog; bank and status are in the log's line) and read the log of the management controller (ipmitool sel list); update the "
        "BIOS and its microcode, and have the part named replaced where it comes back.", SERIOUS, place="processors",
    ),
    "platform_error": Event(
        "warn", "no error of the hardware that its firmware reports", "{severity} error of the hardware, as its firmware reports it (APEI)",
        "The host's firmware reported an error of memory, PCIe or a processor to the kernel, which names the part in the lines that follow.",
        "Read the lines of the kernel's log below it (section_type, device_id or DIMM location) and the log of the management controller (ipmitool sel list); "
        "reseat or replace that part.", SERIOUS, place="hardware",
    ),
    "slot_contained": Event(
        None, "no slot cut off after an error", "the port above cut the slot off (DPC) after an error that was not corrected",
        "The PCIe port above the device received an error that could not be corrected, or the device was reset or restarted beneath its host, and the port cut "
        "its slot off (downstream port containment): what the device did was lost, and it stays away where the kernel could not recover it.",
        "Read the lines that follow (device recovery failed or successful); power-cycle the host, reseat the card and its riser, and have the device replaced "
        "where it comes back; restart a DPU or its firmware only with its host drained.",
    ),
    "gpu_reset": Event(
        None, "no reset of a GPU", "the driver reset the GPU", "The driver reset the GPU after a hang or a fatal error; its jobs have failed.",
        "Look at the log's lines before the reset; run the vendor's diagnostics, and replace the GPU where it comes back.",
    ),
}  # fmt: skip
# Of one device so many corrected errors of a kind are normal.
FEW = frozenset(("pcie_error", "ras_error", "memory_error", "machine_check", "platform_error"))
# Those of a device that is no GPU and no rail, such as a management controller, stop no job.
OF_OTHERS = frozenset(("pcie_error", "dma_refused", "slot_lost", "slot_contained", "nic_not_started"))
# What a device may have overcome since, a slot by a reset of its NIC's firmware, or what stops no load, as of a disk; where it has not, and one needs it, other
# checks see it: a NIC that is missing is no rail.
OVERCOME = frozenset(("nic_overheated", "module_error", "gpu_reset", "cpu_stuck", "slot_lost", "disk_error"))
# A corrected machine check of memory is told again, with its module.
TOLD_AGAIN = {"machine_check": "memory_error"}
# Of these a line of the log says which error it is.
LOG_PREFIX = {"module_error": "Port module event[error]: ", "nic_limit": "): ", "nic_failed": ": ", "task_hung": "INFO: "}
