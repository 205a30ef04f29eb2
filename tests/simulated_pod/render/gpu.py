# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GPU tools and the kernel say on a simulated host."""

from __future__ import annotations

import json
import typing as t
from collections import Counter

from ..model import Gpu, Host, Pod, Rail

# The process of slurmd, and that of a job on a GPU that works.
SLURMD, WORKER = 4242, 4711
ARCHITECTURE = {"NVIDIA GB200": "Blackwell"}


SLOWDOWNS = ("SW Power Capping", "Sync Boost", "SW Thermal Slowdown", "HW Thermal Slowdown", "HW Power Braking")
# A virtual function of ConnectX-6 Dx and later on the PCI bus.
VIRTUAL = ("0x15b3", "0x101e")
# ConnectX-7.
WHOLE = ("0x15b3", "0x1021")


def nvidia_smi_q(host: Host, loads: t.Sequence[str] = ()) -> str:
    """``nvidia-smi -q``, the sections that a reading looks at and some that it must pass over; loads: the layers whose loads have run."""
    present = [gpu for gpu in host.gpus if gpu.present and not any("lost" in gpu.grow_in.get(layer, {}) for layer in loads)]
    head = ["", "==============NVSMI LOG==============", "", "Timestamp                                 : Mon Jun 15 10:20:33 2026"]
    head += [f"Driver Version                            : {host.driver}", f"CUDA Version                              : {host.cuda}", ""]
    return "\n".join([*head, f"Attached GPUs                             : {len(present)}"] + [line for gpu in present for line in _gpu(gpu, loads)]) + "\n"


def _gpu(gpu: Gpu, loads: t.Sequence[str]) -> list[str]:
    grown: Counter[str] = Counter()
    for layer in loads:
        grown.update(gpu.grow_in.get(layer, {}))

    def pair(depth: int, name: str, value: object) -> str:
        return f"{' ' * depth}{name:<{42 - depth}}: {value}"

    active = {False: "Not Active", True: "Active"}
    pci = f"0000{gpu.pci.upper()}"
    lines = [
        f"GPU {pci}",
        pair(4, "Product Name", gpu.product),
        pair(4, "Product Architecture", ARCHITECTURE.get(gpu.product, "Hopper")),
        pair(4, "Serial Number", gpu.serial),
    ]
    lines += [
        pair(4, "GPU UUID", gpu.uuid),
        "    MIG Mode",
        pair(8, "Current", gpu.mig),
        pair(8, "Pending", gpu.mig),
        "    PCI",
        pair(8, "Bus Id", pci),
        "        GPU Link Info",
        "            PCIe Generation",
        pair(16, "Max", 5),
    ]
    lines += [
        pair(16, "Current", 5),
        "            Link Width",
        pair(16, "Max", "16x"),
        pair(16, "Current", f"{gpu.pcie_width}x"),
        pair(4, "Performance State", "P0"),
    ]
    lines += ["    Clocks Event Reasons", pair(8, "Idle", "Active"), pair(8, "SW Power Cap", "Not Active"), pair(8, "HW Slowdown", active[gpu.hw_slowdown])]
    lines += [
        pair(12, "HW Thermal Slowdown", active[gpu.thermal_slowdown]),
        pair(12, "HW Power Brake Slowdown", active[gpu.power_brake]),
        pair(8, "SW Thermal Slowdown", "Not Active"),
    ]
    if gpu.reports_slowdowns:
        lines += ["    Clocks Event Reasons Counters", *(pair(8, name, f"{grown[name]} us") for name in SLOWDOWNS)]
    busy = gpu.working or gpu.working_unlisted
    lines += ["    FB Memory Usage", pair(8, "Total", "81559 MiB"), pair(8, "Used", f"{5120 if busy else 0} MiB")]
    lines += ["    Utilization", pair(8, "GPU", f"{100 if busy else 0} %"), pair(8, "Memory", "0 %")]
    lines += [
        "    ECC Mode",
        pair(8, "Current", "Enabled"),
        pair(8, "Pending", "Enabled"),
        "    ECC Errors",
        "        Volatile",
        pair(12, "SRAM Correctable", 0),
    ]
    lines += [pair(12, "SRAM Uncorrectable Parity", 0), pair(12, "SRAM Uncorrectable SEC-DED", 0), pair(12, "DRAM Correctable", 0)]
    lines += [
        pair(12, "DRAM Uncorrectable", gpu.ecc_uncorrected + grown["ecc_uncorrected"]),
        "        Aggregate",
        pair(12, "SRAM Correctable", 0),
        pair(12, "DRAM Uncorrectable", 0),
    ]
    lines += ["    Remapped Rows", pair(8, "Correctable Error", 0), pair(8, "Uncorrectable Error", 0), pair(8, "Pending", gpu.remap_pending)]
    lines += [pair(8, "Remapping Failure Occurred", "No"), "    Temperature", pair(8, "GPU Current Temp", f"{gpu.temperature} C")]
    lines += [
        "    GPU Power Readings",
        pair(8, "Power Draw", f"{gpu.power_w:.2f} W"),
        "    Clocks",
        pair(8, "Graphics", f"{gpu.clock_mhz} MHz"),
        pair(8, "SM", f"{gpu.clock_mhz} MHz"),
    ]
    lines += ["    Max Clocks", pair(8, "Graphics", "1980 MHz"), pair(8, "SM", f"{gpu.max_clock_mhz} MHz"), "    Fabric", pair(8, "State", gpu.fabric_state)]
    working = ["    Processes", pair(8, "GPU instance ID", "N/A"), pair(8, "Process ID", WORKER), pair(12, "Type", "C"), pair(12, "Name", "python")]
    lines += [
        pair(8, "Status", gpu.fabric_status),
        pair(8, "CliqueId", gpu.clique),
        pair(8, "ClusterUUID", gpu.cluster),
        "        Health",
        pair(12, "Summary", gpu.fabric_health),
        pair(12, "Bandwidth", gpu.fabric_bandwidth),
    ]
    lines += [pair(12, "Route Recovery in progress", "False"), pair(12, "Route Unhealthy", gpu.fabric_route_unhealthy)]
    return [*lines, *(working if gpu.working else [pair(4, "Processes", "None")]), ""]


def imex(pod: Pod, host: Host) -> str:
    """``nvidia-imex-ctl -N -j``: the domain of the trays of the host's group."""
    trays = [pod.hosts[name] for name in pod.groups[host.group]]
    lost = {frozenset((tray.name, other)) for tray in trays for other in tray.imex_lost}

    def connections(tray: Host) -> dict[str, dict[str, t.Any]]:
        states = {other.name: "DISCONNECTED" if frozenset((tray.name, other.name)) in lost else "CONNECTED" for other in trays}
        states |= {other.name: "INVALID" for other in trays if "READY" not in (tray.imex_state, other.imex_state) or other.imex_state != "READY"}
        return {str(number): {"host": other.management_address, "status": states[other.name], "changed": True} for number, other in enumerate(trays)}

    nodes = {
        str(number): {
            "status": tray.imex_state, "host": tray.management_address, "connections": connections(tray), "changed": True, "version": tray.imex_version,
            "hostName": "",
        }
        for number, tray in enumerate(trays)
    }  # fmt: skip
    whole = not lost and all(tray.imex_state == "READY" for tray in trays)
    return json.dumps({"nodes": nodes, "timestamp": "6/15/2026 10:20:33.891", "status": host.imex_domain or ("UP" if whole else "DEGRADED")}) + "\n"


def compute_apps(host: Host) -> str:
    """``nvidia-smi --query-compute-apps=pid,process_name --format=csv,noheader``: a line for each process on each GPU."""
    working = [f"{WORKER}, python" for gpu in host.gpus if gpu.present and gpu.working]
    return "".join(f"{user}\n" for user in [*working, *host.gpu_users])


def topology(host: Host) -> str:
    """``nvidia-smi topo -m`` with the NIC legend."""
    nics, gpus = host.rails, [gpu for gpu in host.gpus if gpu.present]
    names = [f"GPU{gpu.index}" for gpu in gpus] + [f"NIC{number}" for number in range(len(nics))]
    lines = ["\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for gpu in gpus:
        cells = [" X " if one is gpu else host.gpu_link for one in gpus]
        cells += [nic.distance if nic.gpu == gpu.index else "NODE" if nic.numa == gpu.numa >= 0 else "SYS" for nic in nics]
        cores = {0: "0-55,112-167", 1: "56-111,168-223"}.get(gpu.numa, "0-95")
        lines.append("\t".join([f"GPU{gpu.index}", *cells, cores, "N/A" if gpu.numa < 0 else str(gpu.numa), "\tN/A"]))
    for number, nic in enumerate(nics):
        cells = [nic.distance if nic.gpu == gpu.index else "NODE" if nic.numa == gpu.numa >= 0 else "SYS" for gpu in gpus]
        cells += [" X " if one is nic else "NODE" if one.numa == nic.numa >= 0 else "SYS" for one in nics]
        lines.append("\t".join([f"NIC{number}", *cells, "", ""]))
    legend = [
        "",
        "Legend:",
        "",
        "  X    = Self",
        "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)",
        "",
        "NIC Legend:",
        "",
    ]
    return "\n".join([*lines, *legend, *(f"  NIC{number}: {nic.device}" for number, nic in enumerate(nics)), ""]) + "\n"


def nvlinks(host: Host) -> str:
    """``nvidia-smi nvlink --status``."""
    lines = []
    for gpu in host.gpus:
        if gpu.present:
            lines.append(f"GPU {gpu.index}: {gpu.product} (UUID: {gpu.uuid})")
            lines += [f"\t Link {link}: {'26.562 GB/s' if link < gpu.nvlinks else '<inactive>'}" for link in range(18)]
    return "\n".join(lines) + "\n"


def driver(host: Host) -> str:
    """``/proc/driver/nvidia/version``, of the open or the closed kernel module."""
    if host.driver_flavour == "open":
        first = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {host.driver}  Release Build  (builder@host)  Fri May 31 09:35:42 UTC 2024"
    else:
        first = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {host.driver}  Fri May 31 09:35:42 UTC 2024"
    return first + "\nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n"


def pci_devices(host: Host) -> str:
    """The ``find`` over sysfs' PCI devices."""
    lines = []
    for gpu in host.gpus:
        if gpu.present:
            kind, vendor, device = ("0x120000", "0x1002", "0x74a1") if host.vendor == "amd" else ("0x030200", "0x10de", "0x2330")
            lines += _device(gpu.pci, kind, vendor, device, gpu.numa, gpu.pcie_width, 0)
    for rail in host.rails:
        kind = "0x020700" if rail.link_layer == "InfiniBand" else "0x020000"
        if rail.virtual:
            lines += _device(rail.pci, kind, *VIRTUAL, rail.numa, 0, 0, "Unknown")
        else:
            lines += _device(rail.pci, kind, *WHOLE, rail.numa, rail.pcie_width, rail.sriov_vfs, rail.pcie_speed)
    lines += _device("0000:05:00.0", "0x020000", "0x8086", "0x1593", 0, 8, 0)
    return "\n".join([*lines, *_device("0000:15:01.0", "0x060400", "0x8086", "0x352a", 0, 16, 0)]) + "\n"


def nic_functions(host: Host) -> str:
    """The ``find`` over the devices of sysfs' netdevs."""
    ids = {port.netdev: VIRTUAL if port.virtual else WHOLE for rail in host.rails for port in rail.ports}
    ids["eno1"] = ("0x8086", "0x1593")
    return "".join(f"/sys/class/net/{netdev}/device/vendor:{own[0]}\n/sys/class/net/{netdev}/device/device:{own[1]}\n" for netdev, own in ids.items())


def _device(pci: str, kind: str, vendor: str, device: str, numa: int, width: int, vfs: int, speed: str = "32.0 GT/s PCIe") -> list[str]:
    output = {"class": kind, "vendor": vendor, "device": device, "numa_node": numa, "current_link_speed": speed, "current_link_width": width}
    output |= {"max_link_speed": "32.0 GT/s PCIe", "max_link_width": 16}
    output |= {"sriov_numvfs": vfs, "sriov_totalvfs": 16} if kind.startswith("0x02") else {}
    return [f"/sys/bus/pci/devices/{pci}/{name}:{value}" for name, value in output.items()]


def _cards(host: Host) -> list[tuple[str, str]]:
    return [(gpu.pci, gpu.iommu) for gpu in host.gpus if gpu.present] + [(rail.pci, rail.iommu) for rail in host.rails]


def iommu_groups(host: Host) -> str:
    """``grep`` over the types of IOMMU groups."""
    if not host.iommu_groups:
        return ""
    return "".join(f"/sys/kernel/iommu_groups/{group}/type:{kind}\n" for group, (_pci, kind) in enumerate(_cards(host)))


def iommu_devices(host: Host) -> str:
    """``find`` of the devices in IOMMU groups."""
    if not host.iommu_groups:
        return ""
    return "".join(f"/sys/kernel/iommu_groups/{group}/devices/{pci}\n" for group, (pci, _kind) in enumerate(_cards(host)))


def pcie_control(rail: Rail) -> str:
    """``lspci -nn -vvv`` of one NIC; of a virtual function only the physical one has what its control says."""
    name, ids = ("ConnectX Family mlx5Gen Virtual Function", VIRTUAL) if rail.virtual else ("MT2910 Family [ConnectX-7]", WHOLE)
    vendor, device = (one.removeprefix("0x") for one in ids)
    kind = "Infiniband controller [0207]" if rail.link_layer == "InfiniBand" else "Ethernet controller [0200]"
    payload, read, relaxed, tags, aspm = (
        (128, 128, "-", "-", "") if rail.virtual else (rail.max_payload, rail.max_read_request, rail.relaxed_ordering, rail.ten_bit_tags, rail.aspm)
    )
    lines = [
        f"{rail.pci} {kind}: Mellanox Technologies {name} [{vendor}:{device}]",
        "\tControl: I/O- Mem+ BusMaster+ SpecCycle-",
        "\tCapabilities: [60] Express (v2) Endpoint, MSI 00",
        "\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 <4us",
        "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-",
        f"\t\t\tRlxdOrd{relaxed} ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-",
        f"\t\t\tMaxPayload {payload} bytes, MaxReadReq {read} bytes",
        "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <4us",
        f"\t\tLnkCtl:\tASPM {f'{aspm} Enabled' if aspm else 'Disabled'}; RCB 64 bytes, Disabled- CommClk+",
        "\t\tDevCap2: Completion Timeout: Range ABC, TimeoutDis+ NROPrPrP- LTR-",
        "\t\t\t 10BitTagComp+ 10BitTagReq+ OBFF Not Supported, ExtFmt- EETLPPrefix-",
        f"\t\tDevCtl2: Completion Timeout: 50us to 50ms, TimeoutDis- LTR- 10BitTagReq{tags} OBFF Disabled,",
        "\tCapabilities: [100 v1] Address Translation Service (ATS)",
        "\t\tATSCap:\tInvalidate Queue Depth: 00",
        f"\t\tATSCtl:\tEnable{'+' if rail.ats else '-'}, Smallest Translation Unit: 00",
        f"\tKernel driver in use: {rail.driver}",
    ]
    return "\n".join(lines) + "\n"


def acs(host: Host) -> str:
    """``lspci -vvv`` of the bridges; a virtual machine has none above its cards."""
    if host.hypervisor:
        return ""
    names = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
    own = " ".join(f"{name}{'+' if name in host.acs else '-'}" for name in names)
    # Below the first is a management controller alone, and firmware leaves it as it likes.
    management = " ".join(f"{name}{'+' if name in ('SrcValid', 'ReqRedir', 'CmpltRedir') else '-'}" for name in names)
    lines = []
    for place, first, last, control in (("00:1c.0", "01", "02", management), ("15:01.0", "03", "7f", own), ("15:02.0", "80", "ff", own)):
        lines += [
            f"0000:{place} PCI bridge: Intel Corporation Device 352a (rev 04) (prog-if 00 [Normal decode])",
            "\tControl: I/O+ Mem+ BusMaster+ SpecCycle-",
            f"\tBus: primary={place[:2]}, secondary={first}, subordinate={last}, sec-latency=0",
        ]
        lines += ["\tCapabilities: [100 v1] Advanced Error Reporting", "\tCapabilities: [110 v1] Access Control Services"]
        lines += [
            "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+",
            f"\t\tACSCtl:\t{control}",
            "\tKernel driver in use: pcieport",
            "",
        ]
    return "\n".join(lines) + "\n"


def kernel_log(host: Host, later: bool, loads: t.Sequence[str] = ()) -> str:
    """``journalctl -k -b -o short-iso``; loads: the layers whose loads have run."""
    first = [f"Linux version {host.kernel} (buildd@lcy02) #53-Ubuntu SMP", "iommu: Default domain type: Passthrough (set via kernel command line)"]
    first += ["DMAR: IOMMU enabled"] * host.iommu_groups
    words = first + [f"mlx5_core {rail.pci} {rail.netdev}: Link up" for rail in host.rails] + host.log + (host.log_later if later else [])
    words += [line for layer in loads for line in host.log_in.get(layer, [])]
    dated = [line.split(" ", 1) if line.startswith("20") else [host.boot, line] for line in words]
    return "".join(f"{time} {host.name} kernel: {line}\n" for time, line in dated)


def clock(_host: Host) -> str:
    """``date`` in UTC."""
    return "2026-06-15T10:20:33+0000\n"


def lsmod(host: Host) -> str:
    """``lsmod``."""
    lines = ["Module                  Size  Used by", "nvidia              56717312  421 nvidia_uvm,nvidia_modeset", "mlx5_ib               458752  0"]
    lines += ["ib_uverbs             180224  1 mlx5_ib", "ib_core               479232  3 ib_uverbs,mlx5_ib,rdma_cm", "mlx5_core            1880064  1 mlx5_ib"]
    return "\n".join([*lines, *(f"{module:<22}16384  0" for module in host.modules)]) + "\n"


def kernel_symbols(host: Host) -> str:
    """``grep`` of /proc/kallsyms."""
    lines = (
        ["ffffffffc0a31f10 T ib_register_peer_memory_client\t[ib_core]"]
        if host.memory_peer or "nvidia_peermem" in {*host.modules, *host.refused_modules}
        else []
    )
    lines += ["ffffffffc0a2a1c0 T ib_umem_dmabuf_get\t[ib_core]"] if host.dmabuf else []
    return "\n".join([*lines, "ffffffffc1234560 T nvidia_p2p_get_pages\t[nvidia]", "ffffffff81b0c0a0 T dma_buf_dynamic_attach"]) + "\n"


def memory_peers(host: Host) -> str:
    """``find`` of registered peer-memory clients."""
    return listed_peers(host, "nv_mem")


def listed_peers(host: Host, client: str) -> str:
    """The directory of the clients where the kernel makes it, and the client where it is registered."""
    lines = ["/sys/kernel/mm/memory_peers\n"] * host.memory_peers_listed
    return "".join([*lines, *[f"/sys/kernel/mm/memory_peers/{client}\n"] * (host.memory_peer and host.memory_peers_listed)])


def modules_load(host: Host) -> str:
    """``grep`` over modules-load.d."""
    return "".join(f"/etc/modules-load.d/gpu.conf:{module}\n" for module in host.modules_load)


def hugepages(host: Host) -> str:
    """``grep`` over the huge pages of sysfs."""
    lines = []
    for size, total in ((2048, 0), (1048576, host.hugepages_1g)):
        output = {
            "free_hugepages": total,
            "nr_hugepages": total,
            "nr_hugepages_mempolicy": total,
            "nr_overcommit_hugepages": 0,
            "resv_hugepages": 0,
            "surplus_hugepages": 0,
        }
        lines += [f"/sys/kernel/mm/hugepages/hugepages-{size}kB/{name}:{value}" for name, value in output.items()]
    return "\n".join(lines) + "\n"


def software(host: Host) -> str:
    """The ``find`` over kernel, modules and libraries."""
    output = {"/proc/sys/kernel/osrelease": host.kernel, "/sys/module/mlx5_core/version": host.ofed, "/sys/module/nvidia/version": host.driver}
    library = f"/usr/lib/x86_64-linux-gnu/libnccl.so.{host.nccl}\n" if host.nccl else ""
    return "".join(f"{path}:{value}\n" for path, value in output.items() if value) + library


def service_units(host: Host) -> str:
    """``systemctl show`` of the units that are asked for."""
    first, *others = host.job_services
    units = [("nvidia-fabricmanager.service", host.fabric_manager, "infinity"), (first, "active", host.memlock)]
    units += [(name, "active", "infinity") for name in others]
    return "\n".join(f"LimitMEMLOCK={limit}\nId={name}\nNames={name}\nLoadState=loaded\nActiveState={state}\n" for name, state, limit in units)


def service_limits(host: Host) -> str:
    """What ``service_limits`` prints of the services that are asked for."""
    limit = host.memlock_running or host.memlock
    of_slurmd = {"unit": host.job_services[0], "pid": SLURMD, "memlock": "unlimited" if limit == "infinity" else limit}
    others = [{"unit": name, "pid": SLURMD + 1, "memlock": "unlimited"} for name in host.job_services[1:]]
    return json.dumps({"rows": [of_slurmd, *others]}) + "\n"


def service_unit(host: Host, unit: str) -> str:
    """``systemctl show -p LoadState,LimitMEMLOCK,MainPID`` of one unit."""
    limit, pid = {"slurmd.service": (host.memlock, SLURMD), "containerd.service": ("infinity", 0)}.get(unit, ("8388608", 0))
    return f"MainPID={pid}\nLimitMEMLOCK={limit}\nLoadState={'not-found' if unit == 'docker.service' else 'loaded'}\n"


def sysctl(host: Host) -> str:
    """``sysctl -e kernel.numa_balancing``."""
    return f"kernel.numa_balancing = {host.numa_balancing}\n"


def nccl_environment(host: Host) -> str:
    """``grep`` of NCCL variables in the files that jobs get."""
    return "".join(f"/etc/nccl.conf:{name}={value}\n" for name, value in host.environment.items())
