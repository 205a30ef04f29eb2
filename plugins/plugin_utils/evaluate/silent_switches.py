# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches that do not answer: whether they are down, or only their management is, by what the other ends of their cables say."""

from __future__ import annotations

import typing as t

from ..pod.cabling import CableEnd
from ..pod.plan import Plan
from .layer import ANSWERED
from .shared_ends import CHECK, WAITING
from .verdicts import FindingRecord, VerdictRecord, place_of

# One link may be down beside a management that does not answer.
LEAST_LINKS = 2
IS_DOWN = (
    "All {number} links of {switch} are down at their other ends, too: it has no power, has crashed, or all of its ports are off, and not its login alone."
)
IS_DOWN_FIX = (
    "Look at {switch} by its console, its power supplies and its management of last resort (BMC, PDU); boot it, and read its log and reboot cause (show "
    "reload cause, show reboot-cause) before it is used again. Its cables and the other ends need no change."
)
IS_UP = (
    "All {number} links of {switch} are up at their other ends: it has power and its ports work, so that what does not answer is its management port, its "
    "login, or the processor behind them."
)
IS_UP_FIX = "Log in to {switch} by hand as the run does (same user, same key), and by its console; look at its management port and VRF, its AAA and its load."


def name_silent_switches(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Say in the finding of a switch that does not answer whether it is down. What findings are on is known. records: of one layer."""
    told = {record["host"]: record["findings"] for record in records if record["check"] == CHECK and record["verdict"] in ("pass", "warn", "fail")}
    for record in records:
        switch = record["host"] or ""
        if record["check"] != ANSWERED or record["verdict"] != "unknown" or switch not in plan.nodes or plan.nodes[switch].kind != "switch":
            continue
        ends = [end for cable in plan.at[switch] if (end := cable.seen_from(switch)[1]).node in told]
        down = [end for end in ends if any(_says_down(end, finding) for finding in told[end.node])]
        if len(ends) < LEAST_LINKS or len(down) not in (0, len(ends)):
            continue
        cause, fix = (IS_DOWN, IS_DOWN_FIX) if down else (IS_UP, IS_UP_FIX)
        for finding in record["findings"]:
            finding["cause"], finding["fix"] = cause.format(switch=switch, number=len(ends)), fix.format(switch=switch)


def _says_down(end: CableEnd, finding: FindingRecord) -> bool:
    """Whether a finding is of a port that has no link and does not say why."""
    return place_of(finding).port == end.port and finding["actual"] == WAITING
