# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches: the same settings at both ends of a cable, drops, and pauses that stay where they belong."""

from __future__ import annotations

import typing as t

from ...pod.names import port_name, rated
from ...pod.tiers import SPINE, SUPER_SPINE, WORDS, is_above
from ...pod.types import NearCable
from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._counters import at_most, faces, in_group, incasts_of_node, judge_most, paused_percent, port_growth, sent_bytes
from .._not_measured import no_result
from .._planned import cables_of
from ..place import Place, at_port
from ._priority_groups import Grown, is_of, lost_in_another_group
from .load import End, sent
from .marks import CONGESTED

PAUSED_BY = "{end} pauses this port without any load: a NIC whose host or firmware hangs sends pauses without end."
PAUSED_BY_FIX = "Reset that NIC or power-cycle its host ({end}), and switch the PFC watchdog on at the switch, so that one NIC cannot stop the fabric."
PASSED_ON = "{peer} pauses this {own}, whose buffers fill, so that it pauses its other ports without congestion of their own."
PASSED_ON_FIX = (
    "Look at {peer}'s ports to hosts for the one that is congested or paused by its host. Correct ECN marking there and DCQCN of its senders before PFC."
)
PASSED_ON_BY_SPINE_FIX = "Look at pauses_stay_local of {peer} first, which pauses this {own}: whoever pauses {peer} is where the pauses begin."
DROPPED_BY_WRED = (
    "The WRED profile of the RoCE queue drops at its thresholds instead of marking: its ECN mode is missing or not for green packets, "
    "or senders transmit RoCE that is not ECN-capable (ECT)."
)
LOSSY_DROPS = "The queue was full before the senders had slowed down: marks begin too late, or are ignored, or the queue has too little of the shared buffer."
LOSSY_DROPS_FIX = (
    "Compare the port's ECN thresholds and its share of the buffer (alpha) with its peers', and look at dcqcn_running and dcqcn_backs_off of its senders. "
    "Where incast_fills_link and the layers above pass with such losses, raise pod_drops_max_per_tb."
)
PAUSES_FIRST = (
    "This switch sends more pauses than it marks packets, and nothing pauses it: the pauses begin here, before its queue is long enough to be marked. "
    "The pause threshold of its lossless class (xoff, or the class's share of the shared buffer, alpha) is below or near the ECN minimum threshold, "
    "as by the defaults of another model or release; or what it queues cannot be marked."
)
PAUSES_FIRST_FIX = (
    "Compare the buffer profile of the RoCE priority group (xoff, dynamic threshold or alpha) and the ECN thresholds with those of a switch that does not "
    "pause, and raise the pause threshold until marks come well before pauses."
)
MARK_INSTEAD = "Set the profile's ECN mode (SONiC: ecnconfig and WRED_PROFILE ecn=ecn_all) and bind it to the RoCE queue; on senders, see that RoCE ECN is on."


@check(
    cause="Drops although pauses were sent: too little headroom for the cable's length. Drops and no pause: the drop threshold is below the pause threshold, "
    "or the traffic is in a priority without PFC.",
    fix="Compare the queue's headroom with the cable length and MTU; see that the RoCE priority has a lossless buffer profile at this port.",
    fabric="roce",
    required=True,
    kind="switch",
)
def switch_drops(
    queue_drops_idle: Rows, queue_drops: Rows, ingress_drops_idle: Rows, ingress_drops: Rows, pod_incasts: Rows, pod_incast_refused: str,
    pod_cables: list[NearCable], pod_roce_priority: int, pod_drops_max_per_tb: float, pfc_counters_idle: Rows | None = None,
    pfc_counters: Rows | None = None, ecn_counters_idle: Rows | None = None, ecn_counters: Rows | None = None, interface_bytes_idle: Rows | None = None,
    interface_bytes: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load a cabled port drops at most {pod_drops_max_per_tb} packets of the RoCE priority per TB."""
    incasts_of_node(pod_incasts, pod_incast_refused)
    few = f"at most {pod_drops_max_per_tb:g} packets per TB" if pod_drops_max_per_tb else "no packet"
    cause, fix = (LOSSY_DROPS, LOSSY_DROPS_FIX) if pod_drops_max_per_tb else (None, None)
    moved = sent_bytes(interface_bytes_idle, interface_bytes)
    by_wred = port_growth(ecn_counters_idle or [], ecn_counters or [], ("wred_dropped_packets",), "queue")
    of_class = [row for row in (*(ecn_counters_idle or ()), *(ecn_counters or ())) if is_of(row["queue"], pod_roce_priority)]
    counts_wred = any(row["wred_dropped_packets"] is not None for row in of_class)
    for cable in cables_of(pod_cables):
        mine = _of_class(by_wred, cable["port"], pod_roce_priority)
        if counts_wred and not mine:
            yield Finding(at_port(cable["port"], "drops by WRED"), "drop counter", "not reported", "unknown")
        for queue, grown in mine:
            count = grown["wred_dropped_packets"]
            if not at_most(count, moved.get(port_name(cable["port"]), 0), pod_drops_max_per_tb):
                words = f"{count} packets{'' if queue is None else f' of {queue}'}"
                yield Finding(at_port(cable["port"]), f"{few} dropped by WRED", words, cause=DROPPED_BY_WRED, fix=MARK_INSTEAD)
    paused = port_growth(pfc_counters_idle or [], pfc_counters or [], ("tx_frames",), "priority")
    for way, was, now, by in (("out", queue_drops_idle, queue_drops, "queue"), ("in", ingress_drops_idle, ingress_drops, "priority_group")):
        dropped = port_growth(was, now, ("dropped_packets",), by)
        for cable in cables_of(pod_cables):
            mine = _of_class(dropped, cable["port"], pod_roce_priority)
            if not mine:
                yield Finding(at_port(cable["port"], f"drops on the way {way}"), "drop counter", "not reported", "unknown")
            for queue, grown in mine:
                count = grown["dropped_packets"]
                if not at_most(count, moved.get(port_name(cable["port"]), 0), pod_drops_max_per_tb):
                    # A count of all priorities holds what is dropped for other reasons too, at idle as well.
                    severity = "warn" if queue is None and way == "in" else None
                    words = f"{count} packets{'' if queue is None else f' of {queue}'}"
                    if not pod_drops_max_per_tb:
                        words += f", {_with_pauses(paused, port_name(cable['port']), pfc_counters is not None)}"
                    yield Finding(at_port(cable["port"]), f"{few} dropped on the way {way}", words, severity, cause=cause, fix=fix)
            if way == "in":
                yield from lost_in_another_group(dropped, cable["port"], pod_roce_priority, few)


def _of_class(grown: Grown, port: str, priority: int) -> list[tuple[t.Any, dict[str, int]]]:
    """What a port's counters of the RoCE priority, or of all, grew by, each with its queue; nothing where it has reported none before and after."""
    return [(queue, one) for (where, queue), one in grown.items() if where == port_name(port) and is_of(queue, priority)]


def _with_pauses(paused: Grown, port: str, reported: bool) -> str:
    if not reported:
        return "and pauses are not reported"
    frames = sum(grown.get("tx_frames", 0) for (where, _priority), grown in paused.items() if where == port)
    anywhere = sum(grown.get("tx_frames", 0) for grown in paused.values())
    if frames or anywhere:
        return f"although the switch sent {anywhere} pauses ({frames} here): too little headroom"
    return "and the switch never sent a pause: its drop threshold is below its pause threshold, or the priority is another"


@check(
    cause="Pauses spread: a port that stays paused fills the buffers behind it, so that spines pause leaves without congestion.",
    fix="Find where the pauses begin: the port that is paused by a host or that is congested itself. Correct ECN marking and the senders there before PFC.",
    fabric="roce",
    kind="switch",
    when=("pod_pfc", True),
)
def pauses_stay_local(
    pfc_counters_idle: Rows, pfc_counters: Rows, pfc_counters_idle_of_peers: Peers, pfc_counters_of_peers: Peers, pod_incasts: Rows,
    pod_incast_refused: str, pod_cables: list[NearCable], pod_role: str, pod_roce_priority: int, pod_link_gbit_s: float, pod_pause_warn_percent: float,
    pod_pause_max_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """PFC pauses occur at the leaf of an incast's receiver; elsewhere under {pod_pause_max_percent} percent of the load ({pod_pause_warn_percent}: warn)."""
    roles = faces(incasts_of_node(pod_incasts, pod_incast_refused))
    seconds = sum({row["round"]: row["seconds"] for row in in_group(pod_incasts)}.values())
    grown = port_growth(pfc_counters_idle, pfc_counters, ("rx_frames", "tx_frames"), "priority")
    cause, fix = _passed_on(grown, pod_cables, pod_role, pod_roce_priority)
    for cable in cables_of(pod_cables):
        port = port_name(cable["port"])
        mine = [one for _priority, one in _of_class(grown, port, pod_roce_priority)]
        if not mine:
            yield Finding(at_port(cable["port"], "pauses"), "PFC pause counter", "not reported", "unknown")
            continue
        received, sent = (sum(one.get(column, 0) for one in mine) for column in ("rx_frames", "tx_frames"))
        apart = _spread(cable, roles.get(port, {"idle"}) == {"idle"}, pod_role, received, sent)
        if apart is None:
            continue
        expected, frames, words = apart
        if is_above(cable["peer_role"], pod_role):
            # A leaf that a spine pauses is not the cause: where the spine reports these pauses, the finding is the spine's. So of spines and super-spines.
            was, now = (peers.get(cable["peer"], []) for peers in (pfc_counters_idle_of_peers, pfc_counters_of_peers))
            if _sent_at(was, now, cable["peer_port"], pod_roce_priority) >= frames:
                continue
        # A few frames stop nothing: what counts is for how much of the time they can have.
        percent = paused_percent(frames, seconds, rated(cable, pod_link_gbit_s))
        if percent >= pod_pause_warn_percent:
            words = f"{words} (up to {percent:.3g} % of {seconds:g} s)"
            judged = {"cause": cause, "fix": fix, **judge_most(percent, pod_pause_max_percent)}
            yield Finding(at_port(cable["port"]), expected, words, **judged)


def _passed_on(grown: Grown, cables: list[NearCable], role: str, priority: int) -> tuple[str | None, str | None]:
    """Cause and fix of the pauses that a spine or super-spine passes on: the switch that paused it most; neither where none did, or of a leaf."""
    if role not in (SPINE, SUPER_SPINE):
        return None, None
    received = {cable["peer"]: 0 for cable in cables}
    for cable in cables:
        received[cable["peer"]] += sum(one["rx_frames"] for _priority, one in _of_class(grown, cable["port"], priority))
    peer = max(received, key=lambda one: received[one], default="")
    by_switches = any(cable["peer"] == peer and (cable["peer_role"] == SPINE or is_above(cable["peer_role"], role)) for cable in cables)
    cause, fix = (text.format(peer=peer, own=WORDS[role][0]) for text in (PASSED_ON, PASSED_ON_BY_SPINE_FIX if by_switches else PASSED_ON_FIX))
    return (cause, fix) if received.get(peer) else (None, None)


def _sent_at(was: Rows, now: Rows, port: str, priority: int) -> int:
    """How many pauses another switch reports to have sent at a port; none where its counters cannot be compared."""
    try:
        grown = port_growth(was, now, ("tx_frames",), "priority")
    except CannotTell:
        return 0
    return sum(one["tx_frames"] for _priority, one in _of_class(grown, port, priority))


def _spread(cable: NearCable, idle: bool, role: str, received: int, sent: int) -> tuple[str, int, str] | None:
    """What must hold of a port's pauses, how many frames break it, and these in words; None where none does."""
    if idle and (received or sent):
        return "no pause on a port outside of the load", max(received, sent), f"{received} pauses received, {sent} sent"
    if is_above(cable["peer_role"], role) and received:
        return f"no pause from {cable['peer']}", received, f"{received}: pauses spread over the {WORDS[cable['peer_role']][0]}"
    if role in (SPINE, SUPER_SPINE) and sent:
        return f"no pause sent to {cable['peer']}", sent, f"{sent}: pauses spread over this {WORDS[role][0]}"
    return None


@check(
    cause="A port pauses, is paused or drops without load: a broken host or optic, or traffic of another source.",
    fix="Look for the port whose counter grows, and for the device behind it.",
    fabric="roce",
    kind="switch",
)
def switch_quiet(
    pfc_counters_before: Rows, pfc_counters_idle: Rows, queue_drops_before: Rows, queue_drops_idle: Rows, pod_cables: list[NearCable], pod_roce_priority: int,
    pod_link_gbit_s: float, pod_idle_seconds: int, pod_pause_warn_percent: float, pod_pause_max_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """Without load, no cabled port is paused for {pod_pause_warn_percent} percent of the time or more, or drops egress packets."""
    moved = port_growth(pfc_counters_before, pfc_counters_idle, ("rx_frames", "tx_frames"), "priority")
    lost = port_growth(queue_drops_before, queue_drops_idle, ("dropped_packets",), "queue")
    for cable in cables_of(pod_cables):
        paused, dropped = (_of_class(grown, cable["port"], pod_roce_priority) for grown in (moved, lost))
        if not paused:
            yield Finding(at_port(cable["port"], "pauses"), "pause counter", "not reported", "unknown")
        received, sent = (sum(one[column] for _queue, one in paused) for column in ("rx_frames", "tx_frames"))
        percent = paused_percent(max(received, sent), pod_idle_seconds, rated(cable, pod_link_gbit_s))
        if percent >= pod_pause_warn_percent:
            words = f"{received} received, {sent} sent (up to {percent:.3g} % of {pod_idle_seconds:g} s)"
            end = f"{cable['peer']} {cable['peer_port']}"
            cause, fix = (PAUSED_BY.format(end=end), PAUSED_BY_FIX.format(end=end)) if received > sent else (None, None)
            judged = {"cause": cause, "fix": fix, **judge_most(percent, pod_pause_max_percent)}
            yield Finding(at_port(cable["port"], "pauses"), "none while the pod is idle", words, **judged)
        if not dropped:
            yield Finding(at_port(cable["port"], "drops"), "drop counter", "not reported", "unknown")
        elif count := sum(sum(one.values()) for _queue, one in dropped):
            yield Finding(at_port(cable["port"], "drops"), "none while the pod is idle", str(count))


@check(
    cause="Marking is not enabled on this switch, its minimum threshold is above where pauses begin, or the load is in another class than RoCE's: the chip "
    "then does not follow the switch's DSCP map.",
    fix="Compare the switch's ECN thresholds with those of a switch that marks, and see that they are bound to the RoCE queue; look which of its queues counts "
    "the load.",
    fabric="roce",
    kind="switch",
)
def switch_marks(
    ecn_counters_idle: Rows, ecn_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, load_jobs_of_peers: Peers, write_bw_of_peers: Peers,
    pod_link_gbit_s: float, pod_roce_priority: int, pod_pause_max_percent: float, pfc_counters_idle: Rows | None = None, pfc_counters: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """A switch at which an incast ends marks packets of the RoCE priority, and does so before it pauses."""
    rows = [row for row in incasts_of_node(pod_incasts, pod_incast_refused) if row["role"] == "receiver"]
    # Of what a bond receives, each of its leaves sends its part.
    receivers = {(row["peer"], row["device"]): int(row.get("parts", 1)) for row in rows}
    if not receivers:
        raise NotApplicable("no incast ends at this switch")
    grown = port_growth(ecn_counters_idle, ecn_counters, ("marked_packets",), "queue")
    if not grown and any(row["marked_packets"] is not None for row in (*ecn_counters_idle, *ecn_counters)):
        raise CannotTell("no queue reports its marked packets both before and after the load")
    if not grown:
        raise NotApplicable("this switch does not count marks; the receivers do")
    pauses = (pfc_counters_idle or [], pfc_counters or [])
    if any(one["marked_packets"] for (_port, queue), one in grown.items() if is_of(queue, pod_roce_priority)):
        both_ways = port_growth(*pauses, ("rx_frames", "tx_frames"), "priority")
        if any(is_of(row["priority"], pod_roce_priority) for rows in pauses for row in rows) and not any(
            is_of(queue, pod_roce_priority) for _port, queue in both_ways
        ):
            raise CannotTell("no port reports its pauses of the RoCE priority both before and after the load, so that which came first is not known")
        yield from _paused_first(pod_incasts, grown, both_ways, pod_roce_priority, pod_link_gbit_s, pod_pause_max_percent)
        return
    paused = port_growth(*pauses, ("tx_frames",), "priority")
    if not any(one["tx_frames"] for one in paused.values()):
        _must_be_congested(receivers, sent(load_jobs_of_peers, write_bw_of_peers), pod_link_gbit_s)
    yield Finding(Place("ECN"), "ECN-marked packets of the RoCE priority", "none on any port")


def _paused_first(incasts: Rows, marks: Grown, pauses: Grown, priority: int, link: float, most: float) -> t.Iterator[Finding]:
    """Where a switch pauses more often than it marks: who pauses since its senders do not slow down has marked nearly all packets before.

    A switch that is paused itself passes on what began elsewhere.
    """
    marked = sum(one["marked_packets"] for (_port, queue), one in marks.items() if is_of(queue, priority))
    of_class = [one for (_port, queue), one in pauses.items() if is_of(queue, priority)]
    seconds = sum({row["round"]: row["seconds"] for row in in_group(incasts)}.values())
    received, sent_most = (max((paused_percent(one[column], seconds, link) for one in of_class), default=0.0) for column in ("rx_frames", "tx_frames"))
    frames = sum(one["tx_frames"] for one in of_class)
    if frames > marked and sent_most >= most > received:
        words = f"{frames} pauses sent (up to {sent_most:.3g} % of {seconds:g} s at one port) and {marked} packets marked"
        severity = None if sent_most >= 100 else "warn"
        yield Finding(Place("ECN"), "packets marked before pauses are sent", words, severity, cause=PAUSES_FIRST, fix=PAUSES_FIRST_FIX)


def _must_be_congested(receivers: t.Mapping[End, int], rates: t.Mapping[End, t.Mapping[t.Any, t.Mapping[End, float]]], link: float) -> None:
    """Raises CannotTell where no receiver's senders came near to filling its link, so that there was nothing to mark."""
    reached = [sum(senders.values()) / parts for end, parts in receivers.items() for senders in rates.get(end, {}).values()]
    if not reached:
        raise no_result("no congestion was made: no sender to this switch's receivers reported a rate")
    if max(reached) < link * CONGESTED:
        raise CannotTell(f"no congestion was made: its receivers received {max(reached):.4g} of {link:g} Gb/s at most")
