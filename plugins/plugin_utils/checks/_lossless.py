# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On which priorities PFC must and may be on."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

LOSSY_CAUSE = "PFC is on at this port, and pod_pfc says that RoCE is lossy: one port that pauses stops its neighbor, which no other port of the pod does."
LOSSY_FIX = "Switch PFC off at this port (of a NIC: mlnx_qos -i NETDEV --pfc 0,0,0,0,0,0,0,0), or set pod_pfc if priority {priority} is lossless in this pod."


@dataclass(frozen=True)
class Lossless:
    """The priority of RoCE, which must be lossless or, where pfc is False, must not be; and others that may be."""

    roce: int
    others: t.Collection[int] = ()
    pfc: bool = True

    def fits(self, priorities: t.Collection[int]) -> bool:
        """Whether PFC may be on for these priorities and no other."""
        return (self.roce in priorities) == self.pfc and set(priorities) <= {self.roce, *self.others}

    @property
    def cause(self) -> str | None:
        """Of a finding where RoCE is lossy, for which the check's own words are the opposite; None where it is lossless."""
        return None if self.pfc else LOSSY_CAUSE

    @property
    def fix(self) -> str | None:
        """As ``cause``."""
        return None if self.pfc else LOSSY_FIX.format(priority=self.roce)

    def __str__(self) -> str:
        others = sorted({*self.others} - {self.roce})
        besides = ", ".join(map(str, others))
        if not self.pfc:
            return f"off on priority {self.roce}" + (f", on {besides} at most" if others else " and any other")
        return f"on priority {self.roce}" + (f", and at most on {besides} besides" if others else " only")


def named(priorities: t.Iterable[int]) -> str:
    """Priorities for people, in order."""
    return ", ".join(map(str, sorted(priorities))) or "none"
