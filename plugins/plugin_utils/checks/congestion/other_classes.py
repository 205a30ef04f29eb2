# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3, congestion: what switches drop under load in other classes than that of RoCE."""

from __future__ import annotations

import re
import typing as t

from ...pod.names import port_name
from ...pod.types import NearCable
from ...readings.rows import Rows
from ...text.counting import counted
from .. import Finding, NotApplicable, check
from .._counters import port_growth
from .._planned import cables_of
from ..place import at_port
from ._priority_groups import OF_THE_LOAD, dropped_in_others

# A queue of unicast, or of all packets, by the names that platforms give it; its number is the traffic class.
QUEUE = re.compile(r"^(?:UC|ALL)?(\d+)$", re.IGNORECASE)
LOST = "CNPs are dropped on their way to the senders, which do not slow down: pauses and drops of data follow."
LOST_FIX = "Give the traffic class of CNPs (pod_cnp_dscp) strict priority and buffer of its own at this port, and look at what else is in that class."


@check(
    cause="Traffic of the load goes in another class than that of RoCE at this switch (DSCP map, trust or the senders' traffic class), "
    "or other traffic shares the port and is dropped.",
    fix="Compare the class of the dropped packets with the DSCP map of this switch and with the traffic class of the senders (pod_traffic_class).",
    fabric="roce",
    kind="switch",
    severity="warn",
)
def other_classes_kept(
    pod_cables: list[NearCable], pod_roce_priority: int, pod_cnp_dscp: int, queue_drops_idle: Rows | None = None, queue_drops: Rows | None = None,
    other_class_drops_idle: Rows | None = None, other_class_drops: Rows | None = None, dscp_classes: Rows | None = None,
    ingress_drops_idle: Rows | None = None, ingress_drops: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load no planned port drops packets of another class than RoCE; a dropped CNP is a fail."""
    queues = _Queues(queue_drops_idle or [], queue_drops or [], pod_roce_priority)
    together = _grown(other_class_drops_idle or [], other_class_drops or [])
    if not queues.by_class and not other_class_drops:
        raise NotApplicable("this switch does not count drops by class")
    groups = port_growth(ingress_drops_idle or [], ingress_drops or [], ("dropped_packets",), "priority_group")
    of_cnp = {row["traffic_class"] for row in dscp_classes or () if pod_cnp_dscp in row["dscp"]} - {pod_roce_priority}
    for cable in cables_of(pod_cables):
        port = cable["port"]
        for queue, count in queues.of_port(port):
            if count is None:
                yield Finding(at_port(port, f"drops of {queue or 'a queue'}"), "drop counter", "not reported", "unknown")
            elif count:
                yield _dropped(port, f"{counted(count, 'packet')} of {queue}", _number(queue) in of_cnp)
        for group, count in dropped_in_others(groups, port, pod_roce_priority):
            # What must be the load's is switch_drops' own finding.
            if count < OF_THE_LOAD:
                yield _dropped(port, f"{counted(count, 'packet')} that came in in priority group {group}", False)
        for name, of_them in (("non_roce_in", False), ("cnp_out", True)) if other_class_drops is not None else ():
            grown = together.get((port_name(port), name))
            if grown is None:
                yield Finding(at_port(port, f"drops of {'CNPs' if of_them else 'other classes'}"), "drop counter", "not reported", "unknown")
            elif grown:
                yield _dropped(port, counted(grown, "packet") + ("" if of_them else " that came in outside of the RoCE class"), of_them)


def _dropped(port: str, words: str, cnp: bool) -> Finding:
    if cnp:
        return Finding(at_port(port), "no CNP dropped", words, "fail", cause=LOST, fix=LOST_FIX)
    return Finding(at_port(port), "no packet of another class dropped", words)


def _number(queue: str | None) -> int | None:
    found = QUEUE.match(str(queue))
    return int(found[1]) if found else None


def _grown(was: Rows, now: Rows) -> dict[tuple[str, str], int]:
    return {(port, name): grown[name] for name in ("non_roce_in", "cnp_out") for (port, _by), grown in port_growth(was, now, (name,)).items()}


class _Queues:
    """Drops by queue of a platform that counts so; by_class: whether it does."""

    def __init__(self, was: Rows, now: Rows, priority: int) -> None:
        self.by_class = any(row["queue"] is not None for row in (*was, *now))
        self._grown = port_growth(was, now, ("dropped_packets",), "queue") if self.by_class else {}
        self._listed = [(port_name(row["port"]), row["queue"]) for row in now] if self.by_class else []
        self._priority = priority

    def of_port(self, port: str) -> t.Iterator[tuple[str | None, int | None]]:
        """Each unicast queue of another class with the packets that it dropped; None where that, or which queue it is, is not reported."""
        for where, queue in self._listed:
            if where == port_name(port) and (queue is None or _number(queue) not in (None, self._priority)):
                grown = self._grown.get((where, queue)) if queue is not None else None
                yield queue, None if grown is None else grown["dropped_packets"]
