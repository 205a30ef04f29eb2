# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a BGP session that is down is at fault at its other end, by what that end tells of it, or does not."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.names import port_name
from ...pod.types import NearCable, Neighbor
from ...readings.rows import Peers, Rows
from .. import Finding
from ._session_states import why_closed

UNREAD = (
    "{switch} did not tell of its own sessions, and of its neighbors that did none has one with it that is up: the fault is at {switch}, whose routing does "
    "not run."
)
UNREAD_FIX = "Mend what is found of {switch} in this check first; the other ends need no change."
CLOSED_AT_FAR_END = "{peer} keeps its end of the session at {port} closed, as the state there says; this end tries to connect and needs no change."
CLOSED_AT_FAR_END_FIX = "Mend what is found of this session at {peer}."
ABSENT_AT_FAR_END = (
    "{peer} told of its sessions and has none at {port} and none with the AS of this end, which tries to connect: it is not configured there, or {peer} takes "
    "sessions of a range and did not take this one (limit, password, filter)."
)


def at_far_end(planned: Neighbor, cables: list[NearCable], own: Rows, of_peers: Peers) -> t.Callable[[Finding], Finding] | None:
    """What blames the other end of a session of which that end says that it keeps it closed, or has none at all; None where it does not say so.

    That end calls it by its port or has it with this switch's AS; of several with this AS all that are down must be kept closed.
    """
    peer = planned["peer"]
    port = next((cable.get("peer_channel") or cable["peer_port"] for cable in cables if planned["port"] in (cable["port"], cable.get("channel"))), "")
    local = {row.get("local_asn") for row in own} - {None}
    theirs = [row for row in of_peers.get(peer, ()) if port and port_name(row["neighbor"]) == port_name(port)]
    theirs = theirs or [row for row in of_peers.get(peer, ()) if row["asn"] in local]
    closed = [why_closed(row["state"]) for row in theirs if row["state"] != "Established"]
    # An AS that no neighbor expects is this end's own fault.
    absent = bool(of_peers.get(peer)) and not theirs and any(row["asn"] in local for rows in of_peers.values() for row in rows)
    if not port or why_closed(own[0]["state"]) or not (absent or (closed and None not in closed)):
        return None
    cause = ABSENT_AT_FAR_END if absent else CLOSED_AT_FAR_END
    words = cause.format(peer=peer, port=port), CLOSED_AT_FAR_END_FIX.format(peer=peer)
    return lambda finding: replace(finding, cause=words[0], fix=words[1], began_at=(peer, port))


def unread_end(planned: Neighbor, own: Rows, of_peers: Peers) -> t.Callable[[Finding], Finding] | None:
    """What blames the other end where it told nothing of its sessions, no switch has one with its AS that is up, and this one has others; else None."""
    peer = planned["peer"]
    told = [row for rows in (own, *of_peers.values()) for row in rows if row["state"] == "Established"]
    if peer in of_peers or not of_peers or planned["asn"] in {None, *(row["asn"] for row in told)} or all(row["state"] != "Established" for row in own):
        return None
    words = UNREAD.format(switch=peer), UNREAD_FIX.format(switch=peer)
    return lambda finding: replace(finding, cause=words[0], fix=words[1], began_at=(peer, ""))
