# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Neighbors whose session is up and brings no or few routes (a policy, maintenance), or routes that are not used all the same."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name
from ...pod.types import Neighbor
from ...readings.rows import Rows

# What is its own (a loopback) a neighbor announces all the same: less than this part of what the others bring is few.
FEW_OF_OTHERS = 3
FILTERED = (
    "{peers} announces nothing over an Established session: a policy filters all routes at one end, or none is set where the software wants one (RFC 8212), "
    "or the address family is not activated."
)
FILTERED_FIX = (
    "Compare the route maps and prefix lists of both ends with those of a session that brings routes; on FRR and SONiC set a policy in and out, or "
    "no bgp ebgp-requires-policy."
)
MAINTENANCE = (
    "{peers} announces {few} over an Established session and others announce {most}: it is in maintenance (traffic is shifted away: TSA of SONiC, "
    "maintenance mode of EOS, graceful isolation of NX-OS), or a policy filters its routes."
)
MAINTENANCE_FIX = (
    "Look at TSC on SONiC (show maintenance, show system mode elsewhere) of {peers} and end its maintenance (TSB) where it is over; else compare its route "
    "maps with those of the others."
)

UNUSED = (
    "The session with {peer} is Established and brings about as many routes as the others, and no next hop goes over it: the routing daemon still takes its "
    "next hop for inaccessible (after a link that was down for a moment), or maximum-paths or as-path multipath-relax leave this path out."
)
UNUSED_FIX = (
    "Look at such a prefix in show bgp (inaccessible, or not multipath), at show ip nht, and ping the next hop: where that answers, clear the session with "
    "{peer} (clear bgp) and update the daemon; else set maximum-paths to the number of uplinks or more, and bestpath as-path multipath-relax."
)


class Withheld(t.NamedTuple):
    """What neighbors keep back: what is found, in words, with cause and fix."""

    words: str
    cause: str
    fix: str


def withheld_routes(rows: Rows, neighbors: list[Neighbor]) -> Withheld | None:
    """What the planned neighbors keep back whose session is Established and brings no route or far fewer than others; None where none does."""
    numbers = _brought(rows, neighbors)
    most = max(numbers.values(), default=0)
    few = {peer: number for peer, number in sorted(numbers.items()) if FEW_OF_OTHERS * number < most}
    if not few:
        return None
    peers, number = ", ".join(few), max(few.values())
    if not number:
        return Withheld(f"the session with {peers} is Established and brings no route", FILTERED.format(peers=peers), FILTERED_FIX)
    brings = f"{number} prefix{'' if number == 1 else 'es'}"
    cause = MAINTENANCE.format(peers=peers, few=brings, most=most)
    return Withheld(f"the session with {peers} is Established and brings {brings}, others bring {most}", cause, MAINTENANCE_FIX.format(peers=peers))


def unused_routes(rows: Rows, neighbors: list[Neighbor], missing: t.Sequence[str]) -> tuple[str, str] | None:
    """Cause and fix where the one neighbor that no next hop goes over brings about as many routes as the others."""
    numbers = _brought(rows, neighbors)
    if len(missing) != 1 or not numbers.get(missing[0]) or FEW_OF_OTHERS * numbers[missing[0]] < max(numbers.values()):
        return None
    return UNUSED.format(peer=missing[0]), UNUSED_FIX.format(peer=missing[0])


def _brought(rows: Rows, neighbors: list[Neighbor]) -> dict[str, int]:
    """How many routes each planned neighbor brings whose session is Established, where that is reported."""
    received = {port_name(row["neighbor"]): row["prefixes_received"] for row in rows if row["state"] == "Established"}
    given = {one["peer"]: received.get(port_name(one["port"]), received.get(str(one["address"]))) for one in neighbors}
    return {peer: number for peer, number in given.items() if number is not None}
