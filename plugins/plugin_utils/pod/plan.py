# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod as it is planned: nodes, gate groups, cables, and what follows from them for each node."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from functools import cached_property

from ..text.sorting import natural_key
from .addressing import bare
from .cabling import Cable, CableEnd
from .meshes import both_ways, ping_mesh
from .names import NodePort, parse_place
from .of_rails import addresses_of_hosts, rates_of_rails
from .rail_ports import leaves_of, members_of
from .tiers import SPINE, SUPER_SPINE, above, below, is_above, tier_cable
from .types import NearCable, Neighbor, Ping, PodRail, TierCable
from .uplink_to_shut import failover_link, failover_pairs
from .ways import Ways, planes_of, spines_of_plane

SHARED = "shared"
Values = dict[str, t.Any]


@dataclass(frozen=True)
class Node:
    """One node: its role (host, leaf, spine, super_spine), platform, gate group (None for a switch) and typed expectations; address: its ansible_host."""

    name: str
    role: str
    platform: str
    group: str | None
    values: Values
    asn: int | None = None
    address: str = ""

    @property
    def kind(self) -> str:
        """``host`` or ``switch``."""
        return "host" if self.role == "host" else "switch"


def _routes(place: Node) -> bool:
    """Whether a switch has neighbors of a routing protocol; those of BGP it has only where its AS is known."""
    return place.kind == "switch" and (place.asn is not None or place.values.get("pod_underlay") in ("ospf", "static"))


@dataclass
class Plan:
    """The pod: nodes by name, gate groups with their hosts, and cables."""

    nodes: dict[str, Node]
    groups: dict[str, list[str]]
    cables: list[Cable]
    at: dict[str, list[Cable]] = field(init=False)

    def __post_init__(self) -> None:
        self.at = {name: [] for name in self.nodes}
        for cable in self.cables:
            self.at[cable.a.node].append(cable)
            self.at[cable.b.node].append(cable)
        self._far = {(near.node, near.port): far for cable in self.cables for near, far in ((cable.a, cable.b), (cable.b, cable.a))}
        self._behind: dict[str, frozenset[str]] = {}
        self._rail_gbit_s: dict[str, dict[str, float]] = {}
        self._host_addresses: dict[str, tuple[str, str | None]] = {}
        self._uppers: dict[str, frozenset[str]] = {}

    def far_end(self, node: str, port: str | None) -> CableEnd | None:
        """What a node's port is cabled to, by the wiring plan; None where no cable is planned there."""
        return self._far.get((node, port or ""))

    def behind(self, node: str) -> frozenset[str]:
        """The gate groups that a whole node serves: a host its own, a leaf those of its hosts, a spine those of its leaves, a super-spine of its spines."""
        if node not in self._behind:
            self._behind[node] = self._serves(node)
        return self._behind[node]

    def _serves(self, node: str) -> frozenset[str]:
        place = self.nodes[node]
        if place.group is not None:
            return frozenset({place.group})
        peers = dict.fromkeys(cable.seen_from(node)[1].node for cable in self.at[node])
        return frozenset().union(*(self.behind(peer) for peer in peers if is_above(place.role, self.nodes[peer].role)))

    def affects(self, node: str, port: str | None = None) -> frozenset[str]:
        """The gate groups that a finding on a node, or on one port of it, touches.

        A host port touches its host's group, an uplink the groups under its lower end; what is on no planned
        port touches every group behind the node. A switch behind which no group is touches all.
        """
        for cable in self.at[node] if port and self.nodes[node].group is None else ():
            near, far = cable.seen_from(node)
            if port in (near.port, near.channel):
                own, other = self.nodes[node].role, self.nodes[far.node].role
                return self.behind(node if is_above(other, own) else far.node)
        return self.behind(node) or frozenset(self.groups)

    def planned(self, node: str) -> Values:
        """The planned expectations of a node that judge it; see planned_expectations.py."""
        place = self.nodes[node]
        cables = [self.near(node, cable) for cable in self.at[node]]
        planned: Values = {"pod_node": node, "pod_role": place.role, "pod_cables": cables, "pod_pings": [], "pod_path_probes": []}
        planned |= {"pod_incasts": [], "pod_incast_refused": "", "pod_not_asked": [], "pod_closed_switches": []}
        planned["pod_neighbors"] = self._neighbors(cables) if _routes(place) else []
        planned["pod_asn"] = place.asn if _routes(place) else None
        planned["pod_same_role"] = self._same_role(place) if place.kind == "switch" else []
        planned["pod_same_group"] = [name for name in self.groups.get(place.group or "", ()) if name != node] if place.kind == "host" else []
        planned["pod_uplinks"] = sum(place.kind == "switch" and cable["peer_role"] == above(place.role) for cable in cables)
        in_a_plane = place.kind == "switch" and place.values["pod_fabric"] == "infiniband"
        planned["pod_plane_spines"] = spines_of_plane(node, self._links, self._roles) if in_a_plane else []
        planned["pod_tier_cables"] = self._tier_cables(place.role) if place.role in (SPINE, SUPER_SPINE) else []
        planned["pod_failover_link"] = self.failover_link() if place.kind == "switch" and place.values["pod_failover"] else {}
        routed = place.role == "leaf" or (place.kind == "switch" and self.has_super_spines)
        planned |= {"pod_remote_rails": self._rails_at(node, False) if routed else [], "pod_ways": self.ways(node) if routed else {}}
        planned["pod_leaf_rails"] = self._rails_at(node, True) if place.role == "leaf" else []
        return planned | self.of_all()

    def of_all(self) -> Values:
        """The planned expectations that are the same for every node, and for every gate group."""
        if not self._host_addresses:
            self._host_addresses = addresses_of_hosts(self.rails(), self.nodes)
        return {"pod_rail_gbit_s": self.rail_gbit_s(), "pod_host_addresses": self._host_addresses}

    def near(self, node: str, cable: Cable) -> NearCable:
        """A cable as one of its nodes sees it: its port, and what is at the other end."""
        near, far = cable.seen_from(node)
        plane = self.planes.get(far.node, self.planes.get(node))
        return {
            "port": near.port,
            "peer": far.node,
            "peer_port": far.port,
            "peer_role": self.nodes[far.node].role,
            "peer_address": far.address,
            "medium": cable.medium,
            "length_m": cable.length_m,
            "gbit_s": cable.gbit_s,
            "channel": near.channel,
            "peer_channel": far.channel,
            **({"plane": plane} if plane else {}),  # type: ignore[typeddict-item]
        }

    def _neighbors(self, cables: list[NearCable]) -> list[Neighbor]:
        """One a cable, or a port-channel, to a switch."""
        found: dict[str, Neighbor] = {}
        for cable in cables:
            if self.nodes[cable["peer"]].kind == "switch":
                port = cable["channel"] or cable["port"]
                one = found.setdefault(port, {"port": port, "peer": cable["peer"], "address": None, "asn": self.nodes[cable["peer"]].asn})
                one["address"] = one["address"] or cable["peer_address"]
        return list(found.values())

    def _same_role(self, place: Node) -> list[str]:
        return [one.name for one in self.nodes.values() if one.name != place.name and (one.role, one.platform) == (place.role, place.platform)]

    def _tier_cables(self, role: str) -> list[TierCable]:
        """The cables between all nodes of a role and those of the tier below."""
        cables = ((end, self.near(end.node, cable)) for cable in self.cables for end in (cable.a, cable.b) if self.nodes[end.node].role == below(role))
        return [tier_cable(end.node, end.port, near) for end, near in cables if near["peer_role"] == role]

    @property
    def has_super_spines(self) -> bool:
        """Whether the pod has three tiers of switches."""
        return any(node.role == SUPER_SPINE for node in self.nodes.values())

    def uppers(self, switch: str) -> frozenset[str]:
        """The switches of the next tier that one is cabled to."""
        if switch not in self._uppers:
            ends = (cable.seen_from(switch)[1].node for cable in self.at[switch])
            self._uppers[switch] = frozenset(end for end in ends if self.nodes[end].role == above(self.nodes[switch].role))
        return self._uppers[switch]

    def highest_tier(self, one: PodRail, other: PodRail) -> str:
        """How high it is between two rails: ``leaf`` where both are on one, ``super_spine`` where their leaves share super-spines alone, else ``spine``."""
        if one["leaf"] == other["leaf"]:
            return "leaf"
        spines, others = ({spine for leaf in leaves_of(rail) if leaf in self.nodes for spine in self.uppers(leaf)} for rail in (one, other))
        if spines & others:
            return SPINE
        tops, far = ({top for spine in its for top in self.uppers(spine)} for its in (spines, others))
        return SUPER_SPINE if tops & far else SPINE

    def ways(self, switch: str) -> dict[str, list[str]]:
        """By leaf the ports of a switch over which the fewest switches lead to it; see ``ways.py``."""
        return self._ways.from_switch(switch)

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self._links, [name for name in self._links if self.nodes[name].role == "leaf"])

    @cached_property
    def _roles(self) -> dict[str, str]:
        return {name: node.role for name, node in self.nodes.items()}

    @cached_property
    def _links(self) -> dict[str, list[tuple[str, str]]]:
        """Of every switch the switches at the other ends of its cables, with its own ports."""
        ends = {name: [cable.seen_from(name) for cable in self.at[name]] for name, node in self.nodes.items() if node.kind == "switch"}
        return {name: list(dict.fromkeys((far.node, near.channel or near.port) for near, far in its if far.node in ends)) for name, its in ends.items()}

    @cached_property
    def planes(self) -> dict[str, int]:
        """By leaf the plane that it is in; see ``planes_of``."""
        return planes_of(self._links, self._roles)

    def failover_link(self) -> Values:
        """The uplink that is shut under load where ``pod_failover`` asks for it, or an empty mapping; see ``uplink_to_shut.py``."""
        leaves = [node.name for node in self.nodes.values() if node.role == "leaf"]
        near = {leaf: [self.near(leaf, cable) for cable in self.at[leaf]] for leaf in leaves}
        return failover_link(self.rails(), {leaf: [one for one in cables if one["peer_role"] == "spine"] for leaf, cables in near.items()})

    def failover_pairs(self, hosts: t.Container[str]) -> list[tuple[PodRail, PodRail]]:
        """The rails between which probes cross the uplinks of that leaf, of some hosts."""
        link = self.failover_link()
        return failover_pairs(self.rails(hosts), link["leaf"]) if link else []

    def _rails_at(self, leaf: str, there: bool) -> list[PodRail]:
        return [rail for rail in self.rails() if (leaf in leaves_of(rail)) == there and (rail["address"] or self.nodes[leaf].values["pod_fabric"] != "roce")]

    def rails(self, hosts: t.Container[str] | None = None) -> list[PodRail]:
        """Every rail of every host (of ``hosts``): host, index, device, leaf (by the wiring plan, else as the rail says), address without its prefix length.

        Of a bond also ``members`` and ``leaves``; ``leaf`` is the first of these by name, so that it is one for all bonds to the same leaves.
        """
        return [
            self._rail(node.name, index, rail)
            for node in self.nodes.values()
            if node.role == "host" and (hosts is None or node.name in hosts)
            for index, rail in enumerate(node.values["pod_rails"])
        ]

    def _rail(self, host: str, index: int, rail: Values) -> PodRail:
        netdev, planned = t.cast("str", rail.get("netdev")), t.cast("str", rail.get("leaf"))
        found: PodRail = {
            "host": host,
            "index": index,
            "device": rail["device"],
            "netdev": netdev,
            "leaf": far.node if (far := self.far_end(host, netdev) or self.far_end(host, rail["device"])) else planned,
            "address": bare(str(rail.get("address") or "")) or None,
        }
        members = members_of(rail)
        leaves = sorted({far.node for member in members if (far := self.far_end(host, member))}, key=natural_key)
        if leaves:
            found |= {"leaf": leaves[0], "leaves": leaves, "members": members}
        if plane := self.planes.get(found["leaf"]):
            found["plane"] = plane
        return found

    def rail_gbit_s(self) -> dict[str, dict[str, float]]:
        """By host and RDMA device the link rate of every rail in Gb/s: its cable's, else its host's ``pod_link_gbit_s``; of a bond that of all members."""
        if not self._rail_gbit_s:
            self._rail_gbit_s = rates_of_rails(self.rails(), self.cables, self.nodes)
        return self._rail_gbit_s

    def meshes(self, partners: t.Collection[str], members: t.Collection[str] | None = None) -> dict[str, dict[str, list[Ping]]]:
        """The pings and path probes of each member, by host: ``{host: {"ping": [...], "path_probe": [...]}}``.

        partners: the hosts that take part. Where only some of them are members, the others run no responder, and no one probes paths.
        """
        meshes = ping_mesh(self.rails(partners), self.nodes)
        if members is None or set(partners) <= set(members):
            return meshes
        return {host: {"ping": own["ping"], "path_probe": []} for host, own in both_ways(meshes).items() if host in members}

    def items(self, node: str, members: t.Collection[str] | None = None) -> dict[str, list[Values]]:
        """What a node's commands are repeated for: a host's rails, a switch's planned ports, and the ports that it reads a fabric through.

        members: the nodes that take part, all where it is None.
        """
        ports = dict.fromkeys(cable.seen_from(node)[0].port for cable in self.at[node])
        if self.nodes[node].kind == "switch":
            channels = any(cable.seen_from(node)[0].channel for cable in self.at[node])
            return {"rail": [], "port": [{"item": port, "port": port} for port in ports], "channels": [{"item": "port-channels"}] if channels else []}
        devices = self.readers(self.nodes if members is None else members).get(node)
        fabric: dict[str, list[Values]] = {"fabric": [{"via": device, "device": device} for device in devices]} if devices else {}
        values = self.nodes[node].values
        return {"rail": [{**rail, "settings": sorted(values["pod_nic_settings"])} for rail in values["pod_rails"]], "port": [], **fabric}

    def readers(self, members: t.Collection[str]) -> dict[str, list[str]]:
        """The members that read an InfiniBand fabric for all, with the devices that they read it through; none on RoCE.

        Where ``pod_fabric_reader`` names none: a host of each of the first two gate groups that take part, through its first rail, or
        through every rail where rails do not meet.
        """
        values = next(iter(self.nodes.values())).values
        if values["pod_fabric"] != "infiniband":
            return {}
        named = [parse_place(one) for one in values["pod_fabric_reader"]]
        if not named:
            firsts = [next((host for host in hosts if host in members), None) for hosts in self.groups.values()]
            named = [NodePort(host, "") for host in firsts if host is not None][:2]
        found: dict[str, list[str]] = {}
        for host, device in named:
            if host in members:
                rails = [rail["device"] for rail in self.nodes[host].values["pod_rails"]]
                found.setdefault(host, []).extend([device] if device else rails if values["pod_topology"] == "rail_only" else rails[:1])
        return found
