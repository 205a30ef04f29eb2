# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remediation: how many hosts may be out, what a run found to repair on one, and whether a run has proved it."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field

from .checks._ports import port_name
from .focus import Focus
from .plan import Plan

Report = t.Mapping[str, t.Any]
# What is repaired; an unknown is not known to be broken, so nothing is repaired on its word.
REPAIRED = ("fail", "warn")
CLOSING = ("fail", "unknown")


@dataclass
class Found:
    """What a run found on one host.

    proved: it was judged in every layer of the run, every gate above it is open, and nothing failed or was unknown.
    remedies: what its findings name; healable: those findings as sentences; left: its findings that no remedy heals.
    """

    proved: bool
    remedies: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    healable: list[str] = field(default_factory=list)

    def dump(self) -> dict[str, t.Any]:
        """As plain values."""
        return asdict(self)


def too_many(named: t.Sequence[str], groups: t.Mapping[str, t.Sequence[str]], out: t.Container[str], at_once: int, quarantine_max: int) -> list[str]:
    """Why some hosts must not be out at once; none where they may.

    named: the hosts to remediate; out: hosts that take no jobs already; at_once: ``pod_remediate_max``.
    A host that is out already may always be repaired: that takes nothing from its group.
    """
    reasons = []
    if len(named) > at_once:
        some = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
        reasons.append(f"{len(named)} hosts are named ({some}), and pod_remediate_max allows {at_once}; name fewer with --limit")
    allowed = max(1, quarantine_max)
    for group, members in groups.items():
        leaving = [host for host in named if host in members and host not in out]
        gone = [host for host in members if host in out and host not in leaving]
        if leaving and len(leaving) + len(gone) > allowed:
            words = f"{', '.join(gone)} {'is' if len(gone) == 1 else 'are'} out already" if gone else f"{', '.join(leaving)} are named"
            reasons.append(f"{group} may lose {allowed} of its {len(members)} hosts (pod_quarantine_max), and {words}")
    return reasons


def partners(
    named: t.Sequence[str], groups: t.Mapping[str, t.Sequence[str]], inside: t.Container[str], unfit: t.Mapping[str, str], fewest: int
) -> tuple[list[str], list[str]]:  # fmt: skip
    """The hosts that may be loaded to prove some others, and why they are too few.

    inside: the hosts of the play; unfit: why a host is no partner; fewest: how many partners a host needs in its gate group.
    """
    found: list[str] = []
    reasons = []
    for group, members in groups.items():
        others = [host for host in members if host not in named]
        if len(others) == len(members):
            continue
        wrong = {host: unfit.get(host, "outside --limit") for host in others if host in unfit or host not in inside}
        fit = [host for host in others if host not in wrong]
        found += fit
        if len(fit) < fewest:
            said = "; ".join(f"{host}: {why}" for host, why in wrong.items()) or "the group has no others"
            reasons.append(f"{group} has {len(fit)} partners to load with, and an incast takes {fewest} ({said})")
    return found, reasons


def with_far_ends(plan: Plan, hosts: t.Sequence[str], inside: t.Container[str]) -> Focus:
    """Hosts to judge with the switch ports that they are cabled to: half of what is wrong with a link is told there.

    inside: the nodes of the play; a switch outside is not asked.
    """
    places = sorted({place for host in hosts for place in far_ends(plan, host) if place[0] in inside})
    return Focus(nodes=[*hosts, *dict.fromkeys(node for node, _port in places)], places=[*hosts, *(f"{node}:{port}" for node, port in places)])


def far_ends(plan: Plan, host: str) -> set[tuple[str, str]]:
    """The switch ports at the other ends of a host's cables."""
    ends = (cable.seen_from(host)[1] for cable in plan.at[host])
    return {(far.node, far.port) for far in ends if plan.nodes[far.node].role != "host"}


def found(report: Report, host: str, group: str, far: t.Collection[tuple[str, str]] = ()) -> Found:
    """What a run found on a host of a gate group; far: the switch ports at the other ends of its cables."""
    far = {(node, port_name(port)) for node, port in far}
    own = [(one, _findings(one, host, far)) for one in report["verdicts"]]
    own = [(one, findings) for one, findings in own if one["host"] == host or findings or _of_all(one, group) or _untold(one, far)]
    remedies: dict[str, None] = {}
    left, healable = [], []
    for verdict, findings in own:
        if verdict["remedy"] and verdict["verdict"] in REPAIRED:
            remedies[verdict["remedy"]] = None
            healable += findings or [verdict["check"]]
        elif verdict["verdict"] in CLOSING:
            left += findings or [f"{verdict['check']}: {verdict['words']}"]
        elif verdict["required"] and verdict["verdict"] == "skip" and not verdict["left_out"] and not verdict["waived"]:
            left.append(f"{verdict['check']}: required, and skipped: {verdict['words']}")
    asked = [layer for layer in report["layers"] if layer["asked"]]
    judged = {verdict["layer"] for verdict, _words in own if verdict["host"] == host and verdict["verdict"] in ("pass", "warn")}
    unjudged = [layer["layer"] for layer in asked if layer["layer"] not in judged]
    closed = [layer["layer"] for layer in asked if layer["groups"][group]["gate"] != "open"]
    if not left and not remedies:
        left += [f"{layer}: not judged" for layer in unjudged] or [f"{layer}: the gate is not open" for layer in closed]
    return Found(bool(asked) and not (left or remedies or unjudged or closed), list(remedies), left, healable)


def remediable(report: Report) -> list[str]:
    """The hosts of which a finding names a remedy."""
    return sorted({one["host"] for one in report["verdicts"] if one["host"] and one["remedy"] and one["verdict"] in REPAIRED})


def _of_all(verdict: t.Mapping[str, t.Any], group: str) -> bool:
    """Whether a verdict of a whole gate group names nobody: then it is everybody's."""
    return verdict["host"] is None and verdict["group"] == group and not verdict["findings"]


def _untold(verdict: t.Mapping[str, t.Any], far: t.Collection[tuple[str, str]]) -> bool:
    """Whether a switch at a host's far end did not tell something, of whatever port."""
    return verdict["verdict"] == "unknown" and not verdict["findings"] and verdict["host"] in {node for node, _port in far}


def _findings(verdict: t.Mapping[str, t.Any], host: str, far: t.Collection[tuple[str, str]]) -> list[str]:
    """A verdict's findings of one host and of the far ends of its cables, as a person says them."""
    switches = {node for node, _port in far}
    mine = [
        one for one in verdict["findings"]
        if one["host"] == host or (one["host"] in switches and (one["host"] == one["where"] or (one["host"], port_name(one["port"] or one["where"])) in far))
    ]  # fmt: skip
    return [
        f"{verdict['check']}: {'' if one['host'] == host else one['host'] + ' '}{one['where']}: expected {one['expected']}, got {one['actual']}"
        for one in mine
        if one["severity"] in CLOSING
    ]
