# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The routes of a switch: which one an address takes, and over which next hops."""

from __future__ import annotations

import typing as t

from ...pod.addressing import DEFAULT_ROUTES, VERSION, WHOLE_LENGTH, bare
from ...pod.names import port_name
from ...pod.types import Neighbor
from ...readings.rows import Rows

try:
    import netaddr

    HAS_NETADDR = True
except ImportError:
    HAS_NETADDR = False

# A VRF, empty where none is reported, and a prefix.
Key = tuple[str, str]
# The address and the interface of a next hop.
Hop = tuple[t.Optional[str], t.Optional[str]]  # noqa: UP045


class RouteTable:
    """The routes of one family of a switch. It needs ``netaddr``, which HAS_NETADDR reports."""

    def __init__(self, rows: Rows, family: str, neighbors: list[Neighbor], uplinks: t.Iterable[str]) -> None:
        """rows: of ``ecmp_routes``; uplinks: the ports that lead to other leaves.

        A default route leads to rails only over these, and elsewhere to the management network.
        """
        self.default = DEFAULT_ROUTES[family]
        self._whole = WHOLE_LENGTH[family]
        self._ports = {port_name(port) for port in uplinks}
        self._addresses = {bare(one["address"]) for one in neighbors if one["address"] and port_name(one["port"]) in self._ports}
        self._by_key: dict[Key, Rows] = {}
        for row in rows:
            self._by_key.setdefault((row["vrf"] or "", row["prefix"]), []).append(row)
        self._by_length = _by_length(self._by_key, family)
        self._defaults = sorted(key for key in self._by_key if key[1] == self.default and self.next_hops(key)[0])

    @property
    def keys(self) -> t.Iterable[Key]:
        """Every route."""
        return self._by_key

    def longest(self, address: str | None) -> list[Key]:
        """The longest prefix that holds an address, once for each VRF that has it; the default route where no other has it, none where there is no route."""
        number, whole = int(netaddr.IPAddress(address)), self._whole
        for length in sorted(self._by_length, reverse=True):
            if number >> whole - length in self._by_length[length]:
                return sorted(self._by_length[length][number >> whole - length])
        return self._defaults

    def next_hops(self, key: Key) -> tuple[set[Hop], str]:
        """The next hops of a route that lead somewhere, in the forwarding table where the platform shows it, else in the RIB; and which of the two."""
        rows = self._by_key[key]
        told = any(row["installed"] is not None for row in rows)
        chosen = [row for row in rows if (row["installed"] if told else row["selected"] is not False)]
        hops = {(row["next_hop"], row["interface"]) for row in chosen if not _discards(row)}
        return {hop for hop in hops if key[1] != self.default or self._over_uplink(hop)}, "forwarding table" if told else "RIB"

    def discards(self, key: Key) -> bool:
        """Whether a route leads nowhere."""
        return all(_discards(row) for row in self._by_key[key])

    def _over_uplink(self, hop: Hop) -> bool:
        address, interface = hop
        return port_name((interface or "").partition(".")[0]) in self._ports or (address is not None and bare(address) in self._addresses)


def holds(prefix: str, address: str) -> bool:
    """Whether a prefix other than the default route holds an address. It needs ``netaddr``."""
    network = netaddr.IPNetwork(prefix)
    return bool(network.prefixlen) and network.version == netaddr.IPAddress(address).version and address in network


def unused_ports(hops: set[Hop], wanted: t.Iterable[str], neighbors: list[Neighbor]) -> tuple[str, tuple[str, ...]]:
    """The ports that lead to the rails and that no next hop goes over, in words, and the neighbors at them.

    Nothing where a next hop goes over an interface that is none of them.
    """
    used = {port_name(interface or "") for _address, interface in hops}
    ports = {port_name(port): port for port in wanted}
    if not used or not used <= set(ports):
        return "", ()
    peers = {one["port"]: one["peer"] for one in neighbors}
    unused = [port for name, port in ports.items() if name not in used]
    names = [f"{port} (to {peers[port]})" if port in peers else port for port in unused]
    words = f", none over {', '.join(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "") if names else ""
    return words, tuple(dict.fromkeys(peers[port] for port in unused if port in peers))


def _by_length(keys: t.Iterable[Key], family: str) -> dict[int, dict[int, set[Key]]]:
    """The routes of a family but the default one, by prefix length and network number."""
    routes: dict[int, dict[int, set[Key]]] = {}
    for key in keys:
        network = netaddr.IPNetwork(key[1])
        if network.version == VERSION[family] and network.prefixlen:
            routes.setdefault(network.prefixlen, {}).setdefault(int(network.network) >> WHOLE_LENGTH[family] - network.prefixlen, set()).add(key)
    return routes


def _discards(row: dict[str, t.Any]) -> bool:
    """Whether a next hop is none: Null0, or neither address nor interface."""
    return not row["next_hop"] and (not row["interface"] or row["interface"].lower().startswith("null"))
