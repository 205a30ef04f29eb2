# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the incasts of a run do to a pod: how fast each sender is, and what the counters of NICs and switch ports grow by."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field

from ...plugins.plugin_utils.loads.incasts import incasts_among
from ...plugins.plugin_utils.pod.plan import Plan
from .model import Host, Pod, Port, Rail, Switch
from .queueing import Outcome, incast
from .queueing import Port as Queue

Place = tuple[str, str]
Pair = dict[str, t.Any]
PACKET_BYTES = 4170
# A leaf that is paused for so long of the time fills the spines, and these pause whoever sends.
SPREADS_ABOVE = 0.05
# Frames by which a switch that storms pauses everybody, all of the time.
STORM_FRAMES = 2_000_000
CLOSE_TO_LINK = 0.9
# Pause frames that keep a port of 400 Gb/s paused for a second.
FRAMES_A_SECOND = 12000


@dataclass
class Moved:
    """Growth by place: of NICs (host, device) as ``ethtool -S`` and as hw_counters name it, of switch ports (switch, port).

    rates: in Gb/s by round, host and device of the sender.
    """

    nic: dict[Place, Counter[str]] = field(default_factory=dict)
    rdma: dict[Place, Counter[str]] = field(default_factory=dict)
    ports: dict[Place, Counter[str]] = field(default_factory=dict)
    rates: dict[tuple[int, str, str], float] = field(default_factory=dict)
    # Bytes by the leaves that they leave and reach, where these share no spine.
    over_core: Counter[tuple[str, str]] = field(default_factory=Counter)

    def of(self, node: str) -> str:
        """All that moves on a node, as one word."""
        return repr(
            [(place, sorted(grown.items())) for table in (self.nic, self.rdma, self.ports) for place, grown in sorted(table.items()) if place[0] == node]
        )

    def add(self, kind: str, place: Place, **grown: float) -> None:
        """Let some counters of a place grow."""
        table = getattr(self, kind)
        counters = table[place] if place in table else table.setdefault(place, Counter())
        for name, value in grown.items():
            if whole := round(value):
                counters[name] += whole


def moved(pod: Pod, plan: Plan) -> Moved:
    """What comes of all rounds of the incasts among the hosts of a run's loads."""
    result = Moved()
    hosts = [name for name in pod.loadable() if not pod.hosts[name].unreachable and not busy(pod.hosts[name])]
    lacking = {name for name in hosts if any((tool.name, tool.how) == ("ib_write_bw", "missing") for tool in pod.hosts[name].tools)}
    ends: dict[tuple[int, str, str], list[Pair]] = {}
    targets: dict[tuple[int, str], list[Pair]] = {}
    for pair in incasts_among(plan, plan.rails(hosts)).pairs:
        if lacking & {pair["sender"]["host"], pair["receiver"]["host"]}:
            continue
        if pair["across"]:
            targets.setdefault((pair["round"], pair["receiver"]["leaf"]), []).append(pair)
        else:
            ends.setdefault((pair["round"], pair["receiver"]["host"], pair["receiver"]["device"]), []).append(pair)
    # Where receivers take less than the uplinks of their leaf carry, they are the queues again.
    of_receivers = [its for pairs in targets.values() for its in _OverSpines(pod, result, pairs).count()]
    for own in (*ends.values(), *of_receivers):
        _Incast(pod, result, own).count()
    for (leaf, target), sent in result.over_core.items():
        _over_super_spines(pod, result, pod.switches[leaf], pod.switches[target], sent)
    for switch in pod.switches.values():
        if switch.storms:
            _storm(pod, result, switch)
        if pod.fabric == "roce":
            for port in switch.ports:
                result.add("ports", (switch.name, port.name), **port.grow_loaded)
    for host in pod.hosts.values() if pod.fabric == "roce" else ():
        for rail in host.rails:
            result.add("nic", (host.name, rail.device), **rail.grow_loaded)
            _over_ports(result, host, rail)
    return result


def _over_ports(result: Moved, host: Host, rail: Rail) -> None:
    """What a bond moves is moved by its ports alike, and by the leaves' ports to them."""
    for table, place in ((result.nic, (host.name, rail.device)), (result.ports, (rail.leaf, rail.leaf_port))):
        whole = table.pop(place, None) if rail.legs else None
        for leg in rail.legs if whole else ():
            own = (host.name, leg.netdev) if table is result.nic else (leg.leaf, leg.leaf_port)
            table[own] = Counter({name: value // len(rail.legs) for name, value in whole.items()})


def busy(host: Host) -> bool:
    """Whether its GPUs work for somebody, so that it is not loaded."""
    return not host.loaded_at_work and any(gpu.working for gpu in host.gpus)


def _reacts(rail: Rail) -> bool:
    return rail.reacts and bool(rail.dcqcn_rp)


def _notifies(rail: Rail) -> bool:
    return rail.notifies and bool(rail.dcqcn_np)


class _Incast:
    """One receiver of one round, and its senders."""

    def __init__(self, pod: Pod, result: Moved, pairs: list[Pair]) -> None:
        self.pod, self.result, self.pairs, self.seconds = pod, result, pairs, float(pairs[0]["seconds"])
        self.receiver = _rail(pod, pairs[0]["receiver"])
        self.senders = [(_rail(pod, pair["sender"]), pair) for pair in pairs]
        self.leaf = pod.switches[self.receiver.leaf]
        self.place = (pairs[0]["receiver"]["host"], self.receiver.device)

    def count(self) -> None:
        """Count everything once."""
        outcome = incast(self._queue(), tuple(_reacts(rail) for rail, _pair in self.senders), self.seconds, _notifies(self.receiver))
        port = (self.leaf.name, self.receiver.leaf_port)
        priority = self.receiver.priority if self.receiver.counts_class else 0
        total = sum(outcome.rates) * 1e9 / 8 * self.seconds
        self.result.add("nic", self.place, **{f"rx_prio{priority}_bytes": total, "rx_bytes_phy": total})
        self.result.add("rdma", self.place, np_ecn_marked_roce_packets=outcome.marked, np_cnp_sent=sum(outcome.notified), out_of_sequence=outcome.dropped)
        self.result.add("ports", port, tx_bytes=total, marked=outcome.marked, dropped=outcome.dropped)
        if _takes(self.receiver) < CLOSE_TO_LINK * self.receiver.speed_gbit_s:
            pausing = self.seconds * (1 - _takes(self.receiver) / self.receiver.speed_gbit_s)
            frames, prio = pausing * FRAMES_A_SECOND, f"tx_prio{self.receiver.priority}"
            self.result.add("nic", self.place, **{f"{prio}_pause": frames, f"{prio}_pause_duration": pausing * 1e6})
            self.result.add("ports", port, rx_pfc=frames)
        for number, (rail, pair) in enumerate(self.senders):
            self._sender(rail, pair, outcome, number)
        if any(pair["cross"] for pair in self.pairs):
            self._cross(outcome)

    def _queue(self) -> Queue:
        leaf = self.leaf
        return Queue(
            self.receiver.speed_gbit_s, _takes(self.receiver), leaf.marking, leaf.ecn_min_bytes, leaf.ecn_max_bytes, leaf.priority in leaf.lossless,
            leaf.pause_bytes, leaf.headroom_bytes, leaf.drop_bytes,
        )  # fmt: skip

    def _sender(self, rail: Rail, pair: Pair, outcome: Outcome, number: int) -> None:
        place = (pair["sender"]["host"], rail.device)
        rate, priority = outcome.rates[number], rail.priority if rail.counts_class else 0
        sent = rate * 1e9 / 8 * self.seconds
        self.result.rates[pair["round"], *place] = rate
        self.result.add("nic", place, **{f"tx_prio{priority}_bytes": sent, "tx_bytes_phy": sent})
        self.result.add("rdma", place, rp_cnp_handled=outcome.notified[number] if _reacts(rail) else 0)
        self.result.add("rdma", place, packet_seq_err=outcome.dropped / len(self.senders) / 8)
        if not pair["cross"] or self._spreads(outcome):
            part = 1.0 if not pair["cross"] else 0.5
            paused = {"pause": outcome.pauses * part, "pause_duration": outcome.paused_seconds * 1e6 * part}
            self.result.add("nic", place, **{f"rx_prio{rail.priority}_{name}": grown for name, grown in paused.items()})
            self.result.add("ports", (rail.leaf, rail.leaf_port), tx_pfc=outcome.pauses * part)
        _between(self.pod, self.result, rail, self.receiver, sent if pair["cross"] else 0.0)

    def _spreads(self, outcome: Outcome) -> bool:
        return outcome.paused_seconds > SPREADS_ABOVE * self.seconds

    def _cross(self, outcome: Outcome) -> None:
        """The target leaf pauses its own uplinks; where it does so for long, spines pause the leaves of the senders."""
        for port in self.leaf.ports:
            if port.peer_role == "spine":
                self.result.add("ports", (self.leaf.name, port.name), tx_pfc=outcome.pauses)
                self.result.add("ports", (port.peer, port.peer_port), rx_pfc=outcome.pauses)
        if self._spreads(outcome):
            for name in {rail.leaf for rail, _pair in self.senders}:
                _paused_by_spines(self.pod.switches[name], self.result, outcome.pauses / 2)


class _OverSpines:
    """A leaf whose receivers are sent more than its uplinks carry, so that the spines' ports to it are the queues."""

    def __init__(self, pod: Pod, result: Moved, pairs: list[Pair]) -> None:
        self.pod, self.result, self.seconds = pod, result, float(pairs[0]["seconds"])
        self.leaf = pod.switches[_rail(pod, pairs[0]["receiver"]).leaf]
        self.ends: dict[Place, list[Pair]] = {}
        for pair in pairs:
            self.ends.setdefault((pair["receiver"]["host"], pair["receiver"]["device"]), []).append(pair)
        # For how long spines paused the leaves of the senders, and these their senders, of all uplinks together.
        self.paused = 0.0
        leaves = _rail(pod, pairs[0]["receiver"]).leaves or [self.leaf.name]
        links = [port for leaf in leaves for port in pod.switches[leaf].ports if port.peer_role == "spine"]
        self.downlinks = [(pod.switches[port.peer], port) for port in links if self.leaf.name not in pod.switches[port.peer].unused]

    def count(self) -> list[list[Pair]]:
        """Count everything once; the tests by receiver where the receivers are the queues, and nothing is counted here."""
        takes = {end: _takes(_rail(self.pod, its[0]["receiver"])) for end, its in self.ends.items()}
        if sum(takes.values()) < sum(port.speed_gbit_s for _spine, port in self.downlinks):
            return list(self.ends.values())
        outcomes = [self._port(spine, port) for spine, port in self.downlinks]
        left = sum(sum(outcome.rates) for outcome in outcomes)
        marked = sum(outcome.marked for outcome in outcomes) / len(self.ends)
        # What a slow receiver leaves is shared by the others.
        for number, (end, took) in enumerate(sorted(takes.items(), key=lambda item: item[1])):
            fair = left / (len(takes) - number)
            left -= min(took, fair)
            self._receiver(end, min(took, fair), marked, paused=1 - took / fair if took < CLOSE_TO_LINK * fair else 0.0)
        return []

    def _port(self, spine: Switch, uplink: Port) -> Outcome:
        queue = Queue(
            uplink.speed_gbit_s, 0.95 * uplink.speed_gbit_s, spine.marking, spine.ecn_min_bytes, spine.ecn_max_bytes, spine.priority in spine.lossless,
            spine.pause_bytes, spine.headroom_bytes, spine.drop_bytes,
        )  # fmt: skip
        outcome = incast(queue, (True,) * 8, self.seconds)
        self.result.add("ports", (spine.name, uplink.peer_port), marked=outcome.marked, dropped=outcome.dropped)
        senders = {_rail(self.pod, pair["sender"]).leaf for its in self.ends.values() for pair in its}
        for name in sorted(senders) if outcome.pauses else ():
            _paused_by_spines(self.pod.switches[name], self.result, outcome.pauses, spine.name)
        self.paused += outcome.paused_seconds if outcome.paused_seconds > SPREADS_ABOVE * self.seconds else 0.0
        return outcome

    def _receiver(self, end: Place, share: float, marked: float, paused: float) -> None:
        rail, pairs = _rail(self.pod, self.ends[end][0]["receiver"]), self.ends[end]
        priority, total = rail.priority if rail.counts_class else 0, share * 1e9 / 8 * self.seconds
        notified = marked / 10 if _notifies(rail) else 0
        self.result.add("nic", end, **{f"rx_prio{priority}_bytes": total, "rx_bytes_phy": total})
        self.result.add("rdma", end, np_ecn_marked_roce_packets=marked, np_cnp_sent=notified)
        self.result.add("ports", (rail.leaf, rail.leaf_port), tx_bytes=total)
        if paused:
            pausing = self.seconds * paused
            prio = f"tx_prio{rail.priority}"
            self.result.add("nic", end, **{f"{prio}_pause": pausing * FRAMES_A_SECOND, f"{prio}_pause_duration": pausing * 1e6})
            self.result.add("ports", (rail.leaf, rail.leaf_port), rx_pfc=pausing * FRAMES_A_SECOND)
        for pair in pairs:
            sender, place = _rail(self.pod, pair["sender"]), (pair["sender"]["host"], pair["sender"]["device"])
            sent, prio = total / len(pairs), sender.priority if sender.counts_class else 0
            self.result.rates[pair["round"], *place] = share / len(pairs)
            self.result.add("nic", place, **{f"tx_prio{prio}_bytes": sent, "tx_bytes_phy": sent})
            self.result.add("rdma", place, rp_cnp_handled=notified / len(pairs) if _reacts(sender) else 0)
            held = self.paused / len(self.downlinks)
            self.result.add("nic", place, **{f"rx_prio{sender.priority}_pause": held * FRAMES_A_SECOND, f"rx_prio{sender.priority}_pause_duration": held * 1e6})
            self.result.add("ports", (sender.leaf, sender.leaf_port), tx_pfc=held * FRAMES_A_SECOND)
            _between(self.pod, self.result, sender, rail, sent)


def _takes(rail: Rail) -> float:
    return rail.takes_gbit_s or 0.95 * rail.speed_gbit_s


def _between(pod: Pod, result: Moved, sender: Rail, receiver: Rail, sent: float) -> None:
    """What crosses from one rail to another, over all leaves of both."""
    ways = [(leaf, target) for leaf in sender.leaves or [sender.leaf] for target in receiver.leaves or [receiver.leaf]]
    for leaf, target in ways:
        _crossing(pod, result, pod.switches[leaf], pod.switches[target], sent / len(ways))


def _crossing(pod: Pod, result: Moved, leaf: Switch, target: Switch, sent: float) -> None:
    """What crosses is spread over the uplinks that the leaf hashes over, nearly evenly, and leaves the spines to the target leaf."""
    uplinks = [port for port in leaf.ports if port.peer_role == "spine"]
    used = uplinks[: leaf.hashes_over or len(uplinks)]
    weights = [leaf.uplink_weights.get(port.peer, 1.0) * (1 + 0.01 * (number % 3 - 1)) for number, port in enumerate(used)]
    downlinks: dict[str, list[str]] = {}
    for port in target.ports if target is not leaf else ():
        if port.peer_role == "spine" and target.name not in pod.switches[port.peer].unused:
            downlinks.setdefault(port.peer, []).append(port.peer_port)
    through = [(port.peer, weight) for port, weight in zip(used, weights) if port.peer in downlinks]
    if not through and target is not leaf:
        result.over_core[leaf.name, target.name] += round(sent)
        return
    for port, weight in zip(used, weights):
        result.add("ports", (leaf.name, port.name), tx_bytes=sent * weight / sum(weights))
    for spine, weight in through:
        for name in downlinks[spine]:
            result.add("ports", (spine, name), tx_bytes=sent * weight / sum(one for _spine, one in through) / len(downlinks[spine]))


def _over_super_spines(pod: Pod, result: Moved, leaf: Switch, target: Switch, sent: float) -> None:
    """What goes from one scalable unit to another: each switch spreads it over all its ports that lead there, nearly evenly."""
    there, last = target.own_prefix, {port.peer for port in target.ports if port.peer_role == "spine"}
    at = {leaf.name: sent}
    for role in ("leaf", "spine", "super_spine", "spine"):
        further: dict[str, float] = {}
        for name, amount in at.items():
            switch = pod.switches[name]
            ports = [port for port in switch.ports if (port.peer_role == "spine" if role == "leaf" else (port.channel or port.name) in switch.ways[there])]
            ports = [port for port in ports if role != "super_spine" or port.peer in last][: switch.hashes_over or None]
            weights = [switch.uplink_weights.get(port.peer, 1.0) * (1 + 0.01 * (number % 3 - 1)) for number, port in enumerate(ports)]
            for port, weight in zip(ports, weights):
                part = amount * weight / sum(weights)
                result.add("ports", (name, port.name), tx_bytes=part)
                further[port.peer] = further.get(port.peer, 0.0) + part
        at = further


def _paused_by_spines(leaf: Switch, result: Moved, frames: float, spine: str | None = None) -> None:
    for port in leaf.ports:
        if port.peer_role == "spine" and spine in (None, port.peer):
            result.add("ports", (leaf.name, port.name), rx_pfc=frames)
            result.add("ports", (port.peer, port.peer_port), tx_pfc=frames)


def _storm(pod: Pod, result: Moved, spine: Switch) -> None:
    for leaf in pod.switches.values():
        _paused_by_spines(leaf, result, STORM_FRAMES, spine.name)


def _rail(pod: Pod, end: Pair) -> Rail:
    return next(rail for rail in pod.hosts[end["host"]].rails if rail.device == end["device"])
