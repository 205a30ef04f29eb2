# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged frames that a cut-through switch passes on: it has sent most of a frame when it finds it damaged, so that all ports on the way count it."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace

from ...pod.names import port_name
from ...pod.types import NearCable
from ...readings.rows import Peers, Row
from .. import Finding
from .._once import once_for_all_nodes

# By node and port how many frames arrived damaged in the soak.
Damaged = t.Mapping[str, t.Mapping[str, int]]
MARKED = "stomped_crc"
# What happens on the link itself, and is never passed on.
OF_THE_LINK = ("symbol_errors", "alignment_errors")
FROM_THE_NUMBER = re.compile(r"[0-9].*")
PASSED_ON = (
    "{peer} received {received} damaged frames on other ports meanwhile, most of them on {port}, and no more than these were counted here: a cut-through "
    "switch passes them on, so that it is not known whether this link damages frames itself."
)
PASSED_ON_FIX = "Mend the link of {peer} {port} first and soak again; leave this cable until errors are counted here alone."
CAME_MARKED = "The frames were marked as damaged (stomped) by {peer} or a switch before it: this cable is not at fault."
CAME_MARKED_FIX = "Follow the damaged frames from {peer} towards the senders to the first port that counts CRC errors without the mark, and mend its link."


def frames_damaged(now: Row, before: Row) -> int | None:
    """How many frames arrived damaged between two readings of a port; None where that is not reported, or a counter was reset."""
    # SONiC has one counter of received errors, which holds the CRC errors.
    columns = ["fcs_errors" if now["fcs_errors"] is not None else "rx_errors", *([MARKED] if now[MARKED] is not None else [])]
    if any(now[column] is None or before[column] is None or now[column] < before[column] for column in columns):
        return None
    return sum(int(now[column] - before[column]) for column in columns)


@once_for_all_nodes
def damaged_by_port(errors_of_peers: Peers, errors_before_of_peers: Peers) -> Damaged:
    """The ports of all nodes that received damaged frames in the soak."""
    found: dict[str, dict[str, int]] = {}
    for node, rows in errors_of_peers.items():
        then = {row["port"]: row for row in errors_before_of_peers.get(node, ())}
        grown = {port_name(row["port"]): frames_damaged(row, then[row["port"]]) for row in rows if row["port"] in then}
        found[node] = {port: number for port, number in grown.items() if number}
    return found


def came_damaged(finding: Finding, cable: NearCable, now: Row, before: Row, damaged: Damaged) -> Finding:
    """A finding of a port's CRC errors as it is, or of frames that the switch at the other end passed on.

    They are that where they came with its mark, or where that switch received as many on its other ports. What has no mark is unknown: the switch may have
    dropped what it received. now, before: the port's own rows.
    """
    own = frames_damaged(now, before)
    if finding.severity is not None or not own or cable["peer_role"] == "host" or has_grown(OF_THE_LINK, now, before):
        return finding
    others = _on_other_ports(damaged.get(cable["peer"], {}), port_name(cable["peer_port"]))
    most = max(others, key=lambda port: others[port], default="")
    words = {"peer": cable["peer"], "port": most, "received": sum(others.values())}
    if has_grown((MARKED,), now, before) and not has_grown(("fcs_errors",), now, before):
        return replace(
            finding, cause=CAME_MARKED.format(**words), fix=CAME_MARKED_FIX.format(**words), began_at=(cable["peer"], most) if most else None
        )  # fmt: skip
    if own > sum(others.values()):
        return finding
    return replace(
        finding, severity="unknown", judged=True, cause=PASSED_ON.format(**words), fix=PASSED_ON_FIX.format(**words), began_at=(cable["peer"], most)
    )  # fmt: skip


def _on_other_ports(damaged: t.Mapping[str, int], port: str) -> dict[str, int]:
    """Those of ports of the same kind: a port-channel counts again what its members count."""
    kind = FROM_THE_NUMBER.sub("", port)
    return {other: number for other, number in damaged.items() if other != port and FROM_THE_NUMBER.sub("", other) == kind}


def has_grown(columns: t.Iterable[str], now: Row, before: Row) -> bool:
    """Whether a port counted more of one of some columns than before; one that is not reported has not grown."""
    return any(now[column] is not None and before[column] is not None and now[column] > before[column] for column in columns)
