# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links, drops and pauses at the ports of switches under the loads of layers 4 to 6; layer 3 has checks of its own for its incasts."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.names import by_port, port_name, rated
from ...pod.types import NearCable
from ...readings.rows import Row, Rows
from ...text.counting import counted
from .. import Finding, check
from .._counters import FRAME_BITS, RESET_CAUSE, RESET_FIX, TERABYTE, at_most, judge_most, port_growth, sent_bytes
from .._planned import cables_of
from ..place import at_port
from ._layers import ABOVE_INCASTS, SINCE
from .network import LEAST_BYTES

# What shows that a link damages frames; SONiC has one counter of received errors, which holds the CRC errors.
BIT_ERRORS, ALL_ERRORS = ("fcs_errors", "symbol_errors", "alignment_errors"), "rx_errors"
# How often a link has changed its state or, where a platform does not count that, for how long it has not, in seconds.
CHANGED = ("changes", "since_seconds")
# Pauses that stop a port for less than this, in seconds, slow no load down.
LEAST_STOPPED = 0.1
# A port without a load of its own that is paused for this long, in seconds, is worth a look.
IDLE_STOPPED = 1.0
LINK_CAUSE = "The link to {end} was lost under load: a loose connector, a failing optic at either end, or a peer that restarted or reset its port."
LINK_FIX = "Read the logs of the switch and of {end} for the time of the load; reseat or replace cable and optics of both ends, then run the layer again."
DAMAGED_CAUSE = (
    "What arrives here from {end} is damaged when the link is loaded: the cable, a marginal optic or dirt on a connector of it, or heat at either end. Hosts "
    "whose packets pass it send them again."
)
DAMAGED_FIX = (
    "Clean and reseat both ends of the link to {end}, compare optic power and temperature of both with other ports, then replace the cable or optic and run "
    "the layer again. Until then shut the link, which hosts do not need."
)
PAUSED_CAUSE = "{end} paused this port under load: a host that is slower than its link, or a switch behind which the load is congested."
PAUSED_FIX = "Of a host look at its PCIe link, ACS, IOMMU and log; of a switch at the port at which its pauses begin, its ECN marking and DCQCN of the senders."


@check(
    cause="The link damages frames when it is loaded: a marginal optic or cable, dirt on a connector, or heat.",
    fix="Clean and reseat both ends, compare optic power and temperature with other ports, then replace the cable or optic and run the layer again.",
    fabric="roce",
    kind="switch",
    layers=ABOVE_INCASTS,
)
def switch_links_under_load(
    interface_errors_idle: Rows, interface_errors: Rows, pod_cables: list[NearCable], pod_load_errors_max_per_tb: float, link_changes_idle: Rows | None = None,
    link_changes: Rows | None = None, interface_bytes_idle: Rows | None = None, interface_bytes: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load no port of a switch loses its link, and at most {pod_load_errors_max_per_tb} CRC and symbol errors per TB grow (any: warn)."""
    before, now = by_port(interface_errors_idle), by_port(interface_errors)
    sent = sent_bytes(interface_bytes_idle, interface_bytes)
    changes = [by_port(rows or []) for rows in (link_changes_idle, link_changes)]
    column = next((name for name in CHANGED if any(row[name] is not None for rows in changes for row in rows.values())), None)
    for cable in cables_of(pod_cables):
        port = cable["port"]
        if column is not None:
            yield from _lost(cable, column, *((rows.get(port) or {}).get(column) for rows in changes))
        was, row = before.get(port), now.get(port)
        columns = [] if was is None or row is None else [name for name in _columns(row) if row[name] is not None and was[name] is not None]
        if not columns or was is None or row is None:
            yield Finding(at_port(port, "errors"), "counters of CRC or symbol errors before and after the load", "not reported", "unknown")
            continue
        grown = {name: row[name] - was[name] for name in columns}
        if min(grown.values()) < 0:
            yield _reset(port, [name for name, count in grown.items() if count < 0])
        elif any(grown.values()):
            counts = ", ".join(f"{name} +{count}" for name, count in grown.items() if count)
            one = _errors(port, "no CRC or symbol error", counts, sum(grown.values()), sent.get(port_name(port), 0), pod_load_errors_max_per_tb)
            end = f"{cable['peer']} {cable['peer_port']}"
            yield replace(one, where=at_port(port, peers=(cable["peer"],)), cause=DAMAGED_CAUSE.format(end=end), fix=DAMAGED_FIX.format(end=end))


def _columns(row: Row) -> tuple[str, ...]:
    return BIT_ERRORS if row["fcs_errors"] is not None else (ALL_ERRORS, *BIT_ERRORS)


def _lost(cable: NearCable, column: str, was: float | None, now: float | None) -> t.Iterator[Finding]:
    """Whether the link of a port changed its state; was, now: how often until each reading, or since how many seconds it had not."""
    port, end = cable["port"], f"{cable['peer']} {cable['peer_port']}"
    if was is None or now is None:
        yield Finding(at_port(port, "link changes"), "a counter, as of other ports", "not reported", "unknown")
    elif now < was and column == CHANGED[0]:
        yield _reset(port, ["changes"])
    elif now != was and (column == CHANGED[0] or now < was):
        words = f"{counted(int(now - was), 'change')} of the link to {end}" if now > was else f"the link to {end} changed {now:g} s before the end"
        yield Finding(at_port(port), f"no link loss {SINCE}", words, cause=LINK_CAUSE.format(end=end), fix=LINK_FIX.format(end=end))


def _reset(port: str, names: t.Iterable[str]) -> Finding:
    return Finding(at_port(port), f"counters that grow {SINCE}", f"counters were reset ({', '.join(names)})", "unknown", cause=RESET_CAUSE, fix=RESET_FIX)


def _errors(port: str, expected: str, counts: str, number: int, sent: int, per_tb: float, most: str | None = None) -> Finding:
    """A finding of a port's growth: a warning where it is little for what the port sent; most: the severity where it is not."""
    severity = "warn" if at_most(number, sent, per_tb) else most
    return Finding(at_port(port), f"{expected} {SINCE}, at most {per_tb:g} per TB", f"{counts}, and {sent / TERABYTE:.3g} TB sent", severity)


@check(
    cause="The switch dropped packets of the load: too little headroom or buffer for the RoCE class at this port, PFC or ECN missing on it, or another class.",
    fix="Look at PFC, ECN and buffers of this port in layer 3 and compare them with its peers'; then at the receiver behind the port that pauses or is slow.",
    fabric="roce",
    kind="switch",
    layers=ABOVE_INCASTS,
)
def switch_drops_under_load(
    queue_drops_idle: Rows, queue_drops: Rows, ingress_drops_idle: Rows, ingress_drops: Rows, pod_cables: list[NearCable], pod_roce_priority: int,
    pod_load_errors_max_per_tb: float, pod_drops_max_per_tb: float, ecn_counters_idle: Rows | None = None, ecn_counters: Rows | None = None,
    interface_bytes_idle: Rows | None = None, interface_bytes: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load a port of a switch drops at most {pod_load_errors_max_per_tb} RoCE packets per TB (any: warn; lossy: {pod_drops_max_per_tb})."""
    sent = sent_bytes(interface_bytes_idle, interface_bytes)
    marked = port_growth(ecn_counters_idle or [], ecn_counters or [], ("marked_packets",), "queue")
    ways = (
        ("on the way out", queue_drops_idle, queue_drops, "queue", "dropped_packets"),
        ("on the way in", ingress_drops_idle, ingress_drops, "priority_group", "dropped_packets"),
        ("by WRED", ecn_counters_idle or [], ecn_counters or [], "queue", "wred_dropped_packets"),
    )
    for way, was, now, by, column in ways:
        grown = port_growth(was, now, (column,), by)
        for cable in cables_of(pod_cables):
            port = cable["port"]
            mine = [(queue, one[column]) for (where, queue), one in grown.items() if where == port_name(port) and _is_of(queue, pod_roce_priority)]
            if not mine and (column != "wred_dropped_packets" or grown):
                yield Finding(at_port(port, f"drops {way}"), "drop counters before and after the load", "not reported", "unknown")
            marks = sum(one["marked_packets"] for (where, queue), one in marked.items() if where == port_name(port) and _is_of(queue, pod_roce_priority))
            for queue, count in mine:
                if count and not (pod_drops_max_per_tb and at_most(count, sent.get(port_name(port), 0), pod_drops_max_per_tb)):
                    words = f"{counted(count, 'packet')}{'' if queue is None else f' of {queue}'}" + (f", {marks} marked" if marked else "")
                    # A count of all priorities holds what is dropped for other reasons too.
                    most = "warn" if queue is None and way == "on the way in" else None
                    limit = max(pod_load_errors_max_per_tb, pod_drops_max_per_tb)
                    yield _errors(port, f"no packet dropped {way}", words, count, sent.get(port_name(port), 0), limit, most)


def _is_of(queue: t.Any, priority: int) -> bool:
    """Whether a queue's name (``UC3``, ``ALL3``, ``3``), a priority group's number or the lack of either is of the RoCE priority."""
    return queue is None or str(queue).upper() in {f"{kind}{priority}" for kind in ("", "UC", "ALL")}


@check(
    cause="A neighbor paused the port under load: a host that is slower than its link, or a switch behind which the load is congested.",
    fix="Find the port at which the pauses begin: the last one on the way that is not paused itself.",
    fabric="roce",
    kind="switch",
    layers=ABOVE_INCASTS,
    when=("pod_pfc", True),
)
def switch_pauses_under_load(
    pfc_counters_idle: Rows, pfc_counters: Rows, pod_cables: list[NearCable], pod_roce_priority: int, pod_link_gbit_s: float, pod_pause_warn_percent: float,
    pod_pause_max_percent: float, interface_bytes_idle: Rows | None = None, interface_bytes: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load a port of a switch is paused for less than {pod_pause_max_percent} percent ({pod_pause_warn_percent}: warn) of its data's time."""
    sent = sent_bytes(interface_bytes_idle, interface_bytes)
    grown = port_growth(pfc_counters_idle, pfc_counters, ("rx_frames",), "priority")
    for cable in cables_of(pod_cables):
        port, rate = cable["port"], rated(cable, pod_link_gbit_s)
        mine = [one["rx_frames"] for (where, priority), one in grown.items() if where == port_name(port) and _is_of(priority, pod_roce_priority)]
        if not mine:
            yield Finding(at_port(port, "pauses"), "PFC pause counters before and after the load", "not reported", "unknown")
            continue
        # Only frames are counted: each stops the port for at most so long.
        frames, moved = sum(mine), sent.get(port_name(port), 0)
        stopped, sending = frames * FRAME_BITS / (rate * 1e9), moved * 8 / (rate * 1e9)
        percent = 100 * stopped / (stopped + sending) if stopped else 0.0
        if stopped < (LEAST_STOPPED if moved >= LEAST_BYTES else IDLE_STOPPED) or percent < pod_pause_warn_percent:
            continue
        end = f"{cable['peer']} {cable['peer_port']}"
        words = f"{counted(frames, 'pause')} of {end}: at most {percent:.3g} % of the time of {moved / TERABYTE:.3g} TB"
        judged: dict[str, t.Any] = judge_most(min(percent, 99.0), pod_pause_max_percent) if moved >= LEAST_BYTES else {"severity": "warn"}
        if judged["severity"] == "warn":
            judged |= {"cause": PAUSED_CAUSE.format(end=end), "fix": PAUSED_FIX}
        limit = pod_pause_max_percent if percent >= pod_pause_max_percent else pod_pause_warn_percent
        yield Finding(at_port(port), f"paused for less than {limit:g} % {SINCE}", words, **judged)
