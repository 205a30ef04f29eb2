# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: the PCIe links of GPUs and NICs."""

from __future__ import annotations

import typing as t

from ...pod.rail_ports import bonded_gbit_s
from ...pod.types import Rail
from ...readings.nic_drivers import is_virtual_function
from ...readings.rows import Rows
from .. import CannotTell, Finding, check
from .._grouping import not_reported_of, planned_rails, rail_pci
from ..place import Place, at_device, at_gpu
from ._partitions import first_devices

# What is left of a PCIe lane's rate by its encoding, of 128 in 130 bits or of FLITs.
ENCODED = 0.98


@check(
    cause="The card sits in a narrow slot or an older one, or its lanes came up short or slow.",
    fix="Reseat the card; where it stays so, look at the slot, the riser, and the BIOS settings of bifurcation and link speed.",
)
def pcie_link(
    pci_devices: Rows, gpus: Rows, pod_rails: list[Rail], pod_pcie_width: int, pod_link_gbit_s: float, ip_link: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """Every GPU and rail NIC has its full PCIe width, and every rail NIC its full PCIe speed; a virtual function has no link of its own."""
    reported = {row["pci"]: row for row in pci_devices}
    if not gpus:
        raise CannotTell("GPUs: not reported")
    # A partition of a GPU has no link of its own.
    others = {gpu["gpu"] for gpu in gpus if gpu["pci"]}.difference(first_devices(gpus))
    wanted = [(at_gpu(gpu["gpu"]), gpu["pci"], False) for gpu in gpus if gpu["gpu"] not in others]
    wanted += [(at_device(rail["device"]), rail_pci(rail, ip_link), True) for rail in planned_rails(pod_rails)]
    wanted = [one for one in wanted if not _is_virtual(reported.get(one[1] or ""))]
    best = max((reported[pci]["link_speed_gt_s"] or 0.0 for _where, pci, is_nic in wanted if is_nic and pci in reported), default=0.0)
    for where, pci, is_nic in wanted:
        row = reported.get(pci)
        if row is None or row["link_width"] is None:
            yield Finding(where, f"PCIe width x{pod_pcie_width}", not_reported_of(pci), "unknown")
        elif row["link_width"] != pod_pcie_width:
            yield Finding(where, f"PCIe width x{pod_pcie_width}", f"x{row['link_width']}")
        elif is_nic and None in (row["link_speed_gt_s"], row["max_link_speed_gt_s"]):
            yield Finding(where, "full PCIe speed", "not reported", "unknown")
        elif is_nic and row["link_speed_gt_s"] < row["max_link_speed_gt_s"]:
            # An idle GPU trains down; a NIC does not.
            yield _slower(where, row, best, bonded_gbit_s(pod_rails, pod_link_gbit_s))


def _is_virtual(row: dict[str, t.Any] | None) -> bool:
    return row is not None and is_virtual_function(row["vendor"], row["device"])


def _slower(where: Place, row: dict[str, t.Any], best: float, link_gbit_s: float) -> Finding:
    """A NIC below its own speed: where none of the host is faster and the port is carried, the board's slots may have no more."""
    speed, most = row["link_speed_gt_s"], row["max_link_speed_gt_s"]
    if speed < best or speed * row["link_width"] * ENCODED < link_gbit_s:
        return Finding(where, f"PCIe speed {most:g} GT/s", f"{speed:g} GT/s")
    return Finding(where, f"PCIe speed {most:g} GT/s", f"{speed:g} GT/s as every rail of the host, which carries {link_gbit_s:g} Gb/s", "warn")
