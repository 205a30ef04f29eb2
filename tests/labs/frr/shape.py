# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's plan: which nodes there are, which cable joins which ports, and every address. Nothing is started here."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

SPINE_ASN = 65000
LEAF_ASN = 65100
RAIL_MTU = 9000
UPLINK_MTU = 9216
MOST_NODES = 200


@dataclass(frozen=True)
class Shape:
    """How large the lab is. Rail i of every host is on leaf i; without leaves the hosts are plain machines with sshd."""

    spines: int = 4
    leaves: int = 8
    hosts: int = 4
    # Whether rails have IPv6 addresses and nothing else, and BGP sessions are those of ports, without addresses.
    ipv6: bool = False
    # Whether OSPF routes, and no BGP.
    ospf: bool = False

    def __post_init__(self) -> None:
        numbers = (self.spines, self.leaves, self.hosts)
        if min(numbers) < 0 or not 0 < sum(numbers) <= MOST_NODES:
            raise ValueError(f"a lab has 1 to {MOST_NODES} nodes, not {self}")

    def __str__(self) -> str:
        return f"{self.spines}x{self.leaves}x{self.hosts}{'-ipv6' if self.ipv6 else '-ospf' if self.ospf else ''}"

    @classmethod
    def parse(cls, text: str) -> Shape:
        """``4x8x4``: spines, leaves and hosts; ``4x8x4-ipv6`` has IPv6 alone, ``4x8x4-ospf`` is routed by OSPF."""
        size, _dash, kind = text.partition("-")
        if kind not in ("", "ipv6", "ospf"):
            raise ValueError(f"a lab is of ipv6, of ospf or of nothing said, not of {kind!r}")
        spines, leaves, hosts = (int(number) for number in size.split("x"))
        return cls(spines, leaves, hosts, kind == "ipv6", kind == "ospf")


@dataclass(frozen=True)
class Port:
    """One end of a cable, and its address; empty where the port is unnumbered."""

    node: str
    name: str
    address: str


@dataclass(frozen=True)
class Cable:
    """One cable, its switch end first, and the MTU of both ends."""

    a: Port
    b: Port
    mtu: int


@dataclass(frozen=True)
class Node:
    """One node: role spine, leaf or host; its management address; the AS and loopback of a switch."""

    name: str
    role: str
    number: int
    management: str
    asn: int | None = None
    loopback: str | None = None


@dataclass(frozen=True)
class Plan:
    """All of a lab."""

    shape: Shape
    nodes: dict[str, Node]
    cables: list[Cable]

    @property
    def prefix_length(self) -> int:
        """Of every cable's network: it has two addresses."""
        return 127 if self.shape.ipv6 else 31

    def network(self, leaf_port: Port) -> str:
        """The network of a rail, which is told by its leaf's end."""
        return f"{leaf_port.address}/{self.prefix_length}"

    def ports(self, node: str) -> t.Iterator[tuple[Port, Port, int]]:
        """A node's ports in their order: own end, far end, MTU."""
        for cable in self.cables:
            if cable.a.node == node:
                yield cable.a, cable.b, cable.mtu
            elif cable.b.node == node:
                yield cable.b, cable.a, cable.mtu

    def switches(self) -> list[Node]:
        """Spines and leaves."""
        return [node for node in self.nodes.values() if node.role != "host"]

    def with_role(self, role: str) -> list[str]:
        """The names of all nodes of a role."""
        return [node.name for node in self.nodes.values() if node.role == role]

    def peers(self, switch: str) -> list[tuple[Port, Port, int]]:
        """A switch's BGP neighbors: own end, far end, the neighbor's AS."""
        return [(own, far, asn) for own, far, _mtu in self.ports(switch) if (asn := self.nodes[far.node].asn) is not None]

    def between(self, a: str, b: str) -> tuple[Port, Port]:
        """The ports of the cable that joins two nodes, those of ``a`` first."""
        return next((own, far) for own, far, _mtu in self.ports(a) if far.node == b)

    def rails(self, host: str) -> list[tuple[Port, Port]]:
        """A host's rails in their order: own end, the leaf's."""
        return [(own, far) for own, far, _mtu in self.ports(host)]


def plan(shape: Shape, management: str) -> Plan:
    """The lab of a shape; management: the first three numbers of its management network."""
    nodes: dict[str, Node] = {}

    def add(name: str, role: str, number: int, asn: int | None = None, loopback: str | None = None) -> None:
        nodes[name] = Node(name, role, number, f"{management}.{len(nodes) + 1}", asn, loopback)

    for spine in range(1, shape.spines + 1):
        add(f"spine{spine:02}", "spine", spine, SPINE_ASN, f"10.0.0.{spine}")
    for leaf in range(1, shape.leaves + 1):
        add(f"leaf{leaf:02}", "leaf", leaf, LEAF_ASN + leaf, f"10.0.1.{leaf}")
    for host in range(1, shape.hosts + 1):
        add(f"gpu{host:02}", "host", host)
    return Plan(shape, nodes, [*_uplinks(shape), *_host_links(shape)])


def _uplinks(shape: Shape) -> t.Iterator[Cable]:
    for leaf in range(1, shape.leaves + 1):
        for spine in range(1, shape.spines + 1):
            low = 2 * (spine - 1)
            addresses = ("", "") if shape.ipv6 else (f"172.16.{leaf}.{low}", f"172.16.{leaf}.{low + 1}")
            yield Cable(Port(f"leaf{leaf:02}", f"swp{spine}", addresses[0]), Port(f"spine{spine:02}", f"swp{leaf}", addresses[1]), UPLINK_MTU)


def _host_links(shape: Shape) -> t.Iterator[Cable]:
    for leaf in range(1, shape.leaves + 1):
        for host in range(1, shape.hosts + 1):
            low = 2 * (host - 1)
            network = f"fd00:10:{leaf:x}::" if shape.ipv6 else f"10.{9 + leaf}.0."
            near, far = (f"{number:x}" if shape.ipv6 else str(number) for number in (low + 2 * shape.ipv6, low + 2 * shape.ipv6 + 1))
            port = Port(f"leaf{leaf:02}", f"swp{shape.spines + host}", network + near)
            yield Cable(port, Port(f"gpu{host:02}", f"rail{leaf - 1}", network + far), RAIL_MTU)
