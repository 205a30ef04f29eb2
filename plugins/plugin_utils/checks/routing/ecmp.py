# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the equal-cost paths to the rails of other leaves, by a route of their own, an aggregate or the default route."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ...pod.names import port_name
from ...pod.rail_ports import leaves_of
from ...pod.tiers import SUPER_SPINE
from ...pod.types import NearCable, Neighbor, PodRail
from ...readings.rows import Rows
from .. import CannotTell, Finding, NotApplicable, check
from ..place import Place
from ._overlay import EVPN, OverlayTable, underlay_table
from ._routes import HAS_NETADDR, Hop, Key, RouteTable, unused_ports
from ._vrfs import DEFAULT, session_names, sessions_in_vrf, vrf_of, vrf_of_rails
from ._withheld import Withheld, unused_routes, withheld_routes
from .sessions import ROUTED, WITH_SPINES

OFF_PLAN = "The leaf announces its other rails and not this one: its port to it is down (layer 1), or the rail's address in pod_rails is off the address plan."
OFF_PLAN_FIX = (
    "Look at the port of {leaf} to {rail} (-e pod_only={rail} judges both ends of the cable); then correct the rail's address in pod_rails and on the host "
    "(see address_plan), or announce its prefix."
)
NOT_ANNOUNCED = "{leaf} does not announce the prefix of its rails, or its announcement is filtered on the way or lost with its sessions."
NOT_ANNOUNCED_FIX = "Look at bgp_established of that leaf, then at its network statements, its rail ports and the filters of the spines."
NOT_IMPORTED = (
    "No route of EVPN to these rails is in the VRF: {leaf} does not announce its networks (type 5) or hosts (type 2) in the VRF, the route targets of the two "
    "leaves differ, its VTEP is not reached, or its VNI is not up."
)
NOT_IMPORTED_FIX = (
    "Look at vni_up and evpn_established of {leaf} and at vteps_reached of this switch; then at advertise ipv4 unicast of its VRF and at the route targets "
    "that {leaf} exports and this switch imports (show bgp l2vpn evpn)."
)
NO_WAY_UP = (
    "This switch has no route at all to the rails of other leaves: it learns neither their prefixes nor an aggregate or a default route over its uplinks "
    "(its sessions, a filter, an address family that is not activated, or its own AS in the AS path of what is announced)."
)
NO_WAY_UP_FIX = (
    "Look at bgp_established of this switch, then at what each neighbor announces to it and what it takes of that (a leaf with the AS of others needs "
    "allowas-in, or as-override of the spines); a default route over the management port is no help."
)
UNPLANNED_VRF = (
    "The sessions of this switch with the planned neighbors are in VRF {vrf}, and pod_rail_vrf is empty, so that the routes of the default VRF were read: the "
    "rails are in VRF {vrf}, or the switch is configured in another VRF than planned."
)
UNPLANNED_VRF_FIX = "Set pod_rail_vrf to {vrf} where the rails of the pod are meant to be in it; else move ports and sessions into the default VRF."
NARROW_DEFAULT = (
    "The rails are reached by the default route, and fewer neighbors announce it than there are uplinks: one does not originate it (default-originate), "
    "its session is down or filtered, maximum-paths is too small, or a static one names fewer next hops."
)
NARROW_DEFAULT_FIX = "Compare what each neighbor announces (show ip bgp neighbors ADDRESS advertised-routes) and set default-originate or maximum-paths alike."
NARROW_AGGREGATE = (
    "These rails are reached by an aggregate, and fewer neighbors announce it than there are uplinks: one lacks aggregate-address or a route that it is made "
    "of, its session is down or filtered, or maximum-paths is too small."
)
NARROW_AGGREGATE_FIX = "Compare the aggregates of the neighbors and what each announces to this switch, then its sessions and maximum-paths."
# Cause and fix of too few next hops where the routes are not BGP's.
OF_UNDERLAY = {
    "ospf": (
        "OSPF uses fewer paths than there are: maximum-paths is smaller than the number of uplinks (8 by default on NX-OS), the costs of uplinks differ, or an "
        "adjacency is down.",
        "Compare the OSPF cost of all uplinks, set maximum-paths to their number or more, and look at ospf_full of this switch and of its neighbors.",
    ),
    "static": (
        "The static routes to these rails name fewer next hops than there are uplinks, or some were taken out since their link or their track is down.",
        "Compare the static routes of this switch with those of another one, and look at the uplinks of the missing next hops.",
    ),
}
IN_OTHER_VRF = (
    "The rails of this switch are in VRF {vrf}, and its route to these is in VRF {other} alone: the session that brings it or the network that announces it is "
    "in VRF {other}, or a leak from VRF {other} (route targets, route leaking) is missing."
)
IN_OTHER_VRF_FIX = (
    "Compare the sessions of VRF {vrf} of this switch with those of VRF {other} (bgp_established), and the VRF of the ports of the far leaf (rails_in_vrf); "
    "where routes are leaked on purpose, import those of VRF {other} into VRF {vrf}."
)
NARROW_IN_VRF = (
    "VRF {other} has this route over as many next hops as are planned, and VRF {vrf}, which the rails use, over fewer: maximum-paths and multipath-relax are "
    "settings of each VRF, or a session of VRF {vrf} is missing."
)
NARROW_IN_VRF_FIX = (
    "Set maximum-paths and bestpath as-path multipath-relax in VRF {vrf} of this switch as in VRF {other}, then look at the sessions of VRF {vrf}."
)
DISCARDED = "The longest prefix that holds these rails discards packets (Null0): an aggregate or a static route of this switch, without the routes below it."
DISCARDED_FIX = "Take the discard route off this switch, or have the prefixes of the rails below it announced to it again."


@check(
    cause="maximum-paths (or its as-path relax option) is missing on the switch, or an uplink's session is down.",
    fix="Set maximum-paths to at least the number of uplinks and bestpath as-path multipath-relax, then look at the sessions of the missing next hops.",
    fabric="roce",
    required=WITH_SPINES,
    when=ROUTED,
)
def ecmp_paths(
    ecmp_routes: Rows, pod_role: str, pod_topology: str, pod_ways: dict[str, list[str]], pod_remote_rails: list[PodRail], pod_address_family: str,
    pod_neighbors: list[Neighbor], pod_underlay: str, bgp_summary: Rows | None = None, pod_rail_vrf: str = "",
    pod_cables: t.Sequence[NearCable] = (), port_vrfs: Rows | None = None, pod_overlay: str = "none",
) -> t.Iterator[Finding]:  # fmt: skip
    """Each remote rail is reached over all ports that lead to it, by its own prefix, an aggregate or the default route; of super-spines and spines too."""
    if pod_topology == "rail_only" or (pod_role != "leaf" and not pod_ways):
        raise NotApplicable("only a leaf below spines has uplinks")
    if pod_overlay == EVPN and pod_role != "leaf":
        raise NotApplicable("only leaves have routes of the overlay; vteps_reached evaluates those to its VTEPs")
    if not pod_remote_rails:
        raise CannotTell("no rail on another leaf has an address in pod_rails")
    reached = [rail for rail in pod_remote_rails if rail["leaf"] in pod_ways]
    if not reached:
        raise CannotTell("the wiring plan leads from this leaf to no other leaf with rails")
    if not HAS_NETADDR:
        raise CannotTell("the Python package netaddr is needed on the controller")
    uplinks = {port for ports in pod_ways.values() for port in ports}
    vrf = vrf_of_rails(pod_cables, port_vrfs, pod_rail_vrf) if pod_rail_vrf else ""
    of_vrf, of_others = ([row for row in ecmp_routes if not vrf or (vrf_of(row) == vrf) == own] for own in (True, False))
    routed = (pod_address_family, pod_neighbors, uplinks)
    overlay = pod_overlay == EVPN
    table = OverlayTable(of_vrf, underlay_table(ecmp_routes, *routed), *routed) if overlay else RouteTable(of_vrf, *routed)
    beside = _Beside(vrf, RouteTable(of_others, *routed), overlay) if vrf else None
    found: dict[Key, list[PodRail]] = {}
    of_leaf: dict[str, set[str]] = {}
    without: list[PodRail] = []
    for rail in reached:
        keys = table.longest(rail["address"])
        without += [] if keys else [rail]
        of_leaf.setdefault(rail["leaf"], set()).update(prefix for _vrf, prefix in keys if prefix != table.default)
        for key in keys:
            found.setdefault(key, []).append(rail)
    peers = {one["port"]: one["peer"] for one in pod_neighbors} if pod_role != "leaf" else {}
    sessions = sessions_in_vrf(bgp_summary or [], pod_neighbors, port_vrfs, pod_rail_vrf)
    of_none = (NO_WAY_UP, NO_WAY_UP_FIX) if pod_rail_vrf else _unplanned_vrf(sessions, pod_neighbors) or (NO_WAY_UP, NO_WAY_UP_FIX)
    yield from _no_routes(without, of_leaf, pod_ways, None if found or overlay else of_none, peers, beside)
    sessions = sessions if pod_underlay == "bgp" else []
    withheld = withheld_routes(sessions, pod_neighbors)
    for key, rails in found.items():
        if narrow := _narrow(table, key, rails, pod_ways, pod_neighbors, withheld, pod_underlay, beside, sessions):
            # What is behind a port of a super-spine is one scalable unit, and the others go on.
            port = next((one["port"] for one in pod_neighbors if one["peer"] in narrow.where.missing), None) if pod_role == SUPER_SPINE else None
            yield replace(narrow, where=replace(narrow.where, port=port)) if port else narrow


def _unplanned_vrf(sessions: Rows, neighbors: list[Neighbor]) -> tuple[str, str] | None:
    """Cause and fix where the sessions with the planned neighbors are in a VRF, and the plan has none."""
    names = {name for one in neighbors for name in session_names(one)}
    vrfs = {vrf_of(row) for row in sessions if port_name(row["neighbor"]) in names}
    if not vrfs or DEFAULT in vrfs:
        return None
    vrf = ", ".join(sorted(vrfs))
    return UNPLANNED_VRF.format(vrf=vrf), UNPLANNED_VRF_FIX.format(vrf=vrf)


@dataclass(frozen=True)
class _Beside:
    """The routes of the VRFs beside that of the rails: no rail takes them, and they show why its own has none."""

    vrf: str
    table: RouteTable
    overlay: bool = False

    def to(self, address: str | None) -> list[Key]:
        """The routes of other VRFs to an address that lead to rails."""
        return [key for key in self.table.longest(address) if self.table.next_hops(key)[0]]

    def wide(self, prefix: str, hops: int) -> str:
        """Another VRF that has a prefix over so many next hops; empty where none has."""
        return next((vrf or DEFAULT for vrf, its in self.table.keys if its == prefix and len(self.table.next_hops((vrf, its))[0]) == hops), "")


def _narrow(
    table: RouteTable, key: Key, rails: list[PodRail], ways: t.Mapping[str, list[str]], neighbors: list[Neighbor],
    withheld: Withheld | None, underlay: str, beside: _Beside | None = None, sessions: Rows | None = None,
) -> Finding | None:  # fmt: skip
    """The finding of a route that has another number of next hops than ports lead to its rails.

    withheld: what neighbors of the leaf keep back; beside: the routes of other VRFs, where the rails are in one; sessions: those of BGP.
    """
    wanted = dict.fromkeys(port for leaf in dict.fromkeys(leaf for rail in rails for leaf in leaves_of(rail)) for port in ways.get(leaf, ()))
    hops, shown = table.next_hops(key)
    if len(hops) == len(wanted):
        return None
    unused, missing = unused_ports(hops, wanted, neighbors)
    got = f"{len(hops)} next hop{'' if len(hops) == 1 else 's'} in the {shown}{f' of VRF {beside.vrf}' if beside else ''}{unused}"
    got += f"; {withheld.words}" if withheld else ""
    cause, fix = _why_narrow(table, key, rails, withheld, underlay)
    if cause is None:
        cause, fix = unused_routes(sessions or [], neighbors, missing) or (None, None)
    if beside and not withheld and (other := beside.wide(key[1], len(wanted))):
        got += f"; {len(wanted)} in VRF {other}"
        cause, fix = (words.format(vrf=beside.vrf, other=other) for words in (NARROW_IN_VRF, NARROW_IN_VRF_FIX))
    leaves = tuple(dict.fromkeys(rail["leaf"] for rail in rails))
    where = Place(key[1], peers=leaves if len(leaves) == 1 else (), missing=missing)
    # A neighbor that no next hop goes over may announce less than the others; what is found of it there says so.
    began_at = (missing[0], "") if len(missing) == 1 else None if cause else _alone(hops, neighbors)
    return Finding(where, f"{len(wanted)} next hops to {_whose(rails, leaves)}", got, cause=cause, fix=fix, began_at=began_at)


def _alone(hops: set[Hop], neighbors: list[Neighbor]) -> tuple[str, str] | None:
    """The one neighbor that all next hops go over, which may have a route that no other one has; None where there are several."""
    used = {port_name(interface or "") for _address, interface in hops}
    peers = {one["peer"] for one in neighbors if port_name(one["port"]) in used}
    return (peers.pop(), "") if len(peers) == 1 else None


def _whose(rails: t.Sequence[PodRail], leaves: t.Sequence[str]) -> str:
    """The rails that one route leads to, in words that stay true where the report folds findings of several routes."""
    if len(rails) == 1:
        return f"{rails[0]['host']} {rails[0]['device']}"
    return f"the rails of {leaves[0]} ({len(rails)} in each prefix)" if len(leaves) == 1 else f"{len(rails)} rails of {len(leaves)} leaves"


def _why_narrow(table: RouteTable, key: Key, rails: list[PodRail], withheld: Withheld | None, underlay: str) -> tuple[str | None, str | None]:
    """Cause and fix of a route that is too narrow, where its kind says more than the check's own."""
    if withheld:
        return withheld.cause, withheld.fix
    if table.discards(key):
        return DISCARDED, DISCARDED_FIX
    if underlay in OF_UNDERLAY:
        return OF_UNDERLAY[underlay]
    if key[1] == table.default:
        return NARROW_DEFAULT, NARROW_DEFAULT_FIX
    if len({rail["leaf"] for rail in rails}) > 1:
        return NARROW_AGGREGATE, NARROW_AGGREGATE_FIX
    return None, None


def _no_routes(
    rails: list[PodRail], of_leaf: t.Mapping[str, set[str]], ways: t.Mapping[str, list[str]], of_none: tuple[str, str] | None, below: t.Mapping[str, str],
    beside: _Beside | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Rails that no route leads to: those whose leaf's other rails are reached have an address off the plan, else the leaf announces nothing.

    of_leaf: the prefixes by which rails of each leaf are reached; of_none: cause and fix where no rail of any leaf is reached, and there are several leaves;
    below: of a spine or super-spine, the neighbor at each port; beside: the routes of other VRFs, where the rails are in one.
    """
    none = f"no route in VRF {beside.vrf}" if beside else "no route"
    elsewhere = {rail["address"]: keys for rail in rails if beside and (keys := beside.to(rail["address"]))}
    of_none = of_none if len({rail["leaf"] for rail in rails}) > 1 else None
    leaves: dict[str, list[PodRail]] = {}
    for rail in rails:
        if prefixes := of_leaf.get(rail["leaf"]):
            got = f"{none}; other rails of {rail['leaf']} are reached by {', '.join(sorted(prefixes)[:3])}"
            where = Place(f"{rail['host']} {rail['device']} ({rail['address']})", peers=(rail["host"], str(rail["address"])))
            cause, fix = OFF_PLAN, OFF_PLAN_FIX.format(leaf=rail["leaf"], rail=f"{rail['host']}:{rail.get('netdev') or rail['device']}")
            if beside and rail["address"] in elsewhere:
                cause, fix, words = _elsewhere(beside, elsewhere[rail["address"]])
                got += words
            yield Finding(where, "an address in a prefix that its leaf announces", got, cause=cause, fix=fix)
        else:
            leaves.setdefault(rail["leaf"], []).append(rail)
    for leaf, its in leaves.items():
        one = f"{its[0]['host']} {its[0]['device']} ({its[0]['address']})"
        whose = one if len(its) == 1 else f"its {len(its)} rails, such as {its[0]['address']}"
        not_announced = (NOT_IMPORTED, NOT_IMPORTED_FIX) if beside and beside.overlay else (NOT_ANNOUNCED, NOT_ANNOUNCED_FIX)
        cause, fix = of_none or not_announced
        cause, fix, words = cause.format(leaf=leaf), fix.format(leaf=leaf), ""
        if beside and (keys := [key for rail in its for key in elsewhere.get(rail["address"], ())]):
            cause, fix, words = _elsewhere(beside, keys)
        missing = tuple(dict.fromkeys(below[port] for port in ways[leaf] if port in below))
        where = Place(f"rails of {leaf}", peers=(leaf,), missing=missing, port=ways[leaf][0] if missing else None)
        # Where the spines have no route either, prefixes_announced finds it at that leaf.
        began_at = None if words or of_none else (leaf, "")
        yield Finding(where, f"{len(ways[leaf])} next hops to {whose}", none + words, cause=cause, fix=fix, began_at=began_at)


def _elsewhere(beside: _Beside, keys: list[Key]) -> tuple[str, str, str]:
    """Cause, fix and words of rails whose routes are in another VRF alone."""
    other = ", ".join(sorted({vrf or DEFAULT for vrf, _prefix in keys}))
    hops = max(len(beside.table.next_hops(key)[0]) for key in keys)
    prefixes = ", ".join(sorted({prefix for _vrf, prefix in keys})[:3])
    words = f"; VRF {other} has {prefixes} over {hops} next hop{'' if hops == 1 else 's'}"
    return IN_OTHER_VRF.format(vrf=beside.vrf, other=other), IN_OTHER_VRF_FIX.format(vrf=beside.vrf, other=other), words
