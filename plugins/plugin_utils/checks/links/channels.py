# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: the members of port-channels."""

from __future__ import annotations

import typing as t

from ...pod.names import by_port, port_name
from ...pod.types import NearCable
from ...readings.rows import Rows
from .. import Finding, NotApplicable, check
from ..place import Place

ELSEWHERE = "The port is a member of another port-channel than the plan's: its channel group is wrong, or the plan is."
ELSEWHERE_FIX = "Put {port} into {channel} (channel-group), or correct a_channel,b_channel of the wiring plan."
NO_MEMBER = "The port is a member of no port-channel: its channel group was removed, or never set."
NO_MEMBER_FIX = "Put {port} into {channel} (channel-group), at both ends alike."
NO_LINK = "The member has no link, so that the port-channel carries less: its cable, an optic or the port at {far} is down."
NO_LINK_FIX = "Look at port_speed of {port} and of {far}."


@check(
    cause="The port has a link, and LACP does not bundle it: the other end is in no or another port-channel, LACP is off or passive at both ends, or the "
    "two ends differ in speed, key or system.",
    fix="Compare the channel group, LACP mode and speed of both ends (show lacp neighbor), and see that both cables of the port-channel end at one switch.",
    fabric="roce",
    kind="switch",
)
def channel_members(port_channels: Rows, interface_status: Rows, pod_cables: list[NearCable], port_channels_of_peers: dict[str, Rows]) -> t.Iterator[Finding]:
    """Every port that the plan puts into a port-channel is a member of it and carries traffic."""
    cables = [cable for cable in pod_cables if cable.get("channel")]
    if not cables:
        raise NotApplicable("no port-channel of this switch is in the wiring plan")
    found = {port_name(row["member"]): row for row in port_channels}
    status = by_port(interface_status)
    for cable in cables:
        row, channel, far = found.get(port_name(cable["port"])), str(cable["channel"]), f"{cable['peer']} {cable['peer_port']}"
        where, words = Place(f"{channel} {cable['port']}", port=cable["port"], peers=(cable["peer"],)), {"port": cable["port"], "channel": channel, "far": far}
        expected = f"a member of {channel} that carries traffic (to {far})"
        if row is None:
            yield Finding(where, expected, "no member of any port-channel", cause=NO_MEMBER, fix=NO_MEMBER_FIX.format(**words))
        elif port_name(row["channel"]) != port_name(channel):
            yield Finding(where, expected, f"a member of {row['channel']}", cause=ELSEWHERE, fix=ELSEWHERE_FIX.format(**words))
        elif not row["bundled"]:
            down = status.get(cable["port"], {}).get("state") not in (None, "connected")
            cause, fix = (NO_LINK.format(**words), NO_LINK_FIX.format(**words)) if down else _at_far_end(cable, port_channels_of_peers)
            yield Finding(where, expected, f"{row['state']}", cause=cause, fix=fix)


def _at_far_end(cable: NearCable, of_peers: dict[str, Rows]) -> tuple[str | None, str | None]:
    """Cause and fix of a member with a link that is not bundled, where the far end is the one that is not as planned."""
    if cable["peer"] not in of_peers or not cable.get("peer_channel"):
        return None, None
    row = next((row for row in of_peers[cable["peer"]] if port_name(row["member"]) == port_name(cable["peer_port"])), None)
    words = {"port": f"{cable['peer_port']} of {cable['peer']}", "channel": cable["peer_channel"]}
    if row is None:
        return f"The far end, {cable['peer']} {cable['peer_port']}, is a member of no port-channel.", NO_MEMBER_FIX.format(**words)
    if port_name(row["channel"]) != port_name(str(cable["peer_channel"])):
        return f"The far end, {cable['peer']} {cable['peer_port']}, is a member of {row['channel']}.", ELSEWHERE_FIX.format(**words)
    return None, None
