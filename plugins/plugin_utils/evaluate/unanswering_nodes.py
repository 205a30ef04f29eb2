# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that do not answer: whether they are down, or only their management is, by what the other ends of their cables report."""

from __future__ import annotations

import typing as t

from ..pod.cabling import CableEnd
from ..pod.plan import Node, Plan
from ..text.ranges import ranges
from .layer_input import ANSWERED
from .shared_cause_texts import NODES_ARE_DOWN, SWITCH_IS_DOWN, SWITCH_IS_UP
from .shared_ends import CHECK, waits
from .verdicts import FindingRecord, VerdictRecord, place_of

_Told = t.Mapping[t.Optional[str], t.Sequence[FindingRecord]]  # noqa: UP045
# One link may be down beside a management that does not answer.
LEAST_LINKS = 2


def name_unanswering_nodes(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Say in the finding of a switch that does not answer whether it is down, and in those at the other ends of nodes that were not asked that these are.

    What findings are on is known. records: of one layer.
    """
    judged = [record for record in records if record["check"] == CHECK and record["verdict"] in ("pass", "warn", "fail")]
    told = {record["host"]: record["findings"] for record in judged}
    for record in records:
        switch = record["host"] or ""
        if record["check"] != ANSWERED or record["verdict"] != "unknown" or switch not in plan.nodes or plan.nodes[switch].kind != "switch":
            continue
        ends = _ends(plan, switch, told)
        down = _down(ends, told)
        is_up = _is_logged_in_to(plan.nodes[switch]) and not any(place_of(finding).port == end.port for end in ends for finding in told[end.node])
        if len(ends) < LEAST_LINKS or not (is_up or len(down) == len(ends)):
            continue
        (SWITCH_IS_DOWN if down else SWITCH_IS_UP).write(record["findings"], switch=switch, number=len(ends))

    _name_those_not_asked(plan, {record["host"] for record in records}, told)


def _name_those_not_asked(plan: Plan, asked: t.Container[str | None], told: _Told) -> None:
    """All of a kind at once, since they have one cause; it began at their hosts, which a layer below has not reached."""
    for kind, shared in NODES_ARE_DOWN.items():
        dark: dict[str, list[FindingRecord]] = {}
        for node in plan.nodes.values():
            ends = _ends(plan, node.name, told) if node.kind == kind and node.name not in asked else []
            if len(ends) >= LEAST_LINKS and len(down := _down(ends, told)) == len(ends):
                dark[node.name] = down
        number = sum(map(len, dark.values()))
        for name, found in dark.items():
            shared.write(found, nodes=ranges(list(dark)), number=number)
            host = _host_of(plan, name, asked)
            for finding in found if host is not None else ():
                finding["origin"] = (ANSWERED, host or "", "")


def _host_of(plan: Plan, name: str, asked: t.Container[str | None]) -> str | None:
    """A host itself, of a switch the first of the hosts that it leads to; None where one of them was asked, so that it is not dark with them."""
    if plan.nodes[name].kind == "host":
        return name
    hosts = [end.node for cable in plan.at[name] if plan.nodes[(end := cable.seen_from(name)[1]).node].kind == "host"]
    return hosts[0] if hosts and not any(host in asked for host in hosts) else None


def _is_logged_in_to(node: Node) -> bool:
    """Whether a switch is asked itself: one of InfiniBand answers by its agent, for whose silence hosts that read the fabric have words."""
    return bool(node.values["pod_fabric"] == "roce")


def _ends(plan: Plan, switch: str, told: _Told) -> list[CableEnd]:
    """The other ends of its cables that are judged."""
    return [end for cable in plan.at[switch] if (end := cable.seen_from(switch)[1]).node in told]


def _down(ends: t.Sequence[CableEnd], told: _Told) -> list[FindingRecord]:
    """Of each end that has no link the finding that says so."""
    return [finding for end in ends if (finding := next((one for one in told[end.node] if _says_down(end, one)), None)) is not None]


def _says_down(end: CableEnd, finding: FindingRecord) -> bool:
    """Whether a finding is of a port that has no link and does not say why."""
    return place_of(finding).port == end.port and waits(finding)
