# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is heard on which end of a cable: by LLDP, by MAC addresses, or by InfiniBand's own discovery."""

from __future__ import annotations

import re
import typing as t

from ..collect.fabric_names import MANAGED, guid_of, is_aggregation
from ..pod.names import mac_of, node_name, port_name
from ..pod.tiers import TIERS
from ..readings.rows import Row
from ..text.control_characters import printable
from ..text.sorting import natural_key

# Nodes and ports; none begins with what a spreadsheet takes for a formula.
NAME = re.compile(r"[A-Za-z0-9_][\w./:+() -]*", re.ASCII)
ReadingsByNode = t.Mapping[str, t.Mapping[str, list[Row]]]
End = tuple[str, str]


class Wires:
    """Who is heard on which end, and from where that is known."""

    def __init__(self, roles: t.Mapping[str, str], readings: ReadingsByNode) -> None:
        self.roles, self.readings = roles, readings
        self.by_name = {node_name(name): name for name in roles}
        self.of_mac = {mac_of(row["mac"]): (node, row["netdev"]) for node, own in readings.items() for row in own.get("ip_link", ()) if row["mac"]}
        self.heard: dict[End, set[End]] = {}
        self.unfit: list[str] = []
        self.guids: dict[str, str] = {}
        self.adapters = {
            guid_of(guid): (node, row["device"])
            for node, own in readings.items()
            for row in own.get("ibstat", ())
            for guid in (row["node_guid"], row["port_guid"])
        }

    def _hear(self, one: End, other: End) -> None:
        """Keep a cable; a neighbor may give any text for its name or its port's, and these become cells of the plan and names of nodes."""
        unfit = [word for end in (one, other) for word in end if not NAME.fullmatch(word)]
        if unfit:
            known = one if one[0] in self.roles else other
            self.unfit += [f"{known[0]} {printable(known[1])}: its neighbor gives {unfit[0]!a:.120}, which is no name of a node or a port"]
            return
        for a, b in ((one, other), (other, one)):
            self.heard.setdefault(a, set()).add(b)

    def _end(self, node: str, port: str) -> End:
        """An end with a switch's port in one spelling; a host's eth0 is no Ethernet0."""
        return (node, port if self.roles.get(node) == "host" else port_name(port))

    def _node(self, name: str) -> str | None:
        managed = MANAGED.match(name)
        return self.by_name.get(node_name((managed[1] if managed else name).strip()))

    def from_lldp(self) -> None:
        """What both ends of a cable say of each other; a NIC's own agent gives its MAC address for a name."""
        for node, own in self.readings.items():
            for row in own.get("lldp_neighbors", ()):
                peer = self._node(row["neighbor"])
                end = self.of_mac.get(mac_of(row["neighbor_port"])) or self.of_mac.get(mac_of(row["neighbor"])) or (peer, row["neighbor_port"])
                if end[0] is not None:
                    self._hear(self._end(node, row["port"]), self._end(end[0], end[1]))

    def from_addresses(self) -> None:
        """Where a host's NIC is that speaks no LLDP: the one switch port without an LLDP neighbor that its MAC address alone is behind."""
        behind: dict[End, set[End]] = {}
        for node, own in self.readings.items():
            learned = [(row["mac"], row["port"]) for row in own.get("mac_table", ())] + [(row["mac"], row["interface"]) for row in own.get("arp_table", ())]
            for mac, port in learned if self.roles.get(node) != "host" else ():
                end = self.of_mac.get(mac_of(mac))
                if end is not None and port and self.roles[end[0]] == "host" and (node, port_name(port)) not in self.heard:
                    behind.setdefault((node, port_name(port)), set()).add(end)
        places: dict[End, list[End]] = {}
        for port, ends in behind.items():
            for end in ends if len(ends) == 1 else ():
                places.setdefault(end, []).append(port)
        for end, ports in places.items():
            if len(ports) == 1 and end not in self.heard:
                self._hear(ports[0], end)

    def from_fabric(self) -> None:
        """Every link that InfiniBand's own discovery found, hosts by the GUIDs of their adapters."""
        for row in (row for own in self.readings.values() for row in own.get("fabric_topology", ())):
            if row["kind"] == "switch" and row["guid"]:
                self.guids.setdefault(self._switch(row["guid"], row["node"]), f"0x{int(row['guid'], 16):016x}")
            if row["port"] is None or row["peer"] is None or is_aggregation(row["peer"]) or is_aggregation(row["node"]):
                continue
            ends = []
            for side in ("", "peer_"):
                kind, guid, port_guid, port = (row[f"{side}{key}"] for key in ("kind", "guid", "port_guid", "port"))
                name = row["peer"] if side else row["node"]
                own_end = self.adapters.get(guid_of(guid)) or self.adapters.get(guid_of(port_guid)) or self._adapter(name)
                ends.append((self._switch(guid or port_guid, name), str(port)) if kind == "switch" else own_end)
            if ends[0] and ends[1]:
                self._hear(ends[0], ends[1])

    def end_of(self, guid: str, port: int) -> End | None:
        """The end of an InfiniBand fabric that has a node's GUID and a port's number."""
        switches = {guid_of(own): name for name, own in self.guids.items()}
        switch = switches.get(guid_of(guid))
        return (switch, str(port)) if switch is not None else self.adapters.get(guid_of(guid))

    def _adapter(self, description: str) -> End | None:
        host, _blank, device = description.partition(" ")
        name = self._node(host)
        return (name, device.strip()) if name is not None and device else None

    def _switch(self, guid: str, description: str) -> str:
        managed = MANAGED.match(description)
        plain = managed[1] if managed else description
        # Unmanaged switches all call themselves alike.
        return self._node(plain) or (plain if managed or " " not in plain else f"switch_{int(guid, 16):016x}")

    def twice(self) -> list[str]:
        """Ends that more than one other end is heard on."""
        return sorted(
            f"{node} {port}: leads to {' and '.join(' '.join(one) for one in sorted(others))}" for (node, port), others in self.heard.items() if len(others) > 1
        )

    def cables(self) -> list[tuple[End, End]]:
        """The cables whose two ends agree, hosts first."""
        order = {role: place for place, role in enumerate(TIERS)}
        pairs = {tuple(sorted((end, next(iter(others))), key=lambda one: (order.get(self.roles.get(one[0], "leaf"), 1), _in_order(one)))) for end, others in
                 self.heard.items() if len(others) == 1 and self.heard[next(iter(others))] == {end}}  # fmt: skip
        return sorted(t.cast("set[tuple[End, End]]", pairs), key=lambda pair: [_in_order(end) for end in pair])

    def switches(self, cables: list[tuple[End, End]]) -> dict[str, Row]:
        """The inventory's switches, and those that it does not name: of these, leaves have hosts, and super-spines have spines and no leaf."""
        peers: dict[str, set[str]] = {}
        for a, b in cables:
            for one, other in ((a, b), (b, a)):
                if one[0] not in self.roles:
                    peers.setdefault(one[0], set()).add(self.roles.get(other[0], ""))
        found: dict[str, Row] = {name: {"role": role} for name, role in self.roles.items() if role != "host"}
        return found | {name: {"role": _role_of(roles)} for name, roles in sorted(peers.items())}


def _role_of(peers: set[str]) -> str:
    """The role of a switch by those of what it is cabled to."""
    return "leaf" if "host" in peers else "super_spine" if "spine" in peers and "leaf" not in peers else "spine"


def _in_order(end: End) -> list[list[tuple[int, int, str]]]:
    """A sort key of a node's ports."""
    return [natural_key(word) for word in end]
