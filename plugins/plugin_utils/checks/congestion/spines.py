# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spines and super-spines under incasts across gate groups: ports of spines to leaves mark, and all of them and all of their ports carry their part."""

from __future__ import annotations

import statistics
import typing as t

from ...loads.uplinks import FLOWS_TO_USE, flows_needed
from ...pod.names import port_name, rated
from ...pod.tiers import SPINE, SUPER_SPINE, WORDS, below
from ...pod.types import NearCable, TierCable
from ...readings.rows import Peers, Rows
from ...text.counting import counted
from .. import CannotTell, Finding, NotApplicable, check
from .._counters import incasts_of_node, port_growth
from .._not_measured import no_result
from ..place import Place, at_port
from ._priority_groups import is_of
from .load import End, sent
from .marks import CONGESTED
from .switches import _of_class
from .uplinks import UNUSED, fair_ratio

# Where the receivers at a leaf take so many times what its uplinks carry, the spines' ports are full for sure; at about the same, either may be.
OVER = 1.2
# A spine whose ports carry less than this part of their speed does not see the load that the others see.
IN_USE = 0.5
NO_SPINE = "only a spine has ports to leaves that incasts across gate groups fill"
FEWER = (
    "{lowers} send less over {node} than over other {uppers}: they have fewer or lower-weighted next hops through it (drained, in maintenance mode, a longer "
    "AS path, a link of a lower speed)."
)
FEWER_FIX = "Look at {node} for maintenance mode and route maps of its sessions, and compare a {lower}'s next hops through it with those through others."
MORE = "{lowers} send more over {node} than over other {uppers}: a polarised hash, weights, or fewer next hops through the others."
MORE_FIX = "Compare a {lower}'s next hops and their weights through {node} with those through another {upper}, and give all tiers different hash seeds."


@check(
    cause="The spine does not mark at these ports: ECN is not enabled there or not bound to the RoCE queue, or its minimum threshold is above where pauses "
    "begin, so that only PFC limits traffic between gate groups.",
    fix="Compare the spine's ECN thresholds, and the ports and queue that they are bound to, with those of a spine that marks.",
    fabric="roce",
    kind="switch",
)
def spine_marks(
    ecn_counters_idle: Rows, ecn_counters: Rows, interface_bytes_idle: Rows, interface_bytes: Rows, load_jobs_of_peers: Peers, write_bw_of_peers: Peers,
    pod_incasts: Rows, pod_incast_refused: str, pod_cables: list[NearCable], pod_tier_cables: list[TierCable], pod_role: str, pod_roce_priority: int,
    pod_link_gbit_s: float, pod_incast_offered_min: float, pod_same_role: list[str], ecn_counters_idle_of_peers: Peers, ecn_counters_of_peers: Peers,
    pfc_counters_idle: Rows | None = None, pfc_counters: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """A spine's port to a leaf that is offered {pod_incast_offered_min} times what it carries, or more, marks packets of the RoCE priority."""
    if pod_role != SPINE:
        raise NotApplicable(NO_SPINE)
    filled = _filled(incasts_of_node(pod_incasts, pod_incast_refused), pod_incast_offered_min)
    if not filled:
        raise NotApplicable("no incast across gate groups fills this spine's ports to leaves")
    if not (ecn_counters_idle and ecn_counters):
        raise CannotTell("marked packets of its ports: nothing is reported")
    grown = port_growth(ecn_counters_idle, ecn_counters, ("marked_packets",), "queue")
    if not grown and not any(row["marked_packets"] is not None for row in (*ecn_counters_idle, *ecn_counters)):
        raise NotApplicable("this switch does not count marks; that it does not pause leaves is of pauses_stay_local")
    marks = {port: _of_class(grown, port, pod_roce_priority) for port in filled}
    for port in (port for port, its in marks.items() if not its):
        yield Finding(at_port(port, "marks"), "marked packet counter", "not reported", "unknown")
    unmarked = {port: filled[port] for port, its in marks.items() if its and not any(one["marked_packets"] for _queue, one in its)}
    if not unmarked:
        return
    cables = {cable["port"]: cable for cable in pod_cables}
    carried, rates = _carried(interface_bytes_idle, interface_bytes), sent(load_jobs_of_peers, write_bw_of_peers)
    parts = {port: _part(carried, cables[port], sum(row["seconds"] for row in rounds), pod_link_gbit_s) for port, rounds in unmarked.items()}
    speeds = {port: _speed(pod_tier_cables, cables[port]["peer"], pod_link_gbit_s) for port in unmarked}
    over = {port for port, rounds in unmarked.items() if len(rounds[0]["beside"]) * pod_link_gbit_s >= OVER * speeds[port]}
    # What a port has sent holds other rounds too; what its leaf was sent in these rounds does not.
    full = [port for port in unmarked if port in over and min(parts[port], _reached(unmarked[port], rates, speeds[port])) >= CONGESTED]
    if len(unmarked) < len(filled):
        for port in full:
            where = at_port(port, f"to {cables[port]['peer']}", peers=(cables[port]["peer"],))
            yield Finding(where, "ECN-marked packets, as at its other ports", f"none at {100 * min(parts[port], 1):.3g} % of its link")
        return
    pauses = _pauses_of_its_own(pfc_counters_idle or [], pfc_counters or [], cables, pod_roce_priority)
    others = _marks_of(ecn_counters_idle_of_peers, ecn_counters_of_peers, pod_same_role, pod_roce_priority) if max(parts.values()) >= IN_USE else []
    where, expected = Place("ECN"), "ECN-marked packets of the RoCE priority"
    if pauses:
        yield Finding(where, expected, f"none on any port to a leaf, and it sent {pauses} pauses: pauses come before marks")
    elif full:
        yield Finding(where, expected, f"none on any port to a leaf, {len(full)} of which were full")
    elif others and (usual := statistics.median(others)):
        yield Finding(
            where, expected, f"none on any port to a leaf; {usual:.0f} on the median one of {counted(len(others), 'other spine')} under the same load"
        )
    elif over or not rates:
        raise CannotTell(f"no congestion was made: its ports to leaves carried {100 * max(parts.values()):.3g} % of what they can at most")
    else:
        raise NotApplicable("no spine marked or paused: receivers take no more than the uplinks of their leaf carry, so that they are the narrowest place")


def _pauses_of_its_own(was: Rows, now: Rows, ports: t.Iterable[str], priority: int) -> int:
    """How many pauses a spine has sent; none where it was paused itself, since then they are passed on."""
    grown = port_growth(was, now, ("tx_frames", "rx_frames"), "priority")
    mine = [one for port in ports for _priority, one in _of_class(grown, port, priority)]
    return 0 if any(one["rx_frames"] for one in mine) else sum(one["tx_frames"] for one in mine)


def _marks_of(was: Peers, now: Peers, nodes: t.Iterable[str], priority: int) -> list[int]:
    """How many packets of the RoCE priority each of some switches marked, of those that report it."""
    found = []
    for node in nodes:
        try:
            grown = port_growth(was.get(node, []), now.get(node, []), ("marked_packets",), "queue")
        except CannotTell:
            continue
        of_class = [one["marked_packets"] for (_port, queue), one in grown.items() if is_of(queue, priority)]
        found += [sum(of_class)] if of_class else []
    return found


def _filled(incasts: Rows, least: float) -> dict[str, Rows]:
    """The rounds in which each port to a leaf is offered so many times what it carries."""
    filled: dict[str, Rows] = {}
    for row in incasts:
        if row["role"] == "downlink" and row["offered"] >= least:
            filled.setdefault(row["port"], []).append(row)
    return filled


def _speed(cables: list[TierCable], leaf: str, link: float) -> float:
    """What all uplinks of a leaf carry together, in Gb/s."""
    return sum(rated(cable, link) for cable in cables if cable["lower"] == leaf)


def _reached(rounds: Rows, rates: t.Mapping[End, t.Mapping[t.Any, t.Mapping[End, float]]], speed: float) -> float:
    """Which part of what its uplinks carry a leaf's receivers were sent at most in one of some rounds.

    Raises CannotTell where no sender to them reports a rate.
    """
    found = [
        # Of what a bond receives, each of its leaves carries its part.
        [sum(senders.values()) / int(row.get("parts", 1)) for end in row["beside"] if (senders := rates.get(tuple(end), {}).get(row["round"]))]
        for row in rounds
    ]
    if not any(found):
        raise no_result("no congestion was made: no sender across gate groups reported a rate")
    return max(sum(one) for one in found) / speed


def _carried(was: Rows, now: Rows) -> dict[str, int]:
    """What each port sent, in bytes.

    Raises CannotTell where rows of several queues of a port do not say which queue they are of.
    """
    sent: dict[str, int] = {}
    for rows in (was, now):
        if len({(port_name(row["port"]), row["queue"]) for row in rows}) < len(rows):
            raise CannotTell("of which queue bytes are: not reported")
    for (port, _queue), one in port_growth(was, now, ("tx_bytes",), "queue" if any(row["queue"] is not None for row in now) else None).items():
        sent[port] = sent.get(port, 0) + one["tx_bytes"]
    return sent


def _part(carried: t.Mapping[str, int], cable: NearCable, seconds: float, link: float) -> float:
    """Which part of what a port can send in some seconds it has sent.

    Raises CannotTell where it does not report its bytes.
    """
    count = carried.get(port_name(cable["port"]))
    if count is None:
        raise CannotTell(f"bytes sent by {cable['port']}: not reported")
    return count * 8 / 1e9 / (max(seconds, 1) * rated(cable, link))


@check(
    cause="The switch does not forward over that port: it has no route to the rails behind it, or the port is out of its port channel or drained.",
    fix="Look at its routes to the rails behind that port, at the BGP session over it, and at maintenance mode.",
    fabric="roce",
    kind="switch",
)
def spines_balanced(
    interface_bytes_idle: Rows, interface_bytes: Rows, interface_bytes_idle_of_peers: Peers, interface_bytes_of_peers: Peers, pod_incasts: Rows,
    pod_incast_refused: str, pod_tier_cables: list[TierCable], pod_node: str, pod_role: str, pod_link_gbit_s: float, pod_ecmp_ratio_max: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """Leaves send as much over this spine as over the others, spines so over a super-spine, and each of its ports to them carries traffic."""
    if pod_role not in (SPINE, SUPER_SPINE):
        raise NotApplicable(NO_SPINE)
    words = WORDS[pod_role][0]
    flows: dict[str, int] = {}
    for row in incasts_of_node(pod_incasts, pod_incast_refused):
        if row["role"] == "downlink" and row["across"] and row["flows"]:
            flows[row["peer"]] = max(flows.get(row["peer"], 0), row["flows"])
    uppers: dict[str, set[str]] = {}
    for cable in pod_tier_cables:
        uppers.setdefault(cable["lower"], set()).add(cable["upper"])
    spines = {cable["upper"] for cable in pod_tier_cables}
    if not flows or len(spines) < 2:
        none = f"no incast across gate groups fills this {words}'s ports to {WORDS[below(pod_role)][1]}"
        raise NotApplicable(none if not flows else f"the pod has one {words}")
    if all(len(its) == 1 for its in uppers.values() if pod_node in its):
        raise NotApplicable(f"what is below it has no other {words} to compare it with")
    nodes = spines | {cable["lower"] for cable in pod_tier_cables}
    peers = {node: rows for node, rows in interface_bytes_of_peers.items() if node in nodes and node in interface_bytes_idle_of_peers}
    carried = {node: _carried(interface_bytes_idle_of_peers[node], rows) for node, rows in peers.items()}
    carried[pod_node] = _carried(interface_bytes_idle, interface_bytes)
    ratios, leaves = _over_spines(pod_tier_cables, carried, pod_link_gbit_s)
    if pod_node not in ratios or leaves < 2:
        raise CannotTell(f"bytes sent to this {words} and to others: not reported by two {WORDS[below(pod_role)][1]}")
    finding = _uneven((pod_node, pod_role), ratios, leaves, min(flows.values()), pod_ecmp_ratio_max)
    if finding is not None:
        yield finding
    if finding is None or finding.severity == "warn":
        yield from _unused(pod_tier_cables, carried, (pod_node, pod_role), flows, pod_link_gbit_s)


def _over_spines(cables: list[TierCable], carried: t.Mapping[str, t.Mapping[str, int]], link: float) -> tuple[dict[str, float], int]:
    """What leaves send to each spine for what they send to the median spine, each for the speed of its links, and how many leaves report it; so of each tier.

    Of each spine it is the median leaf's: a leaf that spreads badly is that leaf's finding.
    """
    by_leaf: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for cable in cables:
        count = carried.get(cable["lower"], {}).get(port_name(cable["lower_port"]))
        if count is not None:
            by_leaf.setdefault(cable["lower"], {}).setdefault(cable["upper"], []).append((count, rated(cable, link)))
    ratios: dict[str, list[float]] = {}
    leaves = 0
    for of_spines in by_leaf.values():
        each = {spine: sum(count for count, _speed in its) / sum(speed for _count, speed in its) for spine, its in of_spines.items()}
        usual = statistics.median(each.values()) or statistics.mean(each.values())
        if len(each) > 1 and usual:
            leaves += 1
            for spine, value in each.items():
                ratios.setdefault(spine, []).append(value / usual)
    return {spine: statistics.median(its) for spine, its in ratios.items()}, leaves


def _uneven(place: tuple[str, str], ratios: t.Mapping[str, float], leaves: int, flows: int, most: float) -> Finding | None:
    """A spine that most leaves send more or less than others; one that has more only where no other lacks it. So of a super-spine what spines send.

    place: its name and role.
    """
    (node, role), (upper, uppers) = place, WORDS[place[1]]
    lower, lowers = WORDS[below(role)]
    times, limit = ratios[node], max(most, fair_ratio(len(ratios), flows))
    words = f"{times:.2f} times as much, of the median of {leaves} {lowers}"
    names = {"node": node, "lower": lower, "lowers": lowers.capitalize(), "upper": upper, "uppers": uppers}
    fewer: dict[str, t.Any] = {"cause": FEWER.format(**names), "fix": FEWER_FIX.format(**names)}
    where = Place(f"traffic of {lowers}")
    if times < UNUSED:
        return Finding(where, f"as much as over other {uppers}", f"{words}: no {lower} uses it", **fewer)
    expected = f"at most {limit:.2f} times as much as over other {uppers}, and 1/{limit:.2f} at least"
    if flows < flows_needed(len(ratios)):
        return None
    if times < 1 / limit:
        return Finding(where, expected, words, "warn", **fewer)
    if times > limit and min(ratios.values()) >= 1 / limit:
        return Finding(where, expected, words, "warn", cause=MORE.format(**names), fix=MORE_FIX.format(**names))
    return None


def _unused(
    cables: list[TierCable], carried: t.Mapping[str, t.Mapping[str, int]], place: tuple[str, str], flows: t.Mapping[str, int], link: float
) -> t.Iterator[Finding]:
    """This spine's ports to loaded leaves that carry nothing, though ports of all spines to the same leaf do; place: its name and role."""
    node, (kind, kinds) = place[0], WORDS[place[1]]
    for leaf, many in flows.items():
        own = [cable for cable in cables if cable["lower"] == leaf]
        sent = [(cable, carried.get(cable["upper"], {}).get(port_name(cable["upper_port"]))) for cable in own]
        reported = [(count, rated(cable, link)) for cable, count in sent if count is not None]
        a_gbit = sum(count for count, _speed in reported) / max(sum(speed for _count, speed in reported), 1)
        for cable, count in sent:
            if cable["upper"] != node:
                continue
            part = a_gbit * rated(cable, link)
            if count is None or len(reported) < 2:
                yield Finding(at_port(cable["upper_port"], f"to {leaf}", peers=(leaf,)), f"bytes sent by it and by another {kind}", "not reported", "unknown")
            elif count < part * UNUSED and many >= FLOWS_TO_USE * len(own):
                words = f"{count / 1e9:.3g} GB: the port is not used"
                yield Finding(at_port(cable["upper_port"], f"to {leaf}", peers=(leaf,)), f"about {part / 1e9:.3g} GB sent, as by all {kinds}", words)
