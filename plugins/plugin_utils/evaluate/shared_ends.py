# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links between switches that are down at both ends, of which one switch has several and each of the others has one: that switch is what they share."""

from __future__ import annotations

import typing as t

from ..pod.names import port_name
from ..pod.plan import Plan
from .verdicts import FindingRecord, VerdictRecord, place_of

CHECK = "port_speed"
# From so many links of a switch on, each to another switch, that one is named; two cables may well be bad at once.
LEAST_LINKS = 3
SHARED = (
    "{number} of {all} links of {switch} to other switches are down, each to another switch whose other links are up, and neither end says why: what they "
    "share is {switch}, and not {number} cables or optics. One of its line cards, or what supplies and drives a group of its ports (power, a retimer or "
    "gearbox, a daemon), did not come up."
)
SHARED_FIX = (
    "Look at {switch} for what its ports {ports} have in common: state and log of its line cards (show module, show chassis modules status), power of the "
    "modules and their daemon (xcvrd, syncd) since its last boot; reset that card or boot the switch. Touch cables only if the others of the group are up."
)
End = tuple[str, str]


def name_shared_ends(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Name the switch that several links share which are down at both ends, in the findings of both. What the findings are on is known (``add_places``)."""
    down = {
        (record["host"], port_name(port)): finding
        for record in records if record["check"] == CHECK and record["host"] in plan.nodes and plan.nodes[record["host"]].kind == "switch"
        for finding in record["findings"]
        if finding["severity"] == "fail" and not finding.get("began_at") and (port := place_of(finding).port)
    }  # fmt: skip
    links = {end: far for end in down if (far := _far_end(plan, end)) in down and down[far]["actual"] == down[end]["actual"]}
    of_switch: dict[str, list[End]] = {}
    for end in links:
        of_switch.setdefault(end[0], []).append(end)
    for switch, ends in of_switch.items():
        peers = [links[end][0] for end in ends]
        if len(ends) >= LEAST_LINKS and len(set(peers)) == len(peers) and all(len(of_switch[peer]) == 1 and _has_more(plan, peer) for peer in peers):
            _name(plan, switch, ends, [down[end] for end in ends], [down[links[end]] for end in ends])


def _far_end(plan: Plan, end: End) -> End | None:
    cables = (plan.near(end[0], cable) for cable in plan.at[end[0]])
    return next(((cable["peer"], port_name(cable["peer_port"])) for cable in cables if port_name(cable["port"]) == end[1]), None)


def _has_more(plan: Plan, switch: str) -> bool:
    return _to_switches(plan, switch) > 1


def _to_switches(plan: Plan, switch: str) -> int:
    return sum(plan.nodes[cable.seen_from(switch)[1].node].kind == "switch" for cable in plan.at[switch])


def _name(plan: Plan, switch: str, ends: list[End], own: list[FindingRecord], others: list[FindingRecord]) -> None:
    words = {"switch": switch, "number": len(ends), "all": _to_switches(plan, switch), "ports": ", ".join(str(place_of(one).port) for one in own)}
    for finding in (*own, *others):
        finding["cause"], finding["fix"] = SHARED.format(**words), SHARED_FIX.format(**words)
    for finding, mine in zip(others, own):
        finding["began_at"] = (switch, str(place_of(mine).port))
