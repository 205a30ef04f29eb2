# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the pod was idle, whether it was congested, and whether in the class that jobs use."""

from __future__ import annotations

import typing as t

from ...loads.incasts import ACROSS, INCAST
from ...loads.schedule import NOT_INSTALLED
from ...pod.rail_ports import rail_ports
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, check
from .._counters import (
    ALL_BYTES,
    CNPS,
    DISCARDS,
    MARKED,
    NOTIFIED,
    RX_PAUSED_US,
    RX_PAUSES,
    SEQUENCE_ERRORS,
    TIMEOUTS,
    TX_PAUSED_US,
    TX_PAUSES,
    growth,
    incast_jobs,
    incasts_of_node,
    named,
    pick,
    total,
)
from .._not_measured import no_result
from .._under_load import CLASS_FIX, OTHER_CLASS, in_class
from ..place import Place, at_device, at_port

End = tuple[str, str]
ALL_INCASTS = (INCAST, ACROSS)
IDLE_EVENTS = (MARKED, NOTIFIED, CNPS, SEQUENCE_ERRORS, TIMEOUTS)


@check(
    cause="PFC pauses or drops without load: a slow or broken host, a NIC or switch that sends pauses by itself, or a job that still runs.",
    fix="Look for the port whose pause or drop counter grows without load, and for jobs on its host.",
    fabric="roce",
    required=True,
    meanings=("rx_pauses",),
)
def idle_quiet(
    nic_counters_before: Rows, nic_counters_idle: Rows, rdma_counters_before: Rows, rdma_counters_idle: Rows, pod_rails: list[Rail], pod_roce_priority: int,
    pod_idle_seconds: int, pod_idle_gbit_s: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """Without load, no rail receives or sends pauses, marks or drops packets."""
    nics, devices = growth(nic_counters_before, nic_counters_idle, "netdev"), growth(rdma_counters_before, rdma_counters_idle, "device")
    for port in rail_ports(pod_rails):
        carried = [count for name in ALL_BYTES if (count := nics.get(port["netdev"], {}).get(name)) is not None]
        if not carried:
            yield Finding(at_port(port["netdev"], "bytes"), "byte counter", "not reported", "unknown")
            continue
        moved = max(carried) * 8 / 1e9 / max(pod_idle_seconds, 1)
        if moved > pod_idle_gbit_s:
            raise CannotTell(f"not idle: {port['netdev']} carries {moved:.2f} Gb/s before the load")
    for port in rail_ports(pod_rails):
        nic = nics.get(port["netdev"])
        events = {
            "pauses received": _first(pick(nic, RX_PAUSES, pod_roce_priority), pick(nic, RX_PAUSED_US, pod_roce_priority)),
            "pauses sent": _first(pick(nic, TX_PAUSES, pod_roce_priority), pick(nic, TX_PAUSED_US, pod_roce_priority)),
            "packets discarded": total(nic, DISCARDS, pod_roce_priority),
        }
        yield from _events(port["netdev"], events)
    for rail in pod_rails:
        device = devices.get(rail["device"])
        yield from _events(rail["netdev"], {named(device, names): pick(device, names) for names in IDLE_EVENTS})


def _events(netdev: str, events: t.Mapping[str, int | None]) -> t.Iterator[Finding]:
    """What a rail or a port of it counted while the pod was idle."""
    for name, count in events.items():
        if count:
            yield Finding(at_port(netdev, f"{name}"), "none while the pod is idle", str(count))
        elif count is None and not name.startswith("packets"):
            yield Finding(at_port(netdev, f"{name}"), "event counter", "not reported", "unknown")


def _first(frames: int | None, microseconds: int | None) -> int | None:
    """Pause frames, or for how long they paused where the driver counts only that."""
    return frames if frames is not None else microseconds


@check(
    cause="A test could not start or ended early: its program, its partner, its port, its device or the path; the text is the tool's own.",
    fix="Fix the error that the text names (install a program that is not found); else run the test by hand with the arguments in the evidence.",
    required=True,
    needs="load",
)
def incasts_ran(load_jobs: Rows, load_jobs_of_peers: Peers, pod_incasts: Rows, pod_incast_refused: str, pod_node: str) -> t.Iterator[Finding]:
    """Every planned test of the incasts ran and sent data."""
    jobs = [row for row in load_jobs if row["kind"] in ALL_INCASTS]
    planned = incasts_of_node(pod_incasts, pod_incast_refused)
    for role, name in (("sender", "client"), ("receiver", "server")):
        ran = {(row["device"], row["peer"], row["peer_device"]) for row in jobs if row["role"] == name}
        for one in planned:
            if not one.get("across") and one["role"] == role and (one["device"], one["peer"], one["peer_device"]) not in ran:
                yield Finding(at_device(one["device"], f"as {role}"), f"a test with {one['peer']} {one['peer_device']}", "not started", "unknown")
    # Who tests with whom across gate groups changes with every host that takes part, so that one which is lost does not speak for all.
    if any(one.get("across") for one in planned) and not any(row["kind"] == ACROSS for row in jobs):
        yield Finding(Place("incasts across gate groups"), "tests with hosts of other groups", "not started", "unknown")
    for row in jobs:
        if row["status"] == "ok":
            continue
        lacking = _lacks_tool(load_jobs_of_peers.get(row["peer"], ()), pod_node, row)
        if not (lacking and row["kind"] == ACROSS):
            severity, words = None if row["status"] == "fail" else "unknown", str(row["words"])
            if lacking:
                severity, words = "unknown", f"{row['peer']} lacks the program of the test"
            yield Finding(
                at_device(row["device"], f"with {row['peer']} {row['peer_device']}", peers=(row["peer"],)), "a completed test", words, severity, judged=True
            )


def _lacks_tool(of_peer: t.Iterable[dict[str, t.Any]], node: str, job: dict[str, t.Any]) -> bool:
    """Whether a test did not run because its other end alone lacks the program: that is a finding there."""
    ends = (node, job["device"], job["peer_device"], job["round"])
    other = [row for row in of_peer if row["kind"] == job["kind"] and (row["peer"], row["peer_device"], row["device"], row["round"]) == ends]
    return job["error"] != NOT_INSTALLED and any(row["error"] == NOT_INSTALLED for row in other)


@check(cause=OTHER_CLASS, fix=CLASS_FIX, fabric="roce", required=True, meanings=("rx_priority_bytes",))
def right_class(
    nic_counters_idle: Rows, nic_counters: Rows, load_jobs_of_peers: Peers, write_bw_of_peers: Peers, pod_incasts: Rows, pod_incast_refused: str,
    pod_node: str, pod_rails: list[Rail], pod_roce_priority: int,
) -> t.Iterator[Finding]:  # fmt: skip
    """Traffic received under load is counted in the RoCE priority."""
    seconds = {(row["device"], row["round"]): row["seconds"] for row in incasts_of_node(pod_incasts, pod_incast_refused)}
    received = sent(load_jobs_of_peers, write_bw_of_peers, pod_node)
    if not received:
        raise no_result("rates of the senders to this host: not reported")
    expected = {
        device: sum(rate * 1e9 / 8 * seconds.get((device, number), 0) for number, senders in rounds.items() for rate in senders.values())
        for (_host, device), rounds in received.items()
    }
    yield from in_class(pod_rails, expected, nic_counters_idle, nic_counters, pod_roce_priority)


def sent(jobs: Peers, rates: Peers, to: str | None = None, kinds: t.Container[str] = ALL_INCASTS) -> dict[End, dict[t.Any, dict[End, float]]]:
    """What was sent in incasts, in Gb/s: by receiver and round, and by sender, both as (host, device).

    to: one receiving host only; kinds: of which incasts.
    """
    found: dict[End, dict[t.Any, dict[End, float]]] = {}
    for peer, rows in jobs.items():
        rate_of = {row["item"]: row["gbit_s"] for row in rates.get(peer, ())}
        for job in incast_jobs(rows, "client", kinds):
            if job["item"] in rate_of and to in (None, job["peer"]):
                rounds = found.setdefault((job["peer"], job["peer_device"]), {})
                rounds.setdefault(job["round"], {})[peer, job["device"]] = rate_of[job["item"]]
    return found
