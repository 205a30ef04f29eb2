# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs that their driver lists as several devices each: compute partitions of AMD, functions of one slot of the PCIe bus."""

from __future__ import annotations

import typing as t

from ...readings.rows import Rows

CAUSE = (
    "{gpus} GPUs are split into {devices} devices: a compute partition (DPX, QPX or CPX of an MI300X) is set, in which each GPU is several small ones with a "
    "part of its compute units, and jobs of one rank a GPU find other numbers and places."
)
FIX = (
    "Drain the host and set the partition of whole GPUs (amd-smi set --compute-partition SPX --memory-partition NPS1), then look for what sets another one at "
    "boot (a service, the GPU operator's profile)."
)


def of_slots(gpus: t.Iterable[dict[str, t.Any]]) -> dict[str, list[int]]:
    """The numbers of the devices in each slot, in the order of their numbers; a device without an address is in none."""
    slots: dict[str, list[int]] = {}
    for gpu in sorted(gpus, key=lambda one: one["gpu"]):
        if gpu.get("pci"):
            slots.setdefault(str(gpu["pci"]).lower().rpartition(".")[0], []).append(gpu["gpu"])
    return slots


def split(gpus: Rows) -> tuple[str | None, str | None]:
    """Cause and fix where GPUs are listed as several devices each; None of whole ones."""
    slots = of_slots(gpus)
    devices = sum(len(numbers) for numbers in slots.values())
    return (CAUSE.format(gpus=len(slots), devices=devices), FIX) if devices > len(slots) else (None, None)


def first_devices(gpus: Rows) -> list[int]:
    """The number of the first device of each GPU, in the order of the GPUs, as a plan numbers them; of whole ones their own."""
    return [numbers[0] for numbers in of_slots(gpus).values()]
