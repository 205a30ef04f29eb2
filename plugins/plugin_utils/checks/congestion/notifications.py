# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3, congestion: the traffic class of congestion notification packets (CNPs)."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name
from ...pod.types import NearCable
from ...readings.rows import Rows
from .. import CannotTell, Finding, check
from .._planned import cables_of
from ..place import Place, at_port

# What a switch gives a DSCP that no map names, and what most other traffic has.
BEST_EFFORT = 0
IN_LOSSLESS = "CNPs are queued behind the very data that they are to slow down, and are paused with it: senders react late, and pauses spread."
IN_LOSSLESS_FIX = (
    "Map DSCP {dscp} to a traffic class of its own that is not lossless and is served by strict priority (often 6), on every switch and NIC of the path."
)


@check(
    cause="CNPs share the class of all other traffic: under congestion they are queued or dropped with it, and senders react late.",
    fix="Map the DSCP of CNPs (pod_cnp_dscp) to a traffic class of its own that is served by strict priority, on every switch and NIC of the path.",
    fabric="roce",
    kind="switch",
)
def cnp_apart(dscp_classes: Rows, pod_cables: list[NearCable], pod_roce_priority: int, pod_roce_dscp: int, pod_cnp_dscp: int) -> t.Iterator[Finding]:
    """The switch maps the DSCP of CNPs to a traffic class that is neither that of RoCE nor that of best effort."""
    if pod_cnp_dscp == pod_roce_dscp:
        raise CannotTell(f"pod_cnp_dscp and pod_roce_dscp are both {pod_cnp_dscp}: no switch can tell CNPs from data")
    maps = _maps(dscp_classes)
    if not maps:
        raise CannotTell("no map of any DSCP is reported")
    expected = f"a traffic class of its own for DSCP {pod_cnp_dscp}"
    # Which ports use which map of a switch is not reported.
    of_switch = [classes for (port, _name), classes in maps.items() if port is None]
    in_doubt = any(classes.get(pod_cnp_dscp) != pod_roce_priority for classes in of_switch)
    for where, classes in _wanted(maps, pod_cables):
        if classes is None:
            yield Finding(where, expected, "not reported", "unknown")
        elif (given := classes.get(pod_cnp_dscp)) == pod_roce_priority:
            fix = IN_LOSSLESS_FIX.format(dscp=pod_cnp_dscp)
            yield Finding(where, expected, f"traffic class {given}, that of RoCE", "warn" if in_doubt else None, cause=IN_LOSSLESS, fix=fix)
        elif given is None:
            yield Finding(where, expected, "none: best effort", "warn")
        elif given == classes.get(BEST_EFFORT, BEST_EFFORT):
            yield Finding(where, expected, f"traffic class {given}, that of best effort", "warn")


def _maps(rows: Rows) -> dict[tuple[str | None, str | None], dict[int, int]]:
    """The traffic class of each DSCP, by port (None: of the switch) and name of a map."""
    maps: dict[tuple[str | None, str | None], dict[int, int]] = {}
    for row in rows:
        maps.setdefault((row["port"] and port_name(row["port"]), row["map"]), {}).update(dict.fromkeys(row["dscp"], row["traffic_class"]))
    return maps


def _wanted(maps: t.Mapping[tuple[str | None, str | None], dict[int, int]], cables: list[NearCable]) -> t.Iterator[tuple[Place, dict[int, int] | None]]:
    """The maps of the switch, or those of every cabled port, each with what it is called; None for a port that reports none."""
    of_switch = {name: classes for (port, name), classes in maps.items() if port is None}
    for name, classes in of_switch.items():
        yield Place(f"map {name}"), classes
    for cable in () if of_switch else cables_of(cables):
        own = [classes for (port, _name), classes in maps.items() if port == port_name(cable["port"])]
        yield at_port(cable["port"]), own[0] if own else None
