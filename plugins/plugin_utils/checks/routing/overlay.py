# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: the overlay of rails that are routed by EVPN over VXLAN: its sessions, its VNI, the ways to its VTEPs and its MTU."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import by_port, port_name
from ...pod.rail_ports import leaves_of
from ...pod.types import NearCable, Neighbor, PodRail
from ...readings.rows import Peers, Rows
from ...text.counting import some_nodes
from .. import CannotTell, Finding, NotApplicable, check
from .._once import once_for_all_nodes
from ..place import Place, at_port
from ._neighbors import planned_neighbor
from ._overlay import OF_VRF, underlay_table, vtep_of
from ._routes import HAS_NETADDR, Hop, Key, RouteTable, holds, unused_ports
from ._vrfs import DEFAULT, vrf_of

BY_EVPN = ("pod_overlay", ("evpn",))
# What VXLAN adds to an IP packet of the rails: its own header, UDP, IPv4 and the Ethernet header inside.
VXLAN_BYTES = 50
NOT_ACTIVATED = (
    "The family L2VPN EVPN is not activated for this neighbor at one of the two ends, or a policy filters all of its routes: the session is up for "
    "other families and brings no route of the overlay."
)
NOT_ACTIVATED_FIX = (
    "Activate the neighbor at both ends below address-family l2vpn evpn, then compare the route maps of the family (EOS and NX-OS also need extended "
    "communities sent)."
)
NO_ROUTES_OF_LEAF = "{peer} announces nothing to this switch: it has no VNI that is up, does not advertise its VNIs, or filters what it sends."
NO_NEIGHBOR = "{switch} has no session of the family L2VPN EVPN with {peer}, and has some with its other neighbors."
WITHOUT_VNI = "{switch} has no layer-3 VNI for VRF {vrf}: no route of its rails is announced to the other leaves, and none of theirs is put into the VRF."
WITHOUT_VNI_FIX = (
    "Map VRF {vrf} to its VNI on {switch} as on the other leaves (FRR: vrf {vrf}, vni NUMBER; SONiC: config vrf add_vrf_vni_map), and give the VNI a VLAN."
)
OTHER_VNI = "VRF {vrf} has VNI {got} on {switch} and {wanted} {where}: packets arrive with a VNI that the other end does not know, and are dropped."
OTHER_VNI_FIX = "Set the VNI of VRF {vrf} on {switch} to {wanted}, with its VXLAN device and VLAN, or correct pod_rail_vni."
NO_DEVICE = "No VXLAN device on {switch} carries VNI {vni}: it was not created, is in no bridge, or has another VNI."
NO_VLAN_INTERFACE = (
    "VNI {vni} has no interface of its VLAN that is up in VRF {vrf}: it is missing, shut down or in another VRF, so that {switch} has no router MAC for it."
)
DEVICE_DOWN = "The VXLAN device of VNI {vni} on {switch} is down, or its VLAN or the interface of that is not up."
SAME_VTEP = "{others} has the same VTEP address {vtep}: what is sent to it arrives at one of them alone."
SAME_VTEP_FIX = "Give each leaf a VTEP address of its own (its loopback); only leaves to which the same bonds lead may share one."
NO_WAY = (
    "The underlay has no route to the VTEP of {leaf}: {leaf} does not announce this loopback, its VTEP has another address than its loopback, or a policy "
    "filters it."
)
NOT_ANNOUNCED = (
    "No other switch has a route to {vtep}, the VTEP of {leaf}: {leaf} does not announce this loopback, its VTEP has another address than the loopback that it "
    "announces, or a policy of its own filters it. What the rails of other leaves send to its rails goes nowhere."
)
NO_WAY_FIX = "Announce the address of the VTEP of {leaf} in the underlay (network statement, or redistribution of the loopback), and look at its sessions."


@check(
    cause="The session to the neighbor is down, or the family is not configured for it.",
    fix="Look at bgp_established first; where that is well, at address-family l2vpn evpn of both ends.",
    fabric="roce",
    required=True,
    kind="switch",
    when=BY_EVPN,
)
def evpn_established(
    evpn_sessions: Rows, evpn_sessions_of_peers: Peers, pod_neighbors: list[Neighbor], pod_cables: list[NearCable], pod_node: str, pod_same_role: list[str],
    pod_role: str,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every neighbor of EVPN is Established and brings routes: each planned one, or with sessions of loopbacks as many as the other switches have."""
    if not pod_neighbors and any(cable["peer_role"] != "host" for cable in pod_cables):
        raise CannotTell("bgp_asn of this switch is not in the inventory, so no neighbor is planned")
    if not pod_neighbors:
        raise NotApplicable("no cable to another switch is planned")
    named = {port_name(row["neighbor"]): row for row in evpn_sessions}
    over_links = {one["port"]: row for one in pod_neighbors if (row := named.get(port_name(one["port"])) or named.get(str(one["address"])))}
    if not over_links:
        yield from _of_loopbacks(evpn_sessions, evpn_sessions_of_peers, pod_same_role)
        return
    for one in pod_neighbors:
        where, row = planned_neighbor(one), over_links.get(one["port"])
        if row is None:
            cause = NO_NEIGHBOR.format(switch=pod_node, peer=one["peer"])
            yield Finding(where, "Established for EVPN", "no such neighbor of EVPN", cause=cause, fix=NOT_ACTIVATED_FIX)
        else:
            yield from _not_well(where, row, NO_ROUTES_OF_LEAF.format(peer=one["peer"]) if pod_role != "leaf" else NOT_ACTIVATED)


def _not_well(where: Place, row: dict[str, t.Any], without_routes: str) -> t.Iterator[Finding]:
    """A session that is not Established, or that brings nothing; without_routes: the cause of that."""
    if row["state"] != "Established":
        yield Finding(where, "Established for EVPN", row["state"])
    elif row["prefixes_received"] == 0:
        yield Finding(where, "Established for EVPN, with routes", "Established and brings no route of EVPN", cause=without_routes, fix=NOT_ACTIVATED_FIX)
    elif row["prefixes_received"] is None:
        yield Finding(where, "Established for EVPN, with routes", "Established; how many routes it brings is not reported", "unknown")


def _of_loopbacks(rows: Rows, of_peers: Peers, same_role: list[str]) -> t.Iterator[Finding]:
    """Sessions between loopbacks, whose addresses the wiring plan does not have: with all spines, or with those that reflect routes."""
    for row in rows:
        yield from _not_well(Place(row["neighbor"], peers=(row["neighbor"],)), row, NOT_ACTIVATED)
    usual = Counter(len(of_peers[node]) for node in same_role if node in of_peers).most_common(1)
    wanted = max(1, usual[0][0] if usual else 1)
    if len(rows) < wanted:
        expected = f"{wanted} neighbor{'' if wanted == 1 else 's'} of EVPN" + (", as most switches of its role have" if usual and usual[0][0] else "")
        yield Finding(Place("neighbors of EVPN"), expected, str(len(rows) or "none"), fix=NOT_ACTIVATED_FIX)


@check(
    cause="The VNI of the VRF is not configured on this leaf as on the others, or the device or the VLAN that it needs is down.",
    fix="Compare the VNI, its VXLAN device, its VLAN and the interface of that with those of another leaf.",
    fabric="roce",
    required=True,
    kind="switch",
    when=BY_EVPN,
)
def vni_up(
    vnis_of_peers: Peers, pod_role: str, pod_node: str, pod_rail_vrf: str, pod_rail_vni: int | None, pod_same_role: list[str],
    pod_leaf_rails: list[PodRail], vnis: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """The VNI of the rails' VRF is up on each leaf, has the number that is planned or that most leaves have, and a VTEP address of the leaf's own."""
    if pod_role != "leaf":
        raise NotApplicable("only leaves have VTEPs")
    if vnis is None:
        raise CannotTell("the switch reports no VNIs: VXLAN is not configured, or its command is refused")
    own = next((row for row in vnis if _of_vrf(row, pod_rail_vrf)), None)
    names = {"switch": pod_node, "vrf": pod_rail_vrf, "vni": own["vni"] if own else ""}
    where, wanted, who = Place(f"VNI of VRF {pod_rail_vrf}"), pod_rail_vni, "by pod_rail_vni"
    if wanted is None:
        counted = Counter(row["vni"] for node in (*pod_same_role, pod_node) for row in vnis_of_peers.get(node, ()) if _of_vrf(row, pod_rail_vrf))
        wanted, who = counted.most_common(1)[0][0] if counted else None, "on most leaves"
    number = f"{wanted} {who}" if wanted is not None else "one"
    if own is None:
        others = ", ".join(str(row["vni"]) for row in vnis[:3])
        got = f"no VNI of layer 3{f'; its VNIs are {others}' if others else ''}"
        yield Finding(where, number, got, cause=WITHOUT_VNI.format(**names), fix=WITHOUT_VNI_FIX.format(**names))
        return
    if wanted is not None and own["vni"] != wanted:
        words = {**names, "got": own["vni"], "wanted": wanted, "where": who}
        yield Finding(where, number, str(own["vni"]), cause=OTHER_VNI.format(**words), fix=OTHER_VNI_FIX.format(**words))
    if own["state"] not in (None, "Up"):
        down = NO_DEVICE if own["device"] is None else NO_VLAN_INTERFACE if own["vlan_interface"] is None and own["vtep"] else DEVICE_DOWN
        yield Finding(where, "Up", f"{own['vni']} is {own['state']}", cause=down.format(**names))
    yield from _same_vtep(own["vtep"], vnis_of_peers, pod_node, pod_rail_vrf, pod_leaf_rails)


def _of_vrf(row: dict[str, t.Any], vrf: str) -> bool:
    return bool(row["kind"] == OF_VRF and row["vrf"] == vrf)


def _same_vtep(vtep: str | None, of_peers: Peers, node: str, vrf: str, rails: list[PodRail]) -> t.Iterator[Finding]:
    """Other leaves with the address of this one's VTEP, but those to which its own bonds lead as well."""
    pair = {leaf for rail in rails for leaf in leaves_of(rail)}
    others = [name for name, rows in of_peers.items() if vtep and name != node and name not in pair and vtep_of(rows, vrf) == vtep]
    if others:
        cause = SAME_VTEP.format(others=some_nodes(others), vtep=vtep)
        yield Finding(Place(f"VTEP {vtep}", peers=tuple(others)), "an address of its own", f"also that of {some_nodes(others)}", cause=cause, fix=SAME_VTEP_FIX)


@once_for_all_nodes
def _knowing(ecmp_routes_of_peers: Peers) -> dict[str, set[str]]:
    """The switches that have a route for each prefix of the underlay."""
    found: dict[str, set[str]] = {}
    for node, rows in ecmp_routes_of_peers.items():
        for row in rows:
            if vrf_of(row) == DEFAULT:
                found.setdefault(row["prefix"], set()).add(node)
    return found


def _not_announced(vtep: str | None, node: str, knowing: t.Mapping[str, set[str]]) -> t.Iterator[Finding]:
    """The VTEP of a leaf that no other switch has a route to."""
    others = {name for nodes in knowing.values() for name in nodes if name != node}
    if vtep and others and not any(nodes - {node} and holds(prefix, vtep) for prefix, nodes in knowing.items()):
        cause, fix = NOT_ANNOUNCED.format(vtep=vtep, leaf=node), NO_WAY_FIX.format(leaf=node)
        yield Finding(Place(f"own VTEP {vtep}", peers=(vtep,)), "a route to it on every other leaf", "no switch has one", cause=cause, fix=fix)


@check(
    cause="maximum-paths (or its as-path relax option) is missing in the underlay, or an uplink's session is down.",
    fix="Set maximum-paths to at least the number of uplinks and bestpath as-path multipath-relax, then look at the sessions of the missing next hops.",
    fabric="roce",
    required=True,
    kind="switch",
    when=BY_EVPN,
)
def vteps_reached(
    ecmp_routes: Rows, vnis_of_peers: Peers, pod_role: str, pod_ways: dict[str, list[str]], pod_remote_rails: list[PodRail], pod_neighbors: list[Neighbor],
    pod_address_family: str, pod_rail_vrf: str, pod_node: str, ecmp_routes_of_peers: Peers,
) -> t.Iterator[Finding]:  # fmt: skip
    """The VTEP of each other leaf is reached over all ports that lead to it, by the routes of the underlay, and others have a route to that of this one."""
    if pod_role != "leaf" and not pod_ways:
        raise NotApplicable("only a leaf below spines has uplinks")
    leaves = dict.fromkeys(leaf for rail in pod_remote_rails for leaf in leaves_of(rail) if leaf in pod_ways)
    if not leaves:
        raise CannotTell("no rail on another leaf has an address in pod_rails, or the wiring plan leads to no other leaf")
    if not HAS_NETADDR:
        raise CannotTell("the Python package netaddr is needed on the controller")
    routed = (pod_address_family, pod_neighbors, {port for ports in pod_ways.values() for port in ports})
    table = underlay_table(ecmp_routes, *routed)
    of_rails = RouteTable([row for row in ecmp_routes if vrf_of(row) == pod_rail_vrf], *routed)
    yield from _not_announced(vtep_of(vnis_of_peers.get(pod_node, []), pod_rail_vrf), pod_node, _knowing(ecmp_routes_of_peers))
    judged = 0
    for leaf in leaves:
        vtep = vtep_of(vnis_of_peers.get(leaf, []), pod_rail_vrf) or _next_hop_to(leaf, of_rails, pod_remote_rails)
        if vtep is None:
            # Its own finding, of vni_up or ecmp_paths.
            continue
        judged += 1
        hops = {hop for key in table.longest(vtep) for hop in _hops(table, key)}
        if len(hops) == len(pod_ways[leaf]):
            continue
        unused, missing = unused_ports(hops, pod_ways[leaf], pod_neighbors)
        cause, fix = (None, None) if hops else (words.format(leaf=leaf) for words in (NO_WAY, NO_WAY_FIX))
        got = f"{len(hops)} next hop{'' if len(hops) == 1 else 's'}{unused}" if hops else "no route"
        where, began_at = Place(f"VTEP {vtep} of {leaf}", peers=(leaf, vtep, *missing), missing=missing), None if hops else (leaf, "")
        yield Finding(where, f"{len(pod_ways[leaf])} next hops", got, cause=cause, fix=fix, began_at=began_at)
    if not judged:
        raise CannotTell("no other leaf reports the address of its VTEP, or is reached")


def _next_hop_to(leaf: str, of_rails: RouteTable, rails: list[PodRail]) -> str | None:
    """The VTEP of a leaf whose platform does not report it: the next hop of what it announces."""
    its = [rail["address"] for rail in rails if leaf in leaves_of(rail)]
    addresses = {address for one in its for key in of_rails.longest(one) for address, _interface in _hops(of_rails, key)}
    return min((one for one in addresses if one), default=None)


def _hops(table: RouteTable, key: Key) -> set[Hop]:
    return table.next_hops(key)[0]


@check(
    cause="The uplink carries no packets that are larger than those of the rails: what is of full size is dropped once VXLAN has added its header.",
    fix="Set the MTU of every link between switches to that of the rails and 50 bytes more at least (9216 is usual), at both ends.",
    fabric="roce",
    required=True,
    kind="switch",
    when=BY_EVPN,
)
def vxlan_mtu(interface_mtu: Rows, interface_mtu_of_peers: Peers, pod_cables: list[NearCable], pod_mtu: int | None, pod_role: str) -> t.Iterator[Finding]:
    """Every uplink of a leaf carries the largest packets of the rails with the header of VXLAN, which are 50 bytes larger."""
    up = [cable for cable in pod_cables if cable["peer_role"] != "host"]
    if not up or (pod_role != "leaf" and pod_mtu is None):
        raise NotApplicable("no cable to another switch is planned" if not up else "its links are those of leaves, and path_mtu compares both ends")
    far = [by_port(interface_mtu_of_peers.get(cable["peer"], [])).get(cable["peer_port"], {}).get("mtu") for cable in pod_cables if cable not in up]
    rails = max((mtu for mtu in (*far, pod_mtu) if mtu is not None), default=None)
    if rails is None:
        raise CannotTell("no host reports the MTU of its rails, and pod_mtu is not set")
    own = by_port(interface_mtu)
    for cable in up:
        mtu, expected = own.get(cable["port"], {}).get("mtu"), f"at least {rails + VXLAN_BYTES}: the {rails} of the rails and {VXLAN_BYTES} of VXLAN"
        if mtu is None:
            yield Finding(at_port(cable["port"]), expected, "not reported", "unknown")
        elif mtu < rails + VXLAN_BYTES:
            yield Finding(at_port(cable["port"], peers=(cable["peer"],)), expected, str(mtu))
