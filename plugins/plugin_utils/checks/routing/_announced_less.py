# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switch that announces fewer prefixes to all switches below it than the others of its role do: by what these receive, and by the routes that they lack."""

from __future__ import annotations

import typing as t

from ...pod.addressing import bare
from ...pod.names import port_name
from ...pod.types import TierCable
from ...readings.rows import Peers, Rows
from .. import Finding
from ..place import Place

# One switch below may filter by itself, and of two others one may announce too much.
BELOW_MIN, OTHERS_MIN = 2, 2
MOST_NAMED = 3
NOT_ORIGINATED = (
    "{upper} announces no default route to the switches below it, over sessions that are Established; the others of its role do: default-originate or the "
    "default route of its own is missing, or a prefix list or route map of its announcements holds it back."
)
NOT_ORIGINATED_FIX = (
    "Compare default-originate, the prefix lists and the route maps of {upper} with those of another switch of its role, and look at what it announces (show "
    "ip bgp neighbors ADDRESS advertised-routes); the switches below it need no change."
)
LESS = (
    "{upper} announces fewer prefixes than the others of its role to every switch below it, over sessions that are Established: it is in maintenance (traffic "
    "is shifted away: TSA of SONiC, maintenance mode of EOS, graceful isolation of NX-OS), or a policy of its own filters what it announces."
)
LESS_FIX = (
    "Look at TSC on SONiC (show maintenance, show system mode elsewhere) of {upper} and end its maintenance (TSB) where it is over; else compare its route "
    "maps and prefix lists with those of another switch of its role. The switches below it need no change."
)


def announced_less(upper: str, cables: t.Sequence[TierCable], same_role: t.Container[str], sessions: Peers, routes: Peers, default: str) -> t.Iterator[Finding]:
    """The one finding of a switch over which those below it receive fewer prefixes than over any other, and have routes over these alone.

    cables: those between its role and the one below; same_role: the others of its role; sessions, routes: of ``bgp_summary`` and ``ecmp_routes`` by
    node; default: the default route of the family. Nothing where it is only one switch below that receives fewer, where a session is down,
    or where numbers are not reported.
    """
    received = _received([cable for cable in cables if cable["upper"] == upper or cable["upper"] in same_role], sessions)
    if any(upper not in received.get(cable["lower"], {}) for cable in cables if cable["upper"] == upper):
        # What a switch announces over a session that is down none of the others can have over this one.
        return
    own = {lower: its[upper] for lower, its in received.items() if upper in its and len(its) > OTHERS_MIN}
    least = {lower: min(number for name, number in received[lower].items() if name != upper) for lower in own}
    if len(own) < BELOW_MIN or any(number >= least[lower] for lower, number in own.items()):
        return
    lacking = [_lacking(upper, [cable for cable in cables if cable["lower"] == lower], routes.get(lower, [])) for lower in own]
    prefixes = set.intersection(*lacking) or (set() if not all(lacking) else set.union(*lacking))
    if not prefixes:
        return
    cause, fix = (NOT_ORIGINATED, NOT_ORIGINATED_FIX) if prefixes == {default} else (LESS, LESS_FIX)
    names = ", ".join(sorted(prefixes)[:MOST_NAMED]) + (f" and {len(prefixes) - MOST_NAMED} more" if len(prefixes) > MOST_NAMED else "")
    got = f"{_range(own.values())} to each of {len(own)}, none of which has {names} over {upper}"
    expected = f"{_range(least.values())} prefixes to each switch below it, as of the others of its role"
    yield Finding(Place("its announcements"), expected, got, cause=cause.format(upper=upper), fix=fix.format(upper=upper))


def _received(cables: t.Iterable[TierCable], sessions: Peers) -> dict[str, dict[str, int]]:
    """By lower switch and upper one, how many prefixes the lower one receives of it over Established sessions; of several the most."""
    by_name = {
        lower: {port_name(row["neighbor"]): row["prefixes_received"] for row in rows if row["state"] == "Established"} for lower, rows in sessions.items()
    }
    found: dict[str, dict[str, int]] = {}
    for cable in cables:
        known = by_name.get(cable["lower"], {})
        number = known.get(port_name(cable["lower_port"]), known.get(str(cable["upper_address"])))
        if number is not None:
            its = found.setdefault(cable["lower"], {})
            its[cable["upper"]] = max(number, its.get(cable["upper"], 0))
    return found


def _lacking(upper: str, cables: t.Sequence[TierCable], rows: Rows) -> set[str]:
    """The prefixes that a switch has next hops to over others of the tier above and none over one of them."""
    ports = {port_name(cable["lower_port"]): cable["upper"] for cable in cables}
    addresses = {bare(cable["upper_address"]): cable["upper"] for cable in cables if cable["upper_address"]}
    over: dict[str, set[str]] = {}
    for row in rows:
        name = ports.get(port_name((row["interface"] or "").partition(".")[0])) or addresses.get(bare(row["next_hop"] or ""))
        if name:
            over.setdefault(row["prefix"], set()).add(name)
    return {prefix for prefix, names in over.items() if upper not in names}


def _range(numbers: t.Iterable[int]) -> str:
    low, high = min(known := list(numbers)), max(known)
    return str(low) if low == high else f"{low} to {high}"
