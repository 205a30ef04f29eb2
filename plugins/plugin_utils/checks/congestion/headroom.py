# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3, congestion: the headroom of the lossless class against the length of the cables."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name
from ...pod.types import NearCable
from ...readings.rows import Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._planned import cables_of
from ..place import at_port


@check(
    cause="The headroom is calculated for a shorter cable: packets in flight after the pause frame overflow the headroom buffer and are dropped under "
    "congestion.",
    fix="Set the length of the cable at this port (SONiC: CABLE_LENGTH, Cumulus: nv set qos roce cable-length), so that its headroom is calculated anew.",
    fabric="roce",
    kind="switch",
    severity="warn",
    when=("pod_pfc", True),
)
def headroom_covers_cables(headroom_lengths: Rows, pod_cables: list[NearCable]) -> t.Iterator[Finding]:
    """The headroom of the lossless class at every port is for a cable at least as long as the planned one."""
    if len(headroom_lengths) > 1 and any(row["port"] is None for row in headroom_lengths):
        raise CannotTell("which port a length of cable is of: not reported")
    of_all = next((row["length_m"] for row in headroom_lengths if row["port"] is None), None)
    by_port = {port_name(row["port"]): row["length_m"] for row in headroom_lengths if row["port"] is not None}
    planned = [cable for cable in cables_of(pod_cables) if cable["length_m"]]
    if not planned:
        raise NotApplicable("the wiring plan has no length of any cable of this switch")
    for cable in planned:
        length = by_port.get(port_name(cable["port"]), of_all)
        expected = f"headroom for {cable['length_m']:g} m or more"
        if length is None:
            yield Finding(at_port(cable["port"]), expected, "not reported for this port", "unknown")
        elif length < cable["length_m"]:
            yield Finding(at_port(cable["port"]), expected, f"for {length:g} m")
