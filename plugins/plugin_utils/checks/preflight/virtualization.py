# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: whether GPU hosts are virtual machines, and are planned as such."""

from __future__ import annotations

import typing as t

from ...readings.rows import Rows
from .. import CannotTell, Finding, check
from ..guests import GUEST, hypervisor_of
from ..place import Place

NOT_BARE = (
    "The host is a virtual machine, and the plan has bare metal: what belongs to its hypervisor (IOMMU, ACS, firmware and optics behind virtual functions) "
    "cannot be evaluated from inside it."
)
NOT_BARE_FIX = (
    "Set pod_virtualization to guest for hosts that are virtual machines; where this one should be bare metal, its address in the inventory leads to another "
    "machine, or it was provisioned as a virtual one."
)


@check(
    cause="The host is bare metal, and the plan has virtual machines (pod_virtualization is guest): it is another machine, or was provisioned without them.",
    fix="Compare the host's address in the inventory with the machine that was meant; set pod_virtualization for hosts on bare metal to what it is there.",
    required=True,
)
def virtualization_as_planned(virtualization: Rows, pod_virtualization: str) -> t.Iterator[Finding]:
    """The host is a virtual machine where pod_virtualization is guest, and bare metal where it is not."""
    if not virtualization:
        raise CannotTell("whether the host is a virtual machine: not reported")
    hypervisor = hypervisor_of(virtualization)
    if pod_virtualization == GUEST and not hypervisor:
        yield Finding(Place("host"), "a virtual machine (pod_virtualization guest)", "bare metal")
    elif pod_virtualization != GUEST and hypervisor:
        expected = f"bare metal (pod_virtualization {pod_virtualization})"
        yield Finding(Place("host"), expected, f"a virtual machine ({hypervisor})", cause=NOT_BARE, fix=NOT_BARE_FIX)
