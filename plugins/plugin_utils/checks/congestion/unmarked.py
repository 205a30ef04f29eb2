# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switch that counts no marks, judged by what the receivers behind it count."""

from __future__ import annotations

import typing as t

from ...loads.incasts import INCAST
from ...pod.types import NearCable
from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._counters import MARKED, growth_of_hosts, in_group, incasts_of_node, pick, port_growth
from .._once import once_for_all_nodes
from ..place import Place
from ._priority_groups import is_of
from .load import End, sent
from .marks import CONGESTED
from .settings import of_marking

NO_RECEIVER = "no incast ends at this switch whose receiver takes part in none across gate groups, in which spines mark"
UNKNOWN_WHOSE = "its receivers count no mark on other switches, either, or nobody does: whether it does not mark or they do not count is not known"


@check(
    cause="Marking is not enabled in the RoCE queue of this switch, its profile is not bound to these ports, or its minimum threshold is above where pauses "
    "begin: its receivers count no mark, and others count those of other switches.",
    fix="Enable ECN in the queue that carries the RoCE priority at the ports to these hosts, with the thresholds of a switch whose receivers count marks.",
    fabric="roce",
    kind="switch",
)
def receivers_are_marked(
    rdma_counters_idle_of_peers: Peers, rdma_counters_of_peers: Peers, pod_incasts: Rows, pod_incast_refused: str, load_jobs_of_peers: Peers,
    write_bw_of_peers: Peers, pod_cables: list[NearCable], pod_link_gbit_s: float, pod_roce_priority: int, ecn_counters_idle: Rows | None = None,
    ecn_counters: Rows | None = None, ecn_settings: Rows | None = None, pfc_counters_idle: Rows | None = None, pfc_counters: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Where a switch counts no marks itself, the receivers of incasts that end at it count ECN-marked packets."""
    if any(row["marked_packets"] is not None for row in (*(ecn_counters_idle or ()), *(ecn_counters or ()))):
        raise NotApplicable("this switch counts its marks itself")
    ends = _receivers(incasts_of_node(pod_incasts, pod_incast_refused))
    if not ends:
        raise NotApplicable(NO_RECEIVER)
    rates = sent(load_jobs_of_peers, write_bw_of_peers, kinds=(INCAST,))
    marks = _marks(rdma_counters_idle_of_peers, rdma_counters_of_peers)
    counts = {end: marks.get(end) for end in rates.keys() | ends.keys()}
    mine = [counts[end] for end in ends]
    if any(mine) or None in mine:
        raise NotApplicable("each receiver is judged by ecn_marks_under_load")
    wrong = next(of_marking(ecn_settings, pod_cables, pod_roce_priority), None) if ecn_settings is not None else None
    wrong = wrong if wrong is None or wrong.severity != "unknown" else None
    if wrong is None and not _counted_elsewhere(ends, counts):
        raise NotApplicable(UNKNOWN_WHOSE)
    paused = _pauses(pfc_counters_idle, pfc_counters, pod_roce_priority)
    reached = [sum(senders.values()) / parts for end, parts in ends.items() for senders in rates.get(end, {}).values()]
    if not paused and max(reached, default=0) < pod_link_gbit_s * CONGESTED:
        raise CannotTell(f"no congestion was made: its receivers received {max(reached, default=0):.4g} of {pod_link_gbit_s:g} Gb/s at most")
    words = f"none at {', '.join(f'{host} {device}' for host, device in sorted(ends))}" + (f", and it sent {paused} pauses" if paused else "")
    # Where the setting is a failure by itself, this one follows from it.
    cause, fix = (wrong.cause, wrong.fix) if wrong is not None and wrong.severity == "warn" else (None, None)
    yield Finding(Place("ECN"), "ECN-marked packets at its receivers", words, cause=cause, fix=fix)


def _receivers(incasts: Rows) -> dict[End, int]:
    """The receivers that only this switch marks packets for, and among how many ports what each gets is divided; spines mark what crosses them."""
    rows = [row for row in incasts if row["role"] == "receiver"]
    crossed = {(row["peer"], row["device"]) for row in rows if row.get("across")}
    return {end: int(row.get("parts", 1)) for row in in_group(rows) if (end := (row["peer"], row["device"])) not in crossed}


@once_for_all_nodes
def _marks(idle: Peers, now: Peers) -> dict[End, int | None]:
    """How many marked packets each NIC counted; None where it does not report them; without a host of which a counter went back."""
    grown = growth_of_hosts(idle, now, "device")
    return {(host, device): pick(its, MARKED) for host, nics in grown.items() for device, its in nics.items()}


def _counted_elsewhere(ends: t.Container[End], counts: t.Mapping[End, int | None]) -> bool:
    """Whether receivers at other switches count marks, and among them every other rail of these hosts that receives."""
    others = {end: count for end, count in counts.items() if end not in ends}
    hosts = {host for host, device in counts if (host, device) in ends}
    return any(others.values()) and all(count for (host, _device), count in others.items() if host in hosts)


def _pauses(was: Rows | None, now: Rows | None, priority: int) -> int:
    grown = port_growth(was or [], now or [], ("tx_frames",), "priority")
    return sum(one["tx_frames"] for (_port, queue), one in grown.items() if is_of(queue, priority))
