# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who pings whom: every pair of hosts once a rail, or a sample of the pairs of a large pod, and across rails where the spines must be exercised."""

from __future__ import annotations

import typing as t

from .types import Ping, PodRail

Values = dict[str, t.Any]


def ping_mesh(rails: list[PodRail], nodes: t.Mapping[str, t.Any]) -> dict[str, dict[str, list[Ping]]]:
    """Pings and path probes by host, from the rails of ``Plan.rails`` that have an address.

    Echo requests come back the same way, so each pair is pinged by one of its two hosts, in turn; of a pod of two by both,
    since a host that pings no one has not shown that it reaches anybody.
    Same-rail pairs are exhaustive up to ``pod_ping_peers_max`` hosts and at depth go_live, else a sample
    whose distances double, so that every part of the pod meets every other. Cross-rail pairs give each
    rail one target on another rail of another host; where there is none (``rail_only`` pods route none, and hosts may have one rail), a rail probes
    the same rail of the next host.
    """
    rails = [rail for rail in rails if rail["address"]]
    hosts = list(dict.fromkeys(rail["host"] for rail in rails))
    plans: dict[str, dict[str, list[Ping]]] = {host: {"ping": [], "path_probe": []} for host in hosts}
    if not hosts:
        return plans
    values = nodes[hosts[0]].values
    at = {(rail["host"], rail["index"]): rail for rail in rails}
    place = {host: number for number, host in enumerate(hosts)}
    for source in rails:
        for distance in distances(len(hosts), values):
            target = at.get((hosts[(place[source["host"]] + distance) % len(hosts)], source["index"]))
            opposite = 2 * distance == len(hosts) > 2 and 2 * place[source["host"]] >= len(hosts)
            if target is not None and not opposite:
                plans[source["host"]]["ping"].append(_pair(source, target, values))
    if values["pod_topology"] != "rail_only":
        _add_cross_rail(plans, hosts, at, values)
    _probe_next_host(plans, rails, hosts, at, values)
    return plans


def _probe_next_host(
    plans: dict[str, dict[str, list[Ping]]], rails: list[PodRail], hosts: list[str], at: dict[tuple[str, int], PodRail], values: Values
) -> None:  # fmt: skip
    """Full-size probes along each rail that none crosses from, around the ring of the hosts that have it."""
    probed = {probe["source"] for own in plans.values() for probe in own["path_probe"]}
    place = {host: number for number, host in enumerate(hosts)}
    for source in rails:
        after = (hosts[(place[source["host"]] + step) % len(hosts)] for step in range(1, len(hosts)))
        target = next((at[host, source["index"]] for host in after if (host, source["index"]) in at), None)
        if target is not None and source["address"] not in probed:
            plans[source["host"]]["path_probe"].append(_probe(_pair(source, target, values), values))


def both_ways(plans: dict[str, dict[str, list[Ping]]]) -> dict[str, dict[str, list[Ping]]]:
    """The same pings, also from the other end: where only some hosts ask, each asks everyone that it shares a pair with."""
    result = {host: {kind: list(pairs) for kind, pairs in own.items()} for host, own in plans.items()}
    planned = {host: {ping["item"] for ping in own["ping"]} for host, own in plans.items()}
    for host, own in plans.items():
        for pair in own["ping"]:
            turned = pair.copy()
            turned |= {"item": f"{pair['target']}>{pair['source']}", "source": pair["target"], "target": pair["source"], "peer": host}
            turned |= {"device": pair["peer_device"], "netdev": pair["peer_netdev"], "peer_device": pair["device"], "peer_netdev": pair["netdev"]}
            if turned["item"] not in planned[pair["peer"]]:
                result[pair["peer"]]["ping"].append(turned)
    return result


def distances(hosts: int, values: Values) -> list[int]:
    """How far around the ring of hosts each host's targets are; exhaustive when every pair is met once."""
    if hosts <= values["pod_ping_peers_max"] or values["pod_depth"] == "go_live":
        return list(range(1, hosts // 2 + 1))
    doubling: list[int] = []
    distance = 1
    while distance <= hosts // 2 and len(doubling) < values["pod_ping_peers"]:
        doubling.append(distance)
        distance *= 2
    return doubling


def _add_cross_rail(plans: dict[str, dict[str, list[Ping]]], hosts: list[str], at: dict[tuple[str, int], PodRail], values: Values) -> None:
    indexes_of: dict[str, list[int]] = {host: [] for host in hosts}
    for host, index in sorted(at):
        indexes_of[host].append(index)
    for number, host in enumerate(hosts):
        indexes = indexes_of[host]
        if len(indexes) < 2 or len(hosts) < 2:
            continue
        for step, index in enumerate(indexes):
            peer = hosts[(number + 1 + step % (len(hosts) - 1)) % len(hosts)]
            turned = [indexes[(step + 1 + number % (len(indexes) - 1) + turn) % len(indexes)] for turn in range(len(indexes))]
            # No route leads from one plane to another.
            other = next((one for one in turned if one != index and _meet(at[host, index], at.get((peer, one)))), None)
            target = at.get((peer, other)) if other is not None else None
            if target is not None:
                pair = _pair(at[host, index], target, values)
                plans[host]["ping"].append(pair)
                plans[host]["path_probe"].append(_probe(pair, values))


def _meet(one: PodRail, other: PodRail | None) -> bool:
    """Whether there is another rail, in the same plane."""
    return other is not None and one.get("plane") == other.get("plane")


def _probe(pair: Ping, values: Values) -> Ping:
    """The full-size probe of a pair."""
    return {**pair, "size": values["pod_mtu"] or 0, "flows": values["pod_path_probe_flows"]}


def _pair(source: PodRail, target: PodRail, values: Values) -> Ping:
    return {
        "item": f"{source['address']}>{target['address']}",
        "source": source["address"],
        "target": target["address"],
        "device": source["device"],
        "netdev": source["netdev"],
        "peer": target["host"],
        "peer_device": target["device"],
        "peer_netdev": target["netdev"],
        "cross": source["index"] != target["index"],
        "count": values["pod_ping_count"],
        "interval": values["pod_ping_interval_seconds"],
    }
