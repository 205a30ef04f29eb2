# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What findings of many rails share that is no node: the way over the spines, the fabric as a whole, or the fibres between a leaf and a rack."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from .explaining_checks import FOLLOWS
from .shared_causes import LEAST_HOSTS
from .verdicts import FindingRecord, VerdictRecord, place_of

LIGHT, PATHS, LOSSES = "optic_rx_power", "write_bw_per_rail", "losses_under_load"
# From so many leaves on it is none of them.
LEAST_LEAVES = 3
PATHS_SLOW = (
    "All {hosts} hosts are slow with hosts under other leaves, on {leaves} leaves, and no rail is slow by itself: it is the way over the spines, and no host "
    "and no NIC. The spines or the uplinks run at a lower rate, all flows take few of them (hash, paths), or RoCE is lossy or policed there."
)
PATHS_SLOW_FIX = (
    "Look at the spines first: rate and errors of their ports, drops, PFC and ECN of the RoCE priority, class maps and policers, release; then at the number "
    "of paths and the load of the uplinks on a leaf (layers 2 and 3). The hosts and their NICs need no change."
)
LOSES_EVERYWHERE = (
    "All {hosts} hosts have packets sent again, on {leaves} leaves, and no switch reports damaged or dropped ones: either packets of one queue pair arrive out "
    "of order, since switches spread them over several paths (adaptive routing, packet spraying) and the NICs take them only in order, or all switches drop "
    "without a count."
)
LOSES_EVERYWHERE_FIX = (
    "Compare out_of_sequence of the NICs with what switches drop: where it grows and nothing is dropped, switch adaptive routing or per-packet load balancing "
    "off for RoCE on the switches, or have the NICs take packets out of order (their firmware's setting for adaptive routing on every host; then set "
    "pod_adaptive_routing). Else look at PFC and headroom of the RoCE priority on all switches."
)
SHARED_FIBRES = (
    "All {hosts} hosts of {group} with optics at {leaf} have too little light on that rail, and none of them on all of their other rails: what they share is "
    "the trunk cable, cassette or patch panel between {leaf} and {group}, or the modules of one kind or card of {leaf}, and not {hosts} optics."
)
SHARED_FIBRES_FIX = (
    "Look at the trunk between {leaf} and {group} first: bent or pinched, its MPO connectors and the cassettes at both ends dirty or not seated; measure its "
    "loss. Then compare what {leaf} sends on these ports with its other ports. Clean or replace single optics only where that changes nothing."
)
FROM_ONE_LIGHT = (
    "{number} nodes receive too little light from {node}, each over a cable of its own, and none from another node: what they share is {node}: the kind, heat "
    "or power of its modules, or the fibres that leave it together, and not {number} optics."
)
FROM_ONE_LIGHT_FIX = (
    "Look at {node}: what its modules send (tx power, bias, temperature), their kind and firmware, and the fans beside them; then at the fibres that leave it "
    "together. Compare with another node's; the other ends need no change."
)
FROM_ONE_ERRORS = (
    "{number} nodes have errors on their links to {node}, each on a cable of its own, and none to another node: what they share is {node}: its modules, its "
    "heat, or the cables that are bent or pulled together where they leave it, and not {number} cables that failed at once."
)
FROM_ONE_ERRORS_FIX = (
    "Look at {node} first: how its cables are led, the seat and temperature of its modules, its log; reseat them there, clear the counters of both ends and "
    "soak again. Replace single cables only where errors stay on them alone."
)
# By check, cause and fix where what several nodes find comes from one.
FROM_ONE = {LIGHT: (FROM_ONE_LIGHT, FROM_ONE_LIGHT_FIX), "ib_errors_clean": (FROM_ONE_ERRORS, FROM_ONE_ERRORS_FIX)}
LEAST_NODES = 3


def name_shared_ways(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Name what findings of many rails share that is no node, in those that have no place of their own to begin at.

    What the findings are on is known (``add_places``). records: of one layer.
    """
    _name_paths(plan, _judged(records, PATHS))
    if not any(record["findings"] for record in records if record["check"] in FOLLOWS[LOSSES]):
        _name_losses(_judged(records, LOSSES))
    for check, words in FROM_ONE.items():
        _name_far_node(plan, _judged(records, check), words)
    _name_fibres(plan, _judged(records, LIGHT))


def _judged(records: t.Iterable[VerdictRecord], check: str) -> list[VerdictRecord]:
    return [record for record in records if record["check"] == check and record["verdict"] in ("pass", "warn", "fail")]


def _own(judged: t.Iterable[VerdictRecord], *severities: str) -> list[FindingRecord]:
    return [one for record in judged for one in record["findings"] if one["severity"] in severities and not one.get("began_at")]


def _name_paths(plan: Plan, judged: t.Sequence[VerdictRecord]) -> None:
    """Slow paths between hosts of different leaves, where every host has them; so of a rail that has nothing but such partners beside others."""
    leaf_of = {(rail["host"], rail["device"]): rail["leaf"] for rail in plan.rails()}
    found = _own(judged, "fail")
    ways = [one for one in found if _is_between_leaves(one, leaf_of)]
    rails = {(one["host"], place_of(one).device) for one in ways}
    _name_everywhere(judged, found, PATHS_SLOW, PATHS_SLOW_FIX, all((one["host"], place_of(one).device) in rails for one in found))


def _is_between_leaves(finding: FindingRecord, leaf_of: t.Mapping[tuple[str, str], str]) -> bool:
    place = place_of(finding)
    far = leaf_of.get((next(iter(place.peers), ""), place.device or ""))
    return bool(finding.get("leaf") and far) and finding.get("leaf") != far


def _name_losses(judged: t.Sequence[VerdictRecord]) -> None:
    _name_everywhere(judged, _own(judged, "fail"), LOSES_EVERYWHERE, LOSES_EVERYWHERE_FIX)


def _name_everywhere(judged: t.Sequence[VerdictRecord], found: t.Sequence[FindingRecord], cause: str, fix: str, alike: bool = True) -> None:
    hosts, leaves = {one["host"] for one in found}, {one.get("leaf") for one in found} - {None}
    if alike and len(hosts) >= LEAST_HOSTS and len(leaves) >= LEAST_LEAVES and hosts == {record["host"] for record in judged}:
        for one in found:
            one["cause"], one["fix"] = cause.format(hosts=len(hosts), leaves=len(leaves)), fix


def _name_far_node(plan: Plan, judged: t.Sequence[VerdictRecord], words: tuple[str, str]) -> None:
    """The one node at the other ends of what several others find, each at one of its ports and nothing at others."""
    of_far: dict[str, list[FindingRecord]] = {}
    far_of: dict[str, set[str]] = {}
    for one in _own(judged, "fail"):
        far = plan.far_end(one["host"] or "", place_of(one).port)
        if far is not None:
            of_far.setdefault(far.node, []).append(one)
            far_of.setdefault(one["host"] or "", set()).add(far.node)
    for node, found in of_far.items():
        nodes = {one["host"] or "" for one in found}
        # A leaf of which all hosts find the same is the finding of others.
        if len(nodes) >= LEAST_NODES and all(far_of[name] == {node} for name in nodes) and all(plan.nodes[name].kind == "switch" for name in nodes):
            for one in found:
                one["cause"], one["fix"] = (text.format(node=node, number=len(nodes)) for text in words)


def _name_fibres(plan: Plan, judged: t.Sequence[VerdictRecord]) -> None:
    """Rails with too little light, at either end of their cables, of all hosts of a gate group that have optics at a leaf."""
    asked = {record["host"] for record in judged}
    dark: dict[tuple[str, str, bool], dict[str, list[FindingRecord]]] = {}
    for one in _own(judged, "fail"):
        node, far = one["host"] or "", plan.far_end(one["host"] or "", place_of(one).port)
        ends = [name for name in (node, far.node if far else "") if name in plan.nodes]
        host, leaf = (next((name for name in ends if (plan.nodes[name].kind == "host") is of_host), "") for of_host in (True, False))
        if host and leaf:
            dark.setdefault((leaf, plan.nodes[host].group or "", node == leaf), {}).setdefault(host, []).append(one)
    for (leaf, group, at_leaf), of_host in dark.items():
        fibres = [end.node for cable in plan.at[leaf] if cable.medium == "optic" and (end := cable.seen_from(leaf)[1]).node in plan.groups.get(group, ())]
        fibres = [host for host in fibres if at_leaf or host in asked]
        elsewhere = {host for (other, _group, _side), its in dark.items() if other != leaf for host in its}
        if len(of_host) >= LEAST_HOSTS and set(fibres) == set(of_host) and not elsewhere & set(of_host):
            words = {"leaf": leaf, "group": group, "hosts": len(of_host)}
            for one in (one for its in of_host.values() for one in its):
                one["cause"], one["fix"] = SHARED_FIBRES.format(**words), SHARED_FIBRES_FIX.format(**words)
