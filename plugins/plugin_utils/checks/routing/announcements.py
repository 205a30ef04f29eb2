# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: which switch announces the prefixes of rails, by the routes of the spines: what all leaves see is a finding of the one it comes from."""

from __future__ import annotations

import functools
import typing as t

from ...pod.addressing import DEFAULT_ROUTES
from ...pod.names import port_name
from ...pod.rail_ports import leaves_of
from ...pod.types import NearCable, PodRail, TierCable
from ...readings.rows import Rows
from ...text.counting import some_nodes
from .. import CannotTell, Finding, NotApplicable, check
from .._once import once_for_all_nodes
from ..place import Place
from ._announced_less import announced_less
from ._overlay import EVPN
from ._routes import HAS_NETADDR, Key, RouteTable, holds
from ._vrfs import vrf_of

HELD_BACK = (
    "{leaf} does not announce the prefix of its rails: no switch above it has a route to them over its port, though others have routes. A network statement, "
    "the redistribution of connected routes or its VLAN's interface is missing, or a filter of its announcements (route map, prefix or filter list) "
    "holds it back."
)
HELD_BACK_FIX = (
    "Look on {leaf} whether the prefix is in its own table, then at what it announces (show ip bgp neighbors ADDRESS advertised-routes) and at the filters out "
    "of {leaf} and in at the spines; the other leaves need no change."
)
ATTRACTED = (
    "{leaf} announces a prefix that holds rails of {other}: a longer prefix than that of {other}, or the same one, takes their traffic to {leaf}. It comes "
    "from a static route, an address on a wrong interface, or a redistribution without a filter."
)
ATTRACTED_FIX = (
    "Take the prefix off {leaf} (static routes, interface addresses, redistribute without a route map), and filter at the spines what each leaf may announce."
)
LEFT_OVER = (
    "{spine} has a longer prefix to these rails that no other spine has, and announces it: every leaf takes this spine alone for them. It is a static route, "
    "a route that was not withdrawn, or what a filter of the other spines holds back."
)
LEFT_OVER_FIX = (
    "Look where {spine} has the longer prefix from (show ip bgp PREFIX); take out the static route, or clear the session that brought it "
    "(clear ip bgp ADDRESS soft); where the leaf announces it on purpose, correct the filters of the other spines."
)
# By its port, the prefixes whose next hops a switch has there.
Ports = t.Mapping[str, t.AbstractSet[Key]]
Tables = t.Mapping[str, tuple[RouteTable, Ports]]
# A prefix that fewer than so many others of the same role lack is no leftover.
OTHERS_MIN = 2


@check(
    cause="A leaf announces not the prefixes of its rails, or those of another leaf, or a spine passes on one that the other spines do not have, or fewer.",
    fix="Compare the announcements of the switch named with those of another one of its role.",
    kind="switch",
    fabric="roce",
    when=("pod_underlay", ("bgp", "ospf")),
)
def prefixes_announced(
    ecmp_routes_of_peers: dict[str, Rows], pod_node: str, pod_role: str, pod_cables: list[NearCable], pod_leaf_rails: list[PodRail],
    pod_remote_rails: list[PodRail], pod_same_role: list[str], pod_address_family: str, pod_rail_vrf: str = "", pod_overlay: str = "none",
    pod_tier_cables: t.Sequence[TierCable] = (), bgp_summary_of_peers: dict[str, Rows] | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each leaf announces the prefixes of its rails and of no other leaf's, and each spine has and announces the prefixes that the other spines have."""
    if pod_overlay == EVPN:
        raise NotApplicable("spines have no routes of the overlay; vteps_reached evaluates those to its VTEPs")
    if not HAS_NETADDR:
        raise CannotTell("the Python package netaddr is needed on the controller")
    tables = _kept_tables(pod_address_family, pod_rail_vrf)(ecmp_routes_of_peers)
    if pod_role == "leaf":
        yield from _of_leaf(pod_node, {name: its for name, its in _ports_above(pod_cables).items() if name in tables}, tables, pod_leaf_rails, pod_remote_rails)
    else:
        sessions, default = bgp_summary_of_peers or {}, DEFAULT_ROUTES[pod_address_family]
        yield from announced_less(pod_node, pod_tier_cables, pod_same_role, sessions, ecmp_routes_of_peers, default)
        yield from _of_spine(pod_node, pod_cables, tables, pod_same_role)


@functools.lru_cache(maxsize=4)
def _kept_tables(family: str, vrf: str) -> t.Callable[[t.Mapping[str, Rows]], Tables]:
    return once_for_all_nodes(functools.partial(_tables, family, vrf))


def _tables(family: str, vrf: str, of_peers: t.Mapping[str, Rows]) -> Tables:
    """The routes of every switch, and by port the prefixes that lead over it; of one VRF where it is named."""
    found: dict[str, tuple[RouteTable, Ports]] = {}
    for node, rows in of_peers.items():
        table = RouteTable([row for row in rows if not vrf or vrf_of(row) == vrf], family, [], ())
        ports: dict[str, set[Key]] = {}
        for key in table.keys:
            for _address, interface in table.next_hops(key)[0] if key[1] != table.default else ():
                ports.setdefault(port_name((interface or "").partition(".")[0]), set()).add(key)
        found[node] = table, ports
    return found


def _ports_above(cables: t.Iterable[NearCable]) -> dict[str, set[str]]:
    """By switch above a leaf its ports to the leaf."""
    found: dict[str, set[str]] = {}
    for cable in cables:
        if cable["peer_role"] not in ("host", "leaf"):
            found.setdefault(cable["peer"], set()).add(port_name(cable.get("peer_channel") or cable["peer_port"]))
    return found


def _of_leaf(
    leaf: str, above: t.Mapping[str, set[str]], tables: Tables, own: list[PodRail], others: list[PodRail]
) -> t.Iterator[Finding]:  # fmt: skip
    """above: by spine that was read its ports to the leaf; own, others: the rails at it and at other leaves."""
    unnamed = [spine for spine in above if _without_ports(tables[spine][1])]
    above = {spine: ports for spine, ports in above.items() if spine not in unnamed and tables[spine][1]}
    if not above and unnamed:
        raise _ports_not_reported(unnamed)
    if not above:
        raise NotApplicable("no switch above this leaf reported the ports of its routes")
    if not own:
        raise NotApplicable("no rail on this leaf has an address in pod_rails")
    led = {spine: set().union(*(tables[spine][1].get(port, ()) for port in ports)) for spine, ports in above.items()}
    unled = [rail for rail in own if len(leaves_of(rail)) == 1 and not any(holds(key[1], str(rail["address"])) for keys in led.values() for key in keys)]
    found = []
    if unled and len(unled) == len(own):
        where = Place("its rails", peers=tuple(above))
        names = f"{len(unled)} rails, such as {unled[0]['address']}"
        found.append(Finding(
            where, f"a route to {names} over a port to {leaf} at {', '.join(sorted(above)[:4])}", "none at any of them",
            cause=HELD_BACK.format(leaf=leaf), fix=HELD_BACK_FIX.format(leaf=leaf),
        ))  # fmt: skip
    found += _attracted(leaf, led, tables, own, others)
    if unnamed and not found:
        raise _ports_not_reported(unnamed)
    yield from found


def _without_ports(ports: Ports) -> bool:
    """Whether a switch has routes to networks and reports the port of none."""
    return bool(ports) and not any(ports)


def _ports_not_reported(switches: t.Sequence[str]) -> CannotTell:
    return CannotTell(f"ports of the routes of {some_nodes(switches)}: not reported")


def _attracted(leaf: str, led: t.Mapping[str, set[Key]], tables: Tables, own: list[PodRail], others: list[PodRail]) -> t.Iterator[Finding]:
    """Prefixes that lead to a leaf and take what belongs to rails of others, though a route to these leaves is there as well."""
    foreign = {key for keys in led.values() for key in keys if not any(holds(key[1], str(rail["address"])) for rail in own)}
    for key in sorted(foreign):
        taken = [rail for rail in others if leaf not in leaves_of(rail) and holds(key[1], str(rail["address"]))]
        spines = [spine for spine, keys in led.items() if key in keys and any(_takes(tables[spine], key, rail, led[spine]) for rail in taken)]
        if spines:
            other = ", ".join(sorted({rail["leaf"] for rail in taken})[:3])
            where = Place(key[1], peers=tuple(dict.fromkeys(rail["leaf"] for rail in taken)))
            got = f"{key[1]} leads to {leaf} at {', '.join(sorted(spines)[:4])}, and holds {len(taken)} rails of {other}, such as {taken[0]['address']}"
            cause, fix = ATTRACTED.format(leaf=leaf, other=other), ATTRACTED_FIX.format(leaf=leaf)
            yield Finding(where, f"no prefix of rails of {other}", got, cause=cause, fix=fix)


def _takes(of_switch: tuple[RouteTable, Ports], key: Key, rail: PodRail, led: set[Key]) -> bool:
    """Whether a switch sends what is for a rail by a route that leads to another leaf, and has a route to it that does not, or the same one over more ports."""
    table, ports = of_switch
    if key not in table.longest(rail["address"]):
        return False
    shared = sum(key in keys for keys in ports.values()) > 1
    return shared or any(one not in led and one[1] != table.default and holds(one[1], str(rail["address"])) for one in table.keys)


def _of_spine(spine: str, cables: list[NearCable], tables: Tables, same_role: list[str]) -> t.Iterator[Finding]:
    """Prefixes to a leaf that lie within another one to the same leaf, and that no other spine has."""
    others = [tables[name][0] for name in same_role if name in tables]
    if spine not in tables or len(others) < OTHERS_MIN:
        raise NotApplicable(f"fewer than {OTHERS_MIN} other switches of its role reported routes")
    if _without_ports(tables[spine][1]):
        raise _ports_not_reported([spine])
    known = {key for table in others for key in table.keys}
    _table, ports = tables[spine]
    for cable in cables:
        its = ports.get(port_name(cable.get("channel") or cable["port"]), ())
        for key in sorted(its):
            if key not in known and any(key != one and one in known and holds(one[1], key[1].partition("/")[0]) for one in its):
                where = Place(f"{key[1]} to {cable['peer']}", peers=(cable["peer"],))
                cause, fix = LEFT_OVER.format(spine=spine), LEFT_OVER_FIX.format(spine=spine)
                yield Finding(where, "no longer prefix than the other spines have", key[1], cause=cause, fix=fix)
