# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches: the same settings at both ends of a cable, drops, and pauses that stay where they belong."""

from __future__ import annotations

import typing as t

from .. import Finding, NotApplicable, check
from .._counters import faces, planned, port_growth
from .._ports import Rows, by_port, cables_of, port_name

Peers = dict[str, Rows]
Grown = dict[tuple[str, t.Any], dict[str, int]]


@check(
    cause="PFC is not on for the RoCE priority at one end of a cable, or it is on for another priority too; or the switch has thresholds but does not mark.",
    fix="Give every port of the path the same lossless priority, and enable ECN marking in the queue that carries it.",
    fabric="roce",
    kind="switch",
)
def qos_agrees(
    pfc_priorities: Rows, pfc_priorities_of_peers: Peers, pod_cables: Rows, pod_roce_priority: int, ecn_settings: Rows | None = None
) -> t.Iterator[Finding]:
    """Both ends of every cable are lossless on the RoCE priority and no other, and the switch marks."""
    mine = _lossless(pfc_priorities)
    theirs = {node: _lossless(rows) for node, rows in pfc_priorities_of_peers.items()}
    for cable in cables_of(pod_cables):
        near, far = mine.get(port_name(cable["port"])), theirs.get(cable["peer"], {}).get(port_name(cable["peer_port"]))
        end = f"{cable['peer']} {cable['peer_port']}"
        if near is None:
            yield Finding(f"{cable['port']} PFC", f"on priority {pod_roce_priority} only", "not told", "unknown", cable["port"])
        elif near != [pod_roce_priority]:
            words = f"on {_said(near)}" + (f", and on {_said(far)} at {end}" if far is not None else "")
            yield Finding(f"{cable['port']} PFC", f"on priority {pod_roce_priority} only", words, port=cable["port"])
        elif far is None:
            yield Finding(f"{cable['port']} PFC", f"the same at {end}", f"{cable['peer']} does not tell", "unknown", cable["port"])
        elif far != near:
            yield Finding(f"{cable['port']} PFC", f"on priority {pod_roce_priority} only at {end} too", f"on {_said(far)} there", port=cable["port"])
    yield from _marking(ecn_settings or [], pod_cables, pod_roce_priority)


def _lossless(rows: Rows) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(port_name(row["port"]), []).extend([row["priority"]] if row["pfc"] else [])
    return found


def _said(priorities: list[int]) -> str:
    return ", ".join(map(str, sorted(priorities))) or "none"


def _marking(settings: Rows, cables: Rows, priority: int) -> t.Iterator[Finding]:
    """Profiles of which one must mark, or settings of ports that all must."""
    profiles = [row for row in settings if row["port"] is None]
    if profiles and not any(row["marking"] for row in profiles):
        names = ", ".join(str(row["profile"]) for row in profiles)
        yield Finding("ECN", "a profile that marks", f"{names} drop{'s' if len(profiles) == 1 else ''} instead: marking is not enabled")
    told = by_port([row for row in settings if row["port"] is not None])
    for cable in cables:
        row = told.get(cable["port"])
        if row is None and told:
            yield Finding(f"{cable['port']} ECN", f"marking on traffic class {priority}", "not told", "unknown", cable["port"])
        elif row is not None and not (row["marking"] and (not row["traffic_classes"] or priority in row["traffic_classes"])):
            classes = f"on traffic class {', '.join(map(str, row['traffic_classes']))}" if row["marking"] else "not enabled"
            yield Finding(f"{cable['port']} ECN", f"marking on traffic class {priority}", classes, port=cable["port"])


@check(
    cause="The switch carries RoCE in a class that has neither PFC nor ECN, so that it is dropped like any other traffic.",
    fix="Map the DSCP of the pod to the lossless class (SONiC DSCP_TO_TC_MAP, Cumulus nv set qos roce), and bind the map to every port of the path.",
    fabric="roce",
    kind="switch",
)
def dscp_agrees(dscp_classes: Rows, pod_cables: Rows, pod_roce_priority: int, pod_roce_dscp: int) -> t.Iterator[Finding]:
    """The switch gives the DSCP of RoCE the class of the RoCE priority, at every cable."""
    told: dict[str | None, dict[str | None, int | None]] = {}
    for row in dscp_classes:
        by_map = told.setdefault(row["port"] and port_name(row["port"]), {})
        by_map.setdefault(row["map"], None)
        if pod_roce_dscp in row["dscp"]:
            by_map[row["map"]] = row["traffic_class"]
    expected = f"traffic class {pod_roce_priority} for DSCP {pod_roce_dscp}"
    if None in told:
        wrong = [f"{_class(given)} in {name}" for name, given in told[None].items() if given != pod_roce_priority]
        if wrong:
            some = len(wrong) < len(told[None])
            yield Finding("maps", expected, ", ".join(wrong) + (", and who has that map is not told" if some else ""), "unknown" if some else None)
        return
    for cable in cables_of(pod_cables):
        given = told.get(port_name(cable["port"]))
        if given is None:
            yield Finding(cable["port"], expected, "not told", "unknown", cable["port"])
        elif list(given.values()) != [pod_roce_priority]:
            yield Finding(cable["port"], expected, ", ".join(map(_class, given.values())), port=cable["port"])


def _class(given: int | None) -> str:
    return "none" if given is None else f"traffic class {given}"


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
    pod_cables: Rows, pod_roce_priority: int, pfc_counters_idle: Rows | None = None, pfc_counters: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load no port of a cable drops a packet of the RoCE priority."""
    planned(pod_incasts, pod_incast_refused)
    paused = port_growth(pfc_counters_idle or [], pfc_counters or [], ("tx_frames",), "priority")
    for way, was, now, by in (("out", queue_drops_idle, queue_drops, "queue"), ("in", ingress_drops_idle, ingress_drops, "priority_group")):
        dropped = port_growth(was, now, ("dropped_packets",), by)
        for cable in cables_of(pod_cables):
            mine = _of_class(dropped, cable["port"], pod_roce_priority)
            if not mine:
                yield Finding(f"{cable['port']} drops on the way {way}", "a counter of them", "none", "unknown", cable["port"])
            for queue, grown in mine:
                count = grown["dropped_packets"]
                if count:
                    # A count of all priorities holds what is dropped for other reasons too, at idle as well.
                    severity = "warn" if queue is None and way == "in" else None
                    told = _with_pauses(paused, port_name(cable["port"]), pfc_counters is not None)
                    words = f"{count} packets{'' if queue is None else f' of {queue}'}, {told}"
                    yield Finding(cable["port"], f"no packet dropped on the way {way}", words, severity, cable["port"])


def _of_class(grown: Grown, port: str, priority: int) -> list[tuple[t.Any, dict[str, int]]]:
    """What a port's counters of the RoCE priority, or of all, grew by, each with its queue; nothing where it has told none before and after."""
    return [(queue, one) for (where, queue), one in grown.items() if where == port_name(port) and _is_of(queue, priority)]


def _is_of(queue: t.Any, priority: int) -> bool:
    """Whether a queue's name (``UC3``, ``ALL3``, ``3``), a priority group's number or the lack of either is of the RoCE priority."""
    return queue is None or str(queue).upper() in {f"{kind}{priority}" for kind in ("", "UC", "ALL")}


def _with_pauses(paused: Grown, port: str, told: bool) -> str:
    if not told:
        return "and pauses are not told"
    frames = sum(grown.get("tx_frames", 0) for (where, _priority), grown in paused.items() if where == port)
    anywhere = sum(grown.get("tx_frames", 0) for grown in paused.values())
    if frames or anywhere:
        return f"although the switch sent {anywhere} pauses ({frames} here): too little headroom"
    return "and the switch never sent a pause: its drop threshold is below its pause threshold, or the priority is another"


@check(
    cause="Pauses spread: a port that stays paused fills the buffers behind it, so that spines pause leaves that have no part in the congestion.",
    fix="Find where the pauses begin: the port that is paused by a host or that is congested itself. Mend marks and senders there before PFC.",
    fabric="roce",
    kind="switch",
)
def pauses_stay_local(
    pfc_counters_idle: Rows, pfc_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_cables: Rows, pod_role: str, pod_roce_priority: int
) -> t.Iterator[Finding]:
    """Pauses reach the target leaf's own uplinks at most: no spine pauses a leaf, and no idle port is paused."""
    roles = faces(planned(pod_incasts, pod_incast_refused))
    grown = port_growth(pfc_counters_idle, pfc_counters, ("rx_frames", "tx_frames"), "priority")
    for cable in cables_of(pod_cables):
        port = port_name(cable["port"])
        mine = [one for _priority, one in _of_class(grown, port, pod_roce_priority)]
        if not mine:
            yield Finding(f"{cable['port']} pauses", "a counter of them", "none", "unknown", cable["port"])
            continue
        received, sent = (sum(one.get(column, 0) for one in mine) for column in ("rx_frames", "tx_frames"))
        if roles.get(port, {"idle"}) == {"idle"} and (received or sent):
            words = f"{received} pauses received, {sent} sent"
            yield Finding(cable["port"], "no pause on a port outside of the load", words, port=cable["port"])
        elif cable["peer_role"] == "spine" and received:
            yield Finding(cable["port"], f"no pause from {cable['peer']}", f"{received}: pauses spread over the spine", port=cable["port"])
        elif pod_role == "spine" and sent:
            yield Finding(cable["port"], f"no pause sent to {cable['peer']}", f"{sent}: pauses spread over this spine", port=cable["port"])


@check(
    cause="A port pauses, is paused or drops although nobody sends: a broken host or optic, or traffic of somebody else.",
    fix="Look for the port whose counter moves, and for what is behind it.",
    fabric="roce",
    kind="switch",
)
def switch_quiet(
    pfc_counters_before: Rows, pfc_counters_idle: Rows, queue_drops_before: Rows, queue_drops_idle: Rows, pod_cables: Rows, pod_roce_priority: int
) -> t.Iterator[Finding]:
    """While nobody sends, no port of a cable is paused, pauses, or drops on its way out."""
    moved = port_growth(pfc_counters_before, pfc_counters_idle, ("rx_frames", "tx_frames"), "priority")
    lost = port_growth(queue_drops_before, queue_drops_idle, ("dropped_packets",), "queue")
    for cable in cables_of(pod_cables):
        for name, grown in (("pauses", moved), ("drops", lost)):
            mine = _of_class(grown, cable["port"], pod_roce_priority)
            count = sum(sum(one.values()) for _queue, one in mine)
            if not mine:
                yield Finding(f"{cable['port']} {name}", "a counter of them", "none", "unknown", cable["port"])
            elif count:
                yield Finding(f"{cable['port']} {name}", "none while the pod is idle", str(count), port=cable["port"])


@check(
    cause="Marking is not enabled on this switch, or its minimum threshold is above where pauses begin.",
    fix="Compare the switch's ECN thresholds with those of a switch that marks, and see that they are bound to the RoCE queue.",
    fabric="roce",
    kind="switch",
)
def switch_marks(ecn_counters_idle: Rows, ecn_counters: Rows, pod_incasts: Rows, pod_incast_refused: str) -> t.Iterator[Finding]:
    """A switch at which an incast ends has marked packets."""
    rows = planned(pod_incasts, pod_incast_refused)
    if not any(row["role"] == "receiver" for row in rows):
        raise NotApplicable("no incast ends at this switch")
    grown = port_growth(ecn_counters_idle, ecn_counters, ("marked_packets",), "queue")
    if not grown:
        raise NotApplicable("this switch does not count marks; the receivers do")
    if not any(one["marked_packets"] for one in grown.values()):
        yield Finding("ECN", "packets that this switch has marked", "none on any port")
