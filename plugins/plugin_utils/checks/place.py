# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where on its node a finding is: fields for decisions, and a text for people.

A check writes ``at_port("Ethernet3/1")`` or ``at_device("mlx5_0", "to gpu02", peers=("gpu02",))``; what is no part of a node by a name that the plan
knows is a text alone, ``Place("kernel log")``. Nothing but what prints a finding reads the text.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, fields, replace

# Of a link: its port waits for the other end; it is up, and both ends agree on a lower rate than they should.
WAITS, SLOW = "waits", "slow"


@dataclass(frozen=True)
class Place:
    """A place on a node.

    text: as it is printed, and as a waiver names it; device: the RDMA device; port: the switch's port, or the host's network interface;
    of: what of it, such as a counter or a setting; gpu, rank: numbers; pci: a PCI address, as the operating system writes it;
    peers: other nodes, or their addresses, that the finding is about too, such as the partner of a test; missing: the nodes over which something should lead
    and does not, such as spines without a next hop; whole: it is the node as a whole; state: of a port's link, WAITS or SLOW, where a decision needs it.
    """

    text: str
    device: str | None = None
    port: str | None = None
    of: str = ""
    gpu: int | None = None
    rank: int | None = None
    pci: str | None = None
    peers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    whole: bool = False
    state: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def interface(self) -> str | None:
        """The device or the port, by which the plan finds a rail or a cable."""
        return self.device or self.port

    def narrowed(self, of: str) -> Place:
        """The same place, and what of it."""
        return replace(self, text=_joined(self.text, of), of=_joined(self.of, of) if self.of else of)

    def record(self) -> dict[str, t.Any]:
        """The fields that say something, as ``report.json`` has them beside the text."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "text"}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in own.items() if value not in (None, "", ()) and value is not False}


def place_from_record(text: str, own: t.Mapping[str, t.Any] | None, port: str | None, host: str | None) -> Place:
    """The place that ``record`` wrote; own: its fields, None in a report of a version that had none: there the text is a port, a device or the host."""
    if own is None:
        return Place(text, port=port or text, whole=text == host)
    known = {one.name: own[one.name] for one in fields(Place) if one.name in own and one.name != "text"}
    return Place(text, **{**known, **{name: tuple(known.get(name, ())) for name in ("peers", "missing")}})


def at_port(port: str, of: str = "", **more: t.Any) -> Place:
    """A switch's port, or a host's network interface; of: what of it, such as a counter."""
    return Place(_joined(port, of), port=port, of=of, **more)


def at_device(device: str, of: str = "", **more: t.Any) -> Place:
    """An RDMA device of a host; of: what of it."""
    return Place(_joined(device, of), device=device, of=of, **more)


def at_gpu(gpu: int | str, of: str = "", **more: t.Any) -> Place:
    """A GPU by its number; of: what of it."""
    return Place(_joined(f"GPU {gpu}", of), gpu=int(gpu), of=of, **more)


def at_rank(rank: int | str, of: str = "", **more: t.Any) -> Place:
    """A rank of a load by its number; of: what of it."""
    return Place(_joined(f"rank {rank}", of), rank=int(rank), of=of, **more)


def at_pci(address: str, **more: t.Any) -> Place:
    """A device or bridge by its PCI address."""
    return Place(address, pci=address, **more)


def at_node(text: str) -> Place:
    """The node as a whole, by its name or as a finding calls it."""
    return Place(text, whole=True)


def _joined(name: str, of: str) -> str:
    return f"{name}{'' if of.startswith(',') else ' '}{of}" if of else name
