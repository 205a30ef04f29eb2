# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What findings of many rails share that is no node: the way over the spines, the fabric as a whole, or the fibres between a leaf and a rack."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from .explaining_checks import FOLLOWS
from .shared_cause_texts import OF_FAR_NODES, OF_FIBRES, OF_LOSSES, OF_PATHS, SharedCause
from .shared_causes import LEAST_HOSTS
from .verdicts import FindingRecord, VerdictRecord, place_of

LIGHT, PATHS, LOSSES = "optic_rx_power", "write_bw_per_rail", "losses_under_load"
# From so many leaves on it is none of them.
LEAST_LEAVES = 3
LEAST_NODES = 3


def name_shared_ways(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Name what findings of many rails share that is no node, in those that have no place of their own to begin at.

    What the findings are on is known (``add_places``). records: of one layer.
    """
    _name_paths(plan, _judged(records, PATHS))
    if not any(record["findings"] for record in records if record["check"] in FOLLOWS[LOSSES]):
        _name_losses(_judged(records, LOSSES))
    for check, shared in OF_FAR_NODES.items():
        _name_far_node(plan, _judged(records, check), shared)
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
    _name_everywhere(judged, found, OF_PATHS, all((one["host"], place_of(one).device) in rails for one in found))


def _is_between_leaves(finding: FindingRecord, leaf_of: t.Mapping[tuple[str, str], str]) -> bool:
    place = place_of(finding)
    far = leaf_of.get((next(iter(place.peers), ""), place.device or ""))
    return bool(finding.get("leaf") and far) and finding.get("leaf") != far


def _name_losses(judged: t.Sequence[VerdictRecord]) -> None:
    _name_everywhere(judged, _own(judged, "fail"), OF_LOSSES)


def _name_everywhere(judged: t.Sequence[VerdictRecord], found: t.Sequence[FindingRecord], shared: SharedCause, alike: bool = True) -> None:
    hosts, leaves = {one["host"] for one in found}, {one.get("leaf") for one in found} - {None}
    if alike and len(hosts) >= LEAST_HOSTS and len(leaves) >= LEAST_LEAVES and hosts == {record["host"] for record in judged}:
        shared.write(found, hosts=len(hosts), leaves=len(leaves))


def _name_far_node(plan: Plan, judged: t.Sequence[VerdictRecord], shared: SharedCause) -> None:
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
            shared.write(found, node=node, number=len(nodes))


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
            OF_FIBRES.write((one for its in of_host.values() for one in its), leaf=leaf, group=group, hosts=len(of_host))
