# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: links that switches lost, those between leaves and spines included."""

from __future__ import annotations

import typing as t

from ...pod.names import by_port
from ...pod.types import NearCable
from ...readings.rows import Row, Rows
from ...text.counting import counted
from .. import Finding, NotApplicable, check
from .._counters import RESET_CAUSE, RESET_FIX
from .._planned import cables_of
from ..place import at_port
from .errors import of_one_node

EXPECTED = "no change of the link in the soak"


@check(
    cause="The link went down or up: a loose connector, a failing optic at either end, or a peer that restarted or reset its port.",
    fix="Read the switch's log for the time, reseat or replace cable and optics of both ends, and soak again; do the same at the peer's port.",
    fabric="roce",
    kind="switch",
)
def switch_link_flaps(link_changes: Rows, link_changes_before: Rows, pod_cables: list[NearCable]) -> t.Iterator[Finding]:
    """No planned port of a switch loses its link during the soak."""
    now, then = by_port(link_changes), by_port(link_changes_before)
    ports = [(cable, now.get(cable["port"]), then.get(cable["port"])) for cable in cables_of(pod_cables)]
    if not any(_reported(row) for _cable, *both in ports for row in both):
        raise NotApplicable("this switch does not report when or how often a link changed its state")
    yield from of_one_node((found for cable, row, before in ports for found in _of_port(cable, row, before)), len(ports))


def _reported(row: Row | None) -> bool:
    return row is not None and (row["changes"] is not None or row["since_seconds"] is not None)


def _of_port(cable: NearCable, row: Row | None, before: Row | None) -> t.Iterator[Finding]:
    port, end = cable["port"], f"{cable['peer']} {cable['peer_port']}"
    if row is None or before is None or not (_reported(row) and _reported(before)):
        yield Finding(at_port(port), EXPECTED, "not reported for this port", "unknown")
    elif row["changes"] is not None and before["changes"] is not None:
        grown = row["changes"] - before["changes"]
        if grown < 0:
            yield Finding(at_port(port), EXPECTED, "counters were reset (changes)", "unknown", cause=RESET_CAUSE, fix=RESET_FIX)
        elif grown:
            yield Finding(at_port(port), EXPECTED, f"{counted(grown, 'change')} of the link to {end}")
    elif row["since_seconds"] is None or before["since_seconds"] is None:
        yield Finding(at_port(port), EXPECTED, "reported in one of two readings only", "unknown")
    elif row["since_seconds"] < before["since_seconds"]:
        yield Finding(at_port(port), EXPECTED, f"the link to {end} changed {row['since_seconds']:g} s before the second reading")
