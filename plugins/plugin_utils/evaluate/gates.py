# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gates: whether a gate group continues past a layer, which of its hosts do, and the count of every node."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..checks import Check
from ..checks.registry import REGISTRY
from ..pod.plan import SHARED, Plan
from .explaining_checks import EFFECTS, FOLLOWS, FOLLOWS_ON_HOST, ROOTS
from .verdicts import CLOSING, ORDER, Verdict, worst

OPEN, CLOSED, NOT_RUN, NOT_PROVED, NOT_REACHED, OUT_OF_SCOPE = "open", "closed", "not_run", "not_proved", "not_reached", "out_of_scope"
# Past these a group continues: nothing was found against it. Only OPEN proves the layer.
PASSABLE = (OPEN, NOT_RUN, NOT_PROVED)
# What a layer's evaluation comes to; a group may also not have reached the layer, or be out of scope.
DECIDED = (OPEN, CLOSED, NOT_RUN, NOT_PROVED)
STATES = (*DECIDED, NOT_REACHED, OUT_OF_SCOPE)
COUNTED = (*ORDER, NOT_REACHED, OUT_OF_SCOPE)


@dataclass
class Gate:
    """One gate: its state, why it is not open, and the members left out by quarantine (host to check).

    unproved: the reasons that no finding reports, because no node was evaluated.
    too_few: of a gate that is not proved, each check that takes more hosts than take part, or more than the platform reports, and why.
    found: of the reasons that findings report, the check and the node, or the gate group of a check that judges one; by reason.
    """

    state: str
    reasons: list[str] = field(default_factory=list)
    quarantined: dict[str, str] = field(default_factory=dict)
    unproved: list[str] = field(default_factory=list)
    too_few: list[tuple[str, str]] = field(default_factory=list)
    found: dict[str, tuple[str, str]] = field(default_factory=dict)


def decide_gates(
    plan: Plan, verdicts: t.Sequence[Verdict], groups: t.Iterable[str], checks: t.Sequence[Check] | None, already_out: t.Mapping[str, int]
) -> dict[str, Gate]:
    """The gates of the groups that reached a layer, from all verdicts of the layer.

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
    if len(bad) + out >= len(plan.groups[group]):
        # A group without a host proves nothing.
        bad = {}
    found = _causes_first([one for one in closing if not _is_of(one, bad)], group)
    unproved = {} if checks is None or checks else {"": "the layer has no checks for this fabric"}
    # What one member needs is needed of the group, whoever is its first.
    required = [one.id for one in checks or () if any(one.is_required(plan.nodes[host].values) for host in plan.groups[group])]
    unproved |= _without_pass([one for one in touching if one.host not in bad], required, group)
    untried, few = _untried(touching), _of_too_few(touching, group) or _of_no_proof(touching, required, group)
    if not found and not unproved:
        state = NOT_RUN if untried else NOT_PROVED if few else OPEN
        return Gate(state, untried or [f"{check}: {words}" for check, words in few], bad, too_few=[] if untried else few)
    reasons = {_reason(plan, one, group): (one.check, one.host or one.group or "") for one in found}
    reported = {one.check for one in found}
    unreported = [words for check, words in unproved.items() if check not in reported]
    return Gate(CLOSED, [*reasons, *unproved.values()], bad, unreported, found=reasons)


def _causes_first(closing: t.Sequence[Verdict], group: str) -> list[Verdict]:
    """Verdicts in the order in which they are reasons: who reads the first one alone is sent to what the others follow from."""
    beside = {one.check for one in closing}
    follow = {check for check in beside if beside.intersection((*FOLLOWS.get(check, ()), *FOLLOWS_ON_HOST.get(check, ())))}
    return sorted(closing, key=lambda one: (one.on(group) != "fail", one.check in EFFECTS, one.check in follow, one.check not in ROOTS, _began_elsewhere(one)))


def _began_elsewhere(verdict: Verdict) -> bool:
    """Whether all that a verdict has found began at other places."""
    return bool(verdict.findings) and all(one.began_at for one in verdict.findings)


def _reason(plan: Plan, verdict: Verdict, group: str) -> str:
    """A verdict that closes the group's gate, by the first place of its findings there: ``port_speed on leaf03 Ethernet3/1``."""
    severity = verdict.on(group)
    found = [
        one for one in verdict.findings
        if (one.severity or "fail") == severity
        and (verdict.group is not None or verdict.host is None or group in plan.affects(verdict.host, one.where.port))
    ]  # fmt: skip
    host = (found[0].host if found else None) or verdict.host or group
    where = f" {found[0].where}" if found and str(found[0].where) not in ("", host) else ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{verdict.check}{'' if severity == 'fail' else f' is {severity}'} on {host}{where}{more}"


def _untried(touching: t.Sequence[Verdict]) -> list[str]:
    """What needs a load and was left out of the run: nothing is found against the layer, and it is not proved."""
    left = [one for one in touching if one.left_out and one.required]
    return list(dict.fromkeys(one.words for one in left if one.check in REGISTRY[one.layer] and REGISTRY[one.layer][one.check].needs == "load"))


def _of_too_few(touching: t.Sequence[Verdict], group: str) -> list[tuple[str, str]]:
    """The checks that are required and take more hosts than take part, where no one passed them, or that know nothing to judge a host by, and why."""
    passed = {one.check for one in touching if one.on(group) in ("pass", "warn") and _takes_hosts(one)}
    return list(dict.fromkeys((one.check, one.words) for one in touching if one.too_few and one.required and one.check not in passed))


def _of_no_proof(touching: t.Sequence[Verdict], required: t.Sequence[str], group: str) -> list[tuple[str, str]]:
    """The required checks that the platform cannot answer, and why, where nothing that is required is proved beside them."""
    if any(one.check in required and one.on(group) in ("pass", "warn") for one in touching):
        return []
    return list(dict.fromkeys((one.check, one.words) for one in touching if one.unavailable and one.check in required))


def _takes_hosts(verdict: Verdict) -> bool:
    """Whether it is a check of several hosts, which one of them passes for all; of others each host passes for itself."""
    check = REGISTRY.get(verdict.layer, {}).get(verdict.check)
    return check is None or check.hosts is not None


def _is_of(verdict: Verdict, hosts: t.Container[str]) -> bool:
    """Whether a verdict closes the gate for the sake of these hosts only."""
    closing = [one for one in verdict.findings if (one.severity or "fail") in CLOSING]
    return verdict.host in hosts if verdict.host else bool(closing) and all(one.host in hosts for one in closing)


def _members_to_leave(closing: t.Sequence[Verdict], values: t.Mapping[str, t.Any], out: int) -> dict[str, str]:
    """Members that quarantine may leave out, with the check that found each; none where there are too many."""
    bad: dict[str, str] = {}
    for verdict in closing:
        # What is a warning beside a failure of another host leaves no host out.
        hosts = [verdict.host] if verdict.host else [one.host for one in verdict.findings if (one.severity or "fail") in CLOSING]
        for host in hosts if verdict.group is not None else []:
            if host is not None:
                bad.setdefault(host, verdict.check)
    return bad if 0 < len(bad) <= values["pod_quarantine_max"] - out else {}


def _without_pass(touching: t.Sequence[Verdict], required: t.Iterable[str], group: str) -> dict[str, str]:
    """Required checks that no one of the group passed, a shared switch as far as its ports to the group go.

    What a depth, a mode, a waiver, the number of hosts or the platform left out is not asked again.
    """
    excused = {one.check for one in touching if one.on(group) in ("pass", "warn") or one.left_out or one.too_few or one.unavailable or one.waived}
    words = {one.check: one.words for one in touching}
    return {check: f"required check {check} has no pass ({words.get(check) or 'it evaluated no node'})" for check in required if check not in excused}


def count_nodes(plan: Plan, verdicts: t.Iterable[Verdict], in_scope: t.Container[str]) -> dict[str, dict[str, int]]:
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
