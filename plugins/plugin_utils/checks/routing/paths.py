# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: sessions, equal-cost paths and reachability of every rail."""

from __future__ import annotations

import statistics
import typing as t
from collections import Counter

from .. import CannotTell, Finding, NotApplicable, check
from .._ports import Rows, by_port, cables_of, port_name

try:
    import netaddr

    HAS_NETADDR = True
except ImportError:
    HAS_NETADDR = False

# A rail-only pod has no spines to route over.
WITH_SPINES = ("pod_topology", ("rail_optimised", "top_of_rack"))


@check(
    cause="The link to the neighbor is down, its daemon is dead, TCP port 179 is filtered, or address, AS or password differ.",
    fix="Look at the neighbor's state and last error on both ends (show ip bgp neighbors), then mend the end that differs from the plan.",
    fabric="roce",
    required=WITH_SPINES,
)
def bgp_established(bgp_summary: Rows, pod_neighbors: Rows, pod_cables: Rows) -> t.Iterator[Finding]:
    """Every planned BGP neighbor is Established with its planned AS."""
    if not pod_neighbors and any(cable["peer_role"] != "host" for cable in pod_cables):
        # Not a skip: the other leaves of the group would pass for this one.
        raise CannotTell("bgp_asn of this switch is not in the inventory, so no neighbor is planned")
    if not pod_neighbors:
        raise NotApplicable("no cable to another switch is planned")
    named: dict[str, Rows] = {}
    for row in bgp_summary:
        named.setdefault(port_name(row["neighbor"]), []).append(row)
    by_as: list[dict[str, t.Any]] = []
    for one in pod_neighbors:
        rows = named.get(port_name(one["port"])) or named.get(str(one["address"]))
        if rows is not None:
            # Of several VRFs the plan does not say which.
            yield from next((found for row in rows if (found := list(_session(one, row)))), [])
        elif one["address"] is not None:
            yield Finding(_neighbor(one), f"Established with AS {one['asn']}", "no such neighbor", port=one["port"])
        else:
            by_as.append(one)
    claimed = {one["address"] or port_name(one["port"]) for one in pod_neighbors}
    yield from _by_as(by_as, [row for row in bgp_summary if port_name(row["neighbor"]) not in claimed])


def _neighbor(planned: dict[str, t.Any]) -> str:
    return f"{planned['peer']} ({planned['address'] or planned['port']})"


def _session(planned: dict[str, t.Any], row: dict[str, t.Any]) -> t.Iterator[Finding]:
    if planned["asn"] is None:
        yield Finding(_neighbor(planned), "a planned AS (bgp_asn of the peer)", "none in the inventory", "unknown", planned["port"])
    elif (row["state"], row["asn"]) != ("Established", planned["asn"]):
        yield Finding(_neighbor(planned), f"Established with AS {planned['asn']}", f"{row['state']} with AS {row['asn']}", port=planned["port"])


def _by_as(planned: Rows, rows: Rows) -> t.Iterator[Finding]:
    """Numbered sessions whose addresses the plan does not have are counted by their AS."""
    up = Counter(row["asn"] for row in rows if row["state"] == "Established")
    for one in planned:
        if one["asn"] is None:
            yield Finding(_neighbor(one), "a planned AS (bgp_asn of the peer)", "none in the inventory", "unknown", one["port"])
    wanted = Counter(one["asn"] for one in planned if one["asn"] is not None)
    for asn, number in wanted.items():
        down = [row for row in rows if row["asn"] == asn and row["state"] != "Established"]
        if up[asn] < number:
            # A session with an AS that nobody planned is the likely missing one.
            states = _states([*down, *(row for row in rows if row["asn"] not in wanted)])
            yield Finding(f"AS {asn}", f"{number} Established neighbors", f"{up[asn]}" + (f" ({states})" if states else ""))
        elif down:
            # Others may be up in place of the planned ones, as those of an overlay are.
            told = f"{up[asn]}, and {_states(down)}: the wiring plan has no address that tells whether it is one of them"
            yield Finding(f"AS {asn}", f"{number} Established neighbors", told, "unknown")


def _states(rows: Rows) -> str:
    return ", ".join(sorted(f"{row['neighbor']} {row['state']} with AS {row['asn']}" for row in rows))


@check(
    cause="maximum-paths (or its as-path relax option) is missing on the leaf, or an uplink's session is down.",
    fix="Set maximum-paths to at least the number of uplinks and bestpath as-path multipath-relax, then look at the sessions of the missing next hops.",
    fabric="roce",
    required=WITH_SPINES,
)
def ecmp_paths(ecmp_routes: Rows, pod_role: str, pod_topology: str, pod_uplinks: int, pod_remote_rails: Rows) -> t.Iterator[Finding]:
    """Each remote rail is reached over as many next hops as the leaf has uplinks."""
    if pod_role != "leaf" or pod_topology == "rail_only":
        raise NotApplicable("only a leaf below spines spreads over uplinks")
    if not pod_remote_rails:
        raise CannotTell("no rail on another leaf has an address in pod_rails")
    if not HAS_NETADDR:
        raise CannotTell("the Python package netaddr is needed on the controller")
    routes = _by_prefix(ecmp_routes)
    found: dict[tuple[str, str], list[str]] = {}
    for rail in pod_remote_rails:
        for key in _longest(routes, netaddr.IPAddress(rail["address"])) or [("", "")]:
            found.setdefault(key, []).append(f"{rail['host']} {rail['device']}")
    for (vrf, prefix), rails in found.items():
        whose = rails[0] + (f" and {len(rails) - 1} more" if len(rails) > 1 else "")
        if not prefix:
            yield Finding("no route", f"{pod_uplinks} next hops to {whose}", "no route")
            continue
        hops, table = _next_hops([row for row in ecmp_routes if (row["vrf"] or "", row["prefix"]) == (vrf, prefix)])
        if hops != pod_uplinks:
            yield Finding(prefix, f"{pod_uplinks} next hops to {whose}", f"{hops} next hop{'' if hops == 1 else 's'} in the {table}")


def _by_prefix(rows: Rows) -> dict[int, dict[int, set[tuple[str, str]]]]:
    """The IPv4 routes by prefix length and network number; the default route is none, since it proves no path to a rail."""
    routes: dict[int, dict[int, set[tuple[str, str]]]] = {}
    for key in {(row["vrf"] or "", row["prefix"]) for row in rows}:
        network = netaddr.IPNetwork(key[1])
        if network.version == 4 and network.prefixlen:
            routes.setdefault(network.prefixlen, {}).setdefault(int(network.network) >> 32 - network.prefixlen, set()).add(key)
    return routes


def _longest(routes: dict[int, dict[int, set[tuple[str, str]]]], address: t.Any) -> list[tuple[str, str]]:
    """The longest prefix that holds an address, once for each VRF that has it; none where there is no route."""
    for length in sorted(routes, reverse=True):
        if int(address) >> 32 - length in routes[length]:
            return sorted(routes[length][int(address) >> 32 - length])
    return []


def _next_hops(rows: Rows) -> tuple[int, str]:
    """Distinct next hops, in the forwarding table where the platform shows it, else in the RIB."""
    if any(row["installed"] is not None for row in rows):
        return len({(row["next_hop"], row["interface"]) for row in rows if row["installed"]}), "forwarding table"
    chosen = [row for row in rows if row["selected"] is not False]
    return len({(row["next_hop"], row["interface"]) for row in chosen}), "RIB"


@check(
    cause="The kernel refused or lost next hops that the routing daemon shows as installed, so that these paths carry nothing.",
    fix="Compare ip route with show ip route of this switch, then have the daemon install its routes again (clear ip bgp *, or restart it).",
    fabric="roce",
)
def kernel_forwards(ecmp_routes: Rows, kernel_routes: Rows) -> t.Iterator[Finding]:
    """The kernel forwards over every next hop that BGP has installed."""
    in_kernel: dict[str, set[tuple[str | None, str | None]]] = {}
    for row in kernel_routes:
        prefix = row["prefix"] if "/" in row["prefix"] or row["prefix"] == "default" else f"{row['prefix']}/32"
        in_kernel.setdefault(prefix, set()).update([(row["next_hop"], row["interface"])] * row["usable"])
    installed: dict[str, set[tuple[str | None, str | None]]] = {}
    for row in ecmp_routes:
        if row["installed"] and row["protocol"] == "bgp" and row["vrf"] in (None, "", "default"):
            installed.setdefault("default" if row["prefix"] == "0.0.0.0/0" else row["prefix"], set()).add((row["next_hop"], row["interface"]))
    if not installed:
        raise NotApplicable("BGP has installed no route of the default VRF")
    for prefix, hops in installed.items():
        if prefix not in in_kernel or len(in_kernel[prefix]) != len(hops):
            said = f"{len(in_kernel[prefix])} in the kernel" if prefix in in_kernel else "no route in the kernel"
            yield Finding(prefix, f"{len(hops)} next hop{'' if len(hops) == 1 else 's'}, as the daemon shows", said)


@check(
    cause="The rail's route, its address or policy routing on the host is wrong, or a link on the path loses packets.",
    fix="Ping the same pair by hand by the same netdev and address (ping -I NETDEV -I ADDRESS); where only that fails, mend the host's routes by "
    "source (ip rule), else look at the routes of both leaves and the counters of the path.",
    fabric="roce",
    required=True,
)
def rails_reachable(pings: Rows, pod_pings: Rows, pod_ping_rtt_max_ms: float, pod_rails: Rows) -> t.Iterator[Finding]:
    """Every planned ping between rails loses nothing and returns in time."""
    if not pod_pings:
        raise CannotTell("no ping is planned from here: pod_rails has no addresses, or no other host climbs")
    yield from _unpinged(pod_rails, {planned["device"] for planned in pod_pings})
    said = {(row["source"], row["target"]): row for row in pings}
    for planned in pod_pings:
        row = said.get((planned["source"], planned["target"]))
        where = f"{planned['device']} to {planned['peer']} {planned['peer_device']} ({planned['target']})"
        if row is None or not row["sent"]:
            yield Finding(where, "no loss", "no answer from ping", "unknown")
        elif row["received"] < row["sent"]:
            yield Finding(where, "no loss", f"{row['loss_percent']:g} % loss, {row['received']} of {row['sent']}")
        elif row["rtt_avg_ms"] is None:
            yield Finding(where, f"at most {pod_ping_rtt_max_ms:g} ms", "no round-trip time", "unknown")
        elif row["rtt_avg_ms"] > pod_ping_rtt_max_ms:
            yield Finding(where, f"at most {pod_ping_rtt_max_ms:g} ms on average", f"{row['rtt_avg_ms']:g} ms")


def _unpinged(rails: Rows, devices: t.Container[str]) -> t.Iterator[Finding]:
    """Rails of which no ping is planned: the pings of the others would pass for them."""
    for rail in rails:
        if rail["device"] not in devices:
            why = "no other host that climbs has an address of such a rail" if rail.get("address") else "pod_rails has no address of it"
            yield Finding(rail["device"], "a ping to a rail of another host", f"none is planned: {why}", "unknown")


@check(
    cause="The rail takes a detour, or a port on its way is congested or corrects by sending again.",
    fix="Trace the pair by hand from the same source address, and compare the route with that of another rail.",
    fabric="roce",
    scope="group",
    severity="warn",
)
def rtt_uniform(pings: dict[str, Rows], pod_ping_rtt_spread_max: float, pod_ping_rtt_spread_floor_ms: float) -> t.Iterator[Finding]:
    """No rail's quickest echo takes several times as long as is usual in its gate group."""
    of_rail: dict[tuple[str, str], list[float]] = {}
    for host, rows in pings.items():
        for row in rows:
            if row["rtt_min_ms"] is not None and row["source"]:
                of_rail.setdefault((host, row["source"]), []).append(row["rtt_min_ms"])
    if len(of_rail) < 2:
        raise NotApplicable("fewer than two rails of the group have an answer")
    # The quickest: what queues and interrupts add is noise, what a detour adds is in every echo.
    quickest = {rail: statistics.median(times) for rail, times in of_rail.items()}
    usual = statistics.median(quickest.values())
    limit = max(usual * pod_ping_rtt_spread_max, pod_ping_rtt_spread_floor_ms)
    for (host, source), time in quickest.items():
        if time > limit:
            yield Finding(source, f"at most {limit:.3g} ms (its group has {usual:.3g})", f"{time:.3g} ms", host=host)


@check(
    cause="One end of the cable has another MTU, so that large packets over it vanish while small ones and BGP live on.",
    fix="Give both ends the fabric's MTU; nothing reports the drop but the receiving port's error counter.",
    fabric="roce",
)
def path_mtu(interface_mtu: Rows, interface_mtu_of_peers: dict[str, Rows], pod_cables: Rows, pod_role: str) -> t.Iterator[Finding]:
    """Both ends of every cable have the same MTU, where both platforms tell it; a leaf may take more than its host sends."""
    own, judged = by_port(interface_mtu), 0
    for cable in cables_of(pod_cables):
        if cable["peer"] not in interface_mtu_of_peers:
            continue
        judged += 1
        far = by_port(interface_mtu_of_peers[cable["peer"]]).get(cable["peer_port"], {}).get("mtu")
        near = own.get(cable["port"], {}).get("mtu")
        end = f"{cable['peer']} {cable['peer_port']}"
        if near is None or far is None:
            yield Finding(cable["port"], f"the MTU of {end}", f"not told of {'this end' if near is None else 'that end'}", "unknown")
        elif cable["peer_role"] == "host":
            if near < far:
                yield Finding(cable["port"], f"at least the MTU of {end}, {far}", str(near))
        elif near > far if pod_role == "host" else near != far:
            yield Finding(cable["port"], f"{'at most ' if pod_role == 'host' else ''}the MTU of {end}, {far}", str(near))
    if not judged:
        raise NotApplicable("no peer tells its MTU")


@check(
    cause="A cable, port or switch on one of the equal paths has a smaller MTU than the rails, or loses packets.",
    fix="Compare the MTU of every uplink of both leaves; one bad uplink of four loses a quarter of the flows.",
    fabric="roce",
)
def path_carries_full_size(path_probes: Rows, pod_path_probes: Rows, pod_topology: str, path_responder_before: Rows | None = None) -> t.Iterator[Finding]:
    """Full-size datagrams that may not be fragmented arrive from every source port."""
    if pod_topology == "rail_only":
        raise NotApplicable("a rail-only pod routes nothing across rails")
    if not pod_path_probes:
        raise NotApplicable("no probe is planned from here: pod_rails has no addresses, or no other host climbs")
    if path_responder_before is None:
        raise CannotTell("this host could not start what answers the probes")
    said = {(row["source"], row["target"]): row for row in path_probes}
    for planned in pod_path_probes:
        row = said.get((planned["source"], planned["target"]))
        where = f"{planned['device']} to {planned['peer']} {planned['peer_device']} ({planned['target']})"
        if row is None or not row["flows"]:
            yield Finding(where, "every flow answered", "no answer from the probe", "unknown")
        elif row["answered"] < row["flows"]:
            yield Finding(where, f"{row['flows']} flows of {row['size_bytes']} bytes answered", f"{row['answered']}")
