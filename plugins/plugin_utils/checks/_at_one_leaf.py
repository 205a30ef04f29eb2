# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NICs of several hosts have at one leaf alone, which is the leaf's doing and not each host's."""

from __future__ import annotations

import typing as t

from ..pod.rail_ports import leaves_of
from ..pod.types import NearCable, PodRail
from ..text.ranges import ranges
from . import Finding
from .place import at_port

# Of fewer hosts nothing is said: two cables may well be bad at one leaf.
LEAST_HOSTS = 3
Nic = tuple[str, str]


class Behind(t.NamedTuple):
    """A leaf with the rails at it and those at others; a rail that is a bond has links to two leaves and is at none."""

    leaf: str
    rails: list[PodRail]
    others: list[PodRail]
    cables: list[NearCable]

    @classmethod
    def of(cls, leaf: str, own: t.Iterable[PodRail], others: t.Iterable[PodRail], cables: list[NearCable]) -> Behind:
        """own: the rails with a link to it."""
        return cls(leaf, [rail for rail in own if leaves_of(rail) == [leaf]], list(others), cables)

    def shared(self, known: t.Mapping[Nic, bool | None], expected: str, got: str, cause: str, fix: str) -> t.Iterator[Finding]:
        """A finding for each port of the leaf to a NIC that is bad, where those of several hosts are, and most that are bad in the pod.

        known: of each NIC whether it is bad; expected, got: with ``{nic}``; cause, fix: with ``{leaf}``, ``{number}`` of hosts and ``{ports}``.
        """
        every = [*self.rails, *self.others]
        bad = {end for rail in every if known.get(end := (rail["host"], rail["device"]))}
        mine = [rail for rail in self.rails if (rail["host"], rail["device"]) in bad and _is_well(rail["host"], every, bad)]
        hosts = {rail["host"] for rail in mine}
        # What is so all over the pod is not of one leaf.
        if len(hosts) < LEAST_HOSTS or 2 * len(mine) <= len(bad):
            return
        ports = [(rail, self._port(rail)) for rail in mine]
        named = {"leaf": self.leaf, "number": len(hosts), "ports": ranges([port for _rail, port in ports])}
        for rail, port in ports:
            nic = f"{rail['host']} {rail['device']}"
            where = at_port(port, peers=(rail["host"],))
            yield Finding(where, expected.format(nic=nic), got.format(nic=nic), cause=cause.format(**named), fix=fix.format(**named))

    def hosts(self, known: t.Mapping[Nic, bool | None]) -> int:
        """Of how many hosts a NIC at the leaf is known."""
        return len({rail["host"] for rail in self.rails if known.get((rail["host"], rail["device"])) is not None})

    def _port(self, rail: PodRail) -> str:
        """The leaf's port that a rail is cabled to; the rail by its host where only the rail says which leaf it is at."""
        ends = (rail["netdev"], rail["device"])
        return next((cable["port"] for cable in self.cables if cable["peer"] == rail["host"] and cable["peer_port"] in ends), f"to {rail['host']}")


def _is_well(host: str, rails: t.Iterable[PodRail], bad: t.Container[Nic]) -> bool:
    """Whether at most half of a host's NICs are bad, and not all, so that it is not the host."""
    states = [(host, rail["device"]) in bad for rail in rails if rail["host"] == host]
    return 2 * sum(states) <= len(states) and not all(states)
