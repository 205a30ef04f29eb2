# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3, congestion: pause storms that a switch's PFC watchdog has detected."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name
from ...pod.types import NearCable
from ...readings.rows import Row, Rows
from ...text.counting import counted
from .. import Finding, NotApplicable, check
from .._counters import RESET_CAUSE, RESET_FIX
from .._planned import cables_of
from ..place import at_port

EXPECTED = "no pause storm"
STORM = (
    "{end} paused this queue for so long that the watchdog took it for a storm, and dropped what was queued for it: a NIC or host that hangs, a switch "
    "that is congested behind it, or a detection time that is shorter than the pauses of a healthy incast."
)
STORM_FIX = "Look at the pauses that {end} sends and at its host or NIC (reset it where it hangs); then compare the watchdog's detection time with pfc_brief."

NOT_STARTED = "The switch lists counters of this queue and no status of its watchdog: it was configured and never started there."
NOT_STARTED_FIX = "Start it again (pfcwd stop, then pfcwd start with the site's times) and see that pfcwd show stats calls the queue operational."


@check(
    cause="A neighbor paused a queue for longer than the watchdog's detection time.",
    fix="Find the neighbor that pauses, and reset its NIC or relieve its congestion.",
    fabric="roce",
    kind="switch",
    when=("pod_pfc", True),
)
def pause_storms(pfc_watchdog_idle: Rows, pfc_watchdog: Rows, pod_cables: list[NearCable], pod_roce_priority: int) -> t.Iterator[Finding]:
    """The PFC watchdog of the switch detects no pause storm at a planned port, before or under load."""
    before = {(port_name(row["port"]), row["priority"]): row for row in pfc_watchdog_idle}
    now = {(port_name(row["port"]), row["priority"]): row for row in pfc_watchdog}
    if not before and not now:
        raise NotApplicable("the PFC watchdog of this switch watches no queue")
    for cable in cables_of(pod_cables):
        key = (port_name(cable["port"]), pod_roce_priority)
        if key in now or key in before:
            yield from _of_queue(cable, now.get(key), before.get(key))


def _of_queue(cable: NearCable, now: Row | None, before: Row | None) -> t.Iterator[Finding]:
    where, end = at_port(cable["port"], "PFC watchdog"), f"{cable['peer']} {cable['peer_port']}"
    if now is None or before is None:
        yield Finding(where, EXPECTED, "reported in one of two readings only", "unknown")
        return
    storms = now["storms"] - before["storms"]
    dropped = now["tx_dropped"] + now["rx_dropped"] - before["tx_dropped"] - before["rx_dropped"]
    if storms < 0 or dropped < 0:
        yield Finding(where, EXPECTED, "counters were reset", "unknown", cause=RESET_CAUSE, fix=RESET_FIX)
    elif storms or dropped or (now["state"] or "").lower() == "stormed":
        words = f"{counted(storms, 'storm')} detected, {counted(dropped, 'packet')} dropped, now {now['state'] or 'of no known status'}"
        yield Finding(where, EXPECTED, words, cause=STORM.format(end=end), fix=STORM_FIX.format(end=end))
    elif now["state"] is None:
        yield Finding(where, EXPECTED, "status: not reported", "unknown", cause=NOT_STARTED, fix=NOT_STARTED_FIX)
