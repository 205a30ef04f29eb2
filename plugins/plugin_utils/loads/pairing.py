# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who sends to whom: rounds of pairs in which no NIC is used twice.

A rail is a mapping as ``Plan.rails`` gives it (``host``, ``index``, ``device``, ``leaf``); a pair is two of them,
sender first; a round is a list of pairs that run at once.
"""

from __future__ import annotations

import itertools
import math
import typing as t

from ..pod.types import PodRail

Pair = tuple[PodRail, PodRail]
PAIRINGS = ("sampled", "exhaustive")
# Of two partners one that is slow itself does not make a rail look slow.
AS_FAST_PARTNERS = 2


def rail_rounds(rails: t.Sequence[PodRail], pairing: str = "sampled", topology: str = "rail_optimised", cross_rail: bool = False) -> list[list[Pair]]:
    """Rounds in which hosts meet in pairs, all rails of a pair at once.

    pairing: ``exhaustive`` lets every two hosts meet once (N - 1 rounds of N hosts, N where N is odd: someone pauses in each);
    ``sampled`` takes about log2 N + 2 of those rounds, evenly spread. Who sends changes from round to round, not for each host; ``reversed_rounds``
    gives what then is still to be sent the other way. A rail that only one host of a pair has is met in another round, or pauses.
    cross_rail: the rails that both hosts have meet another rail of the other host, so that the traffic must cross spines; the step from
    rail to rail changes from round to round. ``rail_only`` pods have no such way: no rounds.
    Raises ValueError for an unknown pairing, and for a rail that is given twice.
    """
    if pairing not in PAIRINGS:
        raise ValueError(f"pairing must be one of {', '.join(PAIRINGS)}, not {pairing!r}")
    at: dict[str, dict[int, PodRail]] = {}
    for rail in rails:
        if rail["index"] in at.setdefault(rail["host"], {}):
            raise ValueError(f"rail {rail['index']} of {rail['host']} is given twice")
        at[rail["host"]][rail["index"]] = rail
    if cross_rail and topology == "rail_only":
        return []
    place = {host: number for number, host in enumerate(at)}
    meetings = _round_robin(list(at))
    chosen = meetings if pairing == "exhaustive" else [meetings[number] for number in _spread(len(meetings), _sample(len(at)))]
    rounds = []
    for number, meeting in enumerate(chosen):
        pairs = []
        for one, other in meeting:
            sender, receiver = (one, other) if (number + place[one]) % 2 == 0 else (other, one)
            pairs += _crossed(at[sender], at[receiver], number) if cross_rail else _same(at[sender], at[receiver])
        if pairs:
            rounds.append(pairs)
    return rounds


def reversed_rounds(rounds: list[list[Pair]]) -> list[list[Pair]]:
    """Further rounds, with pairs of these the other way round, for rails that only sent or only received."""
    senders, receivers = ({(pair[end]["host"], pair[end]["index"]) for one in rounds for pair in one} for end in (0, 1))
    turned = []
    for one in rounds:
        pairs = []
        for sender, receiver in one:
            ends = [(rail["host"], rail["index"]) for rail in (sender, receiver)]
            if ends[0] not in receivers or ends[1] not in senders:
                pairs.append((receiver, sender))
                senders.add(ends[1])
                receivers.add(ends[0])
        if pairs:
            turned.append(pairs)
    return turned


def as_fast_rounds(rails: t.Sequence[PodRail], rounds: list[list[Pair]], rates: t.Mapping[str, t.Mapping[str, float]], topology: str) -> list[list[Pair]]:
    """Further rounds, after which every rail has sent to rails of two hosts with links as fast as its own, and received from such.

    rates: link rates in Gb/s by host and device. None is needed where all links are alike. A rail that has no others as fast stays without.
    """

    def rate(rail: PodRail) -> float:
        return rates[rail["host"]][rail["device"]]

    met: dict[tuple[str, int, int], set[str]] = {}

    def meet(pair: Pair) -> None:
        for role in (0, 1):
            own, other = pair[role], pair[1 - role]
            if rate(other) >= rate(own):
                met.setdefault((own["host"], own["index"], role), set()).add(other["host"])

    for pair in itertools.chain.from_iterable(rounds):
        meet(pair)
    found = []
    for link in sorted({rate(rail) for rail in rails})[1:]:
        for pairs in rail_rounds([rail for rail in rails if rate(rail) >= link], "exhaustive", topology):
            own = [
                pair for pair in pairs
                if any(len(met.get((rail["host"], rail["index"], role), ())) < AS_FAST_PARTNERS for rail in pair for role in (0, 1) if rate(rail) == link)
            ]  # fmt: skip
            turned = [(receiver, sender) for sender, receiver in own]
            for pair in (*own, *turned):
                meet(pair)
            found += [own, turned] if own else []
    return found


def _round_robin(hosts: list[str]) -> list[list[tuple[str, str]]]:
    """Every two hosts once, each host once a round: the circle method of round-robin tournaments."""
    seats: list[str | None] = [*hosts, None] if len(hosts) % 2 else [*hosts]
    rounds = []
    for _round in range(len(seats) - 1):
        half = len(seats) // 2
        pairs = list(zip(seats[:half], reversed(seats[half:])))
        rounds.append([(one, other) for one, other in pairs if one is not None and other is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds


def _sample(hosts: int) -> int:
    return math.ceil(math.log2(hosts)) + 2 if hosts > 1 else 0


def _spread(available: int, wanted: int) -> list[int]:
    """As many numbers below ``available`` as are wanted, as far from each other as can be."""
    wanted = min(available, wanted)
    return [number * available // wanted for number in range(wanted)]


def _same(sender: dict[int, PodRail], receiver: dict[int, PodRail]) -> list[Pair]:
    return [(sender[index], receiver[index]) for index in sender if index in receiver]


def _crossed(sender: dict[int, PodRail], receiver: dict[int, PodRail], number: int) -> list[Pair]:
    """As many rails as both have, each with another one of its plane: the receiver's rails, turned by a step that is never a whole turn."""
    found: list[Pair] = []
    for plane in dict.fromkeys(rail.get("plane") for rail in sender.values()):
        mine, theirs = ([rail for rail in rails.values() if rail.get("plane") == plane] for rails in (sender, receiver))
        count = min(len(mine), len(theirs))
        step = 1 + number % (count - 1) if count > 1 else 0
        found += [(mine[place], theirs[(place + step) % count]) for place in range(count if step else 0)]
    return found
