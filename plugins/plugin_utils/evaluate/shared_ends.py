# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that are down or slow, of which one switch has several and each of the hosts or switches at their other ends has one: it is what they share."""

from __future__ import annotations

import typing as t

from ..checks.place import SLOW, WAITS
from ..pod.plan import Plan
from ..text.ranges import ranges
from .shared_cause_texts import OF_LINKS_DOWN, OF_SLOW_LINKS, SharedCause
from .verdicts import FindingRecord, VerdictRecord, place_of

CHECK = "port_speed"
# From so many links of a switch on, each to another node, that one is named; two cables may well be bad at once.
LEAST_LINKS = 3
KINDS = {"host": "hosts", "switch": "other switches"}
End = tuple[str, str]
Links = dict[End, FindingRecord]


def name_shared_ends(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Name the switch that several links share which are down, or slow, in the findings of its ends and of other nodes.

    What the findings are on is known (``add_places``).
    """
    found = {
        (record["host"], port): finding
        for record in records if record["check"] == CHECK and record["host"] in plan.nodes
        for finding in record["findings"]
        if finding["severity"] == "fail" and not finding.get("began_at") and (port := place_of(finding).port)
    }  # fmt: skip
    slow = {end: finding for end, finding in found.items() if place_of(finding).state == SLOW}
    down = {end: finding for end, finding in found.items() if end not in slow and plan.nodes[end[0]].kind == "switch"}
    _name_shared(plan, down, _is_down_there, OF_LINKS_DOWN)
    _name_shared(plan, slow, lambda _plan, far, _finding, its: far in its, OF_SLOW_LINKS)


def _name_shared(plan: Plan, bad: Links, is_so_there: t.Callable[[Plan, End, FindingRecord, Links], bool], shared: SharedCause) -> None:
    """Of links that are bad at both ends."""
    links: dict[str, dict[End, End]] = {}
    for end, finding in bad.items():
        far = plan.far_end(*end)
        if far is not None and plan.nodes[end[0]].kind == "switch" and is_so_there(plan, (far.node, far.port), finding, bad):
            links.setdefault(end[0], {})[end] = (far.node, far.port)
    of_node = _counted(links)
    for switch, ends in links.items():
        for kind, others in KINDS.items():
            mine = {end: far for end, far in ends.items() if plan.nodes[far[0]].kind == kind}
            if len(mine) >= LEAST_LINKS and all(of_node[far[0]] == 1 and len(plan.at[far[0]]) > 1 for far in mine.values()):
                _name(plan, switch, others, mine, bad, shared)


def _is_down_there(plan: Plan, far: End, finding: FindingRecord, down: Links) -> bool:
    """Whether the other end of a link says nothing else of it: a switch the same as this one, and a host, whose ports are none of these findings, nothing."""
    if plan.nodes[far[0]].kind == "host":
        return waits(finding)
    return far in down and down[far]["actual"] == finding["actual"]


def waits(finding: FindingRecord) -> bool:
    """Whether a port waits for the other end; any other state says at its own end why it has no link."""
    return bool(place_of(finding).state == WAITS)


def _counted(links: t.Mapping[str, t.Mapping[End, End]]) -> dict[str, int]:
    """How many of the links each node has."""
    number: dict[str, int] = {}
    for ends in links.values():
        for far, _port in ends.values():
            number[far] = number.get(far, 0) + 1
    return number


def _name(plan: Plan, switch: str, others: str, ends: t.Mapping[End, End], bad: Links, shared: SharedCause) -> None:
    every = [cable for cable in plan.at[switch] if KINDS[plan.nodes[cable.seen_from(switch)[1].node].kind] == others]
    findings = [bad[end] for end in (*ends, *ends.values()) if end in bad]
    shared.write(findings, switch=switch, number=len(ends), all=len(every), others=others, ports=ranges([port for _switch, port in ends]))
    for end, far in ends.items():
        if far in bad:
            bad[far]["began_at"] = end
