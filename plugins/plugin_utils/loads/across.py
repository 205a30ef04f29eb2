# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Incasts across gate groups: every sender is in another gate group than its receiver, and a spine is on the way.

In each of four rounds (five of five rails or groups) the rails of one part of the pod receive and all others send: a part is every fourth rail, or where
hosts have few rails, every fourth gate group, or half of the hosts of one of two groups. So every rail receives in one round, each
leaf is offered more than its uplinks carry, and the ports of the spines to it congest. The rails that received in the first round of
their group do not receive again: what they count as marked was marked at their leaf.
"""

from __future__ import annotations

import itertools
import math
import typing as t
from collections import deque

from ..pod.rail_ports import bonded_gbit_s, leaves_of
from ..pod.types import PodRail
from .types import Incast
from .uplinks import Core, Spines

Nic = tuple[str, int]
NO_CORE = Core()
TURNS = 4
# Receivers that take this part of what the uplinks of their leaf carry fill some of these, since hashing is never even.
PARTLY = 0.75
# As many senders a receiver as the smallest incast has.
LEAST_SENDERS = 2


def of_all_leaves(rails: t.Sequence[PodRail], spines: Spines) -> Spines:
    """The same Gb/s by leaf and spine; of the leaf that the bonds to several leaves are counted at, what leads from all of these to each spine."""
    ends = dict.fromkeys(tuple(leaves_of(rail)) for rail in rails if len(leaves_of(rail)) > 1)
    together = {leaf: dict(of_leaf) for leaf, of_leaf in spines.items()}
    for leaves in ends:
        names = dict.fromkeys(spine for leaf in leaves for spine in spines.get(leaf, {}))
        together[leaves[0]] = {spine: sum(spines.get(leaf, {}).get(spine, 0.0) for leaf in leaves) for spine in names}
    return together


def plan_across(
    groups: t.Mapping[str, t.Sequence[str]],
    rails: t.Sequence[PodRail],
    nodes: t.Mapping[str, t.Any],
    spines: Spines,
    kept: t.Container[Nic] = (),
    core: Core = NO_CORE,
) -> tuple[list[Incast], str]:
    """The tests of all rounds across some gate groups, and why there are none, in words; neither where there is one group only.

    groups: those that have incasts of their own; rails: as of ``Plan.rails``; spines: how many Gb/s lead from each leaf to each of its spines;
    kept: the rails that do not receive, as host and index; core: what leads from one scalable unit to another.
    A test: ``round`` (from 1), ``group`` (the receiver's), ``sender``, ``receiver``, ``cross`` and ``across`` (both true), ``share`` (Gb/s that the
    receiver gets where the uplinks of its leaf are shared fairly), ``offered`` (what is sent to its leaf, as a multiple of what the
    leaf's uplinks carry; 0 where its receivers take much less than these) and ``beside`` (all receivers at its leaf in this round, as host and device).
    """
    group_of = {host: group for group, hosts in groups.items() for host in hosts}
    usable = [rail for rail in rails if rail["host"] in group_of and spines.get(rail["leaf"])]
    standing = list(dict.fromkeys(group_of[rail["host"]] for rail in usable))
    if len(groups) < 2:
        return [], ""
    if len(standing) < 2:
        return [], "the leaves of fewer than two gate groups have uplinks to spines"
    least = max(LEAST_SENDERS, math.ceil(next(iter(nodes.values())).values["pod_incast_offered_min"]))
    most = max(least, nodes[usable[0]["host"]].values["pod_incast_hosts"] - 1)
    for part_of in _ways(usable, group_of, standing):
        turns = max(part_of.values()) + 1
        pairs: list[Incast] = []
        for number in range(turns):
            receivers = [rail for rail in usable if part_of[_nic(rail)] == number and _nic(rail) not in kept]
            senders = [rail for rail in usable if part_of[_nic(rail)] != number]
            pairs += _round(number + 1, senders, receivers, group_of, standing, spines, core, least, most)
        if pairs:
            return _shares(_renumbered(pairs), nodes, spines, core), ""
    return [], "no two gate groups have leaves that a spine connects and hosts enough to congest one"


def _nic(rail: PodRail) -> Nic:
    return rail["host"], rail["index"]


def _turns(number: int) -> int:
    """In how many rounds so many rails or groups take turns: as few as leave senders enough for those that receive together."""
    turns = range(min(TURNS, number), number + 1)
    return next((one for one in turns if number - math.ceil(number / one) >= LEAST_SENDERS * math.ceil(number / one)), number)


def _ways(rails: t.Sequence[PodRail], group_of: t.Mapping[str, str], groups: t.Sequence[str]) -> t.Iterator[dict[tuple[str, int], int]]:
    """The ways to take turns, the best one first: in which round each rail receives (from 0)."""
    indexes = sorted({rail["index"] for rail in rails})
    if len(indexes) > LEAST_SENDERS:
        turns = _turns(len(indexes))
        yield {_nic(rail): indexes.index(rail["index"]) % turns for rail in rails}
    place = {group: number for number, group in enumerate(groups)}
    if len(groups) > LEAST_SENDERS:
        turns = _turns(len(groups))
        yield {_nic(rail): place[group_of[rail["host"]]] % turns for rail in rails}
    else:
        hosts = {host: number for group in groups for number, host in enumerate(dict.fromkeys(r["host"] for r in rails if group_of[r["host"]] == group))}
        yield {_nic(rail): 2 * place[group_of[rail["host"]]] + hosts[rail["host"]] % 2 for rail in rails}


def _round(
    number: int,
    senders: t.Sequence[PodRail],
    receivers: t.Sequence[PodRail],
    group_of: t.Mapping[str, str],
    groups: t.Sequence[str],
    spines: Spines,
    core: Core,
    least: int,
    most: int,
) -> list[Incast]:
    """The tests of one round: senders go to the gate groups in equal parts, and there to as many receivers as they congest."""
    of_group: dict[str, list[PodRail]] = {}
    for rail in sorted(receivers, key=lambda one: one["index"]):
        of_group.setdefault(group_of[rail["host"]], []).append(rail)
    sent: dict[str, list[PodRail]] = {group: [] for group in of_group}
    others = {own: [group for group in (*groups[place + 1 :], *groups[:place]) if group in of_group] for place, own in enumerate(groups)}
    sizes = {group: len(its) for group, its in of_group.items()}
    for sender in _in_turn(senders, group_of, groups):
        if able := others[group_of[sender["host"]]]:
            sent[min(able, key=lambda group: len(sent[group]) / sizes[group])].append(sender)
    return [pair for group, its in of_group.items() for pair in _to_group(number, group, sent[group], its, (spines, core), least, most)]


def _in_turn(rails: t.Sequence[PodRail], group_of: t.Mapping[str, str], groups: t.Sequence[str]) -> list[PodRail]:
    """The rails in turn of their gate groups, so that each group is sent the same."""
    of_group: dict[str, list[PodRail]] = {group: [] for group in groups}
    for rail in rails:
        of_group[group_of[rail["host"]]].append(rail)
    return [rail for its in itertools.zip_longest(*of_group.values()) for rail in its if rail is not None]


def _to_group(
    number: int, group: str, senders: t.Sequence[PodRail], receivers: t.Sequence[PodRail], ways: tuple[Spines, Core], least: int, most: int
) -> list[Incast]:  # fmt: skip
    """The tests to one gate group: its receivers in turn, each with ``least`` senders or more and ``most`` at most."""
    spines, core = ways
    waiting = deque(receivers[: len(senders) // least])
    found: dict[tuple[str, int], list[Incast]] = {_nic(rail): [] for rail in waiting}
    for sender in senders:
        for _step in range(len(waiting)):
            receiver = waiting[0]
            waiting.rotate(-1)
            own, other = sender["leaf"], receiver["leaf"]
            if own != other and (not spines[own].keys().isdisjoint(spines[other]) or core.crosses(own, other)):
                pair: Incast = {"sender": sender, "receiver": receiver, "cross": True, "round": number, "group": group, "across": True}
                found[_nic(receiver)].append(pair)
                if len(found[_nic(receiver)]) == most:
                    waiting.pop()
                break
    return [pair for its in found.values() if len(its) >= least for pair in its]


def _renumbered(pairs: list[Incast]) -> list[Incast]:
    """Rounds from 1 on without a gap."""
    numbers = {number: place for place, number in enumerate(sorted({pair["round"] for pair in pairs}), 1)}
    for pair in pairs:
        pair["round"] = numbers[pair["round"]]
    return pairs


def _shares(pairs: list[Incast], nodes: t.Mapping[str, t.Any], spines: Spines, core: Core) -> list[Incast]:
    """The tests with what each receiver gets over its leaf's uplinks, or over super-spines where these are narrower, and how far that is offered too much."""

    def link(rail: PodRail) -> float:
        values = nodes[rail["host"]].values
        return bonded_gbit_s(values["pod_rails"], float(values["pod_link_gbit_s"]))

    takes: dict[tuple[int, t.Any], dict[tuple[str, str], float]] = {}
    offers: dict[tuple[int, t.Any], float] = {}
    for pair in pairs:
        target = (pair["round"], pair["receiver"]["leaf"])
        takes.setdefault(target, {})[pair["receiver"]["host"], pair["receiver"]["device"]] = link(pair["receiver"])
        offers[target] = offers.get(target, 0.0) + link(pair["sender"])
    beside = {target: list(ends) for target, ends in takes.items()}
    narrow = {}
    for number in dict.fromkeys(pair["round"] for pair in pairs):
        of_leaf = {leaf: sum(ends.values()) for (when, leaf), ends in takes.items() if when == number}
        narrow[number] = core.narrow([pair for pair in pairs if pair["round"] == number], spines, of_leaf)
    for pair in pairs:
        target = (pair["round"], pair["receiver"]["leaf"])
        carries = sum(spines[pair["receiver"]["leaf"]].values())
        share = min(link(pair["receiver"]), carries / len(takes[target]))
        over = offers[target] / carries if sum(takes[target].values()) >= PARTLY * carries else 0.0
        at_core = narrow[pair["round"]]
        if at_core is not None:
            share, over = min(share, at_core), 0.0
        pair |= {"share": share, "offered": over, "beside": beside[target]}
    return pairs
