# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which VRF of a switch its ports are, and which of its sessions and routes are of that one."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import port_name
from ...pod.types import NearCable, Neighbor
from ...readings.rows import Rows

DEFAULT = "default"


def vrf_of(row: t.Mapping[str, t.Any]) -> str:
    """The VRF of a session or a route; some outputs name none where it is the default one."""
    return row["vrf"] or DEFAULT


def port_of(cable: NearCable) -> str:
    """What has an address at this end of a cable: the port, or the port-channel that it is a member of."""
    return cable.get("channel") or cable["port"]


class PortVrfs:
    """The VRFs of a switch's ports, by its own reading."""

    def __init__(self, rows: Rows) -> None:
        """rows: of ``port_vrfs``."""
        self._by_port: dict[str, set[str]] = {}
        for row in rows:
            # A port is in the VRFs of its subinterfaces, too.
            self._by_port.setdefault(port_name(row["port"].partition(".")[0]), set()).add(row["vrf"])

    def of(self, port: str) -> set[str]:
        """The VRFs that a port is in: none of one that is not reported, which is in the default one or routes nothing by itself."""
        return self._by_port.get(port_name(port), set())

    @property
    def names(self) -> set[str]:
        """Every VRF in which the switch has an interface."""
        return set().union(*self._by_port.values())

    def of_session(self, port: str, planned: str) -> str:
        """The VRF in which a session over a port is expected: the planned one where the port is in it, else its own, which of an overlay is the default one."""
        own = self.of(port)
        return planned if planned in own else min(own, default=DEFAULT)


def session_names(neighbor: Neighbor) -> tuple[str, str]:
    """What a switch may call the session with a planned neighbor: the port that leads to it, or its address."""
    return port_name(neighbor["port"]), str(neighbor["address"])


def sessions_in_vrf(rows: Rows, neighbors: t.Iterable[Neighbor], port_vrfs: Rows | None, planned: str) -> Rows:
    """The sessions of a switch without those with a planned neighbor that are in another VRF than the port which leads to it.

    planned: the VRF of the rails, empty where that is the default one: then all of them, since nothing is asked about VRFs.
    """
    if not planned or port_vrfs is None:
        return rows
    ports = PortVrfs(port_vrfs)
    expected = {name: ports.of_session(one["port"], planned) for one in neighbors for name in session_names(one)}
    return [row for row in rows if expected.get(port_name(row["neighbor"]), vrf_of(row)) == vrf_of(row)]


def vrf_of_rails(cables: t.Iterable[NearCable], port_vrfs: Rows | None, planned: str) -> str:
    """The VRF in which a switch forwards what its rails send: the planned one, or where each of its ports to hosts is in another one, that of most."""
    ports = PortVrfs(port_vrfs or [])
    found = [ports.of(port_of(cable)) for cable in cables if cable["peer_role"] == "host"]
    # A port that switches is in no VRF itself: rails_in_vrf judges the interface of its VLAN.
    if not all(found) or any(planned in its for its in found):
        return planned
    counted = Counter(vrf for its in found for vrf in sorted(its))
    return counted.most_common(1)[0][0] if counted else planned
