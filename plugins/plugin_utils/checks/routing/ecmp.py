# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the equal-cost paths to the rails of other leaves, by a route of their own, an aggregate or the default route."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.names import Rows, port_name
from ...pod.rail_ports import leaves_of
from ...pod.tiers import SUPER_SPINE
from ...pod.types import Neighbor, PodRail
from .. import CannotTell, Finding, NotApplicable, check
from ..place import Place
from ._routes import HAS_NETADDR, Hop, Key, RouteTable
from ._withheld import Withheld, withheld_routes
from .sessions import ROUTED, WITH_SPINES

OFF_PLAN = "The leaf announces its other rails and not this one: its port to it is down (layer 1), or the rail's address in pod_rails is off the address plan."
OFF_PLAN_FIX = "Look at the leaf's port to this rail; then correct the rail's address in pod_rails and on the host (see address_plan), or announce its prefix."
NOT_ANNOUNCED = "{leaf} does not announce the prefix of its rails, or its announcement is filtered on the way or lost with its sessions."
NOT_ANNOUNCED_FIX = "Look at bgp_established of that leaf, then at its network statements, its rail ports and the filters of the spines."
NO_WAY_UP = (
    "This switch has no route at all to the rails of other leaves: it learns neither their prefixes nor an aggregate or a default route over its uplinks "
    "(its sessions, a filter, an address family that is not activated, or its own AS in the AS path of what is announced)."
)
NO_WAY_UP_FIX = (
    "Look at bgp_established of this switch, then at what each neighbor announces to it and what it takes of that (a leaf with the AS of others needs "
    "allowas-in, or as-override of the spines); a default route over the management port is no help."
)
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
    pod_neighbors: list[Neighbor], pod_underlay: str, bgp_summary: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each remote rail is reached over all ports that lead to it, by its own prefix, an aggregate or the default route; of super-spines and spines too."""
    if pod_topology == "rail_only" or (pod_role != "leaf" and not pod_ways):
        raise NotApplicable("only a leaf below spines has uplinks")
    if not pod_remote_rails:
        raise CannotTell("no rail on another leaf has an address in pod_rails")
    reached = [rail for rail in pod_remote_rails if rail["leaf"] in pod_ways]
    if not reached:
        raise CannotTell("the wiring plan leads from this leaf to no other leaf with rails")
    if not HAS_NETADDR:
        raise CannotTell("the Python package netaddr is needed on the controller")
    table = RouteTable(ecmp_routes, pod_address_family, pod_neighbors, {port for ports in pod_ways.values() for port in ports})
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
    yield from _no_routes(without, of_leaf, pod_ways, (NO_WAY_UP, NO_WAY_UP_FIX) if not found else None, peers)
    withheld = withheld_routes(bgp_summary or [], pod_neighbors) if pod_underlay == "bgp" else None
    for key, rails in found.items():
        if narrow := _narrow(table, key, rails, pod_ways, pod_neighbors, withheld, pod_underlay):
            # What is behind a port of a super-spine is one scalable unit, and the others go on.
            port = next((one["port"] for one in pod_neighbors if one["peer"] in narrow.where.missing), None) if pod_role == SUPER_SPINE else None
            yield replace(narrow, where=replace(narrow.where, port=port)) if port else narrow


def _narrow(
    table: RouteTable, key: Key, rails: list[PodRail], ways: t.Mapping[str, list[str]], neighbors: list[Neighbor],
    withheld: Withheld | None, underlay: str,
) -> Finding | None:  # fmt: skip
    """The finding of a route that has another number of next hops than ports lead to its rails.

    withheld: what neighbors of the leaf keep back.
    """
    wanted = dict.fromkeys(port for leaf in dict.fromkeys(leaf for rail in rails for leaf in leaves_of(rail)) for port in ways.get(leaf, ()))
    hops, shown = table.next_hops(key)
    if len(hops) == len(wanted):
        return None
    unused, missing = _unused(hops, wanted, neighbors)
    got = f"{len(hops)} next hop{'' if len(hops) == 1 else 's'} in the {shown}{unused}"
    got += f"; {withheld.words}" if withheld else ""
    cause, fix = _why_narrow(table, key, rails, withheld, underlay)
    leaves = tuple(dict.fromkeys(rail["leaf"] for rail in rails))
    where = Place(key[1], peers=leaves if len(leaves) == 1 else (), missing=missing)
    return Finding(where, f"{len(wanted)} next hops to {_whose(rails, leaves)}", got, cause=cause, fix=fix)


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


def _unused(hops: set[Hop], wanted: t.Iterable[str], neighbors: list[Neighbor]) -> tuple[str, tuple[str, ...]]:
    """The ports that lead to the rails and that no next hop goes over, in words, and the neighbors at them.

    Nothing where a next hop goes over an interface that is none of them.
    """
    used = {port_name(interface or "") for _address, interface in hops}
    ports = {port_name(port): port for port in wanted}
    if not used or not used <= set(ports):
        return "", ()
    peers = {one["port"]: one["peer"] for one in neighbors}
    unused = [port for name, port in ports.items() if name not in used]
    names = [f"{port} (to {peers[port]})" if port in peers else port for port in unused]
    words = f", none over {', '.join(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "") if names else ""
    return words, tuple(dict.fromkeys(peers[port] for port in unused if port in peers))


def _no_routes(
    rails: list[PodRail], of_leaf: t.Mapping[str, set[str]], ways: t.Mapping[str, list[str]], of_none: tuple[str, str] | None, below: t.Mapping[str, str]
) -> t.Iterator[Finding]:  # fmt: skip
    """Rails that no route leads to: those whose leaf's other rails are reached have an address off the plan, else the leaf announces nothing.

    of_leaf: the prefixes by which rails of each leaf are reached; of_none: cause and fix where no rail of any leaf is reached, and there are several leaves;
    below: of a spine or super-spine, the neighbor at each port.
    """
    of_none = of_none if len({rail["leaf"] for rail in rails}) > 1 else None
    leaves: dict[str, list[PodRail]] = {}
    for rail in rails:
        if prefixes := of_leaf.get(rail["leaf"]):
            got = f"no route; other rails of {rail['leaf']} are reached by {', '.join(sorted(prefixes)[:3])}"
            where = Place(f"{rail['host']} {rail['device']} ({rail['address']})", peers=(rail["host"], str(rail["address"])))
            yield Finding(where, "an address in a prefix that its leaf announces", got, cause=OFF_PLAN, fix=OFF_PLAN_FIX)
        else:
            leaves.setdefault(rail["leaf"], []).append(rail)
    for leaf, its in leaves.items():
        one = f"{its[0]['host']} {its[0]['device']} ({its[0]['address']})"
        whose = one if len(its) == 1 else f"its {len(its)} rails, such as {its[0]['address']}"
        cause, fix = of_none or (NOT_ANNOUNCED.format(leaf=leaf), NOT_ANNOUNCED_FIX)
        missing = tuple(dict.fromkeys(below[port] for port in ways[leaf] if port in below))
        where = Place(f"rails of {leaf}", peers=(leaf,), missing=missing, port=ways[leaf][0] if missing else None)
        yield Finding(where, f"{len(ways[leaf])} next hops to {whose}", "no route", cause=cause, fix=fix)
