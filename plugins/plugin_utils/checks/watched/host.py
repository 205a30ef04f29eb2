# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's log and the GPUs of a host under load."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.rail_ports import rail_ports
from ...pod.types import Rail
from ...readings.rows import Rows
from ...text.counting import counted
from .. import LOADED, CannotTell, Finding, NotApplicable, check
from .._grouping import planned_rails
from .._kernel_events import LOG_CAUSE, LOG_FIX, Devices, judged_events, logged_since
from ..place import Place, at_gpu, at_port
from ._layers import ABOVE_INCASTS, OF_RANKS, SINCE

SLOWDOWNS = {"hw_thermal_slowdown_us": "hot", "sw_thermal_slowdown_us": "close to its temperature limit", "hw_power_brake_us": "slowed down by power brake"}


@check(
    cause="The hardware or a link of the host failed while it was loaded; the line of the kernel's log names the device.",
    fix="Read the kernel's log of the host from the load's start, then follow the fix of the finding.",
    kind="host",
    layers=LOADED,
    needs="load",
)
def log_under_load(
    kernel_log_idle: Rows, kernel_log: Rows, pod_rails: list[Rail], pod_pcie_corrected_max: int, gpus_idle: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load the kernel logs no failed device, no lost link, and at most {pod_pcie_corrected_max} corrected errors of a device."""
    fresh, complete = logged_since(kernel_log_idle, kernel_log)
    if not complete:
        raise CannotTell("the kernel's log lost lines while the host was loaded", LOG_CAUSE, LOG_FIX)
    netdevs = {rail["netdev"] for rail in rail_ports(planned_rails(pod_rails))}
    lost = Counter(row["device"] for row in fresh if row["event"] == "link_down")
    for netdev, times in lost.items():
        if netdev is None:
            yield Finding(Place("kernel log"), "the netdev of every lost link", f"not reported of {times}", "unknown")
        elif netdev in netdevs:
            first = next((row["time"] for row in fresh if (row["event"], row["device"]) == ("link_down", netdev)), None)
            at = f", first at {first}" if first else ""
            yield Finding(at_port(netdev), f"no link loss {SINCE}", f"{counted(times, 'link loss')}{at}", cause=LINK_CAUSE, fix=LINK_FIX)
    yield from judged_events(fresh, Devices.of(pod_rails, gpus_idle), pod_pcie_corrected_max, SINCE)


LINK_CAUSE = "The rail's link was lost: a loose connector or failing optic, or its leaf restarted the port; where several rails lost theirs at once, the leaf."
LINK_FIX = "Look at the leaf's log and port for the same time; then clean, reseat or replace cable and optic, and evaluate layer 1 again."


MEMORY_CAUSE = "The GPU's memory had an error that ECC could not correct, or its driver was loaded again: the program that used it was ended or has wrong data."
MEMORY_FIX = (
    "Drain the host and reset the GPU, so that the row is remapped (nvidia-smi -q -d ROW_REMAPPER,ECC); read the Xids of that time, run the vendor's "
    "diagnostics, and replace the GPU where errors come back or no spare row is left."
)


@check(
    cause="A GPU failed under load: its memory, its PCIe link or its driver.",
    fix="Look for Xids in the kernel's log at the time of the load; drain the host, run the vendor's diagnostics, and replace it if it fails again.",
    layers=ABOVE_INCASTS,
    when=("pod_gpu_vendor", ("nvidia",)),
)
def gpus_under_load(gpus_idle: Rows, gpus: Rows, pod_pcie_width: int) -> t.Iterator[Finding]:
    """Under load no GPU is lost, has an uncorrected error, or a narrower PCIe link than planned."""
    if not gpus_idle:
        raise NotApplicable("the host reported no GPU before the loads")
    after = {gpu["pci"]: gpu for gpu in gpus}
    for gpu in gpus_idle:
        where, now = at_gpu(gpu["gpu"]), after.get(gpu["pci"])
        if now is None:
            yield Finding(where, f"present {SINCE}", "no longer reported")
            continue
        errors = [one["ecc_uncorrected_volatile"] for one in (gpu, now)]
        if errors[1] is not None and errors[0] is not None and errors[1] != errors[0]:
            grown = f"{errors[1] - errors[0]} more uncorrected" if errors[1] > errors[0] else "counter was reset"
            yield Finding(where, f"no uncorrected ECC error {SINCE}", grown, cause=MEMORY_CAUSE, fix=MEMORY_FIX)
        elif None in errors:
            yield Finding(where, f"no uncorrected ECC error {SINCE}", "not reported: ECC is off or missing", "unknown")
        for column, words in (("remap_pending", "row remap pending"), ("reset_required", "reset required")):
            if now[column] and not gpu[column]:
                yield Finding(where, f"no {words} {SINCE}", words)
        if now["pcie_width"] is not None and gpu["pcie_width"] is not None and now["pcie_width"] < min(gpu["pcie_width"], pod_pcie_width):
            yield Finding(where, f"PCIe width x{gpu['pcie_width']} {SINCE}", f"x{now['pcie_width']}")


@check(
    cause="The GPU was too hot, or power brake slowed it down, while it computed; every step waits for the slowest GPU.",
    fix="Look at cooling (fans, air baffles, inlet temperature) and power supplies of the host; compare temperatures under load (nvidia-smi dmon).",
    layers=OF_RANKS,
    when=("pod_gpu_vendor", ("nvidia",)),
)
def gpu_slowdown_under_load(gpus_idle: Rows, gpus: Rows, pod_gpu_slowdown_max_seconds: float) -> t.Iterator[Finding]:
    """Under load no GPU is slowed down by heat or its power supply for more than {pod_gpu_slowdown_max_seconds} seconds (any: warn)."""
    before = {gpu["pci"]: gpu for gpu in gpus_idle}
    both = [(before[gpu["pci"]], gpu) for gpu in gpus if gpu["pci"] in before]
    if not any(gpu[column] is not None for pair in both for gpu in pair for column in SLOWDOWNS):
        raise NotApplicable("how long GPUs were slowed down: not reported by this driver")
    for was, now in both:
        where = at_gpu(now["gpu"])
        for column, words in SLOWDOWNS.items():
            if None in (was[column], now[column]):
                yield Finding(where, f"how long it was {words}", "not reported", "unknown")
            elif now[column] < was[column]:
                yield Finding(where, f"how long it was {words} {SINCE}", "counters were reset: the driver was loaded again", "unknown")
            elif now[column] > was[column]:
                seconds = (now[column] - was[column]) / 1e6
                severity = None if seconds > pod_gpu_slowdown_max_seconds else "warn"
                yield Finding(where, f"at most {pod_gpu_slowdown_max_seconds:g} s of slowdown {SINCE}", f"{seconds:.3g} s, {words}", severity)
