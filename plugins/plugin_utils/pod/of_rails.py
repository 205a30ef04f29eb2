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


def names_of_hosts(nodes: t.Mapping[str, Node]) -> dict[str, str]:
    """By what a launcher or Ansible may call a host that is not its name (``ansible_host``, ``pod_bootstrap_address``), the host; none that several have."""
    found: dict[str, set[str]] = {}
    for node in nodes.values():
        for name in {node.address, str(node.values.get("pod_bootstrap_address") or "")} - {"", node.name}:
            found.setdefault(name, set()).add(node.name)
    return {name: hosts.pop() for name, hosts in found.items() if len(hosts) == 1 and name not in nodes}


def addresses_of_hosts(rails: t.Iterable[PodRail], nodes: t.Mapping[str, Node]) -> dict[str, tuple[str, str | None]]:
    """By address, the host and the device of the rail that has it; of where the host itself is reached no device."""
    of_hosts: dict[str, tuple[str, str | None]] = {name: (host, None) for name, host in names_of_hosts(nodes).items()}
    return of_hosts | {rail["address"]: (rail["host"], rail["device"]) for rail in rails if rail["address"]}
