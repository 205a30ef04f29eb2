# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that are down, of which one switch has several and each of the hosts or switches at their other ends has one: that switch is what they share."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from ..text.ranges import ranges
from .verdicts import FindingRecord, VerdictRecord, place_of

CHECK = "port_speed"
# What a port is that waits for the other end; any other state says at its own end why it has no link.
WAITING = "notconnect"
# From so many links of a switch on, each to another node, that one is named; two cables may well be bad at once.
LEAST_LINKS = 3
SHARED = (
    "{number} of {all} links of {switch} to {others} are down, each to another of these, whose other links are up, and neither end says why: what they "
    "share is {switch}, and not {number} cables or optics. One of its line cards, or what supplies and drives a group of its ports (power, a retimer or "
    "gearbox, a daemon), did not come up."
)
SHARED_FIX = (
    "Look at {switch} for what its ports {ports} have in common: state and log of its line cards (show module, show chassis modules status), power of the "
    "modules and their daemon (xcvrd, syncd) since its last boot; reset that card or boot the switch. Touch cables only if the others of the group are up."
)
KINDS = {"host": "hosts", "switch": "other switches"}
End = tuple[str, str]


def name_shared_ends(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Name the switch that several links share which are down, in the findings of its ends and of other switches.

    What the findings are on is known (``add_places``).
    """
    down = {
        (record["host"], port): finding
        for record in records if record["check"] == CHECK and record["host"] in plan.nodes and plan.nodes[record["host"]].kind == "switch"
        for finding in record["findings"]
        if finding["severity"] == "fail" and not finding.get("began_at") and (port := place_of(finding).port)
    }  # fmt: skip
    links: dict[str, dict[End, End]] = {}
    for end, finding in down.items():
        far = plan.far_end(*end)
        if far is not None and _is_down_there(plan, (far.node, far.port), finding, down):
            links.setdefault(end[0], {})[end] = (far.node, far.port)
    of_node = _counted(links)
    for switch, ends in links.items():
        for kind, others in KINDS.items():
            mine = {end: far for end, far in ends.items() if plan.nodes[far[0]].kind == kind}
            if len(mine) >= LEAST_LINKS and all(of_node[far[0]] == 1 and len(plan.at[far[0]]) > 1 for far in mine.values()):
                _name(plan, switch, others, mine, down)


def _is_down_there(plan: Plan, far: End, finding: FindingRecord, down: t.Mapping[End, FindingRecord]) -> bool:
    """Whether the other end of a link says nothing else of it: a switch the same as this one, and a host, whose ports are none of these findings, nothing."""
    if plan.nodes[far[0]].kind == "host":
        return finding["actual"] == WAITING
    return far in down and down[far]["actual"] == finding["actual"]


def _counted(links: t.Mapping[str, t.Mapping[End, End]]) -> dict[str, int]:
    """How many of the links each node has."""
    number: dict[str, int] = {}
    for ends in links.values():
        for far, _port in ends.values():
            number[far] = number.get(far, 0) + 1
    return number


def _name(plan: Plan, switch: str, others: str, ends: t.Mapping[End, End], down: t.Mapping[End, FindingRecord]) -> None:
    every = [cable for cable in plan.at[switch] if KINDS[plan.nodes[cable.seen_from(switch)[1].node].kind] == others]
    words = {"switch": switch, "number": len(ends), "all": len(every), "others": others, "ports": ranges([port for _switch, port in ends])}
    for end in (*ends, *ends.values()):
        if end in down:
            down[end]["cause"], down[end]["fix"] = SHARED.format(**words), SHARED_FIX.format(**words)
    for end, far in ends.items():
        if far in down:
            down[far]["began_at"] = end
