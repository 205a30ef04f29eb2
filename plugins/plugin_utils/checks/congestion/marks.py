# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks and what follows from them: the receiver notifies, every sender backs off, all get their share, and together they fill the link."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from .. import CannotTell, Finding, NotApplicable, check
from .._counters import MARKED, NOTIFIED, RX_PAUSES, Counters, growth, incast_jobs, pick
from .._ports import Rows
from .load import End, sent

Grouped = dict[str, Rows]
HANDLED, IGNORED = "rp_cnp_handled", "rp_cnp_ignored"
# Below this share of the receiver's link nothing was congested.
CONGESTED = 0.8


def _growth(was: Grouped, now: Grouped, key: str) -> dict[str, Counters]:
    return {host: growth(was[host], rows, key) for host, rows in now.items() if host in was}


def _incasts(load_jobs: Grouped) -> dict[End, set[End]]:
    """The senders of each receiver, both as (host, device).

    Raises CannotTell where nobody has sent.
    """
    found: dict[End, set[End]] = {}
    for host, rows in load_jobs.items():
        for job in incast_jobs(rows, "client"):
            if job["status"] == "ok":
                found.setdefault((job["peer"], job["peer_device"]), set()).add((host, job["device"]))
    if not found:
        raise CannotTell("no congestion was made: no test of an incast has ended well")
    return found


def _netdevs(rails: Rows) -> dict[str, str]:
    return {rail["device"]: rail["netdev"] for rail in rails}


@check(
    cause="The switches do not mark: the ECN minimum threshold is above where pauses begin, marking is not enabled, or the traffic is in another queue.",
    fix="Compare the switch's ECN thresholds with its pause threshold (marks must come first), and see that marking is enabled for the RoCE queue.",
    fabric="roce",
    scope="group",
    required=True,
)
def ecn_marks_under_load(
    load_jobs: Grouped, write_bw: Grouped, rdma_counters_idle: Grouped, rdma_counters: Grouped, nic_counters_idle: Grouped, nic_counters: Grouped,
    pod_rails: Rows, pod_link_gbit_s: float, pod_roce_priority: int,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each receiver of an incast counts packets that the fabric has marked."""
    counters, nics = _growth(rdma_counters_idle, rdma_counters, "device"), _growth(nic_counters_idle, nic_counters, "netdev")
    netdev_of = _netdevs(pod_rails)
    for (host, device), senders in _incasts(load_jobs).items():
        if host not in counters:
            continue
        marked = pick(counters[host].get(device), MARKED)
        if marked is None:
            yield Finding(f"{device} {MARKED[0]}", "a counter of it", "none", "unknown", host=host)
        elif not marked:
            paused = sum(pick(nics.get(one, {}).get(netdev_of.get(its, "")), RX_PAUSES, pod_roce_priority) or 0 for one, its in senders)
            yield _unmarked(host, device, paused, _received(host, device, load_jobs, write_bw), pod_link_gbit_s)


def _received(host: str, device: str, load_jobs: Grouped, write_bw: Grouped) -> float | None:
    """What a rail received in the round in which it received most, in Gb/s; None where no sender tells."""
    rounds = sent(load_jobs, write_bw, host).get((host, device), {})
    return max((sum(senders.values()) for senders in rounds.values()), default=None)


def _unmarked(host: str, device: str, paused: int, received: float | None, link: float) -> Finding:
    """Why no packet is marked, as far as it is told: pauses came first, nothing was congested, or neither."""
    where = f"{device} as receiver"
    if paused:
        return Finding(where, "packets that are marked", f"none, and its senders were paused {paused} times: pauses come before marks", host=host)
    if received is None:
        return Finding(where, "packets that are marked", "none, and no sender tells its rate", "unknown", host=host)
    if received < link * CONGESTED:
        words = f"none, at {received:.4g} of {link:g} Gb/s: no congestion was made"
        return Finding(where, "packets that are marked", words, "unknown", host=host)
    return Finding(where, "packets that are marked", f"none at {received:.4g} of {link:g} Gb/s, and no pause: marking is not enabled", host=host)


@check(
    cause="DCQCN is off on that NIC: on a receiver its notification point, on a sender its reaction point; or notifications are lost on their way.",
    fix="Turn DCQCN on for the RoCE priority on that NIC, and see that the DSCP of notifications is not on a priority that drops.",
    fabric="roce",
    scope="group",
    required=("pod_congestion_control", ("dcqcn",)),
    remedy="dcqcn",
)
def dcqcn_backs_off(load_jobs: Grouped, rdma_counters_idle: Grouped, rdma_counters: Grouped, pod_congestion_control: str) -> t.Iterator[Finding]:
    """Receivers of marked packets send notifications, and every sender handles them."""
    if pod_congestion_control != "dcqcn":
        raise NotApplicable(f"pod_congestion_control is {pod_congestion_control}")
    counters = _growth(rdma_counters_idle, rdma_counters, "device")
    judged, notified = False, set()
    for (host, device), senders in _incasts(load_jobs).items():
        mine = counters.get(host, {}).get(device)
        if host not in counters or not pick(mine, MARKED):
            continue
        judged = True
        sent = pick(mine, NOTIFIED)
        if sent is None:
            yield Finding(f"{device} {NOTIFIED[0]}", "a counter of it", "none", "unknown", host=host)
        elif not sent:
            words = f"none for {pick(mine, MARKED)} marked packets"
            yield Finding(f"{device} as receiver", "notifications sent for marks", words, host=host)
        else:
            notified |= senders
    if not judged:
        raise CannotTell("no receiver has counted a marked packet, so nobody had to back off")
    for host, device in sorted(notified):
        if host in counters:
            yield from _backs_off(host, device, counters[host].get(device))


def _backs_off(host: str, device: str, counters: Mapping[str, int] | None) -> t.Iterator[Finding]:
    handled, ignored = pick(counters, (HANDLED,)), pick(counters, (IGNORED,))
    if handled is None:
        yield Finding(f"{device} {HANDLED}", "a counter of it", "none", "unknown", host=host)
    elif not handled:
        yield Finding(f"{device} as sender", "notifications handled", "none, though its receivers sent them", host=host)
    if ignored:
        yield Finding(f"{device} as sender", "no notification ignored", f"{ignored}", "warn", host=host)


@check(
    cause="One sender does not back off, or gets more than its part by its path: the others starve beside it.",
    fix="Compare DCQCN's settings and the NIC firmware of the fastest and the slowest sender.",
    fabric="roce",
    scope="group",
    severity="warn",
)
def fair_share(load_jobs: Grouped, write_bw: Grouped, pod_fair_share_percent: float) -> t.Iterator[Finding]:
    """The slowest sender to a receiver gets at least half of what the fastest gets."""
    for (host, device, number), shares in _rounds(load_jobs, write_bw).items():
        slow, fast = min(shares, key=lambda sender: shares[sender]), max(shares, key=lambda sender: shares[sender])
        least = shares[fast] * pod_fair_share_percent / 100
        if shares[slow] < least:
            words = f"{shares[slow]:.4g} Gb/s, and {fast[0]} {fast[1]} {shares[fast]:.4g}"
            yield Finding(f"{slow[1]} to {host} {device} in round {number}", f"{least:.4g} Gb/s or more", words, host=slow[0])


def _rounds(load_jobs: Grouped, write_bw: Grouped) -> dict[tuple[str, str, t.Any], dict[End, float]]:
    """The rate of each sender (Gb/s) by the receiver's host and device and the round.

    Raises CannotTell where none is told.
    """
    receivers, rates = _incasts(load_jobs), sent(load_jobs, write_bw)
    found = {(*receiver, number): senders for receiver in receivers for number, senders in sorted(rates.get(receiver, {}).items())}
    if not found:
        raise CannotTell("no sender tells its rate")
    return found


@check(
    cause="Senders back off too far: switches mark too early (thresholds of another speed, or packets where bytes are meant), DCQCN is too harsh, or pauses.",
    fix="Mend slow_receiver first, where it is found. Then compare the leaf's ECN thresholds with its vendor's, and the senders' DCQCN with its defaults.",
    fabric="roce",
    scope="group",
    severity="warn",
)
def incast_fills_link(load_jobs: Grouped, write_bw: Grouped, pod_link_gbit_s: float, pod_incast_fill_percent: float) -> t.Iterator[Finding]:
    """The senders to one receiver fill its link together: congestion costs no more than a fifth of it."""
    least = pod_link_gbit_s * pod_incast_fill_percent / 100
    for (host, device, number), shares in _rounds(load_jobs, write_bw).items():
        if sum(shares.values()) < least:
            together = f"{least:.4g} Gb/s or more of {len(shares)} senders together"
            yield Finding(f"{device} in round {number}", together, f"{sum(shares.values()):.4g}", host=host)
