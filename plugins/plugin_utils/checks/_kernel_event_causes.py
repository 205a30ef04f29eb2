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
    "gpu_reset_failed": Event(
        None, "no reset of a GPU that failed", "the driver could not reset the GPU",
        "The driver reset the GPU after a hang or a fatal error, and the reset failed: the GPU does nothing more until the host boots.",
        "Drain the host and power-cycle it; look at the log's lines before the reset, and have the GPU replaced where it comes back.",
    ),
    "gpu_hung": Event(
        None, "no GPU that hangs", "the GPU did not finish what it was given in time",
        "The GPU's queues, its scheduler (MES) or its management processor (SMU) no longer answered the driver: a kernel that never ends, a page fault, its "
        "firmware or the GPU itself. The driver resets the GPU next, which ends every job on it.",
        "Look whether a reset follows and how it ended (GPU reset, ret); compare driver and firmware (amd-smi) with another host's, run the vendor's "
        "diagnostics, power-cycle the host where amd-smi hangs, and replace the GPU where it comes back.", place="GPUs",
    ),
    "gpu_worn": Event(
        None, "no GPU with too many bad pages", "the GPU has so many bad pages of memory that it is to be replaced",
        "Pages of the GPU's memory were retired after errors that were not corrected, and their number has reached what the vendor allows (RMA).",
        "Drain the host and have the GPU replaced; amd-smi bad-pages lists the pages.",
    ),
    "gpu_overheated": Event(
        None, "no GPU above its temperature limit", "the GPU was above its temperature limit",
        "The GPU was so hot that its protection (CTF) intervened: fans, air flow, a cold plate or its contact.",
        "Look at fans, air baffles, coolant and inlet temperature of the host, and compare the GPU's temperatures (amd-smi metric -t) with the others'.",
    ),
    "gpu_page_fault": Event(
        "warn", "no page fault of a GPU", "a program on the GPU read or wrote memory that is not its own (page fault)",
        "A job's program made an invalid access, or its memory was taken away while it ran (a process that ended, a failed registration).",
        "Look at the job's own log, and at the process that the following lines name; where every program does it, compare driver and firmware.",
    ),
    "gpu_without_atomics": Event(
        None, "every GPU taken for computing", "the driver left out a GPU for computing: its PCIe path has no atomic operations",
        "The path from the GPU to the processor does not pass PCIe atomic operations: a setting of the BIOS, an old switch or riser, or the hypervisor of a "
        "guest. The GPU is listed and no program can use it.",
        "Set PCIe atomic operations in the BIOS as on the other hosts and compare its version; of a guest let its hypervisor pass them; lspci -vvv "
        "(AtomicOpsCtl, AtomicOpsCap) shows the port that lacks them.", place="GPUs",
    ),
    "uvm_failed": Event(
        None, "no fatal error of unified memory", "the driver's unified memory (nvidia-uvm) has a fatal error that lasts until the host boots",
        "A GPU or its NVLink failed while nvidia-uvm used it, and the module refuses every CUDA program from then on, although nvidia-smi still "
        "lists the GPUs.",
        "Drain the host and reboot it; look at the Xids before the line for the GPU that failed.", place="GPUs",
    ),
    "device_gone": Event(
        None, "a device that answers over PCIe", "the device did not answer over PCIe any more, or was not recovered",
        "The device did not come back from a reset, a power state or an error of its PCIe link: its configuration space cannot be read. It hung, lost its "
        "power, or its slot, riser or cable failed.",
        "Power-cycle the host (a reboot may leave it as it is), reseat the card and its riser, update its firmware, and replace it where it comes back.",
    ),
    "iommu_stuck": Event(
        "warn", "an IOMMU that answers in time", "the IOMMU waited for a device in vain",
        "The IOMMU told a device to forget addresses and got no answer in time: a device hangs, or its PCIe link failed. Memory is then unmapped late or not "
        "at all, and processes hang in the kernel.",
        "Look for the device in the lines before and after it (PCIe errors, resets); look at iommu_as_expected, update the BIOS, and boot the host.",
        place="IOMMU",
    ),
    "memory_page_lost": Event(
        None, "no page of memory lost to an error", "a page of the host's memory was lost to an error that was not corrected",
        "A memory module has errors that ECC cannot correct: the kernel took the page out of use, and ended the process that had it where it was needed.",
        "Find the module (ras-mc-ctl --errors, ipmitool sel list; EDAC lines beside it), replace it, and test the host's memory.", place="memory",
    ),
    "kernel_oops": Event(
        None, "no crash within the kernel", "the kernel crashed within a driver or file system and went on (oops)",
        "Code of the kernel made an invalid access: a fault of a driver, of memory or of a processor. The process in it was ended with what it held, so that "
        "others may hang or use what is damaged until the host boots.",
        "Read the call trace below the line, which names the module; boot the host, compare kernel and drivers with another host's, and test its memory where "
        "no other host has it.", place="kernel",
    ),
    "out_of_memory": Event(
        "warn", "memory for every process", "the kernel had no memory left and killed processes",
        "The host as a whole ran out of memory: a job, a page cache that cannot be freed, or huge pages that leave too little for the rest. Services may be "
        "among what was killed.",
        "Look at the processes named in the log and at their memory; look whether services of the host still run, and compare huge pages and limits of jobs "
        "with another host's.", place="memory",
    ),
    "nic_command_failed": Event(
        "warn", "no command that a NIC fails", "the NIC's firmware failed a command with an internal error",
        "The NIC's firmware could not do what the driver asked for, by an error of its own: what was created or registered with it is missing.",
        "Look at the NIC's health (devlink health) and the lines around it; update its firmware, and replace the NIC where it comes back.",
    ),
    "nic_lag_failed": Event(
        "warn", "a bond that its NIC knows", "the NIC could not take up the bond of its ports",
        "The two ports of the NIC are a bond and its firmware did not join them (LAG): RDMA uses one port alone, or has no device of the bond.",
        "Read the lines before it: virtual functions in use, another mode of the bond or of the NIC's switch (devlink dev eswitch show), or an old firmware; "
        "then set the bond up again and compare with another host's.",
    ),
    "pause_storm": Event(
        "warn", "no storm of pauses of a NIC", "the NIC reports that it sent pauses without an end (pause storm)",
        "The NIC could not give what it received to its host for long: its PCIe link, the memory behind it or a process that hung. Its leaf was held up.",
        "Look at PCIe link, errors and relaxed ordering of the NIC, at stalls in the kernel's log of that time, and compare with another host's.",
    ),
    "doorbells_dropped": Event(
        "warn", "no doorbell that a NIC drops", "the NIC dropped doorbells",
        "More work was announced to the NIC than it could take in: announcements (doorbells) were lost, and queue pairs may wait for ever.",
        "Compare driver and firmware with another host's (pacing of doorbells of bnxt_re), and have fewer queue pairs at work where it comes back.",
    ),
}  # fmt: skip
# Of one device so many corrected errors of a kind are normal.
FEW = frozenset(("pcie_error", "ras_error", "memory_error", "machine_check", "platform_error"))
# Those of a device that is no GPU and no rail, such as a management controller, stop no job.
OF_OTHERS = frozenset(("pcie_error", "dma_refused", "slot_lost", "slot_contained", "nic_not_started", "device_gone"))
# What a device may have overcome since, a slot by a reset of its NIC's firmware, or what stops no load, as of a disk; where it has not, and one needs it, other
# checks see it: a NIC that is missing is no rail.
OVERCOME = frozenset(("nic_overheated", "module_error", "gpu_reset", "gpu_hung", "gpu_overheated", "cpu_stuck", "slot_lost", "disk_error", "kernel_oops"))
# A corrected machine check of memory is told again, with its module.
TOLD_AGAIN = {"machine_check": "memory_error"}
# Of these a line of the log says which error it is.
LOG_PREFIX = {
    "module_error": "Port module event[error]: ", "nic_limit": "): ", "nic_failed": ": ", "task_hung": "INFO: ", "nic_command_failed": "): ", "kernel_oops": "",
}  # fmt: skip
