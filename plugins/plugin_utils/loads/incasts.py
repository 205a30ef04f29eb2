# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who loads whom so that the network congests: incasts of several senders on one receiver, on all rails of all sets at once.

A set is up to ``pod_incast_hosts`` hosts of one gate group. In each round every rail has one receiver in the set, and the
set's other hosts send to it. Rails have different receivers, and the next round swaps them, so that after two rounds every
NIC has sent and every host has sent and received; at depth go_live there are as many rounds as hosts, so that every NIC has
received too. Odd rounds stay on the rail. Even rounds of a ``rail_optimised`` pod
cross rails, because there the spines carry nothing else; elsewhere sets mix the leaves that a group has. Then come the
rounds of ``across.py``, between gate groups.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass, field

from ..pod.names import rated
from ..pod.plan import Plan
from ..pod.rail_ports import bonded_gbit_s, leaves_of
from ..pod.types import PodRail
from .across import NO_CORE, of_all_leaves, plan_across
from .perftest import flows_of_a_bond
from .types import Incast
from .uplinks import Core, Spines, core_of, flows_needed

Values = dict[str, t.Any]
# Fewer do not congest a port by the factor that is asked, whatever their rails.
MIN_HOSTS = 3
# What ``load_jobs`` calls the tests of incasts, in a gate group and across groups.
INCAST, ACROSS = "incast", "incast across groups"
# Rounds across gate groups last this part of the time of the others, but at depth go_live: 32 hosts at depth standard are loaded for 30 minutes at most.
ACROSS_PART = 3


@dataclass
class Incasts:
    """The rounds of a layer's incasts.

    pairs: one test each: ``round`` (from 1), ``group``, ``sender`` and ``receiver`` (rails of ``Plan.rails``), ``cross`` (over the
    spines), ``across`` (between gate groups; these also have ``share``, ``offered`` and ``beside``, see ``plan_across``), ``qps``, ``seconds``.
    refused: why a group has no incast, in words; not_across: why none crosses gate groups.
    rounds: how many there are.
    """

    pairs: list[Incast] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    not_across: str = ""

    @property
    def rounds(self) -> int:
        """How many rounds there are; 0 where no group has an incast."""
        return max((pair["round"] for pair in self.pairs), default=0)


def plan_incasts(
    groups: t.Mapping[str, t.Sequence[str]],
    rails: t.Sequence[PodRail],
    nodes: t.Mapping[str, t.Any],
    uplinks: t.Mapping[str, int],
    spines: Spines | None = None,
    core: Core = NO_CORE,
) -> Incasts:
    """The incasts of the gate groups among the hosts of some rails, first in each group and then across groups.

    rails: as of ``Plan.rails``, each with its ``leaf``; uplinks: how many each leaf has, which asks for flows enough to judge their balance;
    spines: how many Gb/s lead from each leaf to each of its spines; core: what leads from these to super-spines.
    """
    of_host: dict[str, dict[int, PodRail]] = {}
    for rail in rails:
        of_host.setdefault(rail["host"], {})[rail["index"]] = rail
    result = Incasts()
    for group, members in groups.items():
        hosts = [host for host in members if host in of_host]
        if hosts:
            pairs = _group(group, hosts, of_host, nodes[hosts[0]].values)
            words = _refusal(group, hosts, pairs, nodes)
            if words:
                result.refused[group] = words
            else:
                result.pairs += pairs
    loaded = {group: groups[group] for group in dict.fromkeys(pair["group"] for pair in result.pairs)}
    kept = {(pair["receiver"]["host"], pair["receiver"]["index"]) for pair in result.pairs if pair["round"] == 1}
    across, result.not_across = plan_across(loaded, rails, nodes, spines or {}, kept, core)
    # The rounds of a group come first: what they show of a rail is not explained by another group.
    before = result.rounds
    for pair in across:
        pair["round"] += before
    result.pairs += across
    _number(result.pairs, nodes, uplinks, core)
    return result


def _group(group: str, hosts: list[str], of_host: dict[str, dict[int, PodRail]], values: Values) -> list[Incast]:
    rails = max(len(of_host[host]) for host in hosts)
    if values["pod_topology"] == "top_of_rack":
        hosts = _mixed(hosts, of_host)
    pairs: list[Incast] = []
    for members in _sets(hosts, min(values["pod_incast_hosts"], max(MIN_HOSTS, 2 * rails))):
        everyone = values["pod_depth"] == "go_live"
        for number in range(len(members) if everyone else max(2, math.ceil(len(members) / rails))):
            cross = values["pod_topology"] == "rail_optimised" and number % 2 == 1
            # A shift by the number of rails reaches hosts that have not received yet; one by one every NIC is reached.
            for sender, receiver in _round(members, of_host, number, 1 if everyone else rails, cross):
                pairs.append(
                    {"round": number + 1, "sender": sender, "receiver": receiver, "cross": _crosses(sender, receiver), "group": group, "across": False}
                )
    return pairs


def _sets(hosts: list[str], most: int) -> list[list[str]]:
    """Sets as equal as can be, of ``most`` hosts at most where that leaves none too small."""
    number = max(1, min(math.ceil(len(hosts) / most), len(hosts) // MIN_HOSTS))
    return [hosts[len(hosts) * i // number : len(hosts) * (i + 1) // number] for i in range(number)]


def _mixed(hosts: list[str], of_host: dict[str, dict[int, PodRail]]) -> list[str]:
    """The hosts in turn of their leaves."""
    under: dict[t.Any, list[str]] = {}
    for host in hosts:
        under.setdefault(next(iter(of_host[host].values()))["leaf"], []).append(host)
    longest = max(len(some) for some in under.values())
    return [some[i] for i in range(longest) for some in under.values() if i < len(some)]


def _round(members: list[str], of_host: dict[str, dict[int, PodRail]], number: int, shift: int, cross: bool) -> list[tuple[PodRail, PodRail]]:
    receivers: dict[int, PodRail] = {}
    for index in sorted({index for host in members for index in of_host[host]}):
        able = [host for host in members if index in of_host[host]]
        receivers[index] = of_host[able[(index + number * (shift if shift % len(able) else 1)) % len(able)]][index]
    pairs: list[tuple[PodRail, PodRail]] = []
    for ordinal, host in enumerate(members):
        sending = [rail for index, rail in sorted(of_host[host].items()) if receivers[index]["host"] != host]
        targets = [rail for rail in receivers.values() if rail["host"] != host]
        pairs += [] if cross else [(rail, receivers[rail["index"]]) for rail in sending]
        for plane in dict.fromkeys(rail.get("plane") for rail in sending if cross):
            mine, theirs = ([rail for rail in some if rail.get("plane") == plane] for some in (sending, targets))
            pairs += zip(mine, _crossed(mine, theirs, ordinal))
    return pairs


def _crossed(sending: list[PodRail], targets: list[PodRail], ordinal: int) -> list[PodRail]:
    """A target for each sending rail, on another rail where there is a way; hosts of a set are shifted differently, so that leaves mix."""
    if not targets:
        return []
    shifts = [1 + (ordinal + step) % max(len(targets) - 1, 1) for step in range(max(len(targets) - 1, 1))]
    ways = [[targets[(place + shift) % len(targets)] for place in range(len(sending))] for shift in shifts]
    return max(ways, key=lambda way: sum(_crosses(sender, receiver) for sender, receiver in zip(sending, way)))


def _crosses(sender: PodRail, receiver: PodRail) -> bool:
    """Whether the spines carry it: the leaves differ."""
    return bool(sender["leaf"] != receiver["leaf"])


def _refusal(group: str, hosts: list[str], pairs: t.Sequence[Incast], nodes: t.Mapping[str, t.Any]) -> str:
    """Why the incasts of a group would congest nothing; empty where they would."""
    values = nodes[hosts[0]].values
    least = values["pod_incast_offered_min"]
    if len(hosts) < MIN_HOSTS:
        return f"{group} has {len(hosts)} hosts that take part: an incast needs {MIN_HOSTS}, two senders and a receiver"
    offered: dict[tuple[int, str, str], float] = {}
    for pair in pairs:
        key = (pair["round"], pair["receiver"]["host"], pair["receiver"]["device"])
        offered[key] = offered.get(key, 0.0) + rail_speed(nodes[pair["sender"]["host"]].values)
    for (number, host, device), gbit_s in offered.items():
        link = rail_speed(nodes[host].values)
        if gbit_s < least * link:
            offer = f"{host} {device} would be offered {gbit_s:g} Gb/s in round {number}, {gbit_s / link:.2f} of its link"
            return f"{offer}, which does not congest it: {least:g} is needed"
    return ""


def rail_speed(values: Values) -> float:
    """The rated speed of a rail of a host with these expectations, in Gb/s."""
    return bonded_gbit_s(values["pod_rails"], float(values["pod_link_gbit_s"]))


def _number(pairs: list[Incast], nodes: t.Mapping[str, t.Any], uplinks: t.Mapping[str, int], core: Core) -> None:
    """Give each pair its time and its queue pairs: as many as its leaf's uplinks need flows, and those of its spines, in powers of two."""
    crossing: dict[tuple[int, str], int] = {}
    over_core: dict[tuple[int, t.Any], int] = {}
    for pair in pairs:
        key = (pair["round"], pair["sender"]["leaf"])
        crossing[key] = crossing.get(key, 0) + pair["cross"]
        if core.crosses(pair["sender"]["leaf"], pair["receiver"]["leaf"]):
            unit = (pair["round"], core.unit(pair["sender"]["leaf"]))
            over_core[unit] = over_core.get(unit, 0) + 1
    for pair in pairs:
        values = nodes[pair["receiver"]["host"]].values
        # A bond's flows are divided among its leaves.
        needed = flows_needed(uplinks.get(pair["sender"]["leaf"], 0)) * len(leaves_of(pair["sender"])) if pair["cross"] else 0
        each = needed / crossing[pair["round"], pair["sender"]["leaf"]] if needed else 1
        if core.crosses(pair["sender"]["leaf"], pair["receiver"]["leaf"]):
            each = max(each, core.flows(pair["sender"]["leaf"]) / over_core[pair["round"], core.unit(pair["sender"]["leaf"])])
        qps = max(values["pod_incast_qps"], flows_of_a_bond(values["pod_rails"]), 1 << math.ceil(math.log2(max(each, 1))))
        brief = pair["across"] and values["pod_depth"] != "go_live"
        seconds = math.ceil(values["pod_incast_seconds"] / (ACROSS_PART if brief else 1))
        pair |= {"seconds": seconds, "qps": min(qps, values["pod_incast_qps_max"])}


def incasts_among(plan: Plan, rails: t.Sequence[PodRail]) -> Incasts:
    """The incasts among the hosts of some rails of a plan."""
    uplinks: dict[str, int] = {}
    spines: dict[str, dict[str, float]] = {}
    for name, node in plan.nodes.items():
        if node.role == "leaf":
            cables = [cable for cable in (plan.near(name, one) for one in plan.at[name]) if cable["peer_role"] == "spine"]
            uplinks[name], spines[name] = len(cables), {}
            for cable in cables:
                spines[name][cable["peer"]] = spines[name].get(cable["peer"], 0.0) + rated(cable, node.values["pod_link_gbit_s"])
    return plan_incasts(plan.groups, rails, plan.nodes, uplinks, of_all_leaves(rails, spines), core_of(plan))
