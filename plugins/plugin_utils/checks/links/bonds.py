# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: the members of a host's bonds."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import node_name
from ...pod.rail_ports import members_of
from ...pod.types import NearCable, Rail
from ...readings.rows import Rows
from .. import Finding, NotApplicable, check
from .._grouping import grouped, planned_rails
from .._planned import in_plane
from ..place import Place, at_port

LACP = "802.3ad"
# What spreads the flows between two hosts over the members, since they differ in their ports alone.
BY_FLOW = ("layer3+4", "encap3+4")
NOBODY = "00:00:00:00:00:00"
# Bits of a port's state in LACP: in step with the partner, collecting and distributing.
CARRIES = 0x08 | 0x10 | 0x20
CHURNED = "churned"
MODE = "The bond was made in another mode: {mode} does not speak LACP, so that {effect}."
ONE_PORT = ("active-backup",)
MODE_FIX = "Set the bond's mode to 802.3ad (netplan, nmcli or ifcfg, persistently) and bring it down and up; see that the leaves' ports are in port-channels."
HASH = "The bond chooses the member of a packet by {policy}, which is alike for all flows between two hosts: these use one member, the others are idle."
HASH_FIX = "Set xmit_hash_policy of {bond} to layer3+4, persistently."
NO_LINK = "The member has no link: its cable, an optic, the NIC's port or the port at {far} is down."
NO_LINK_FIX = "Look at port_speed of {port} and of {far}."
NO_PARTNER = (
    "No LACP partner responds to this member: the port at {far} is in no port-channel, its LACP is off, or the port is in another VLAN or fallback mode."
)
NO_PARTNER_FIX = "Put the port at {far} into its port-channel with LACP active, as the plan's b_channel says, and read its LACP neighbor."
OTHER_PARTNER = (
    "The leaves at which the members of the bond end say that they are different LACP systems, and a bond uses one of them alone: the port at {far} is "
    "another pair's, or its pair (MLAG, ESI) does not share a system and a key."
)
OTHER_PARTNER_FIX = "Compare the LACP system and key of the port-channel at {far} with those of the other member's leaf (MLAG domain, ESI and lacp system-id)."
APART = "LACP has put the member into an aggregator of its own: its speed, key or partner differs from the other members'."
APART_FIX = "Compare speed, and the LACP system and key of the port-channel at {far}, with those of the other members."
OTHER_SPEED = "LACP bundles members of one speed alone: {port} runs at {own:g} Gb/s, and the members that the bond uses at {others:g}."
OTHER_SPEED_FIX = "Look at port_speed of {port} and of {far}, and set speed and lanes as on the other members."
ONE_LEAF = (
    "The members of the bond end at one leaf, and the plan leads them to several: the rail is lost with that leaf, and its ports carry the traffic of two. "
    "A cable is in a port of the wrong leaf."
)
ONE_LEAF_FIX = "Move the cable of {port} to {far}; where both are meant to end at one leaf, write so in the wiring plan."
STRANGER = "A port was added to the bond that the plan does not have in it."
STRANGER_FIX = "Take {port} out of {bond}, or name it as a member in pod_rails and its cable in the wiring plan."
MISSING = "The port was taken out of the bond, never put into it, or renamed; its NIC may be missing."
MISSING_FIX = "Put {port} into {bond}, persistently (ip link set {port} master {bond} for now)."


@check(
    cause="LACP does not bundle the member: the leaf's port is in no or another port-channel, LACP is off, or the members end at leaves that are no pair.",
    fix="Compare /proc/net/bonding of the bond with the LACP neighbors of the leaves at which its members end.",
    fabric="roce",
    kind="host",
)
def bond_members(bonds: Rows, pod_rails: list[Rail], pod_cables: list[NearCable], lldp_neighbors: Rows | None = None) -> t.Iterator[Finding]:
    """Every bond of a rail is by LACP, spreads flows, has its planned members and no other, each to its own leaf, and each carries traffic."""
    rails = [rail for rail in planned_rails(pod_rails) if members_of(rail)]
    if not rails:
        raise NotApplicable("no rail of this host is a bond by pod_rails")
    reported, cables = grouped(bonds, "bond"), {cable["port"]: cable for cable in pod_cables}
    for rail in rails:
        rows = reported.get(rail["netdev"], [])
        found = {row["member"]: row for row in rows}
        if rows and rows[0]["mode"] != LACP:
            yield _other_mode(rail["netdev"], rows[0]["mode"])
            rows = []
        elif rows:
            yield from _hash(rail["netdev"], rows[0]["hash_policy"])
        active = _active(rows)
        ends = [_End(rail["netdev"], member, cables.get(member)) for member in members_of(rail)]
        yield from _on_one_leaf(ends, lldp_neighbors or [])
        for end in ends:
            member = end.port
            row = found.get(member)
            if row is None:
                yield end.finding("no member of it", cause=MISSING, fix=MISSING_FIX)
            elif row["state"] != "up":
                yield end.finding(f"link {row['state']}", cause=NO_LINK, fix=NO_LINK_FIX)
            elif rows:
                yield from _bundled(end, row, active, rows)
        for stranger in sorted(found.keys() - set(members_of(rail))):
            end = _End(rail["netdev"], stranger, None)
            yield Finding(end.where, f"{', '.join(members_of(rail))} and no other member", "a member of it", cause=STRANGER, fix=end.filled(STRANGER_FIX))


class _End(t.NamedTuple):
    """A member of a bond and its planned cable."""

    bond: str
    port: str
    cable: NearCable | None

    @property
    def where(self) -> Place:
        """Its place."""
        return Place(f"{self.bond} {self.port}", port=self.port, peers=(self.cable["peer"],) if self.cable else ())

    @property
    def far(self) -> str:
        """The leaf's port."""
        return f"{self.cable['peer']} {self.cable['peer_port']}{in_plane(self.cable)}" if self.cable else "its leaf"

    def filled(self, text: str) -> str:
        """A cause or fix with the names of this member."""
        return text.format(bond=self.bond, port=self.port, far=self.far)

    def finding(self, actual: str, severity: str | None = None, *, cause: str | None = None, fix: str | None = None) -> Finding:
        """What is found in place of a member that carries traffic."""
        expected = f"a member of {self.bond} that carries traffic (to {self.far})"
        return Finding(self.where, expected, actual, severity, cause=self.filled(cause) if cause else None, fix=self.filled(fix) if fix else None)


def _other_mode(bond: str, mode: str) -> Finding:
    effect = "one member alone carries traffic" if mode in ONE_PORT else "leaves and host do not agree on its members"
    return Finding(at_port(bond, "mode"), LACP, mode, cause=MODE.format(mode=mode, effect=effect), fix=MODE_FIX)


def _hash(bond: str, policy: str | None) -> t.Iterator[Finding]:
    where, expected = at_port(bond, "hash policy"), BY_FLOW[0]
    if policy is None:
        yield Finding(where, expected, "not reported", "unknown")
    elif policy not in BY_FLOW:
        yield Finding(where, expected, policy, cause=HASH.format(policy=policy), fix=HASH_FIX.format(bond=bond))


def _active(rows: Rows) -> int | None:
    """The aggregator that the bond uses: the kernel's word, or that of most members which are up; None where neither tells."""
    told = next((row["active_aggregator"] for row in rows if row["active_aggregator"] is not None), None)
    if told is not None:
        return int(told)
    most = Counter(row["aggregator"] for row in rows if row["state"] == "up" and row["aggregator"] is not None).most_common(2)
    return int(most[0][0]) if len(most) == 1 or (most and most[0][1] > most[1][1]) else None


def _on_one_leaf(ends: list[_End], heard: Rows) -> t.Iterator[Finding]:
    """Members that hear the leaf of another member, where the plan has another one for them."""
    leaf_of = {row["port"]: node_name(row["neighbor"]) for row in heard}
    for end in ends:
        leaf, planned = leaf_of.get(end.port), node_name(end.cable["peer"]) if end.cable else None
        others = [one.port for one in ends if one != end and one.cable and node_name(one.cable["peer"]) == leaf == leaf_of.get(one.port)]
        if leaf is not None and planned not in (None, leaf) and others:
            yield end.finding(f"at {leaf}, as {', '.join(others)} is", cause=ONE_LEAF, fix=ONE_LEAF_FIX)


def _speeds(row: dict[str, t.Any], rows: Rows, active: int | None) -> tuple[float, float] | None:
    """The speed of a member and that of those in the aggregator that the bond uses, in Gb/s; None where they do not differ or are not reported."""
    used = {one["mbit_s"] for one in rows if one["aggregator"] == active}
    if row["mbit_s"] is None or len(used) != 1 or None in used or row["mbit_s"] in used:
        return None
    return row["mbit_s"] / 1000, used.pop() / 1000


def _bundled(end: _End, row: dict[str, t.Any], active: int | None, rows: Rows) -> t.Iterator[Finding]:
    """What LACP says of a member that has a link."""
    if row["partner_system"] == NOBODY:
        yield end.finding("no LACP partner", cause=NO_PARTNER, fix=NO_PARTNER_FIX)
    elif row["aggregator"] is None or active is None:
        known = f"its aggregator is {row['aggregator']}, and which one the bond uses is not" if row["aggregator"] is not None else "its aggregator is not"
        yield end.finding(f"{known} reported", "unknown")
    elif row["aggregator"] != active:
        other = row["partner_system"] is not None and row["partner"] not in (None, row["partner_system"])
        cause, fix = (OTHER_PARTNER, OTHER_PARTNER_FIX) if other else (APART, APART_FIX)
        if not other and (speeds := _speeds(row, rows, active)):
            cause, fix = OTHER_SPEED.format(port=end.port, own=speeds[0], others=speeds[1]), OTHER_SPEED_FIX
        partner = f", with the LACP system {row['partner_system']} and not {row['partner']}" if other else ""
        yield end.finding(f"in aggregator {row['aggregator']}, and {end.bond} uses {active}{partner}", cause=cause, fix=fix)
    elif None in (row["partner_system"], row["actor_state"], row["partner_state"]):
        yield end.finding("LACP's partner and state are told to root only, and are not reported", "unknown")
    elif idle := [side for side in ("actor", "partner") if row[f"{side}_state"] & CARRIES != CARRIES]:
        # Whether for a minute and longer; a kernel may call a port churned that has long been in step, so that this word alone is no finding.
        lasting = ", for over a minute (churned)" if CHURNED in (row["actor_churn"], row["partner_churn"]) else ""
        states = " and ".join(f"{side} state {row[f'{side}_state']}" for side in idle)
        yield end.finding(f"not in step, collecting and distributing ({states}){lasting}")
