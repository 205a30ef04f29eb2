# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who used a GPU's memory when a program found no more of it, by the amounts that PyTorch prints."""

from __future__ import annotations

import re

AMOUNT = r"([\d.]+) ([KMGT]iB|bytes)"
GIB = {"bytes": 2**-30, "KiB": 2**-20, "MiB": 2**-10, "GiB": 1.0, "TiB": 2.0**10}
# PyTorch from 2.1 on, and before.
FORMS = (
    re.compile(rf"total capacity of (?P<total>{AMOUNT}) of which (?P<free>{AMOUNT}) is free\..*?this process has (?P<own>{AMOUNT}) memory in use"),
    re.compile(rf"; (?P<total>{AMOUNT}) total capacity; {AMOUNT} already allocated; (?P<free>{AMOUNT}) free; (?P<own>{AMOUNT}) reserved in total by PyTorch"),
)
# What no process is named for, such as the driver's own part, is a smaller part of the GPU than this.
OF_NOBODY = 0.05


def of_gpu_memory(text: str) -> tuple[str, str] | None:
    """Cause and fix of an error of a GPU without memory, by whose the memory was; None of another error, or where the amounts are not printed."""
    found = next((match for form in FORMS if (match := form.search(text))), None)
    if found is None:
        return None
    total, free, own = (_gib(found[name]) for name in ("total", "free", "own"))
    others = total - free - own
    if others > OF_NOBODY * total:
        return (
            f"Other processes use {others:.3g} of the {total:.3g} GiB of the GPU's memory: those of another job, or left over from an earlier one.",
            "List what uses the GPU's memory (nvidia-smi, amd-smi process) and end it; see hosts_idle.",
        )
    return (
        f"The rank's own process uses {own:.3g} of the GPU's {total:.3g} GiB and asks for more than the {found['free']} that are free: its model, batch or "
        "sequence is too large for this kind of GPU, or what it keeps grows.",
        "Compare the program's settings and the size of the GPU's memory with a host on which it ends well; lower batch or sequence, or divide the model over "
        "more GPUs; PyTorch's memory snapshot shows what holds it.",
    )


def _gib(amount: str) -> float:
    number, unit = amount.split()
    return float(number) * GIB[unit]
