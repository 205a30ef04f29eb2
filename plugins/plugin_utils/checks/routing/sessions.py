# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the BGP sessions of a switch."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import replace

from ...pod.names import port_name
from ...pod.types import NearCable, Neighbor
from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, NotApplicable, check
from ..place import Place
from ._neighbors import planned_neighbor
from ._own_as import behind_wrong_as, own_as
from ._session_far_ends import at_far_end, unread_end
from ._session_states import not_agreed, why_closed
from ._vrfs import PortVrfs, sessions_in_vrf, vrf_of

NONE_UP = "No session of {switch} is up, and its neighbors have others that are: the fault is at {switch} (its daemon, AS, password, addresses or filters)."
NONE_UP_FIX = "Look at {switch} first: whether its BGP daemon runs, and its AS, passwords and addresses against the plan; the other ends need no change."
NO_ROUTER_ID = "0.0.0.0"
WITHOUT_ROUTER_ID = (
    "{switch} has no router ID (it reports 0.0.0.0), as where it has no address of IPv4 to take one from: its neighbors refuse each of its sessions "
    "with a bad BGP identifier."
)
WITHOUT_ROUTER_ID_FIX = "Set a router ID of its own on {switch} (bgp router-id; any 32-bit number that no other router has); the other ends need no change."
NOT_CONFIGURED = (
    "{switch} has no session to {peer} in its configuration, or has it under another address or port than the plan: the link is not looked at. Where it takes "
    "its neighbors from a range (bgp listen range), it has as many as its listen limit allows (100 in FRR), or the range or its AS leaves {peer} out."
)
NOT_CONFIGURED_FIX = (
    "Add the neighbor to the BGP configuration of {switch} (address or port, remote-as {asn}, peer group and policy as its other sessions have), or correct "
    "the address of the plan; where neighbors are dynamic raise bgp listen limit or widen the range. Then evaluate the layer again."
)
OTHER_AS = "{switch} is configured with AS {got} for {peer}, and the plan has AS {asn}: the neighbor refuses the session (bad peer AS) at each try."
OTHER_AS_FIX = "Set remote-as {asn} for {peer} on {switch}, or correct bgp_asn of {peer} in the inventory where the plan is wrong; then clear the session."
UP_WITH_OTHER_AS = (
    "The session is up, so the router at that address has AS {got}, and the plan has AS {asn} for {peer}: the plan is wrong, or another router has the address."
)
UP_WITH_OTHER_AS_FIX = "Look which router responds at that address; where it is {peer}, compare its AS with bgp_asn of {peer} in the inventory."
IN_OTHER_VRF = (
    "The port to {peer} is in VRF {vrf} of {switch}, and the session is configured in VRF {got}: over this port it never comes up, or what it learns is of no "
    "use to the rails."
)
IN_OTHER_VRF_FIX = "Move the neighbor into VRF {vrf} of {switch}, below vrf {vrf} of its BGP configuration, with its address family and policy."
PORT_IN_OTHER_VRF_FIX = "Put the port into VRF {got} of {switch}, as rails_in_vrf says; the session needs no change."
# A rail-only pod has no spines to route over.
WITH_SPINES = ("pod_topology", ("rail_optimised", "top_of_rack"))
# What only BGP shows.
BY_BGP = ("pod_underlay", ("bgp",))
# Where switches have routes to the rails of others.
ROUTED = ("pod_underlay", ("bgp", "ospf", "static"))


@check(
    cause="The link to the neighbor is down, its daemon is down, TCP port 179 is filtered, or address, AS or password differ.",
    fix="Look at the neighbor's state and last error on both ends (show ip bgp neighbors), then correct the end that differs from the plan.",
    fabric="roce",
    required=WITH_SPINES,
    when=BY_BGP,
)
def bgp_established(
    bgp_summary: Rows, pod_neighbors: list[Neighbor], pod_cables: list[NearCable], pod_node: str, bgp_summary_of_peers: Peers,
    pod_rail_vrf: str = "", port_vrfs: Rows | None = None, pod_asn: int | None = None, pod_closed_switches: t.Sequence[str] = (),
) -> t.Iterator[Finding]:  # fmt: skip
    """Every planned BGP neighbor is Established with its planned AS, in the VRF of its port where the rails are in one."""
    if not pod_neighbors and any(cable["peer_role"] != "host" for cable in pod_cables):
        # Not a skip: the other leaves of the group would pass for this one.
        raise CannotTell("bgp_asn of this switch is not in the inventory, so no neighbor is planned")
    if not pod_neighbors:
        raise NotApplicable("no cable to another switch is planned")
    yield from own_as(pod_node, pod_asn, bgp_summary, bgp_summary_of_peers)
    named: dict[str, Rows] = {}
    for row in bgp_summary:
        named.setdefault(port_name(row["neighbor"]), []).append(row)
    by_as: list[Neighbor] = []
    for one in pod_neighbors:
        if one["peer"] in pod_closed_switches:
            # It serves gate groups alone that a layer below has closed; whatever keeps the session down is judged with them.
            continue
        rows = named.get(port_name(one["port"])) or named.get(str(one["address"]))
        if rows is not None and pod_rail_vrf and port_vrfs is not None:
            vrf = PortVrfs(port_vrfs).of_session(one["port"], pod_rail_vrf)
            others, rows = rows, [row for row in rows if vrf_of(row) == vrf]
            if not rows:
                yield _in_other_vrf(pod_node, one, vrf, others, pod_rail_vrf)
                continue
        if rows is not None:
            # Of several VRFs the plan does not state which, but where the rails are in one.
            dead = _dead_end((pod_node, one["peer"]), bgp_summary_of_peers)
            unread = unread_end(one, bgp_summary, bgp_summary_of_peers)
            wrong = next((found for row in rows if (found := list(_session(pod_node, one, row)))), [])
            closed = behind_wrong_as(pod_node, pod_asn, one, bgp_summary, bgp_summary_of_peers)
            if closed is not None:
                yield from map(closed, wrong)
                continue
            closed = at_far_end(one, pod_cables, rows, bgp_summary_of_peers)
            yield from [
                finding if finding.severity == "unknown" or finding.cause else closed(finding) if closed else unread(finding) if unread
                else _blamed(finding, pod_node, dead, bgp_summary_of_peers) for finding in wrong
            ]  # fmt: skip
        elif one["address"] is not None:
            yield _not_configured(pod_node, one)
        else:
            by_as.append(one)
    claimed = {one["address"] or port_name(one["port"]) for one in pod_neighbors}
    rest = [row for row in bgp_summary if port_name(row["neighbor"]) not in claimed]
    if len(by_as) < len(pod_neighbors):
        # Where others are called by their ports, one of whose AS there is nobody else has no session on its own.
        absent = [one for one in by_as if one["asn"] is not None and all(row["asn"] != one["asn"] for row in rest)]
        yield from (_not_configured(pod_node, one) for one in absent)
        by_as = [one for one in by_as if one not in absent]
    yield from _by_as(by_as, rest)


def _dead_end(ends: tuple[str, str], of_peers: Peers) -> str:
    """The end of a session that is down of which no session is up, where the other end has some; nothing where there is no such end."""
    up = {end: any(row["state"] == "Established" for row in of_peers.get(end, ())) for end in ends}
    dead = [end for end in ends if end in of_peers and not up[end]]
    return dead[0] if len(dead) == 1 and any(up.values()) else ""


def _blamed(finding: Finding, node: str, dead: str, of_peers: Peers) -> Finding:
    """A finding of a session that is down, with the switch as its cause that has no other one; that switch's own single session says nothing of it."""
    if not dead:
        return finding
    began_at = (dead, "") if node != dead and len(of_peers[dead]) > 1 else None
    if {row.get("router_id") for row in of_peers[dead]} == {NO_ROUTER_ID}:
        cause, fix = WITHOUT_ROUTER_ID, WITHOUT_ROUTER_ID_FIX
    else:
        cause, fix = NONE_UP, NONE_UP_FIX
    return replace(finding, cause=cause.format(switch=dead), fix=fix.format(switch=dead), began_at=began_at)


def _not_configured(switch: str, planned: Neighbor) -> Finding:
    names = {"switch": switch, "peer": planned["peer"], "asn": planned["asn"]}
    cause, fix = NOT_CONFIGURED.format(**names), NOT_CONFIGURED_FIX.format(**names)
    return Finding(planned_neighbor(planned), f"Established with AS {planned['asn']}", "no such neighbor", cause=cause, fix=fix)


def _in_other_vrf(switch: str, planned: Neighbor, vrf: str, rows: Rows, of_rails: str) -> Finding:
    """A neighbor that is configured in other VRFs than that of the port which leads to it; of_rails: the VRF of the rails."""
    names = {"switch": switch, "peer": planned["peer"], "vrf": vrf, "got": ", ".join(sorted({vrf_of(row) for row in rows}))}
    got = ", ".join(sorted(f"{row['state']} with AS {row['asn']} in VRF {vrf_of(row)}" for row in rows))
    expected = f"Established with AS {planned['asn']} in VRF {vrf}, that of {planned['port']}"
    fix = PORT_IN_OTHER_VRF_FIX if names["got"] == of_rails else IN_OTHER_VRF_FIX
    return Finding(planned_neighbor(planned), expected, got, cause=IN_OTHER_VRF.format(**names), fix=fix.format(**names))


def _session(switch: str, planned: Neighbor, row: dict[str, t.Any]) -> t.Iterator[Finding]:
    if planned["asn"] is None:
        yield Finding(planned_neighbor(planned), "a planned AS (bgp_asn of the peer)", "none in the inventory", "unknown")
    elif (row["state"], row["asn"]) != ("Established", planned["asn"]):
        cause, fix = why_closed(row["state"]) or not_agreed(row["state"], planned["peer"]) or (None, None)
        if row["asn"] != planned["asn"] and row["asn"] is not None:
            # The AS that a session is configured with is a setting of this end, whatever keeps it down beside.
            names = {"switch": switch, "peer": planned["peer"], "asn": planned["asn"], "got": row["asn"]}
            own = (UP_WITH_OTHER_AS, UP_WITH_OTHER_AS_FIX) if row["state"] == "Established" else (OTHER_AS, OTHER_AS_FIX)
            cause, fix = (text.format(**names) for text in own)
        got = f"{row['state']} with AS {row['asn']}"
        yield Finding(planned_neighbor(planned), f"Established with AS {planned['asn']}", got, cause=cause, fix=fix)


def _by_as(planned: list[Neighbor], rows: Rows) -> t.Iterator[Finding]:
    """Numbered sessions whose addresses the plan does not have are counted by their AS."""
    up = Counter(row["asn"] for row in rows if row["state"] == "Established")
    for one in planned:
        if one["asn"] is None:
            yield Finding(planned_neighbor(one), "a planned AS (bgp_asn of the peer)", "none in the inventory", "unknown")
    wanted = Counter(one["asn"] for one in planned if one["asn"] is not None)
    for asn, number in wanted.items():
        down = [row for row in rows if row["asn"] == asn and row["state"] != "Established"]
        if up[asn] < number:
            # A session with an AS that no one planned is the likely missing one.
            states = _states([*down, *(row for row in rows if row["asn"] not in wanted)])
            yield Finding(Place(f"AS {asn}"), f"{number} Established neighbors", f"{up[asn]}" + (f" ({states})" if states else ""))
        elif down:
            # Others may be up in place of the planned ones, as those of an overlay are.
            reported = f"{up[asn]}, and {_states(down)}: the wiring plan has no address to decide whether it is one of them"
            yield Finding(Place(f"AS {asn}"), f"{number} Established neighbors", reported, "unknown", judged=True)


def _states(rows: Rows) -> str:
    return ", ".join(sorted(f"{row['neighbor']} {row['state']} with AS {row['asn']}" for row in rows))


# How much longer ago than the probes began a session may be that was shut while they ran.
FAILOVER_AROUND_SECONDS = 60.0
# Causes of sessions that came up a short time ago, by how many of a switch or of the pod did.
RESTARTED = (
    "All sessions of {switch} came up a short time ago: the switch, its BGP daemon or its configuration was restarted; or its processor or BGP daemon was busy "
    "for longer than the hold time (a change of policy over all peers, a soft clear), so that no peer of it got a keepalive."
)
RESTARTED_FIX = (
    "Read the log of {switch} for the time: a restart and its reason, Hold Timer Expired to all neighbors at once, a change of configuration; against that "
    "set a hold time that the daemon keeps. Where a restart was intended, evaluate the layer again once {seconds} s have passed."
)
BROUGHT_UP = "All sessions of every switch came up a short time ago: the whole pod was brought up or its routing was restarted."
BROUGHT_UP_FIX = "Where that was intended, evaluate the layer again once {seconds} s have passed; otherwise look in the switches' logs for what they share."


@check(
    cause="The session went down and came up again: its link flapped, BFD or its hold timer ended it (lost or late packets, timers that the other end does not "
    "keep, a BFD peer that is left over), or it was cleared by hand.",
    fix="Read the reason of the last reset at both ends (show ip bgp neighbors), compare the BFD peers and timers of both (show bfd peers), and the link's "
    "errors and flaps; evaluate again and see whether it is older.",
    fabric="roce",
    severity="warn",
    when=BY_BGP,
)
def bgp_settled(
    bgp_summary: Rows, bgp_summary_of_peers: Peers, pod_neighbors: list[Neighbor], pod_node: str, pod_bgp_settled_seconds: float,
    pod_failover_link: dict[str, t.Any], pod_failover_seconds: float, pod_rail_vrf: str = "", port_vrfs: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every planned BGP session has been Established for {pod_bgp_settled_seconds} s or longer."""
    ages = {
        session: age
        for session, age in _ages(sessions_in_vrf(bgp_summary, pod_neighbors, port_vrfs, pod_rail_vrf), pod_neighbors).items()
        if not _just_shut(session, age, pod_node, pod_failover_link, pod_failover_seconds)
    }
    if not ages:
        raise NotApplicable("no planned session is Established; bgp_established evaluates them")
    reported = {neighbor: seconds for neighbor, seconds in ages.items() if seconds is not None}
    if not reported:
        raise NotApplicable("this switch does not report for how long a session has been Established")
    expected = f"Established for {pod_bgp_settled_seconds:g} s or longer"
    young = {neighbor: seconds for neighbor, seconds in reported.items() if seconds < pod_bgp_settled_seconds}
    whole = {node for node, rows in {**bgp_summary_of_peers, pod_node: bgp_summary}.items() if _all_young(rows, pod_bgp_settled_seconds)}
    if len(whole) > 1 and whole >= set(bgp_summary_of_peers):
        cause, fix = BROUGHT_UP, BROUGHT_UP_FIX.format(seconds=f"{pod_bgp_settled_seconds:g}")
        yield Finding(Place("all sessions"), expected, f"established {_range(young.values())} ago", cause=cause, fix=fix)
    elif len(young) > 1 and pod_node in whole:
        cause, fix = _restarted(pod_node, pod_bgp_settled_seconds)
        yield Finding(Place("all sessions"), expected, f"established {_range(young.values())} ago", cause=cause, fix=fix)
    else:
        for (where, peer), seconds in young.items():
            of_peer = _restarted(peer, pod_bgp_settled_seconds) if peer in whole else (None, None)
            began_at = (peer, "") if peer in whole and len(bgp_summary_of_peers[peer]) > 1 else None
            yield Finding(where, expected, f"established {seconds:g} s ago", cause=of_peer[0], fix=of_peer[1], began_at=began_at)
    for where, _peer in ages.keys() - reported.keys():
        yield Finding(where, expected, "not reported", "unknown")


def _ages(rows: Rows, neighbors: list[Neighbor]) -> dict[tuple[Place, str], float | None]:
    """For how many seconds each planned session has been Established, by its place and peer; None where that is not reported."""
    up = {port_name(row["neighbor"]): row for row in rows if row["state"] == "Established"}
    ages: dict[tuple[Place, str], float | None] = {}
    for one in neighbors:
        row = up.pop(port_name(one["port"]), None) or up.pop(str(one["address"]), None)
        if row is not None:
            ages[planned_neighbor(one), one["peer"]] = row["up_seconds"]
    # The plan lacks the addresses of these: they are recognised by their AS.
    unnamed = {one["asn"] for one in neighbors if one["address"] is None}
    return ages | {(Place(f"{name} (AS {row['asn']})", peers=(name,)), ""): row["up_seconds"] for name, row in up.items() if row["asn"] in unnamed}


def _just_shut(session: tuple[Place, str], age: float | None, node: str, link: dict[str, t.Any], seconds: float) -> bool:
    """Whether a session is as young as it must be after its link was shut on purpose in this run; restored_after_failure evaluates it."""
    own = {(link["leaf"], link["port"]), (link["spine"], link["spine_port"])} if link else set()
    return (node, session[0].port) in own and age is not None and age < seconds + FAILOVER_AROUND_SECONDS


def _all_young(rows: Rows, seconds: float) -> bool:
    """Whether a switch has Established sessions, and all of them are young."""
    ages = [row["up_seconds"] for row in rows if row["state"] == "Established"]
    return bool(ages) and all(age is not None and age < seconds for age in ages)


def _restarted(switch: str, seconds: float) -> tuple[str, str]:
    return RESTARTED.format(switch=switch), RESTARTED_FIX.format(switch=switch, seconds=f"{seconds:g}")


def _range(ages: t.Collection[float]) -> str:
    low, high = min(ages), max(ages)
    return f"{low:g} s" if low == high else f"{low:g} to {high:g} s"
