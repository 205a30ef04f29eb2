# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: whether the ports of rails and the links between switches are in the VRF of the rails."""

from __future__ import annotations

import typing as t

from ...pod.types import NearCable, PodRail
from ...readings.rows import Peers, Rows
from ...text.counting import counted, some_nodes
from .. import CannotTell, Finding, NotApplicable, check
from ..place import Place, at_port
from ._routes import HAS_NETADDR, holds
from ._vrfs import DEFAULT, PortVrfs, port_of, vrf_of

MISSING = (
    "{switch} has no interface in VRF {planned}: the VRF is not configured there, has another name, or its interfaces were never put into it. What its rails "
    "send is forwarded by other routes, or by none."
)
MISSING_FIX = (
    "Configure VRF {planned} on {switch} as on the others (SONiC: config vrf add), put the ports of its rails and its uplinks into it and set their addresses "
    "again, or correct pod_rail_vrf where the name is wrong."
)
OTHER_VRF = (
    "{where} of {switch} is in VRF {got}, and the rails are in VRF {planned}: what this rail sends follows the routes of VRF {got}, and the others have no "
    "route to it."
)
LINK_VRF = "{where} of {switch} is not in VRF {planned} (in it: {why}): no session of this VRF comes up over it, and no route of the rails leads there."
PUT_INTO = (
    "Put {where} of {switch} into VRF {planned} (vrf {planned} or vrf member {planned} on the interface; SONiC: config interface vrf bind; "
    "Linux: ip link set dev INTERFACE master {planned}) and set its address again, which the change removes."
)


@check(
    cause="A port, or the interface of its VLAN, is configured in another VRF than the rails of the pod, or in none.",
    fix="Put the interface into the VRF that pod_rail_vrf names and set its address again, or correct pod_rail_vrf.",
    fabric="roce",
    kind="switch",
    required="pod_rail_vrf",
    when=("pod_rail_vrf", True),
)
def rails_in_vrf(
    port_vrfs: Rows, port_vrfs_of_peers: Peers, pod_rail_vrf: str, pod_role: str, pod_node: str, pod_cables: list[NearCable],
    pod_leaf_rails: list[PodRail], ecmp_routes: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Every port of a rail is in the VRF of the rails, and so are both ends of a link between switches or neither."""
    ports = PortVrfs(port_vrfs)
    to_hosts = [cable for cable in pod_cables if cable["peer_role"] == "host"]
    between = [cable for cable in pod_cables if cable["peer_role"] != "host"]
    far = {cable["port"]: PortVrfs(port_vrfs_of_peers.get(cable["peer"], [])).of(cable.get("peer_channel") or cable["peer_port"]) for cable in between}
    own = {cable["port"]: pod_rail_vrf in ports.of(port_of(cable)) for cable in between}
    if not to_hosts and not any(own.values()) and not any(pod_rail_vrf in vrfs for vrfs in far.values()):
        raise NotApplicable(f"no link of this switch is in VRF {pod_rail_vrf}")
    names = {"switch": pod_node, "planned": pod_rail_vrf}
    if pod_role == "leaf" and pod_rail_vrf not in ports.names:
        others = [node for node, rows in port_vrfs_of_peers.items() if node != pod_node and pod_rail_vrf in PortVrfs(rows).names]
        where = Place(f"VRF {pod_rail_vrf}", peers=tuple(dict.fromkeys(cable["peer"] for cable in pod_cables)))
        expected = f"interfaces in VRF {pod_rail_vrf}" + (f", as on {some_nodes(others)}" if others else "")
        got = f"none; its interfaces are in VRF {', '.join(sorted(ports.names)) or DEFAULT}"
        yield Finding(where, expected, got, cause=MISSING.format(**names), fix=MISSING_FIX.format(**names))
        return
    yield from _rail_ports(ports, to_hosts, pod_leaf_rails, ecmp_routes, names)
    for cable in between:
        inside = sum(own.values())
        at_far = pod_rail_vrf in far[cable["port"]]
        if own[cable["port"]] or not (at_far or 2 * inside > len(own)):
            continue
        ends = [f"the far end, {cable['peer']} {cable['peer_port']},"] if at_far else []
        why = " and ".join([*ends, *([counted(inside, "other link") + f" of {pod_node} to switches"] if inside else [])])
        where = at_port(cable["port"], f"(to {cable['peer']} {cable['peer_port']})", peers=(cable["peer"],))
        got = f"VRF {_names(ports.of(port_of(cable)))}; in VRF {pod_rail_vrf}: {why}"
        names_of = {**names, "where": cable["port"]}
        yield Finding(where, f"VRF {pod_rail_vrf}", got, cause=LINK_VRF.format(**names_of, why=why), fix=PUT_INTO.format(**names_of))


def _rail_ports(
    ports: PortVrfs, cables: list[NearCable], rails: list[PodRail], routes: Rows | None, names: dict[str, str]
) -> t.Iterator[Finding]:  # fmt: skip
    """The ports to hosts that are in another VRF, by themselves or by the interface of their VLAN."""
    planned = names["planned"]
    vrfs = {cable["port"]: _of_rail_port(ports, cable, rails, routes) for cable in cables}
    inside = sum(planned in its for its in vrfs.values())
    others = f"; in VRF {planned}: {counted(inside, 'other rail port') if inside else 'no rail port'} of {names['switch']}" if len(vrfs) > 1 else ""
    for cable in cables:
        its, rail = vrfs[cable["port"]], _rail_at(cable, rails)
        if planned in its:
            continue
        where = at_port(cable["port"], f"(to {cable['peer']} {rail['device'] if rail else cable['peer_port']})", peers=(cable["peer"],))
        if not its:
            got = f"not in a VRF that is reported, and no network of the switch holds {rail['address'] if rail else 'an address of its rail'}{others}"
            yield Finding(where, f"VRF {planned}", got, fix=PUT_INTO.format(**names, where=cable["port"]))
            continue
        found, by = _names(set(its)), next(iter(its.values()), "")
        got = f"VRF {found}{f', by {by}' if by else ''}{others}"
        names_of = {**names, "where": by or cable["port"]}
        yield Finding(where, f"VRF {planned}", got, cause=OTHER_VRF.format(**names_of, got=found), fix=PUT_INTO.format(**names_of))


def _of_rail_port(ports: PortVrfs, cable: NearCable, rails: list[PodRail], routes: Rows | None) -> dict[str, str]:
    """The VRFs of a port to a host, with the interface of its VLAN where the port itself does not route: that of the connected route to its rail."""
    if own := ports.of(port_of(cable)):
        return dict.fromkeys(sorted(own), "")
    rail = _rail_at(cable, rails)
    if rail is None or not routes:
        return {}
    if not HAS_NETADDR:
        raise CannotTell("the Python package netaddr is needed on the controller")
    connected = [row for row in routes if row["protocol"] == "connected" and row["interface"] and row["selected"] is not False]
    # A connected route may be leaked into other VRFs; its interface is in one.
    near = [row for row in connected if holds(row["prefix"], str(rail["address"]))]
    return {vrf: row["interface"] for row in near for vrf in sorted(ports.of(row["interface"].partition(".")[0]) or {vrf_of(row)})}


def _rail_at(cable: NearCable, rails: list[PodRail]) -> PodRail | None:
    """The rail at the far end of a cable."""
    own = (one for one in rails if one["host"] == cable["peer"] and cable["peer_port"] in (one["device"], one["netdev"], *one.get("members", ())))
    return next(own, None)


def _names(vrfs: set[str]) -> str:
    return ", ".join(sorted(vrfs)) or DEFAULT
