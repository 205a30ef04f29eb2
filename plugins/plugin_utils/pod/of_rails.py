# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from all rails of the pod: their rates, and which host has which address."""

from __future__ import annotations

import typing as t

from .cabling import Cable
from .rail_ports import members_of
from .types import PodRail

if t.TYPE_CHECKING:
    from .plan import Node


def rates_of_rails(rails: t.Iterable[PodRail], cables: t.Iterable[Cable], nodes: t.Mapping[str, Node]) -> dict[str, dict[str, float]]:
    """By host and RDMA device the link rate of every rail in Gb/s: its cable's, else its host's ``pod_link_gbit_s``; of a bond that of all members."""
    rated = {(near.node, near.port): cable.gbit_s for cable in cables for near in (cable.a, cable.b)}
    found: dict[str, dict[str, float]] = {}
    for rail in rails:
        host, device = rail["host"], rail["device"]
        link = float(nodes[host].values["pod_link_gbit_s"])
        own = rated.get((host, rail["netdev"] or ""), rated.get((host, device)))
        of_members = sum(float(rated.get((host, member)) or link) for member in members_of(rail))
        found.setdefault(host, {})[device] = of_members or float(own or link)
    return found


def addresses_of_hosts(rails: t.Iterable[PodRail], nodes: t.Mapping[str, Node]) -> dict[str, tuple[str, str | None]]:
    """By address, the host and the device of the rail that has it; of where the host itself is reached no device."""
    of_hosts = {str(address): (node.name, None) for node in nodes.values() if (address := node.values.get("pod_bootstrap_address"))}
    return of_hosts | {rail["address"]: (rail["host"], rail["device"]) for rail in rails if rail["address"]}
