# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gates: whether a gate group climbs past a layer, who of it, and the count of every node."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .checks import Check
from .checks.every import REGISTRY
from .plan import SHARED, Plan
from .verdicts import CLOSING, ORDER, Verdict, worst

OPEN, CLOSED, NOT_RUN, NOT_REACHED, OUT_OF_SCOPE = "open", "closed", "not_run", "not_reached", "out_of_scope"
COUNTED = (*ORDER, NOT_REACHED, OUT_OF_SCOPE)


@dataclass
class Gate:
    """One gate: its state, why it is closed, and the members left out by quarantine (host to check).

    unproved: the reasons that no finding says, because nobody was judged.
    """

    state: str
    reasons: list[str] = field(default_factory=list)
    quarantined: dict[str, str] = field(default_factory=dict)
    unproved: list[str] = field(default_factory=list)


def decide(
    plan: Plan, verdicts: t.Sequence[Verdict], groups: t.Iterable[str], checks: t.Sequence[Check] | None, already_out: t.Mapping[str, int]
) -> dict[str, Gate]:
    """The gates of the groups that climbed to a layer, from all verdicts of the layer.

    checks: the layer's checks, and a layer without any proves nothing; a required one that gave no verdict at all closes the gate
    as one without a pass does. None where only a part of the layer is judged, of which nothing is required.
    already_out: how many members of each group earlier layers left out.
    """
    return {group: _gate(plan, verdicts, group, checks, already_out.get(group, 0)) for group in groups}


def _gate(plan: Plan, verdicts: t.Sequence[Verdict], group: str, checks: t.Sequence[Check] | None, out: int) -> Gate:
    touching = [one for one in verdicts if group in one.affects]
    closing = [one for one in touching if one.on(group) in CLOSING]
    values = plan.nodes[plan.groups[group][0]].values
    bad = _members_to_leave(closing, values, out) if values["pod_gate_policy"] == "quarantine" else {}
    if set(plan.groups[group]) <= set(bad):
        bad = {}
    found = [one for one in closing if not _is_of(one, bad)]
    unproved = {} if checks is None or checks else {"": "the layer has no checks for this fabric"}
    # What one member needs is needed of the group, whoever is its first.
    required = [one.id for one in checks or () if any(one.is_required(plan.nodes[host].values) for host in plan.groups[group])]
    unproved |= _without_pass([one for one in touching if one.host not in bad], required)
    untried = _untried(touching)
    if not found and not unproved:
        return Gate(NOT_RUN if untried else OPEN, untried, bad)
    reasons = [f"{one.check} is {one.on(group)} on {one.host or group}" for one in found]
    told = {one.check for one in found}
    return Gate(CLOSED, [*reasons, *unproved.values()], bad, [words for check, words in unproved.items() if check not in told])


def _untried(touching: t.Sequence[Verdict]) -> list[str]:
    """What needs a load and was left out of the run: nothing is said against the layer, and it does not stand."""
    left = [one for one in touching if one.left_out and one.required]
    return list(dict.fromkeys(one.words for one in left if one.check in REGISTRY[one.layer] and REGISTRY[one.layer][one.check].needs == "load"))


def _is_of(verdict: Verdict, hosts: t.Container[str]) -> bool:
    """Whether a verdict speaks of these hosts only."""
    return verdict.host in hosts if verdict.host else bool(verdict.findings) and all(one.host in hosts for one in verdict.findings)


def _members_to_leave(closing: t.Sequence[Verdict], values: t.Mapping[str, t.Any], out: int) -> dict[str, str]:
    """Members that quarantine may leave out, with the check that found each; none where there are too many."""
    bad: dict[str, str] = {}
    for verdict in closing:
        hosts = [verdict.host] if verdict.host else [finding.host for finding in verdict.findings]
        for host in hosts if verdict.group is not None else []:
            if host is not None:
                bad.setdefault(host, verdict.check)
    return bad if 0 < len(bad) <= values["pod_quarantine_max"] - out else {}


def _without_pass(touching: t.Sequence[Verdict], required: t.Iterable[str]) -> dict[str, str]:
    """Required checks that nobody of the group passed; what a depth, a mode or a waiver left out is not asked again."""
    excused = {one.check for one in touching if one.verdict in ("pass", "warn") or one.left_out or one.waived}
    words = {one.check: one.words for one in touching}
    return {check: f"required check {check} has no pass ({words.get(check) or 'it judged no node'})" for check in required if check not in excused}


def counts(plan: Plan, verdicts: t.Iterable[Verdict], in_scope: t.Container[str]) -> dict[str, dict[str, int]]:
    """Every node of the inventory once, by its worst verdict; one row a gate group and one for shared nodes.

    Raises AssertionError where the rows do not add up to the inventory.
    """
    of_node: dict[str, list[str]] = {}
    for verdict in verdicts:
        for host in [verdict.host] if verdict.host else {finding.host for finding in verdict.findings if finding.host}:
            severity = verdict.verdict if verdict.host else worst(f.severity or "fail" for f in verdict.findings if f.host == host)
            of_node.setdefault(host, []).append(severity)
    rows: dict[str, dict[str, int]] = {group: dict.fromkeys(COUNTED, 0) for group in (*plan.groups, SHARED)}
    for name, node in plan.nodes.items():
        state = _worst_of_node(of_node[name]) if name in of_node else NOT_REACHED if name in in_scope else OUT_OF_SCOPE
        rows[node.group or SHARED][state] += 1
    if sum(sum(row.values()) for row in rows.values()) != len(plan.nodes):
        raise AssertionError("the gate groups and the shared nodes do not add up to the inventory")
    return rows


def _worst_of_node(verdicts: list[str]) -> str:
    """A node with a pass and a skip is a pass: the skip of one check says nothing of the node."""
    return worst(one for one in verdicts if one != "skip") if any(one != "skip" for one in verdicts) else "skip"
