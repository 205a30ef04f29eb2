# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A draft of a pod's inventory from what its nodes report of each other. What could not be determined is a blank with its reason, never a guess."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from dataclasses import dataclass, field

from ..collect.fabric_names import MANAGED, guid_of, is_aggregation
from ..collect.fabric_rows import GENERATIONS
from ..pod.names import mac_of, node_name, port_name
from ..pod.tiers import TIERS
from ..text.control_characters import printable
from ..text.ranges import ranges
from ..text.sorting import natural_key
from .channels import channels_of
from .gpus import gpu_proposals, models_of, vendor_of
from .media import Medium, media_of
from .members import members_apart
from .outliers import Outlier, left_out, outliers_of
from .proposals import ALL, Proposal, proposals_of
from .rails import rails_of
from .rails_by_port import WORD, fill, unreported
from .roce_class import roce_class
from .session_addresses import session_addresses

# Nodes and ports; none begins with what a spreadsheet takes for a formula.
NAME = re.compile(r"[A-Za-z0-9_][\w./:+() -]*", re.ASCII)
Row = dict[str, t.Any]
Rows = list[Row]
ReadingsByNode = t.Mapping[str, t.Mapping[str, Rows]]
End = tuple[str, str]
RATES = dict(GENERATIONS.values())


@dataclass
class Draft:
    """A pod as it was found: cables as two ends, rails by host, switches with role, AS and GUID, and what stayed blank.

    sessions: by cable, the addresses that its BGP session is between; heard: by end, the ends that are heard on it, also those that no cable was made of;
    unreported: what of rails no host reported; channels: by cable, the port-channels or bonds of its two ends; vendor: of the GPUs, where it is one;
    models: how many GPUs of each name there are; untold: expectations of the class of RoCE that no reading decides, and why.
    """

    fabric: str
    cables: list[tuple[End, End]] = field(default_factory=list)
    rails: dict[str, Rows] = field(default_factory=dict)
    switches: dict[str, Row] = field(default_factory=dict)
    topology: str | None = None
    link_gbit_s: float | None = None
    media: dict[tuple[End, End], Medium] = field(default_factory=dict)
    sessions: dict[tuple[End, End], tuple[str, str]] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    outliers: list[Outlier] = field(default_factory=list)
    blanks: list[str] = field(default_factory=list)
    heard: dict[End, set[End]] = field(default_factory=dict)
    unreported: list[str] = field(default_factory=list)
    channels: dict[tuple[End, End], tuple[str, str]] = field(default_factory=dict)
    vendor: str | None = None
    models: dict[str, int] = field(default_factory=dict)
    untold: list[str] = field(default_factory=list)


def draft_pod(roles: t.Mapping[str, str], readings: ReadingsByNode, fabric: str, accepted: t.Collection[str] = ()) -> Draft:
    """The draft of a pod.

    roles: the inventory's nodes with ``host``, ``leaf`` or ``spine``; readings: each node's rows by reading, without those it did not report.
    accepted: the places (``host:netdev``, or a switch or its port) of outliers that are meant so; the others stay out of the plan.
    """
    result = Draft(fabric)
    found = _Wires(roles, readings)
    if fabric == "infiniband":
        found.from_fabric()
    else:
        found.from_lldp()
        found.from_addresses()
    result.blanks += [*found.twice(), *found.unfit]
    result.heard = found.heard
    result.cables = found.cables()
    result.switches = found.switches(result.cables)
    by_ospf = _runs_ospf(readings, result.switches)
    for name, switch in result.switches.items():
        switch |= {"asn": _own_as(readings.get(name, {}))} if fabric == "roce" else {"guid": found.guids.get(name)}
        result.blanks += [f"bgp_asn of {name}: it reports no AS of its own"] if fabric == "roce" and switch["asn"] is None and not by_ospf else []
    hosts = [name for name, role in roles.items() if role == "host"]
    for host in hosts:
        result.rails[host], blanks = rails_of(host, readings.get(host, {}), result.cables, result.switches, fabric)
        result.blanks += blanks
    result.blanks += members_apart(result.rails, readings)
    _of_gpus(result, hosts, readings)
    result.unreported = unreported(result.rails)
    if {ALL, WORD} & set(accepted):
        fill(result.rails, result.unreported)
    result.topology = _topology(result)
    result.link_gbit_s = _rate(result, readings, fabric)
    everyone = {**roles, **{name: str(switch["role"]) for name, switch in result.switches.items()}}
    result.proposals = [
        *proposals_of(everyone, readings, result.cables, result.rails, result.link_gbit_s),
        *gpu_proposals(readings, result.rails),
        *([Proposal("pod_underlay", "ospf", "all switches have OSPF neighbors and none reports BGP")] if by_ospf else []),
    ]
    odd = outliers_of(result.rails, result.cables)
    if fabric == "roce":
        of_class = roce_class(everyone, readings, result.cables, result.rails)
        result.proposals += of_class.proposals
        result.untold = of_class.untold
        odd += of_class.outliers
    result.outliers = [one for one in odd if one.place not in accepted]
    result.cables = left_out(result.outliers, result.rails, result.cables)
    result.blanks += [f"{one.place}: {one.words}; if it is meant so, -e discover_accept={one.place}" for one in result.outliers]
    if fabric == "roce":
        result.media, differing = media_of(result.cables, readings, hosts)
        result.channels, apart = channels_of(result.cables, readings, hosts)
        result.blanks += [*differing, *apart]
        asns = {name: switch["asn"] for name, switch in result.switches.items()}
        result.sessions = session_addresses(result.cables, asns, readings, result.channels)
    return result


class _Wires:
    """Who is heard on which end, and from where that is known."""

    def __init__(self, roles: t.Mapping[str, str], readings: ReadingsByNode) -> None:
        self.roles, self.readings = roles, readings
        self.by_name = {node_name(name): name for name in roles}
        self.of_mac = {mac_of(row["mac"]): (node, row["netdev"]) for node, own in readings.items() for row in own.get("ip_link", ()) if row["mac"]}
        self.heard: dict[End, set[End]] = {}
        self.unfit: list[str] = []
        self.guids: dict[str, str] = {}

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
        adapters = {
            guid_of(guid): (node, row["device"])
            for node, own in self.readings.items()
            for row in own.get("ibstat", ())
            for guid in (row["node_guid"], row["port_guid"])
        }
        for row in (row for own in self.readings.values() for row in own.get("fabric_topology", ())):
            if row["kind"] == "switch" and row["guid"]:
                self.guids.setdefault(self._switch(row["guid"], row["node"]), f"0x{int(row['guid'], 16):016x}")
            if row["port"] is None or row["peer"] is None or is_aggregation(row["peer"]) or is_aggregation(row["node"]):
                continue
            ends = []
            for side in ("", "peer_"):
                kind, guid, port_guid, port = (row[f"{side}{key}"] for key in ("kind", "guid", "port_guid", "port"))
                name = row["peer"] if side else row["node"]
                own_end = adapters.get(guid_of(guid)) or adapters.get(guid_of(port_guid)) or self._adapter(name)
                ends.append((self._switch(guid or port_guid, name), str(port)) if kind == "switch" else own_end)
            if ends[0] and ends[1]:
                self._hear(ends[0], ends[1])

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


def _own_as(own: t.Mapping[str, Rows]) -> int | None:
    numbers = {row["local_asn"] for row in own.get("bgp_summary", ()) if row.get("local_asn") is not None}
    return next(iter(numbers)) if len(numbers) == 1 else None


def _runs_ospf(readings: ReadingsByNode, switches: t.Iterable[str]) -> bool:
    """Whether every switch has an OSPF neighbor, and none reports an AS of its own."""
    own = [readings.get(name, {}) for name in switches]
    return bool(own) and all(one.get("ospf_neighbors") for one in own) and not any(_own_as(one) for one in own)


def _of_gpus(found: Draft, hosts: t.Sequence[str], readings: ReadingsByNode) -> None:
    """The vendor and the models of the GPUs; hosts with GPUs of another vendor than the others leave a blank."""
    vendors: dict[str, list[str]] = {}
    for host in hosts:
        if vendor := vendor_of(readings.get(host, {}).get("pci_devices", ())):
            vendors.setdefault(vendor, []).append(host)
    if len(vendors) == 1:
        found.vendor = next(iter(vendors))
    elif vendors:
        found.blanks.append(f"pod_gpu_vendor: {' and '.join(f'{vendor} on {ranges(its)}' for vendor, its in sorted(vendors.items()))}; set it by host")
    found.models = models_of(readings)


def _topology(found: Draft) -> str | None:
    """How rails meet leaves, where all hosts agree."""
    kinds = set()
    for rails in found.rails.values():
        leaves = [rail["leaf"] for rail in rails]
        if len(leaves) > 1:
            kinds.add("top_of_rack" if len(set(leaves)) == 1 else "rail" if len(set(leaves)) == len(leaves) else "mixed")
    spines = any(switch["role"] == "spine" for switch in found.switches.values())
    if kinds == {"rail"}:
        return "rail_optimised" if spines else "rail_only"
    if kinds == {"top_of_rack"}:
        return "top_of_rack"
    found.blanks.append(f"pod_topology: {'hosts differ in how their rails meet leaves' if kinds else 'no host has two rails'}")
    return None


def _rate(found: Draft, readings: ReadingsByNode, fabric: str) -> float | None:
    """The rate of all cables, where they agree."""
    ends = {end for cable in found.cables for end in cable}
    rates: Counter[float] = Counter()
    for node, own in readings.items():
        if fabric == "infiniband":
            rates.update(int(row["width"][:-1]) * RATES[row["speed"]] for row in own.get("fabric_topology", ()) if row["width"] and row["speed"] in RATES)
        else:
            up = (row for row in own.get("interface_status", ()) if row["state"] == "connected" and (node, port_name(row["port"])) in ends)
            rates.update(row["speed_gbit_s"] for row in up if row["speed_gbit_s"])
    if len(rates) == 1:
        return next(iter(rates))
    found.blanks.append(f"pod_link_gbit_s: links run at {', '.join(f'{rate:g} ({number})' for rate, number in sorted(rates.items())) or 'no reported rate'}")
    return None
