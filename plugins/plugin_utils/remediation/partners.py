# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts and switch ports that a remediated host is proved with."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from ..run.pod_only import Selection


def load_partners(
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
            why_not = "; ".join(f"{host}: {why}" for host, why in wrong.items()) or "the group has no others"
            reasons.append(f"{group} has {len(fit)} partners to load with, and an incast takes {fewest} ({why_not})")
    return found, reasons


def selection_with_far_ends(plan: Plan, hosts: t.Sequence[str], inside: t.Container[str]) -> Selection:
    """Hosts to judge with the switch ports that they are cabled to: half of what is wrong with a link is reported there.

    inside: the nodes of the play; a switch outside is not asked.
    """
    places = sorted({place for host in hosts for place in far_ends(plan, host) if place[0] in inside})
    return Selection(nodes=[*hosts, *dict.fromkeys(node for node, _port in places)], places=[*hosts, *(f"{node}:{port}" for node, port in places)])


def far_ends(plan: Plan, host: str) -> set[tuple[str, str]]:
    """The switch ports at the other ends of a host's cables."""
    ends = (cable.seen_from(host)[1] for cable in plan.at[host])
    return {(far.node, far.port) for far in ends if plan.nodes[far.node].role != "host"}
