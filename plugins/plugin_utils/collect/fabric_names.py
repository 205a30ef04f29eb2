# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is who in an InfiniBand fabric: planned nodes by GUID where one is known, else by the description that a node gives itself."""

from __future__ import annotations

import re
import typing as t

from ..pod.plan import Plan
from .types import Envelope

# A managed switch calls itself ``MF0;name:model/U1``.
MANAGED = re.compile(r"^[^;:]*;([^;:]+):")
AGGREGATION = re.compile(r"Aggregation Node", re.IGNORECASE)


class FabricEnd(t.NamedTuple):
    """One end of a link: the node's planned name where it has one, else its description; the port as the wiring plan calls it."""

    node: str
    port: str


def guid_of(text: str | None) -> int | None:
    """The number of a GUID in any spelling; None where there is none."""
    return int(text, 16) if text else None


def is_aggregation(description: str) -> bool:
    """Whether it is the node within a switch that SHARP aggregates on, which no one cables."""
    return bool(AGGREGATION.search(description))


class FabricNames:
    """The names of a fabric's ends, from the plan and from what hosts say of their own adapters."""

    def __init__(self, plan: Plan, envelopes: t.Mapping[str, Envelope]) -> None:
        self.plan = plan
        self.by_name = {name.casefold(): name for name in plan.nodes}
        self.switches = {guid: node.name for node in plan.nodes.values() if (guid := guid_of(node.values["pod_node_guid"])) is not None}
        self.adapters: dict[int, tuple[str, str]] = {}
        for host, envelope in envelopes.items():
            ibstat = envelope["readings"].get("ibstat")
            for row in ibstat["rows"] if ibstat is not None and ibstat["status"] == "ok" else ():
                for guid in (guid_of(row["node_guid"]), guid_of(row["port_guid"])):
                    if guid:
                        self.adapters[guid] = (host, row["device"])
        self.ports = {node.name: _port_names(plan, node.name) for node in plan.nodes.values() if node.role == "host"}

    def end(self, guid_text: str | None, description: str, port: int | None) -> FabricEnd:
        """One end: whose it is and what its port is called."""
        guid = guid_of(guid_text)
        if guid in self.switches:
            return FabricEnd(self.switches[guid], str(port))
        if guid in self.adapters:
            host, device = self.adapters[guid]
            return FabricEnd(host, self.ports.get(host, {}).get(device, device))
        managed = MANAGED.match(description)
        name = self._planned(managed[1] if managed else description)
        if name is not None and self.plan.nodes[name].kind == "switch" and not self.plan.nodes[name].values["pod_node_guid"]:
            return FabricEnd(name, str(port))
        host_name, _blank, device = description.partition(" ")
        name = self._planned(host_name)
        if name is not None and self.plan.nodes[name].kind == "host":
            device = device.strip() or str(port)
            return FabricEnd(name, self.ports[name].get(device, device))
        # Another switch's GUID was planned for this name.
        return FabricEnd(f"{description} ({guid_text})" if name or description in self.plan.nodes else description, str(port))

    def _planned(self, word: str) -> str | None:
        """The planned node of that name, with or without a domain."""
        word = word.strip().casefold()
        return self.by_name.get(word) or self.by_name.get(word.split(".", maxsplit=1)[0])


def _port_names(plan: Plan, host: str) -> dict[str, str]:
    """Device to the port's name in the wiring plan, which may be the netdev."""
    ports = {cable.seen_from(host)[0].port for cable in plan.at[host]}
    return {rail["device"]: rail["netdev"] for rail in plan.nodes[host].values["pod_rails"] if rail["device"] not in ports and rail.get("netdev") in ports}
