# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the pod that was found differs from the inventory that it was found with: cables, rail addresses, AS numbers."""

from __future__ import annotations

import ipaddress
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..pod.cabling import Cable
from ..pod.names import port_name
from ..readings.rows import Rows
from ..text.sorting import natural_key

End = tuple[str, str]
Heard = Mapping[End, set[End]]


@dataclass(frozen=True)
class Planned:
    """What an inventory has of a pod: its cables, addresses by host and netdev, AS numbers by switch."""

    cables: Sequence[Cable] = ()
    addresses: Mapping[End, str] = field(default_factory=dict)
    asns: Mapping[str, int] = field(default_factory=dict)


class Difference(t.NamedTuple):
    """where: the place; planned, found: in words; seen: False where the nodes did not tell, so that it may be no difference."""

    where: str
    planned: str
    found: str
    seen: bool = True


def differences_of(planned: Planned, heard: Heard, readings: Mapping[str, Mapping[str, Rows]], roles: Mapping[str, str]) -> list[Difference]:
    """All differences, by place; roles: the inventory's nodes with ``host``, ``leaf`` or ``spine``."""
    found = [*_cables(planned.cables, heard, roles), *_addresses(planned.addresses, readings), *_asns(planned.asns, readings)]
    return sorted(found, key=lambda one: (not one.seen, natural_key(one.where)))


def _cables(cables: Sequence[Cable], heard: Heard, roles: Mapping[str, str]) -> t.Iterator[Difference]:
    ends: dict[End, End] = {}
    for cable in cables:
        a, b = ((end.node, end.port if roles.get(end.node) == "host" else port_name(end.port)) for end in (cable.a, cable.b))
        ends |= {a: b, b: a}
    named: set[End] = set()
    for near, far in ends.items():
        others = heard.get(near, set()) - {far}
        if others:
            named |= {near, *others}
            yield Difference(_place(near), _place(far), " and ".join(sorted(map(_place, others))))
    for near, far in ends.items():
        # Once a cable, and where none of its ends reports another neighbor.
        if near < far and far not in heard.get(near, ()) and near not in heard.get(far, ()) and not {near, far} & named:
            yield Difference(_place(near), _place(far), "neither end reports a neighbor", seen=False)
    for near, others in heard.items():
        if near not in ends and near not in named and not others & named:
            named |= others
            yield Difference(_place(near), "no cable", " and ".join(sorted(map(_place, others))))


def _place(end: End) -> str:
    return f"{end[0]}:{end[1]}"


def _addresses(addresses: Mapping[End, str], readings: Mapping[str, Mapping[str, Rows]]) -> t.Iterator[Difference]:
    for (host, netdev), address in addresses.items():
        if "ip_address" not in readings.get(host, {}):
            yield Difference(f"{host}:{netdev}", address, "its addresses were not reported", seen=False)
            continue
        own = [f"{row['address']}/{row['prefix_length']}" for row in readings[host]["ip_address"] if row["netdev"] == netdev]
        if not any(_is_address(address, one) for one in own):
            yield Difference(f"{host}:{netdev}", address, ", ".join(own) or "no address")


def _is_address(planned: str, found: str) -> bool:
    """Whether an address is the planned one; a plan without a prefix length is of any."""
    try:
        wanted, own = ipaddress.ip_interface(planned), ipaddress.ip_interface(found)
    except ValueError:
        return False
    return wanted.ip == own.ip and ("/" not in planned or wanted.network.prefixlen == own.network.prefixlen)


def _asns(asns: Mapping[str, int], readings: Mapping[str, Mapping[str, Rows]]) -> t.Iterator[Difference]:
    for switch, asn in asns.items():
        found = sorted({row["local_asn"] for row in readings.get(switch, {}).get("bgp_summary", ()) if row.get("local_asn") is not None})
        if not found:
            yield Difference(switch, f"AS {asn}", "it reports no AS of its own", seen=False)
        elif found != [asn]:
            yield Difference(switch, f"AS {asn}", f"AS {', '.join(map(str, found))}")
