# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: BIOS, kernel, drivers and limits of GPU hosts."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.types import Rail
from ...readings.rows import Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._grouping import not_reported_of, planned_rails, rail_pci
from ..place import Place, at_device, at_pci
from ._not_started import FEWER_CREATED, FEWER_CREATED_FIX, NO_ROOM, NO_ROOM_FIX, NONE_CREATED, NONE_CREATED_FIX
from ._peer_memory import NoPeers, refused_module

# systemd writes no limit as a word, releases before 239 as the largest number.
UNLIMITED = ("infinity", "18446744073709551615")
# The kernel's word for it in /proc.
UNLIMITED_PROCESS = "unlimited"
NOT_RESTARTED = "The unit has the right limit, and the service runs since before it was changed: the jobs that it starts still inherit its old limit."
NOT_RESTARTED_FIX = "Restart the service (systemctl restart), drained of jobs where it ends them, then compare Max locked memory in /proc/PID/limits."
GPU_CLASSES = ("0x0300", "0x0302", "0x1200")
# A management controller has a screen, which is of a GPU's class.
SCREEN, GPU_VENDORS = "0x0300", ("0x10de", "0x1002")
NIC_CLASSES = ("0x0200", "0x0207")
PEER_MODULES = {"nvidia": ("nvidia_peermem", "nv_peer_mem"), "amd": ("amdgpu",)}
NOT_REGISTERED = (
    "The module is loaded, and RDMA drivers do not know it: they were restarted or replaced after it (openibd restart, an update), or it is built for others."
)
NOT_REGISTERED_FIX = "Load {module} again (modprobe -r, then modprobe) now that the RDMA drivers run; where it stays so, build it for them anew (dkms)."
# ACS features that send peer-to-peer traffic up to the root complex.
REDIRECTING = {"ReqRedir", "CmpltRedir", "UpstreamFwd"}


@check(
    cause="The IOMMU translates DMA of GPUs and NICs, which costs bandwidth and breaks peer access; or it is off where virtual machines need it.",
    fix="Set iommu=pt on the kernel command line (or switch VT-d off) on bare metal; switch it on for virtual machines.",
    required=True,
    not_in_guest="the IOMMU domain of a passed-through device belongs to the hypervisor",
)
def iommu_as_expected(iommu_groups: Rows, iommu_devices: Rows, pci_devices: Rows, pod_virtualization: str) -> t.Iterator[Finding]:
    """GPUs and NICs are in pass-through IOMMU domains or in none; for virtual machines the IOMMU is on."""
    cards = [row["pci"] for row in pci_devices if _is_card(row)]
    if not cards:
        raise CannotTell("no GPU and no NIC in sysfs")
    if pod_virtualization in ("sriov", "passthrough"):
        if not iommu_groups:
            yield Finding(Place("IOMMU"), "on, for virtual machines", "off")
        return
    type_of = {row["group"]: row["type"] for row in iommu_groups}
    group_of = {row["pci"]: row["group"] for row in iommu_devices}
    if type_of and not group_of:
        raise CannotTell("sysfs has IOMMU groups without devices")
    for pci in cards:
        if pci in group_of and type_of.get(group_of[pci]) != "identity":
            reported = type_of.get(group_of[pci])
            yield Finding(at_pci(pci), "IOMMU domain identity, or none", reported or "not reported", None if reported else "unknown")


def _is_card(row: dict[str, t.Any]) -> bool:
    """Whether a PCI device is a GPU or a NIC."""
    kind = row["class"][:6]
    return kind in (*GPU_CLASSES, *NIC_CLASSES) and (kind != SCREEN or row["vendor"] in GPU_VENDORS)


@check(
    cause="The kernel command line does not reserve the pages, or the reservation failed for fragmented memory.",
    fix="Set hugepagesz=1G hugepages=N on the kernel command line and reboot.",
    required="pod_hugepages_1g",
)
def hugepages_reserved(hugepages: Rows, pod_hugepages_1g: int) -> t.Iterator[Finding]:
    """The planned number of 1 GiB huge pages is reserved."""
    if not pod_hugepages_1g:
        raise NotApplicable("pod_hugepages_1g is 0")
    total = sum(row["total"] for row in hugepages if row["size_kbytes"] == 1048576)
    if total < pod_hugepages_1g:
        yield Finding(Place("1 GiB huge pages"), str(pod_hugepages_1g), str(total))


@check(
    cause="SR-IOV is off in the BIOS, in the NIC's firmware or in the driver.",
    fix="Switch SR-IOV on in BIOS and firmware (SRIOV_EN, NUM_OF_VFS), then create the virtual functions.",
)
def sriov_enabled(
    pci_devices: Rows, ip_link: Rows, pod_rails: list[Rail], pod_virtualization: str, kernel_log: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """Every rail NIC has virtual functions where the pod gives them to jobs, and as many as most rails of its host."""
    if pod_virtualization != "sriov":
        raise NotApplicable(f"pod_virtualization is {pod_virtualization}")
    reported = {row["pci"]: row for row in pci_devices}
    no_room = any(row["event"] == "no_room_for_functions" for row in kernel_log or ())
    pcis = [rail_pci(rail, ip_link) for rail in planned_rails(pod_rails)]
    counts = Counter(reported[pci]["sriov_vfs"] for pci in pcis if pci in reported and reported[pci]["sriov_vfs"])
    usual, times = counts.most_common(1)[0] if counts else (0, 0)
    for rail in planned_rails(pod_rails):
        pci = rail_pci(rail, ip_link)
        row = reported.get(pci or "")
        if row is None or row["sriov_vfs"] is None:
            yield Finding(at_device(rail["device"]), "virtual functions", not_reported_of(pci), "unknown")
        elif not row["sriov_vfs"]:
            # A NIC that offers some has SR-IOV on in its firmware and in the BIOS.
            created = (NO_ROOM, NO_ROOM_FIX) if no_room else (NONE_CREATED, NONE_CREATED_FIX)
            cause, fix = created if row["sriov_max_vfs"] else (None, None)
            yield Finding(at_device(rail["device"]), "virtual functions", f"0 of {row['sriov_max_vfs']}", cause=cause, fix=fix)
        elif row["sriov_vfs"] < usual and 2 * times > len(pcis):
            words = f"{usual} virtual functions, as {times} of {len(pcis)} rails of the host have"
            yield Finding(at_device(rail["device"]), words, str(row["sriov_vfs"]), "warn", cause=FEWER_CREATED, fix=FEWER_CREATED_FIX)


@check(
    cause="ACS redirects traffic between GPU and NIC through the root complex, which halves its bandwidth; or it is off where virtual machines need it.",
    fix="Switch ACS off in the BIOS, or clear ACSCtl of the bridges at boot with setpci; leave it on for virtual machines.",
    required=True,
    not_in_guest="the bridges above a passed-through device belong to the hypervisor; those that a guest sees are emulated",
)
def acs_as_expected(
    acs_control: Rows, pod_virtualization: str, pod_rails: list[Rail], nic_pcie_control: Rows | None = None, ip_link: Rows | None = None,
    pci_devices: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No bridge above a GPU or a rail redirects peer-to-peer traffic, unless virtual machines need it to; with SR-IOV, translated traffic goes straight."""
    able = [row for row in acs_control if row["supported"] and _above_cards(row, _cards(pod_rails, ip_link, pci_devices))]
    if pod_virtualization in ("sriov", "passthrough"):
        if not any(REDIRECTING & set(row["enabled"]) for row in able):
            yield Finding(Place("ACS"), "on, for virtual machines", "off on every bridge")
        if pod_virtualization == "sriov":
            yield from _direct(able, pod_rails, nic_pcie_control or [])
        return
    if not acs_control:
        yield Finding(Place("PCIe bridges"), "their ACS control", "lspci shows no bridge", "unknown")
    for row in able:
        redirecting = sorted(REDIRECTING & set(row["enabled"]))
        if redirecting:
            yield Finding(at_pci(row["pci"]), "no ACS redirection", ", ".join(redirecting))


def _cards(rails: list[Rail], links: Rows | None, devices: Rows | None) -> set[str] | None:
    """The PCI addresses of GPUs and rails; None where one of them is not known."""
    gpus = {row["pci"] for row in devices or () if row["class"][:6] in GPU_CLASSES and (row["class"][:6] != SCREEN or row["vendor"] in GPU_VENDORS)}
    of_rails = {rail_pci(rail, links) for rail in rails}
    return None if not gpus or not of_rails or None in of_rails else gpus | {str(pci) for pci in of_rails}


def _above_cards(bridge: dict[str, t.Any], cards: set[str] | None) -> bool:
    """Whether a bridge is on the way to one of some cards; where buses or cards are not known any bridge may be."""
    first, last = bridge.get("first_bus"), bridge.get("last_bus")
    if cards is None or first is None or last is None:
        return True
    domain = bridge["pci"].partition(":")[0]
    return any(pci.split(":")[0] == domain and int(first, 16) <= int(pci.split(":")[1], 16) <= int(last, 16) for pci in cards)


def _direct(able: Rows, rails: list[Rail], nics: Rows) -> t.Iterator[Finding]:
    """Bridges that redirect let translated addresses pass, and the NICs translate: else GPU traffic goes through the root complex."""
    for row in able:
        if REDIRECTING & set(row["enabled"]) and "DirectTrans" not in row["enabled"]:
            yield Finding(at_pci(row["pci"]), "direct translated peer-to-peer (DirectTrans) on", "off")
    reported = {row["device"]: row for row in nics}
    for rail in planned_rails(rails):
        card = reported.get(rail["device"])
        if card is None:
            yield Finding(at_device(rail["device"]), "address translation services (ATS) on", "not reported", "unknown")
        elif not card["ats_enabled"]:
            yield Finding(at_device(rail["device"]), "address translation services (ATS) on", "off" if card["ats_supported"] else "not supported")


@check(
    cause="The NICs cannot reach GPU memory, so that every byte is copied through the host and collectives run at half their rate.",
    fix="Load nvidia_peermem (built by dkms for a new kernel) and list it in /etc/modules-load.d: every library takes it. Or use the open GPU driver with a "
    "kernel that has DMA-BUF, which takes libraries that know it (NCCL 2.13 or later).",
    required="pod_gpudirect",
    remedy="kernel_module",
)
def gpudirect_available(
    lsmod: Rows, kernel_symbols: Rows, gpu_driver: Rows, modules_load: Rows, pod_gpudirect: str, pod_gpu_vendor: str, memory_peers: Rows | None = None,
    kernel_log: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """NICs reach GPU memory by a registered peer-memory client or by DMA-BUF."""
    if pod_gpudirect == "none":
        raise NotApplicable("pod_gpudirect is none")
    peermem = _peermem(lsmod, kernel_symbols, memory_peers, pod_gpu_vendor)
    dmabuf = _dmabuf(kernel_symbols, gpu_driver)
    if pod_gpudirect == "peermem" or (pod_gpudirect == "either" and dmabuf is not None):
        if peermem is not None:
            also = f"; {dmabuf}" if pod_gpudirect == "either" else ""
            refused = refused_module(lsmod, kernel_log or [], PEER_MODULES[pod_gpu_vendor])
            wanted = "peer memory" if pod_gpudirect == "peermem" else "peer memory or DMA-BUF"
            why = peermem if refused is None else refused
            yield Finding(Place("GPUDirect"), wanted, why.words + also, why.severity, cause=why.cause, fix=why.fix)
        elif pod_gpu_vendor == "nvidia" and not any(row["module"].replace("-", "_") == "nvidia_peermem" for row in modules_load):
            yield Finding(Place("nvidia_peermem"), "loaded at boot (modules-load.d)", "loaded now, and not at the next boot", "warn")
    elif pod_gpudirect == "dmabuf" and dmabuf is not None:
        yield Finding(Place("GPUDirect"), "DMA-BUF", dmabuf)


def _peermem(lsmod: Rows, symbols: Rows, peers: Rows | None, vendor: str) -> NoPeers | None:
    """Why there is no peer memory, or None where there is.

    peers: no rows where the kernel does not list the clients.
    """
    loaded = {row["module"] for row in lsmod}
    names = PEER_MODULES[vendor]
    has_core = any(row["symbol"] == "ib_register_peer_memory_client" for row in symbols)
    if not loaded & set(names):
        return NoPeers(f"{names[0]} is not loaded" + ("" if has_core else ", and cannot be: ib_core has no peer memory (inbox RDMA)"))
    if not has_core:
        return NoPeers(f"{names[0]} is loaded, and ib_core has no peer memory for it")
    clients = {"nvidia": "nv", "amd": "amd"}[vendor]
    if peers and not any(str(peer["peer"]).startswith(clients) for peer in peers):
        return NoPeers(f"{names[0]} is loaded and not registered with ib_core", None, NOT_REGISTERED, NOT_REGISTERED_FIX.format(module=names[0]))
    # nvidia_peermem fails to load where it cannot register, so that a loaded one is a client; amdgpu is loaded with or without.
    if peers is None or (not peers and vendor != "nvidia"):
        return NoPeers("clients of ib_core's peer memory: not reported", "unknown")
    return None


def _dmabuf(symbols: Rows, driver: Rows) -> str | None:
    """Why there is no DMA-BUF, or None where there is; the symbol decides it, not the kernel's version."""
    if not driver:
        return "no GPU driver"
    if driver[0]["flavour"] == "closed":
        return "the closed GPU driver has no DMA-BUF"
    if not any(row["symbol"] in ("ib_umem_dmabuf_get", "ib_umem_dmabuf_get_pinned") for row in symbols):
        return "ib_core has no DMA-BUF"
    return None


@check(
    cause="The service that starts jobs limits locked memory, so that RDMA registration fails inside jobs though root's own works.",
    fix="Set LimitMEMLOCK=infinity in the unit (systemctl edit), then restart the service.",
    remedy="memlock",
)
def job_limits(service_units: Rows, pod_job_services: list[str], service_limits: Rows | None = None) -> t.Iterator[Finding]:
    """The services that start jobs let them lock any amount of memory, by their units and as they run."""
    processes = {row["unit"]: row for row in service_limits or ()}
    # A name may be an alias, which systemd reports among the names of the unit.
    reported = {name: row for row in service_units for name in (*(row["names"] or ()), row["unit"])}
    units = {name: row for name, row in reported.items() if row["load_state"] == "loaded"}
    wanted = [name for name in pod_job_services if name in units]
    unreported = [name for name in pod_job_services if name not in reported]
    for name in unreported:
        yield Finding(Place(name), "LimitMEMLOCK infinity", "this unit is not read", "unknown")
    if not wanted and not unreported:
        raise CannotTell(f"none of {', '.join(pod_job_services) or 'no service'} is on this host (pod_job_services)")
    for name in wanted:
        limit = units[name]["memlock"]
        if limit is None:
            yield Finding(Place(name), "LimitMEMLOCK infinity", "not reported", "unknown")
        elif limit not in UNLIMITED:
            yield Finding(Place(name), "LimitMEMLOCK infinity", limit)
        elif name in processes:
            yield from _of_process(name, processes[name])


def _of_process(name: str, process: dict[str, t.Any]) -> t.Iterator[Finding]:
    """The limit of the running process of a service whose unit has none; one that does not run starts with that of its unit."""
    expected = "a running process that may lock any amount of memory"
    if process["memlock"] is None and process["pid"]:
        yield Finding(Place(name), expected, "not reported", "unknown")
    elif process["memlock"] not in (None, UNLIMITED_PROCESS):
        actual = f"{process['memlock']} bytes in process {process['pid']}, and no limit in the unit"
        yield Finding(Place(name), expected, actual, cause=NOT_RESTARTED, fix=NOT_RESTARTED_FIX)


@check(
    cause="The kernel moves pages between NUMA nodes while GPUs and NICs use them.",
    fix="Set kernel.numa_balancing = 0 in /etc/sysctl.d.",
    severity="warn",
)
def numa_balancing_off(sysctl: Rows) -> t.Iterator[Finding]:
    """Automatic NUMA balancing is off."""
    values = {row["name"]: row["value"] for row in sysctl}
    if "kernel.numa_balancing" not in values:
        raise NotApplicable("the kernel has no NUMA balancing")
    if values["kernel.numa_balancing"] != "0":
        yield Finding(Place("kernel.numa_balancing"), "0", values["kernel.numa_balancing"])
