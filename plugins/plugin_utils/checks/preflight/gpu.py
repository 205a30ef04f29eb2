# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: GPUs, how they reach the NICs, and the environment that jobs get."""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from ...pod.types import Rail
from ...readings.rows import Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._grouping import grouped, planned_rails, rail_pci
from .._odd_ones import odd_ones, undecided
from ..guests import GUEST
from ..place import Place, at_device, at_gpu
from ..xids import judged_xid, latest_recoveries
from ._not_started import LEFT_OUT
from ._partitions import first_devices, of_slots, split

DISTANCES = ("PIX", "PXB", "PHB", "NODE", "SYS")
FORCED = {
    "NCCL_DEBUG": "writes logs that slow large jobs",
    "NCCL_IB_DISABLE": "sends everything over TCP",
    "NCCL_IB_HCA": "leaves out rails that it does not name",
    "NCCL_IB_GID_INDEX": "uses another address of the NIC",
    "NCCL_IB_TC": "chooses the traffic class",
    "NCCL_SOCKET_IFNAME": "chooses the bootstrap network",
    "NCCL_NET_GDR_LEVEL": "forbids GPUDirect beyond a distance",
    "NCCL_P2P_LEVEL": "forbids GPU peer access beyond a distance",
    "NCCL_P2P_DISABLE": "forbids GPU peer access, NVLink too",
    "NCCL_SHM_DISABLE": "sends traffic within the host over the NIC",
    "NCCL_CROSS_NIC": "lets rings change rails",
    "NCCL_ALGO": "forces an algorithm",
    "NCCL_PROTO": "forces a protocol",
    "NCCL_BUFFSIZE": "changes the buffers",
    "NCCL_TOPO_FILE": "replaces the detected topology",
}
# What the kernel says where the firmware names no NUMA node of a device.
NO_NODE = -1
NO_NODE_CAUSE = (
    "The kernel knows the NUMA node of neither device (numa_node is -1): the BIOS names none in its tables (ACPI _PXM and SRAT), as with NUMA switched off "
    "(node interleaving) or after it was set to its defaults or updated. Ranks, interrupts and buffers are then bound to any socket."
)
NO_NODE_FIX = (
    "Compare the BIOS's NUMA settings (node interleaving, NPS, sub-NUMA clustering, SRAT) and its version with another host's and with numactl -H, set them "
    "alike and boot; of a guest, have its hypervisor give it the NUMA topology of the devices."
)
# Before Hopper a GPU reports no fabric state; the fabric manager's unit is what there is.
WITHOUT_STATE = re.compile(r"\bA[18]00\b")


@check(
    cause="A GPU has fallen off the bus or its driver is not loaded.",
    fix="Look for Xid 79 in the kernel log, then power-cycle the host; a GPU that stays missing needs repair.",
    required=True,
)
def gpus_present(gpus: Rows, pod_gpus_per_host: int, kernel_log: Rows | None = None) -> t.Iterator[Finding]:
    """The host has the planned number of GPUs."""
    if len(gpus) != pod_gpus_per_host:
        reported = of_slots(gpus)
        left = {row["device"]: row["event"] for row in kernel_log or () if row["event"] in LEFT_OUT}
        left = {device: event for device, event in left.items() if str(device).lower().rpartition(".")[0] not in reported}
        why, (cause, fix) = LEFT_OUT[min(left.values())] if left else ("", split(gpus))
        without = f"; the driver left out {', '.join(sorted(left))}: {why}" if left else ""
        yield Finding(Place("GPUs"), str(pod_gpus_per_host), f"{len(gpus)}{without}", cause=cause, fix=fix)


@check(
    cause="A GPU's memory, its NVLink or XGMI link, or its driver has failed since it was last reset.",
    fix="Drain the host, reset the GPU or reboot; where it comes back, run the vendor's diagnostics and replace the GPU.",
)
def gpu_errors(
    gpus: Rows, pod_gpu_vendor: str, pod_nvlinks_per_gpu: int | None, pod_gpu_interconnect: str, pod_gpus_per_host: int,
    kernel_log: Rows | None = None, nvlinks: Rows | None = None, gpu_topology: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No GPU has uncorrected errors, a pending row remap, a lost NVLink, or an Xid of its hardware since its driver was loaded."""
    if not gpus:
        raise CannotTell("GPUs: not reported")
    yield from _xids(gpus, kernel_log)
    if pod_gpu_vendor == "nvidia":
        for gpu in gpus:
            yield from _memory(gpu)
        if pod_nvlinks_per_gpu is not None:
            yield from _nvlinks(nvlinks, pod_nvlinks_per_gpu, pod_gpus_per_host)
    if pod_gpu_interconnect:
        yield from _interconnect(gpu_topology, pod_gpu_interconnect, pod_gpus_per_host)


@check(
    cause="A GPU failed so that its tools do not answer any more.",
    fix="Drain the host and power-cycle it; where the Xid comes back, run the vendor's diagnostics and replace the GPU.",
    kind="host",
    when=("pod_gpu_vendor", ("nvidia",)),
)
def xids_of_silent_gpus(kernel_log: Rows | None = None, gpus: Rows | None = None) -> t.Iterator[Finding]:
    """Where nvidia-smi does not answer, the kernel has logged no Xid of the GPUs' hardware since their driver was loaded."""
    if gpus:
        raise NotApplicable("nvidia-smi answers: gpu_errors judges the Xids")
    yield from _xids([], kernel_log)


def _memory(gpu: dict[str, t.Any]) -> t.Iterator[Finding]:
    where, errors = at_gpu(gpu["gpu"]), gpu["ecc_uncorrected_volatile"]
    if errors is None:
        yield Finding(where, "no uncorrected ECC error", "not reported: ECC is off or missing", "unknown")
    elif errors:
        yield Finding(where, "no uncorrected ECC error", str(errors))
    for column, words in (("remap_pending", "row remap"), ("retirement_pending", "page retirement"), ("reset_required", "reset")):
        if gpu[column]:
            yield Finding(where, f"no pending {words}", f"{words} pending")
    if gpu["remap_pending"] is None and gpu["retirement_pending"] is None and errors is not None:
        yield Finding(where, "no pending row remap", "not reported", "unknown")
    if (gpu["recovery_action"] or "None") != "None":
        yield Finding(where, "no recovery action", gpu["recovery_action"])
    if gpu["remap_failed"]:
        yield Finding(where, "no failed row remap", "row remap failed")


def _xids(gpus: Rows, log: Rows | None) -> t.Iterator[Finding]:
    if log is None:
        yield Finding(Place("kernel log"), "no Xid since the boot", "not reported", "unknown")
        return
    if not any(row["event"] == "boot" for row in log):
        yield Finding(Place("kernel log"), "all lines since the boot", "its first lines were overwritten", "warn")
    number_of = {gpu["pci"].rpartition(".")[0]: gpu["gpu"] for gpu in gpus if gpu["pci"]}
    # A driver that is loaded again has reset its GPUs.
    loaded = max((place for place, row in enumerate(log) if row["event"] == "driver_loaded"), default=0)
    xids = [row for row in latest_recoveries(log[loaded:]) if row["event"] == "xid"]
    kinds = Counter((row["device"], row["code"], row["recovery"], row["severity"]) for row in xids)
    for (device, code, recovery, severity), times in kinds.items():
        address = str(device).lower().partition(".")[0]
        where = at_gpu(number_of[address]) if address in number_of else Place(f"GPU {device}", pci=str(device))
        xid, again = judged_xid(code, recovery, severity), f", {times} times" if times > 1 else ""
        yield Finding(where, "no Xid since the driver was loaded", xid.words + again, xid.severity, cause=xid.cause, fix=xid.fix)


def _nvlinks(rows: Rows | None, wanted: int, gpus: int) -> t.Iterator[Finding]:
    if rows is None:
        yield Finding(Place("NVLinks"), f"{wanted} active of each GPU", "not reported", "unknown")
        return
    reported = grouped(rows, "gpu")
    for gpu in range(gpus):
        active = sum(row["state"] == "active" for row in reported.get(gpu, []))
        if any(row["state"] == "unsupported" for row in reported.get(gpu, [])):
            yield Finding(at_gpu(gpu), f"{wanted} active NVLinks", "not reported of a GPU in multi-instance mode (MIG)", "unknown")
        elif active != wanted:
            yield Finding(at_gpu(gpu), f"{wanted} active NVLinks", str(active))


def _interconnect(rows: Rows | None, wanted: str, gpus: int) -> t.Iterator[Finding]:
    reported = {(row["device"], row["peer"]): row["connection"] for row in rows or ()}
    for first in range(gpus):
        for second in range(first + 1, gpus):
            # Each GPU of a pair reports the link, and one that cannot reach the other has none, whatever the other one reports.
            ways = [reported.get((f"GPU{one}", f"GPU{other}")) for one, other in ((first, second), (second, first))]
            found = next((way for way in ways if way not in (wanted, None)), None if None in ways else wanted)
            if found != wanted:
                yield Finding(Place(f"GPU{first} to GPU{second}"), wanted, found or "not reported", None if found else "unknown")


@check(
    cause="The fabric manager did not bring up the NVSwitches; NVLinks may still be reported as active.",
    fix="Start nvidia-fabricmanager in the driver's version, look at its log, and reset the GPUs.",
)
def fabric_state(
    gpus: Rows, pod_nvswitch: bool, pod_gpu_vendor: str, pod_nvlink_domain: str, pod_virtualization: str, service_units: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """nvidia-smi reports the fabric of every GPU as Completed and Success."""
    if pod_gpu_vendor != "nvidia" or not pod_nvswitch:
        raise NotApplicable("the host has no NVSwitch")
    if not gpus:
        raise CannotTell("GPUs: not reported")
    unit = next((row for row in service_units or () if row["unit"] == "nvidia-fabricmanager.service" and row["load_state"] == "loaded"), None)
    # The switches of a guest may be another machine's, which has the fabric manager: one that is installed here has nothing to manage.
    # Where NVLink reaches over several hosts, the rack's switch trays have it, and it is idle on the trays with GPUs.
    if unit is not None and unit["active_state"] != "active" and pod_virtualization == GUEST:
        unit = None
    if unit is not None and unit["active_state"] != "active" and pod_nvlink_domain != "gate_group":
        yield Finding(Place(unit["unit"]), "active", unit["active_state"])
    for gpu in gpus:
        state = (gpu["fabric_state"] or "not reported", gpu["fabric_status"] or "not reported")
        if unit is not None and gpu["fabric_state"] is None and WITHOUT_STATE.search(gpu["name"]):
            continue
        unreported = gpu["fabric_state"] is None or (gpu["fabric_status"] is None and state[0].lower() == "completed")
        if tuple(word.lower() for word in state) != ("completed", "success"):
            yield Finding(at_gpu(gpu["gpu"]), "fabric Completed, Success", ", ".join(state), "unknown" if unreported else None)


@check(
    cause="The GPU is too hot or its power supply slows it down.",
    fix="Look at fans, inlet temperature and power supplies of the host.",
)
def gpu_throttled(gpus: Rows, pod_gpu_vendor: str) -> t.Iterator[Finding]:
    """No GPU is slowed down by its hardware or its temperature."""
    if pod_gpu_vendor != "nvidia":
        raise NotApplicable(f"no supported tool of {pod_gpu_vendor} reports why a GPU slows down")
    if not gpus:
        raise CannotTell("GPUs: not reported")
    for gpu in gpus:
        where, slow = at_gpu(gpu["gpu"]), [gpu["thermal_slowdown"], gpu["hardware_slowdown"]]
        if any(slow):
            yield Finding(where, "no slowdown", "thermal slowdown" if slow[0] else "hardware slowdown")
        elif None in slow:
            yield Finding(where, "no slowdown", "not reported", "unknown")


@check(
    cause="The GPU and its rail's NIC are on different PCIe switches or sockets, by a wrong slot or a wrong pod_rails.",
    fix="Compare nvidia-smi topo -m with pod_rails; move the NIC or correct the order of the rails.",
)
def nic_gpu_affinity(
    pci_devices: Rows, pod_rails: list[Rail], pod_gpu_nic_distance: str, pod_gpu_vendor: str,
    gpu_topology: Rows | None = None, gpu_affinity: Rows | None = None, ip_link: Rows | None = None, gpus: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each rail's NIC is as close to its GPU as planned, and on the same NUMA node."""
    pairs = {(row["device"], row["peer"]): row["connection"] for row in gpu_topology or ()}
    allowed = DISTANCES[: DISTANCES.index(pod_gpu_nic_distance) + 1]
    node_of = {row["pci"]: row["numa_node"] for row in pci_devices}
    of_gpu = {gpu["gpu"]: node_of.get(gpu["pci"]) for gpu in gpus or ()}
    of_gpu |= {row["gpu"]: row["numa_node"] for row in gpu_affinity or () if row["numa_node"] is not None}
    if split(gpus or [])[0]:
        of_gpu = {number: of_gpu.get(device) for number, device in enumerate(first_devices(gpus or []))}
    for rail in planned_rails(pod_rails):
        where = at_device(rail["device"], f"and GPU {rail['gpu']}", gpu=int(rail["gpu"]))
        connection = pairs.get((f"GPU{rail['gpu']}", rail["device"]))
        # rocm-smi shows no NICs: there the NUMA node is all that is known.
        if pod_gpu_vendor == "nvidia" and connection not in allowed:
            reported = connection in DISTANCES
            yield Finding(where, f"{pod_gpu_nic_distance} or closer", str(connection or "not reported"), None if reported else "unknown")
        # SYS allows another socket, so the node does not matter.
        if pod_gpu_nic_distance != "SYS":
            yield from _same_node(where, of_gpu.get(int(rail["gpu"])), node_of.get(rail_pci(rail, ip_link) or ""))


def _same_node(where: Place, gpu: int | None, nic: int | None) -> t.Iterator[Finding]:
    if gpu == nic == NO_NODE:
        yield Finding(where, "one NUMA node", "the kernel knows the node of neither", "unknown", cause=NO_NODE_CAUSE, fix=NO_NODE_FIX, judged=True)
    elif gpu in (None, NO_NODE) or nic in (None, NO_NODE):
        yield Finding(where, "one NUMA node", f"not reported for the {'GPU' if gpu in (None, NO_NODE) else 'NIC'}", "unknown")
    elif gpu != nic:
        yield Finding(where, "one NUMA node", f"NUMA nodes {nic} and {gpu}")


@check(
    cause="A leftover NCCL variable is set for every job.",
    fix="Remove it, or list it in pod_nccl_environment where it is meant.",
)
def nccl_environment(nccl_environment: Rows, pod_nccl_environment: dict[str, t.Any]) -> t.Iterator[Finding]:
    """No NCCL variable outside of pod_nccl_environment is set for jobs, and the listed ones have their value."""
    reported = {row["name"] for row in nccl_environment}
    for row in nccl_environment:
        name = row["name"]
        listed = name in pod_nccl_environment
        if listed and str(pod_nccl_environment[name]) != str(row["value"]):
            yield Finding(Place(f"{row['file']} {name}"), str(pod_nccl_environment[name]), str(row["value"]))
        elif not listed and name in FORCED and name != "NCCL_IB_TC":
            yield Finding(Place(f"{row['file']} {name}"), "not forced", f"{row['value']} ({FORCED[name]})")
    for name, value in pod_nccl_environment.items():
        if name not in reported:
            yield Finding(Place(name), str(value), "not set")


@check(
    cause="A GPU of another model or power limit, or a clock limit that is still set (nvidia-smi -lgc).",
    fix="Compare nvidia-smi -q -d CLOCK of the odd GPU with another; reset the limit with nvidia-smi -rgc, or replace the GPU.",
    scope="group",
)
def gpu_clocks_uniform(gpus: dict[str, Rows], pod_gpu_vendor: str) -> t.Iterator[Finding]:
    """Every GPU of a gate group has the same highest clock."""
    if pod_gpu_vendor != "nvidia":
        raise NotApplicable(f"no supported tool of {pod_gpu_vendor} reports the highest clock")
    clocks = {(host, gpu["gpu"]): gpu["max_sm_clock_mhz"] for host, rows in gpus.items() for gpu in rows}
    if not clocks:
        raise CannotTell("GPUs: not reported")
    for (host, gpu), clock in clocks.items():
        if clock is None:
            yield Finding(at_gpu(gpu), "a highest clock", "not reported", "unknown", host=host)
    reported = {key: clock for key, clock in clocks.items() if clock is not None}
    yield from undecided(reported, Place("highest clock of the GPUs"), "one", unit=" MHz")
    for (host, gpu), clock, usual in odd_ones(reported):
        yield Finding(at_gpu(gpu), f"up to {usual} MHz, as its group", f"{clock} MHz", host=host)
