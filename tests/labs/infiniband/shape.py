# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of the lab's fabric: a rail-optimised tree as ibsim's netlist, and as the wiring plan that it was built by."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

# ibsim's masks: width 1 is 1X, 2 is 4X; extended speed 1 is FDR, 2 EDR, 4 HDR.
HDR = 7
SWITCH_PORTS = 64
End = tuple[str, int]


@dataclass(frozen=True)
class Shape:
    """How many hosts of how many rails, over how many spines; leaves are one a rail and ``unit`` hosts."""

    hosts: int = 32
    rails: int = 8
    spines: int = 4
    unit: int = 32

    @property
    def units(self) -> int:
        """How many groups of hosts have leaves of their own."""
        return -(-self.hosts // self.unit)

    @property
    def links(self) -> int:
        """Cables of each leaf to each spine, so that nothing is oversubscribed."""
        return max(1, min(self.unit, self.hosts) // self.spines)

    def host_names(self) -> list[str]:
        """gpu01, gpu02, ..."""
        return [f"gpu{number:02}" for number in range(1, self.hosts + 1)]

    def leaf_names(self) -> list[str]:
        """leaf01, leaf02, ..."""
        return [f"leaf{number:02}" for number in range(1, self.units * self.rails + 1)]

    def spine_names(self) -> list[str]:
        """spine01, spine02, ..."""
        return [f"spine{number:02}" for number in range(1, self.spines + 1)]

    def leaf_of(self, host: int, rail: int) -> str:
        """The leaf of a host's rail; both count from 0."""
        return self.leaf_names()[host // self.unit * self.rails + rail]


@dataclass
class Net:
    """A fabric: its cables as pairs of ends, and options of single ports."""

    shape: Shape
    cables: list[tuple[End, End]] = field(default_factory=list)
    options: dict[End, str] = field(default_factory=dict)

    def swap(self, one: End, other: End) -> None:
        """Plug the cables of two ends into each other's port."""
        moved = {one: other, other: one}
        self.cables = [(moved.get(a, a), moved.get(b, b)) for a, b in self.cables]

    def netlist(self) -> str:
        """As ibsim reads it. The first node is where clients attach that say nothing."""
        at: dict[str, dict[int, End]] = {}
        for a, b in self.cables:
            at.setdefault(a[0], {})[a[1]] = b
            at.setdefault(b[0], {})[b[1]] = a
        lines = ["width=3", "speed=7", f"extspeed={HDR}", "", "devid=0x101b", "vendid=0x2c9"]
        lines += [line for name in at if " " in name for line in self._node("Hca", 1, name, at[name])]
        lines += ["devid=0xd2f0", "vendid=0x2c9"]
        lines += [line for name in sorted(at) if " " not in name for line in self._node("Switch", max(SWITCH_PORTS, *at[name]), name, at[name])]
        return "\n".join(lines) + "\n"

    def _node(self, kind: str, ports: int, name: str, links: dict[int, End]) -> t.Iterator[str]:
        yield f'{kind}\t{ports} "{name}"'
        for port, (peer, peer_port) in sorted(links.items()):
            yield f'[{port}]\t"{peer}"[{peer_port}] {self.options.get((name, port), "")}'.rstrip()
        yield ""


def healthy(shape: Shape) -> Net:
    """Every rail on its leaf, every leaf on every spine."""
    net = Net(shape)
    for number, host in enumerate(shape.host_names()):
        for rail in range(shape.rails):
            net.cables.append(((f"{host} mlx5_{rail}", 1), (shape.leaf_of(number, rail), number % shape.unit + 1)))
    for index, leaf in enumerate(shape.leaf_names()):
        for above, spine in enumerate(shape.spine_names()):
            for link in range(shape.links):
                net.cables.append(((leaf, shape.unit + above * shape.links + link + 1), (spine, index * shape.links + link + 1)))
    return net


def rows(net: Net) -> t.Iterator[tuple[str, str, str, str]]:
    """The cables as the wiring plan names them: a host's port is its device."""
    for (a_node, a_port), (b_node, b_port) in net.cables:
        host, _blank, device = a_node.partition(" ")
        yield host, device or str(a_port), b_node, str(b_port)
