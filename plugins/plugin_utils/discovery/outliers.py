# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What breaks the pattern of a pod: a rail on another leaf, a port out of its row, an address of another network.

Such a place may be a fault. It stays out of the plan until it is accepted, so that no draft makes a swapped cable the plan.
"""

from __future__ import annotations

import ipaddress
import typing as t
from collections import Counter
from collections.abc import Mapping, Sequence

from ..text.sorting import natural_key
from .rails import ports_of

Rail = dict[str, t.Any]
End = tuple[str, str]
# A pattern is what more hosts than these show.
FEWEST = 3
# An outlier that is no cable's: a setting of the class of RoCE.
CLASS = "class"


class Outlier(t.NamedTuple):
    """What was read, and what the others have.

    host, netdev: the rail, or the node and port of a setting, without a port where it is the node's; what: ``leaf``, ``port``, ``address`` or CLASS.
    """

    host: str
    netdev: str
    what: str
    words: str

    @property
    def place(self) -> str:
        """By which it is accepted."""
        return f"{self.host}:{self.netdev}" if self.netdev else self.host


def outliers_of(rails: Mapping[str, Sequence[Rail]], cables: Sequence[tuple[End, End]]) -> list[Outlier]:
    """The outliers of a pod; rails: of each host in their order; cables: as two ends."""
    hosts = sorted(rails, key=natural_key)
    ports = {host: ports_of(own) for host, own in rails.items()}
    alike = {host: _peers(host, ports, hosts) for host in hosts}
    found = [*_other_leaves(ports, alike), *_other_networks(rails, alike)]
    known = {(one.host, one.netdev) for one in found if one.what == "leaf"}
    return [*found, *_out_of_row(ports, cables, known)]


def left_out(outliers: Sequence[Outlier], rails: Mapping[str, Sequence[Rail]], cables: Sequence[tuple[End, End]]) -> list[tuple[End, End]]:
    """Blank what breaks the pattern in the rails, and return the cables without its own."""
    kept = list(cables)
    for one in (one for one in outliers if one.what != CLASS):
        for rail in rails[one.host]:
            if one.netdev in (rail["netdev"], *rail.get("members", ())):
                rail["address" if one.what == "address" else "leaf"] = None
        if one.what != "address":
            kept = [cable for cable in kept if (one.host, one.netdev) not in cable]
    return kept


def _peers(host: str, rails: Mapping[str, Sequence[Rail]], hosts: Sequence[str]) -> list[str]:
    """The hosts with as many rails that share at least half of their leaves with a host, itself among them."""
    own = {rail["leaf"] for rail in rails[host]} - {None}
    return [one for one in hosts if len(rails[one]) == len(rails[host]) and 2 * len(own & {rail["leaf"] for rail in rails[one]}) >= len(own) > 0]


def _usual(values: Sequence[t.Any]) -> tuple[t.Any, int]:
    """The value that more than half of the hosts have, and how many have it; None where there is none, or too few hosts."""
    value, count = next(iter(Counter(one for one in values if one is not None).most_common(1)), (None, 0))
    return (value, count) if count * 2 > len(values) and count >= FEWEST else (None, 0)


def _other_leaves(rails: Mapping[str, Sequence[Rail]], alike: Mapping[str, Sequence[str]]) -> t.Iterator[Outlier]:
    for host, peers in alike.items():
        for number, rail in enumerate(rails[host]):
            leaf, count = _usual([rails[one][number]["leaf"] for one in peers])
            if leaf is not None and rail["leaf"] not in (leaf, None):
                yield Outlier(host, str(rail["netdev"]), "leaf", f"rail {number} is on {rail['leaf']}, and on {leaf} of {count} of {len(peers)} hosts")


def _other_networks(rails: Mapping[str, Sequence[Rail]], alike: Mapping[str, Sequence[str]]) -> t.Iterator[Outlier]:
    networks = {host: [_network(rail.get("address")) for rail in own] for host, own in rails.items()}
    for host, peers in alike.items():
        for number, rail in enumerate(rails[host]):
            network, count = _usual([networks[one][number] for one in peers])
            if network is not None and networks[host][number] not in (network, None):
                words = f"rail {number} has {rail['address']}, and {count} of {len(peers)} hosts have an address of {network}"
                yield Outlier(host, str(rail["netdev"]), "address", words)


def _network(address: str | None) -> str | None:
    return str(ipaddress.ip_interface(address).network) if address else None


def _out_of_row(rails: Mapping[str, Sequence[Rail]], cables: Sequence[tuple[End, End]], known: t.Container[End]) -> t.Iterator[Outlier]:
    """Where hosts in the order of their names are not in the order of the ports of a leaf."""
    netdevs = {(host, rail["netdev"]): number for host, own in rails.items() for number, rail in enumerate(own)}
    rows: dict[tuple[str, int], list[tuple[End, str]]] = {}
    for ends in cables:
        for near, far in (ends, ends[::-1]):
            if near in netdevs and near not in known:
                rows.setdefault((far[0], netdevs[near]), []).append((near, far[1]))
    for (leaf, _number), row in rows.items():
        row.sort(key=lambda one: natural_key(one[0][0]))
        ports = [port for _near, port in row]
        in_order = sorted(ports, key=natural_key)
        moved = [at for at, port in enumerate(ports) if port != in_order[at]]
        # One host at the end of the row moves all behind it; then only what is not in the longest row in order is out of place.
        away = sorted(set(range(len(ports))) - set(_longest_row(ports)))
        places = moved if len(moved) <= 2 * len(away) else away
        if 2 * len(places) >= len(ports) or len(ports) <= FEWEST:
            continue
        for at in places:
            (host, netdev), port = row[at]
            yield Outlier(host, str(netdev), "port", f"is on {leaf} {port}, where the row of hosts has {in_order[at]}")


def _longest_row(ports: Sequence[str]) -> list[int]:
    """The positions of the longest run of ports, with gaps, that is in order."""
    best: list[list[int]] = []
    for at, port in enumerate(ports):
        before = max((run for run in best if natural_key(ports[run[-1]]) < natural_key(port)), key=len, default=[])
        best.append([*before, at])
    return max(best, key=len, default=[])
