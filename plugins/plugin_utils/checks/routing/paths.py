# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: what the kernel forwards by, and reachability of every rail."""

from __future__ import annotations

import statistics
import typing as t
from collections import Counter

from ...pod.addressing import DEFAULT_ROUTES, WHOLE_LENGTH
from ...pod.names import by_port
from ...pod.types import NearCable, Rail
from ...readings.rows import Peers, Rows
from .. import PAIR, CannotTell, Finding, NotApplicable, check
from .._kernel_event_causes import NEIGHBORS_FULL, NEIGHBORS_FULL_FIX
from .._once import NO_PEERS, once_for_all_nodes
from .._planned import cables_of
from ..place import Place, at_device, at_port
from ._not_sent import senders_of_nothing, why_not_sent
from ._overlay import EVPN
from ._vrfs import DEFAULT, vrf_of
from .sessions import ROUTED

ELSE_ROUTES = "Where a ping is lost with room in the table, look at the host's routes by source (ip rule) and at those of both leaves."
# Without a routing protocol the paths of the rails themselves are what is left to prove.
WITHOUT_PROTOCOL = ("pod_underlay", ("none", "static"))


@check(
    cause="The kernel refused or lost next hops that the routing daemon shows as installed, so that these paths carry nothing.",
    fix="Compare ip route with show ip route of this switch, then have the daemon install its routes again (clear ip bgp *, or restart it).",
    fabric="roce",
    when=ROUTED,
)
def kernel_forwards(
    ecmp_routes: Rows, kernel_routes: Rows, pod_address_family: str, pod_underlay: str, pod_rail_vrf: str = "", pod_overlay: str = "none",
) -> t.Iterator[Finding]:  # fmt: skip
    """The kernel forwards over every next hop that the routing protocol has installed."""
    # Of an overlay it is what leads to its VTEPs.
    pod_rail_vrf = "" if pod_overlay == EVPN else pod_rail_vrf
    vrf = pod_rail_vrf or DEFAULT
    in_kernel: dict[str, set[tuple[str | None, str | None]]] = {}
    for row in kernel_routes:
        prefix = row["prefix"] if "/" in row["prefix"] or row["prefix"] == "default" else f"{row['prefix']}/{WHOLE_LENGTH[pod_address_family]}"
        in_kernel.setdefault(prefix, set()).update([(row["next_hop"], row["interface"])] * row["usable"])
    installed: dict[str, set[tuple[str | None, str | None]]] = {}
    for row in ecmp_routes:
        if row["installed"] and row["protocol"] == pod_underlay and _leads_on(row) and vrf_of(row) == vrf:
            prefix = "default" if row["prefix"] == DEFAULT_ROUTES[pod_address_family] else row["prefix"]
            installed.setdefault(prefix, set()).add((row["next_hop"], row["interface"]))
    if not installed and any(row["installed"] is None and row["protocol"] == pod_underlay and (not pod_rail_vrf or vrf_of(row) == vrf) for row in ecmp_routes):
        raise CannotTell(f"whether a route of {pod_underlay} is installed is not reported")
    if not installed:
        raise NotApplicable(f"{pod_underlay} has installed no route of {f'VRF {vrf}' if pod_rail_vrf else 'the default VRF'}")
    for prefix, hops in installed.items():
        if prefix not in in_kernel or len(in_kernel[prefix]) != len(hops):
            stated = f"{len(in_kernel[prefix])} in the kernel" if prefix in in_kernel else "no route in the kernel"
            yield Finding(Place(prefix), f"{len(hops)} next hop{'' if len(hops) == 1 else 's'}, as the daemon shows", stated)


def _leads_on(row: dict[str, t.Any]) -> bool:
    """Whether a next hop is another node's: a network of the switch itself, which OSPF shows too, is a connected one in the kernel."""
    return row["next_hop"] is not None or row["protocol"] == "bgp"


NOTHING_SENT = (
    "It ended before it reported anything, and others of this host may have reported: the host has not the netdev or the address that pod_rails has of this "
    "rail, or its time was up."
)
NOTHING_SENT_FIX = (
    "Compare netdev and address of this rail in pod_rails with ip address on the host (address_plan of layer 0), and ping the pair by hand "
    "(ping -I NETDEV -I ADDRESS), which prints why it sends nothing."
)


def _lost(row: dict[str, t.Any]) -> str | None:
    """What a ping lost, in words, empty where it lost nothing; None where it sent nothing or did not report what came back."""
    sent, received = row["sent"], row["received"]
    if not sent or received is None:
        return None
    return f"{100 - 100 * received / sent:g} % loss, {received} of {sent}" if received < sent else ""


@check(
    cause="The rail's route, its address or policy routing on the host is wrong, or a link on the path loses packets.",
    fix="Ping the same pair by hand by the same netdev and address (ping -I NETDEV -I ADDRESS); where only that fails, correct the host's routes by "
    "source (ip rule), else look at the routes of both leaves and the counters of the path.",
    fabric="roce",
    required=True,
    hosts=PAIR,
)
def rails_reachable(
    pings: Rows, pod_pings: Rows, pod_ping_rtt_max_ms: float, pod_rails: list[Rail], kernel_log: Rows | None = None, pings_of_peers: Peers | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """Every planned ping between rails loses no packet, with at most {pod_ping_rtt_max_ms} ms on average."""
    if not pod_pings:
        raise CannotTell("no ping is planned from here: pod_rails has no addresses, or no other host is under test")
    yield from _unpinged(pod_rails, {planned["device"] for planned in pod_pings})
    stated = {(row["source"], row["target"]): row for row in pings}
    full = any(row["event"] == "neighbors_full" for row in kernel_log or ())
    cause, fix = (NEIGHBORS_FULL, f"{NEIGHBORS_FULL_FIX} {ELSE_ROUTES}") if full else (None, None)
    for planned in pod_pings:
        row = stated.get((planned["source"], planned["target"]))
        where = _pair(planned)
        lost = _lost(row) if row else None
        if row is not None and row["error"] is not None and lost != "":
            own = why_not_sent(row["error"])
            yield Finding(where, "no loss", f"{lost or 'nothing was sent'}: {row['error']}", cause=own.cause, fix=own.fix)
        elif row is None or lost is None:
            yield Finding(where, "no loss", "no response from ping", "unknown", cause=NOTHING_SENT, fix=NOTHING_SENT_FIX, judged=True)
        elif lost:
            began_at = (planned["peer"], "") if planned["peer"] in senders_of_nothing(pings_of_peers or NO_PEERS) else None
            yield Finding(where, "no loss", lost, cause=cause, fix=fix, began_at=began_at)
        elif row["rtt_avg_ms"] is None:
            yield Finding(where, f"at most {pod_ping_rtt_max_ms:g} ms", "no round-trip time", "unknown")
        elif row["rtt_avg_ms"] > pod_ping_rtt_max_ms:
            yield Finding(where, f"at most {pod_ping_rtt_max_ms:g} ms on average", f"{row['rtt_avg_ms']:g} ms")


def _pair(planned: dict[str, t.Any]) -> Place:
    """A planned ping or probe from a rail to another one."""
    to = f"to {planned['peer']} {planned['peer_device']} ({planned['target']})"
    return at_device(planned["device"], to, peers=(planned["peer"], planned["target"]))


# Cause and fix of a rail without an address in the plan.
UNADDRESSED = (
    "The inventory does not say which address this rail has, so that no other rail can be asked whether it reaches it.",
    "Give the rail its address in pod_rails (playbooks/discover.yml reads it from the host), then run layer routing again.",
)


def _unpinged(rails: list[Rail], devices: t.Container[str]) -> t.Iterator[Finding]:
    """Rails of which no ping is planned: the pings of the others would pass for them."""
    for rail in rails:
        if rail["device"] not in devices:
            why = "no other host under test has an address of such a rail" if rail.get("address") else "pod_rails has no address of it"
            cause, fix = (None, None) if rail.get("address") else UNADDRESSED
            yield Finding(at_device(rail["device"]), "a ping to a rail of another host", f"none is planned: {why}", "unknown", cause=cause, fix=fix)


@check(
    cause="The rail takes a detour, or a port on its way is congested or retransmits.",
    fix="Trace the pair by hand from the same source address, and compare the route with that of another rail.",
    fabric="roce",
    scope="group",
    severity="warn",
)
def rtt_uniform(pings: dict[str, Rows], pod_ping_rtt_spread_max: float, pod_ping_rtt_spread_floor_ms: float) -> t.Iterator[Finding]:
    """No rail's shortest RTT is above {pod_ping_rtt_spread_max} times its gate group's median and above {pod_ping_rtt_spread_floor_ms} ms."""
    of_rail: dict[tuple[str, str], list[float]] = {}
    untimed: dict[tuple[str, str], None] = {}
    for host, rows in pings.items():
        for row in rows:
            if row["rtt_min_ms"] is not None and row["source"]:
                of_rail.setdefault((host, row["source"]), []).append(row["rtt_min_ms"])
            elif row["received"]:
                untimed[host, row["source"] or row["target"]] = None
    for host, source in untimed:
        yield Finding(Place(source, peers=(source,)), "a round-trip time", "not reported, though echoes returned", "unknown", host=host)
    if len(of_rail) < 2:
        if untimed:
            return
        raise NotApplicable("fewer than two rails of the group have a response")
    # The quickest: what queues and interrupts add is noise, what a detour adds is in every echo.
    quickest = {rail: statistics.median(times) for rail, times in of_rail.items()}
    usual = statistics.median(quickest.values())
    limit = max(usual * pod_ping_rtt_spread_max, pod_ping_rtt_spread_floor_ms)
    for (host, source), time in quickest.items():
        if time > limit:
            yield Finding(Place(source, peers=(source,)), f"at most {limit:.3g} ms (the group's median is {usual:.3g})", f"{time:.3g} ms", host=host)


@once_for_all_nodes
def _usual_mtu(of_peers: Peers) -> int | None:
    """The MTU of more than half of all ports that nodes of the pod report; None where there is none."""
    counted = Counter(row["mtu"] for rows in of_peers.values() for row in rows if row["mtu"] is not None)
    mtu, count = counted.most_common(1)[0] if counted else (None, 0)
    return mtu if 2 * count > sum(counted.values()) else None


@check(
    cause="One end of the cable has another MTU, so that large packets are dropped while small ones and BGP pass.",
    fix="Give both ends the fabric's MTU; only the error counter of the receiving port reports the drop.",
    fabric="roce",
    required=WITHOUT_PROTOCOL,
)
def path_mtu(interface_mtu: Rows, interface_mtu_of_peers: dict[str, Rows], pod_cables: list[NearCable], pod_role: str) -> t.Iterator[Finding]:
    """Both ends of every cable have the same MTU, where both platforms report it; a leaf may have a larger MTU than its host."""
    own, judged = by_port(interface_mtu), 0
    for cable in cables_of(pod_cables):
        if cable["peer"] not in interface_mtu_of_peers:
            continue
        judged += 1
        far = by_port(interface_mtu_of_peers[cable["peer"]]).get(cable["peer_port"], {}).get("mtu")
        near = own.get(cable["port"], {}).get("mtu")
        end = f"{cable['peer']} {cable['peer_port']}"
        if near is None or far is None:
            yield Finding(at_port(cable["port"]), f"the MTU of {end}", f"not reported for {'this end' if near is None else 'that end'}", "unknown")
        elif cable["peer_role"] == "host":
            if near < far:
                yield Finding(at_port(cable["port"]), f"at least the MTU of {end}, {far}", str(near))
        elif pod_role != "host" and near > far and near == _usual_mtu(interface_mtu_of_peers):
            # The other end has less than the ports of the pod, and the finding is its own.
            continue
        elif near > far if pod_role == "host" else near != far:
            # That of a host is judged by layer 0: what a leaf has less than it began at the leaf's port.
            began_at = (cable["peer"], cable["peer_port"]) if pod_role == "host" else None
            yield Finding(at_port(cable["port"]), f"{'at most ' if pod_role == 'host' else ''}the MTU of {end}, {far}", str(near), began_at=began_at)
    if not judged:
        raise NotApplicable("MTU of the peers: not reported")


@check(
    cause="A cable, port or switch on one of the equal paths has a smaller MTU than the rails, or loses packets.",
    fix="Compare the MTU of every uplink of both leaves; one bad uplink of four loses a quarter of the flows.",
    fabric="roce",
    required=WITHOUT_PROTOCOL,
    hosts=PAIR,
)
def path_carries_full_size(
    path_probes: Rows, pod_path_probes: Rows, pod_pings: Rows, path_responder_before: Rows | None = None
) -> t.Iterator[Finding]:  # fmt: skip
    """Full-size datagrams that may not be fragmented arrive from every source port."""
    if not pod_path_probes and pod_pings:
        raise NotApplicable("no probe is planned from here: hosts outside of this run answer pings, and start no responder of probes")
    if not pod_path_probes:
        raise CannotTell("no probe is planned from here: pod_rails has no addresses, or no other host is under test")
    if path_responder_before is None:
        raise CannotTell("this host could not start the responder of the probes")
    stated = {(row["source"], row["target"]): row for row in path_probes}
    for planned in pod_path_probes:
        row = stated.get((planned["source"], planned["target"]))
        where = _pair(planned)
        if row is None or not row["flows"]:
            yield Finding(where, "every flow answered", "no response from the probe", "unknown", cause=NOTHING_SENT, fix=NOTHING_SENT_FIX, judged=True)
        elif row["answered"] < row["flows"]:
            yield Finding(where, f"{row['flows']} flows of {row['size_bytes']} bytes answered", f"{row['answered']}")
