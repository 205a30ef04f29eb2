# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the kernel has no module by which NICs reach GPU memory."""

from __future__ import annotations

import typing as t

from ...readings.rows import Rows
from ...text.shortened import shortened

REFUSED = "The module is on disk and was built against other RDMA drivers than are loaded (MLNX_OFED or DOCA installed after it): the kernel refuses it."
REFUSED_FIX = (
    "Build the GPU driver's modules again against the installed RDMA drivers (dkms, or reinstall the GPU driver after OFED) and load it; "
    "loading it as it is fails (Invalid argument). Or use DMA-BUF."
)
UNSIGNED = (
    "The kernel takes only modules that a key which it trusts has signed (Secure Boot, lockdown or module.sig_enforce), and this one was built on the host."
)
UNSIGNED_FIX = (
    "Compare mokutil --sb-state with the other hosts. Sign the modules with a key that the host trusts (mokutil --import, a boot to enroll it; DKMS signs with "
    "it from then on) or take the vendor's signed packages, or switch Secure Boot off in the BIOS as on the others; then load the module."
)
WHY_REFUSED = {"module_refused": (REFUSED, REFUSED_FIX), "module_unsigned": (UNSIGNED, UNSIGNED_FIX)}


class NoPeers(t.NamedTuple):
    """Why NICs have no peer memory: words, the severity where that is not known, and cause and fix where they are not those of the check."""

    words: str
    severity: str | None = None
    cause: str | None = None
    fix: str | None = None


def refused_module(lsmod: Rows, log: Rows, names: t.Sequence[str]) -> NoPeers | None:
    """What the kernel wrote when it last refused the module, or None where it did not, or has it by now.

    Some kernels do not say which module it was that no key had signed.
    """
    if {row["module"] for row in lsmod} & set(names):
        return None
    mine = [row for row in log if row["event"] in WHY_REFUSED and (row["device"] is None or str(row["device"]).replace("-", "_") in names)]
    if not mine:
        return None
    return NoPeers(f"the kernel refused the module: {shortened(mine[-1]['text'], 200)}", None, *WHY_REFUSED[mine[-1]["event"]])
