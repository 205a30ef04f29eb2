# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: what an uplink that the operator shuts does to flows over its leaf, and whether all is as before once it is up again."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...pod.names import port_name
from ...readings.rows import Peers, Rows
from ...text.counting import counted
from .. import CannotTell, Finding, NotApplicable, check
from ..place import Place, at_port

Values = dict[str, t.Any]
ASKED = ("pod_failover", True)
# The times of readings and those of probes differ by how long a node takes to answer, and a host to start a probe.
SLACK_SECONDS = 8.0
# What is left to chance: that of so many flows none has crossed the link.
CHANCE = 0.001
STUCK_CAUSE = (
    "Some flows were not routed around the link while it was down: {leaf} still sent to it, or the far leaves still sent to {spine}, which has no other way "
    "to {leaf}."
)
STUCK_FIX = (
    "Shut it again and look for routes that still have it: show ip route on {leaf}, and on a far leaf the prefixes of {leaf} by way of {spine}; a static or "
    "aggregated route, or a next hop that the ASIC did not take out, keeps sending."
)
AGAIN_CAUSE = "Traffic was lost when the link came back: {leaf} or {spine} announced or used the path before it forwarded, or not all of it forwards."
AGAIN_FIX = "Compare the time of link up, session up and route installed on both ends; a delay of link up (carrier delay) or of announcements closes the gap."


@dataclass(frozen=True)
class Shut:
    """When the link was down, by the switch's own readings, in seconds since the loads began: it was up at ``up`` and down at ``down``; it was last
    down at ``last`` and up again at ``again``, None where it was not; state: the word for it when it was last down.
    """

    up: float
    down: float
    last: float
    again: float | None
    state: str


@check(
    cause="The loss of the link was noticed by a timer and not by its port (hold timer without fast fallover, no BFD), or its routes were slow to move.",
    fix="See that the port's loss of carrier ends its BGP session at once at both ends (fast external fallover, no long carrier delay), and use BFD where not.",
    fabric="roce",
    kind="switch",
    when=ASKED,
)
def reconvergence_time(
    failover_probes_of_peers: Peers, load_jobs_of_peers: Peers, pod_node: str, pod_role: str, pod_topology: str, pod_failover_link: Values, pod_uplinks: int,
    pod_reconvergence_max_ms: int, interface_status_during: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """After an uplink is shut no flow is without an answer for longer than {pod_reconvergence_max_ms} ms."""
    shut = _shut(pod_node, pod_role, pod_topology, pod_failover_link, interface_status_during)
    where, port = _at(pod_failover_link), pod_failover_link["port"]
    lost = list(_ended_early(load_jobs_of_peers))
    yield from lost
    probes = {(host, row["item"]): row["flows"] for host, rows in failover_probes_of_peers.items() for row in rows}
    if not probes:
        raise CannotTell("no probe has crossed the leaf's uplinks: none was started, or none has ended")
    # It came up somewhere between two readings.
    until = shut.last if shut.again is not None else float("inf")
    events = [(host, row) for host, rows in failover_probes_of_peers.items() for row in rows if row["from_s"] is not None]
    at_shut = [(host, row) for host, row in events if shut.up - SLACK_SECONDS <= row["from_s"] <= shut.down + SLACK_SECONDS]
    for host, row in events:
        if not (shut.up - SLACK_SECONDS <= row["from_s"] <= shut.down + SLACK_SECONDS or row["from_s"] >= shut.last - SLACK_SECONDS):
            got = f"{counted(row['flows_lost'], 'flow')} without an answer, {_long(row)}, {row['from_s']:.0f} s after the probes began"
            yield Finding(
                Place(f"{host} to {row['target']}", port=port, peers=(host, row["target"])), f"no loss but when {where} goes down or comes back", got, "warn"
            )
    flows = sum(probes.values())
    if not at_shut and (1 - 1 / max(pod_uplinks, 1)) ** flows > CHANCE:
        raise CannotTell(f"no flow has lost an answer, and of {flows} flows over {pod_uplinks} uplinks it is not known that any crossed {where}")
    stuck = [(host, row) for host, row in at_shut if _not_back(row, until, pod_reconvergence_max_ms)]
    slow = [(host, row) for host, row in at_shut if (host, row) not in stuck and row["longest_ms"] > pod_reconvergence_max_ms]
    if stuck:
        host, row = max(stuck, key=lambda one: one[1]["flows_lost"])
        got = f"{counted(sum(one['flows_lost'] for _host, one in stuck), 'flow')} lost until it was up again, such as {_whose(host, row)}"
        yield _finding(pod_failover_link, where, pod_reconvergence_max_ms, got, STUCK_CAUSE, STUCK_FIX)
    if slow:
        host, row = max(slow, key=lambda one: one[1]["longest_ms"])
        got = f"{row['longest_ms']} ms at most, {_whose(host, row)}; {counted(sum(one['flows_lost'] for _host, one in slow), 'flow')} in all"
        yield _finding(pod_failover_link, where, pod_reconvergence_max_ms, got)


@check(
    cause="The link, its session or its routes did not come back after the port was enabled again.",
    fix="Enable the port again (no shutdown) at the end at which it is shut; then look at the port, at the session's last error (show ip bgp "
    "neighbors) and at its routes at both ends.",
    fabric="roce",
    kind="switch",
    when=ASKED,
)
def restored_after_failure(
    failover_probes_of_peers: Peers, pod_node: str, pod_role: str, pod_topology: str, pod_failover_link: Values,
    pod_neighbors: Rows, pod_reconvergence_max_ms: int, pod_underlay: str, interface_status_during: Rows | None = None, bgp_summary_during: Rows | None = None,
    bgp_summary: Rows | None = None, ecmp_routes: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Once an uplink that was shut is up again, its session, its routes and the traffic over it are as before."""
    shut = _shut(pod_node, pod_role, pod_topology, pod_failover_link, interface_status_during)
    where, port = _at(pod_failover_link), pod_failover_link["port"]
    if shut.again is None:
        yield Finding(where, "connected again while the probes run", f"{shut.state} to their end")
        return
    for one in pod_neighbors:
        if pod_underlay == "bgp" and port_name(one["port"]) == port_name(port):
            yield from _session(one, where, bgp_summary, bgp_summary_during)
    over = [row for row in ecmp_routes or () if row["installed"] is not False and row["selected"] is not False and row["protocol"] == pod_underlay]
    if any(row["interface"] for row in over) and not any(port_name(row["interface"] or "") == port_name(port) for row in over):
        yield Finding(where, "routes over it", f"none of {counted(len(over), 'next hop')}")
    again = [(host, row) for host, rows in failover_probes_of_peers.items() for row in rows if row["from_s"] is not None]
    again = [(host, row) for host, row in again if row["flows_not_back"] or row["from_s"] >= shut.last - SLACK_SECONDS]
    for host, row in again:
        if row["flows_not_back"] or row["longest_ms"] > pod_reconvergence_max_ms:
            got = f"{_whose(host, row)}: {counted(row['flows_lost'], 'flow')} without an answer, {_long(row)}"
            yield _finding(pod_failover_link, where, pod_reconvergence_max_ms, got, AGAIN_CAUSE, AGAIN_FIX)


def _shut(node: str, role: str, topology: str, link: Values, during: Rows | None) -> Shut:
    """When the planned link was down. Raises NotApplicable on another switch, and CannotTell where it was not seen to go down."""
    if not link and role == "leaf" and topology != "rail_only":
        words = "pod_failover is set, and the plan has no leaf with two spines, by uplinks that are in no port-channel, whose rails reach rails of other leaves"
        raise CannotTell(words)
    if not link or link["leaf"] != node:
        raise NotApplicable(f"the link that is shut is {_at(link)} of {link['leaf']}" if link else "there is no uplink to shut")
    reported = {row["seconds"]: row["state"] for row in during or () if port_name(row["port"]) == port_name(link["port"])}
    seen = [(at, reported[at] == "connected") for at in sorted(reported)]
    if not seen:
        raise CannotTell(f"{_at(link)} was not read while the probes ran, or they were not started")
    down = [at for at, up in seen if not up]
    before = [at for at, up in seen if up and (not down or at < down[0])]
    if not down:
        words = f"{_at(link)} was not shut: it was up in each of {counted(len(seen), 'reading')} over {seen[-1][0] - seen[0][0]:.0f} s"
        fix = f"Run again with pod_failover, and shut {_at(link)} of {link['leaf']} once the run asks for it; pod_failover_seconds is the time for it."
        raise CannotTell(words, "Nobody shut the uplink while the probes ran, so that what its loss does is not known.", fix)
    if not before:
        raise CannotTell(f"{_at(link)} was down before the probes began, so that when it went down is not known")
    return Shut(before[-1], down[0], down[-1], next((at for at, up in seen if up and at > down[-1]), None), reported[down[-1]])


def _ended_early(jobs: Peers) -> t.Iterator[Finding]:
    """The probes and responders that did not come to their end."""
    for host, rows in jobs.items():
        for row in rows:
            if row["kind"] == "failover" and row["status"] != "ok":
                yield Finding(Place(f"{host} {row['item']}", peers=(host,)), "a probe that came to its end", str(row["words"] or row["status"]), "unknown")


def _session(planned: Values, where: Place, now: Rows | None, during: Rows | None) -> t.Iterator[Finding]:
    def of_link(rows: Rows | None) -> Rows:
        return [row for row in rows or () if port_name(row["neighbor"]) in (port_name(planned["port"]), port_name(str(planned["address"])))]

    if now is None:
        yield Finding(where, f"its session with {planned['peer']}, Established", "not reported", "unknown")
        return
    if planned["address"] is None and not of_link(now):
        # By its AS alone a session is none of this link; bgp_established counts them.
        return
    row: Values = next(iter(of_link(now)), {"state": "no such neighbor", "prefixes_received": None})
    if row["state"] != "Established":
        yield Finding(where, f"its session with {planned['peer']}, Established", row["state"])
        return
    before = min(of_link(during), key=lambda one: one["seconds"], default=None)
    was, is_now = (before or {}).get("prefixes_received"), row["prefixes_received"]
    if was is not None and is_now is not None and is_now < was:
        yield Finding(where, f"{was} prefixes from {planned['peer']}, as before", str(is_now))


def _not_back(row: Values, until: float, most: int) -> bool:
    """Whether an event lasted until the link was up again, and was not only as short as it may be."""
    return bool(row["flows_not_back"]) or row["until_s"] is None or (row["until_s"] > until - SLACK_SECONDS and row["longest_ms"] > most)


def _at(link: Values) -> Place:
    return at_port(link["port"], f"(to {link['spine']} {link['spine_port']})", peers=(link["spine"],))


def _whose(host: str, row: Values) -> str:
    return f"{host} {row['source']} to {row['target']}"


def _long(row: Values) -> str:
    return "until the probes ended" if row["flows_not_back"] else f"for {row['longest_ms']} ms"


def _finding(link: Values, where: Place, most: int, got: str, cause: str | None = None, fix: str | None = None) -> Finding:
    cause, fix = (words.format(leaf=link["leaf"], spine=link["spine"]) if words else None for words in (cause, fix))
    return Finding(where, f"no flow without an answer for longer than {most} ms", got, cause=cause, fix=fix)
