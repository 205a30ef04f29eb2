# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The routes of an overlay: their next hops are VTEPs of other switches, which the underlay resolves."""

from __future__ import annotations

import typing as t

from ...pod.types import Neighbor
from ...readings.rows import Rows
from ._routes import Hop, Key, RouteTable
from ._vrfs import DEFAULT, vrf_of

EVPN = "evpn"
OF_VRF = "L3"


def underlay_table(rows: Rows, family: str, neighbors: list[Neighbor], uplinks: t.Iterable[str]) -> RouteTable:
    """The routes of the default VRF, by which VTEPs are reached. It needs ``netaddr``."""
    return RouteTable([row for row in rows if vrf_of(row) == DEFAULT], family, neighbors, uplinks)


class OverlayTable(RouteTable):
    """The routes of a VRF whose next hops are VTEPs, with the next hops of the underlay in their place."""

    def __init__(self, rows: Rows, underlay: RouteTable, family: str, neighbors: list[Neighbor], uplinks: t.Iterable[str]) -> None:
        """rows: of ``ecmp_routes`` in the VRF of the rails."""
        self._underlay = underlay
        super().__init__(rows, family, neighbors, uplinks)

    def next_hops(self, key: Key) -> tuple[set[Hop], str]:
        """The next hops of the underlay to each VTEP of a route, and of which table they are."""
        own, shown = super().next_hops(key)
        vteps = sorted(address for address, _interface in own if address is not None)
        ways = [self._underlay.next_hops(one) for vtep in vteps for one in self._underlay.longest(vtep)]
        found = {hop for hops, _shown in ways for hop in hops}
        return found, f"{next((its for _hops, its in ways), shown)} to VTEP {', '.join(vteps)}, the next hop," if vteps else shown


def vtep_of(rows: Rows, vrf: str) -> str | None:
    """The address of a switch's VTEP, by the VNI of a VRF; None where it reports none."""
    return next((row["vtep"] for row in rows if row["kind"] == OF_VRF and row["vrf"] == vrf and row["vtep"]), None)
