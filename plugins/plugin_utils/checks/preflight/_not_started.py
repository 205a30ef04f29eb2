# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a GPU, a virtual function or an RDMA device is not there, by what the kernel has instead."""

from __future__ import annotations

import typing as t

from ...pod.types import Rail
from ...readings.nic_drivers import rdma_module_of

# By the event of the kernel's log: in words, with cause and fix.
LEFT_OUT = {
    "gpu_without_memory_range": (
        "its BAR has no addresses",
        (
            "The BIOS, or the hypervisor of a guest, gave the GPU no range of addresses for its memory (BAR), so that the driver left it out: decoding above "
            "4G is off, or its range for 64-bit devices (MMIO high) is too small for all GPUs.",
            "Set Above 4G Decoding (64-bit MMIO) in the BIOS and a large MMIO high size and base as on the other hosts, compare the BIOS's version, and boot; "
            "of a guest raise its 64-bit MMIO size (pciPassthru.64bitMMIOSizeGB). pci=realloc on the kernel command line shows whether it is that.",
        ),
    ),
    "gpu_given_up": (
        "its driver gave it up as it was probed",
        (
            "The GPU is on the PCIe bus and its driver gave it up as it was probed: the BIOS, or the hypervisor of a guest, left no addresses for its memory "
            "(error -12), its firmware did not come up, or driver and kernel do not fit.",
            "Read the kernel's lines of that PCI address (BAR: can't assign, no space); set Above 4G Decoding and a large MMIO high in the BIOS as on the "
            "other hosts, compare driver and kernel with theirs, and power-cycle the host; have the GPU replaced where it comes back.",
        ),
    ),
    "gpu_not_started": (
        "RmInitAdapter failed",
        (
            "The GPU is on the PCIe bus and its driver could not start it (RmInitAdapter failed): its firmware (GSP) or power does not come up, driver and "
            "kernel do not fit, or the GPU is broken.",
            "Power-cycle the host, since a reboot leaves the GPU as it is; compare driver and firmware with another host's, and read the lines of NVRM before "
            "this one; have the GPU replaced where it comes back.",
        ),
    ),
}
NONE_CREATED = (
    "SR-IOV is on in the NIC's firmware, which offers virtual functions, and none was created: nothing creates them at boot, or it ran before the driver."
)
NONE_CREATED_FIX = (
    "Write their number to /sys/class/net/NETDEV/device/sriov_numvfs at boot (a service of systemd after the driver, netplan, or the operator of SR-IOV), "
    "before what hands them out to jobs starts."
)
NO_ROOM = (
    "The kernel had no addresses left for the virtual functions that were asked for (not enough MMIO resources for SR-IOV): SR-IOV is off in the BIOS, or "
    "its range for 64-bit devices is too small."
)
NO_ROOM_FIX = (
    "Switch SR-IOV (SR-IOV Global Enable, SR-IOV of the slot) and Above 4G Decoding on in the BIOS as on the other hosts, enlarge MMIO high, boot, and create "
    "the virtual functions again; pci=realloc on the kernel command line helps where the BIOS has no such setting."
)
FEWER_CREATED = (
    "This NIC has fewer virtual functions than the host's others: fewer were asked for, some could not be made (addresses, NUM_OF_VFS of its firmware), or "
    "some are in a container or guest that did not give them back."
)
FEWER_CREATED_FIX = (
    "Compare sriov_numvfs, NUM_OF_VFS (mlxconfig) and the kernel's log with the host's other NICs, and look for functions in use elsewhere (lspci beside "
    "ip link); then write 0 and the number to sriov_numvfs again while no job has one."
)
WITHOUT_RDMA = (
    "The NIC is there and its Ethernet driver ({driver}) runs its netdev, and no RDMA device was made of it: the module {module} is not loaded, was not "
    "built for this kernel (DKMS), was refused, or RDMA is off in the NIC's firmware."
)
WITHOUT_RDMA_FIX = (
    "Look whether the module is there and loaded (modprobe {module}, lsmod, dkms status, uname -r) and what the kernel's log says of it; install the vendor's "
    "driver for this kernel, or boot the kernel of the other hosts; then compare whether the NIC's firmware has RDMA on (its setting of RoCE)."
)


def without_rdma(rail: Rail, drivers: t.Iterable[dict[str, t.Any]]) -> tuple[str | None, str | None]:
    """Cause and fix of a rail without an RDMA device whose netdev has a driver (rows of ``nic_driver``); None where it has none."""
    driver = next((row["driver"] for row in drivers if row["netdev"] == rail.get("netdev")), "")
    module = rdma_module_of(driver)
    if not module:
        return None, None
    words = {"driver": driver, "module": module}
    return WITHOUT_RDMA.format(**words), WITHOUT_RDMA_FIX.format(**words)
