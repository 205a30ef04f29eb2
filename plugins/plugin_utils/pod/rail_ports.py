# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ports of a rail: its own one, or the members of the bond that it is."""

from __future__ import annotations

import typing as t

from .types import PodRail, Rail, RailPort


def rail_ports(rails: t.Iterable[Rail]) -> list[RailPort]:
    """Every port of some rails, as rails whose ``netdev`` is the port's own; a member of a bond also has ``bond``, the bond's netdev.

    What is not of every member, the rail's leaf and the PCI address of its RDMA device, a member does not have.
    """
    found: list[RailPort] = []
    for rail in rails:
        own = {key: value for key, value in rail.items() if key not in ("members", "leaf", "pci")}
        members = rail.get("members")
        found += [t.cast("RailPort", {**own, "netdev": member, "bond": rail["netdev"]}) for member in members] if members else [t.cast("RailPort", rail)]
    return found


def members_of(rail: t.Mapping[str, t.Any]) -> list[str]:
    """The netdevs of the ports of a bond; none of a rail that is one port."""
    return list(rail.get("members") or ())


def named_devices(rails: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """The RDMA devices of some rails and the netdevs of the members of bonds: what commands may refer to the PCI address of."""
    return [name for rail in rails for name in (rail["device"], *members_of(rail))]


def leaves_of(rail: PodRail) -> list[str]:
    """The leaves that the ports of a rail are cabled to."""
    return rail.get("leaves") or [rail["leaf"]]


def bonded_gbit_s(rails: t.Iterable[Rail], link_gbit_s: float) -> float:
    """The rated speed of a rail in Gb/s, all members of a bond together; all rails of a pod have as many (see ``rail_errors.py``)."""
    return link_gbit_s * max((len(members_of(rail)) or 1 for rail in rails), default=1)


def port_label(port: RailPort) -> str:
    """What rows that tell rails apart by RDMA device have for a port: a bond has one device for all of its members, which are told apart by netdev."""
    return str(port["netdev"] if port.get("bond") else port["device"])
