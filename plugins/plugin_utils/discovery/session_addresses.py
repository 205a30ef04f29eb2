# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Between which addresses the BGP session over a cable of two switches is: each is a neighbor of the other end, and both are in one point-to-point network."""

from __future__ import annotations

import ipaddress
import typing as t
from collections import Counter

from ..readings.rows import Rows

End = tuple[str, str]
Cable = tuple[End, End]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def session_addresses(
    cables: t.Sequence[Cable],
    asns: t.Mapping[str, int | None],
    readings: t.Mapping[str, t.Mapping[str, Rows]],
    channels: t.Mapping[Cable, tuple[str, str]] | None = None,
) -> dict[Cable, tuple[str, str]]:
    """By cable, the addresses of its two ends.

    asns: the AS of each switch; channels: the port-channels of a cable's two ends, of which all members have one session. Cables of which several join the
    same switches otherwise have none, nor have those whose ends' sessions leave a choice: neighbors are reported by address and not by port.
    """
    joins = {(frozenset((a[0], b[0])), (channels or {}).get((a, b), (a, b))) for a, b in cables}
    of_pair = Counter(pair for pair, _link in joins)
    found = {}
    for cable in cables:
        one, other = cable[0][0], cable[1][0]
        if one not in asns or other not in asns or of_pair[frozenset((one, other))] > 1:
            continue
        ends = [(own, far) for far in _neighbors(readings.get(one, {}), asns[other]) for own in _neighbors(readings.get(other, {}), asns[one])]
        # The other two addresses of a /30 are no host's, so that what agrees in a /31 is in no /30.
        pairs = [pair for pair in ends if _prefix_length(*pair) == 31] or [pair for pair in ends if _prefix_length(*pair) == 30]
        if len(pairs) == 1:
            found[cable] = (str(pairs[0][0]), str(pairs[0][1]))
    return found


def _neighbors(own: t.Mapping[str, Rows], asn: int | None) -> set[Address]:
    """The addresses of a switch's neighbors of that AS; a link-local one says nothing outside its port."""
    found = set()
    for row in own.get("bgp_summary", ()):
        try:
            address = ipaddress.ip_address(row.get("neighbor") or "")
        except ValueError:
            continue
        if asn is not None and row.get("asn") == asn and not address.is_link_local:
            found.add(address)
    return found


def _prefix_length(one: Address, other: Address) -> int | None:
    """Of which network two addresses are the two: 31 or 30 (of IPv6, whose is 96 longer, too); None where they are of neither."""
    low, high = sorted((int(one), int(other)))
    if one.version != other.version or high - low != 1:
        return None
    return 31 if low % 2 == 0 else 30 if low % 4 == 1 else None
