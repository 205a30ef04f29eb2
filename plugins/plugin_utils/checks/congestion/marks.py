# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks and what follows from them: the receiver notifies, every sender backs off, all get their share, and together they fill the link."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...loads.incasts import INCAST as OWN
from ...pod.rail_ports import bonded_gbit_s
from ...pod.types import Rail
from ...readings.rows import Rows
from ...text.counting import counted
from .. import INCAST, CannotTell, Finding, check
from .._beside import Counted
from .._counters import CNPS, IGNORED, MARKED, NOTIFIED, RX_PAUSES, Counters, growth, incast_jobs, of_rails, pick
from .._not_measured import no_result, not_measured
from ..place import at_device
from .load import End, sent

Grouped = dict[str, Rows]
# Evaluated when it is imported, which before Python 3.10 cannot be `|`.
Optionally = t.Mapping[str, t.Optional[Rows]]  # noqa: UP045
# Below this share of the receiver's link nothing was congested.
CONGESTED = 0.8


def _growth(was: Grouped, now: Grouped, key: str) -> dict[str, Counters]:
    return {host: growth(was[host], rows, key) for host, rows in now.items() if host in was}


def _incasts(load_jobs: Grouped) -> dict[End, set[End]]:
    """The senders of each receiver, both as (host, device).

    Raises CannotTell where no one has sent.
    """
    found: dict[End, set[End]] = {}
    for host, rows in load_jobs.items():
        for job in incast_jobs(rows, "client"):
            if job["status"] == "ok":
                found.setdefault((job["peer"], job["peer_device"]), set()).add((host, job["device"]))
    if not found:
        raise not_measured("no congestion was made: no test of an incast completed")
    return found


def _netdevs(rails: list[Rail]) -> dict[str, str]:
    return {rail["device"]: rail["netdev"] for rail in rails}


@check(
    cause="The switches do not mark: the ECN minimum threshold is above where pauses begin, marking is not enabled, or the traffic is in another queue.",
    fix="Compare the switch's ECN thresholds with its pause threshold (marks must come first), and see that marking is enabled for the RoCE queue.",
    fabric="roce",
    scope="group",
    required=True,
    hosts=INCAST,
)
def ecn_marks_under_load(
    load_jobs: Grouped, write_bw: Grouped, rdma_counters_idle: Grouped, rdma_counters: Grouped, nic_counters_idle: Grouped, nic_counters: Grouped,
    pod_rails: list[Rail], pod_link_gbit_s: float, pod_roce_priority: int,
) -> t.Iterator[Finding]:  # fmt: skip
    """Each receiver of an incast counts ECN-marked packets."""
    counters = _growth(rdma_counters_idle, rdma_counters, "device")
    nics = {host: of_rails(grown, pod_rails) for host, grown in _growth(nic_counters_idle, nic_counters, "netdev").items()}
    netdev_of, rated = _netdevs(pod_rails), bonded_gbit_s(pod_rails, pod_link_gbit_s)
    receivers = _incasts(load_jobs)
    for (host, device), senders in receivers.items():
        if host not in counters:
            continue
        marked = pick(counters[host].get(device), MARKED)
        if marked is None:
            yield Finding(at_device(device, f"{MARKED[0]}"), "counter", "not reported", "unknown", host=host)
        elif not marked:
            paused = {one: count for one in senders if (count := pick(nics.get(one[0], {}).get(netdev_of.get(one[1], "")), RX_PAUSES, pod_roce_priority))}
            # Pauses are counted over all rounds: those of a sender that sent to other receivers too may be due to these.
            others = {one for end, its in receivers.items() if end != (host, device) for one in its}
            yield _unmarked(host, device, paused, others, _received(host, device, load_jobs, write_bw), rated)


def _received(host: str, device: str, load_jobs: Grouped, write_bw: Grouped) -> float | None:
    """What a rail received in the round in which it received most, in Gb/s; None where no sender reports."""
    rounds = sent(load_jobs, write_bw, host, (OWN,)).get((host, device), {})
    return max((sum(senders.values()) for senders in rounds.values()), default=None)


def _were(ends: t.Iterable[End]) -> str:
    hosts = list(dict.fromkeys(host for host, _device in ends))
    return f"{hosts[0]} was" if len(hosts) == 1 else f"{len(hosts)} senders were"


def _unmarked(host: str, device: str, paused: Mapping[End, int], others: t.Container[End], received: float | None, link: float) -> Finding:
    """Why no packet is marked, as far as it is reported: pauses came first, nothing was congested, or neither.

    paused: how often each sender was paused in all rounds; others: the senders that sent to other receivers too; received, link: in Gb/s.
    """
    where, expected = at_device(device, "as receiver"), "ECN-marked packets"
    sure = sum(count for end, count in paused.items() if end not in others)
    if sure:
        return Finding(where, expected, f"none, and its senders were paused {sure} times: pauses come before marks", host=host)
    known = f"{_were(paused)} paused {sum(paused.values())} times, in rounds with other receivers too" if paused else ""
    if received is None:
        return Finding(where, expected, "; ".join(filter(None, ("none; rates of the senders: not reported", known))), "unknown", host=host)
    if received < link * CONGESTED:
        words = f"none, at {received:.4g} of {link:g} Gb/s: no congestion was made"
        return Finding(where, expected, "; ".join(filter(None, (words, known))), "unknown", host=host, judged=True)
    words = f"none at {received:.4g} of {link:g} Gb/s"
    return Finding(
        where, expected, f"{words}; {known}: marks come after pauses, or not at all" if known else f"{words}, and no pause: marking is not enabled", host=host
    )


@check(
    cause="DCQCN is off on that NIC: on a receiver its notification point, on a sender its reaction point; or notifications are lost on their way.",
    fix="Turn DCQCN on for the RoCE priority on that NIC, and see that the DSCP of notifications is not on a priority that drops.",
    fabric="roce",
    scope="group",
    required=("pod_congestion_control", ("dcqcn",)),
    hosts=INCAST,
    remedy="dcqcn",
    when=("pod_congestion_control", ("dcqcn",)),
)
def dcqcn_backs_off(load_jobs: Grouped, rdma_counters_idle: Grouped, rdma_counters: Grouped) -> t.Iterator[Finding]:
    """Receivers of marked packets send congestion notifications, and every sender handles them."""
    counters = _growth(rdma_counters_idle, rdma_counters, "device")
    judged, notified = False, set()
    for (host, device), senders in _incasts(load_jobs).items():
        mine = counters.get(host, {}).get(device)
        if host not in counters or not pick(mine, MARKED):
            continue
        judged = True
        sent = pick(mine, NOTIFIED)
        if sent is None:
            yield Finding(at_device(device, f"{NOTIFIED[0]}"), "counter", "not reported", "unknown", host=host)
        elif not sent:
            words = f"none for {pick(mine, MARKED)} marked packets"
            yield Finding(at_device(device, "as receiver"), "notifications sent for marks", words, host=host)
        else:
            notified |= senders
    if not judged:
        raise CannotTell("no receiver has counted a marked packet, so no sender had to reduce its rate")
    for host, device in sorted(notified):
        if host in counters:
            yield from _backs_off(host, device, counters[host].get(device))


def _backs_off(host: str, device: str, counters: Mapping[str, int] | None) -> t.Iterator[Finding]:
    handled, ignored = pick(counters, CNPS), pick(counters, IGNORED)
    if handled is None:
        yield Finding(at_device(device, f"{CNPS[0]}"), "counter", "not reported", "unknown", host=host)
    elif not handled:
        yield Finding(at_device(device, "as sender"), "notifications handled", "none, though its receivers sent them", host=host)
    if ignored:
        yield Finding(at_device(device, "as sender"), "no notification ignored", f"{ignored}", "warn", host=host)


@check(
    cause="One sender does not reduce its rate, or its path gives it more than its share: the others get less.",
    fix="Compare DCQCN's settings and the NIC firmware of the fastest and the slowest sender.",
    fabric="roce",
    scope="group",
    severity="warn",
    hosts=INCAST,
)
def fair_share(
    load_jobs: Grouped, write_bw: Grouped, pod_fair_share_percent: float, rdma_counters_idle: Optionally | None = None,
    rdma_counters: Optionally | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """The slowest sender to a receiver gets at least {pod_fair_share_percent} percent of the rate of the fastest."""
    pairs, counted = _queue_pairs(load_jobs), Counted((None, None, rdma_counters_idle, rdma_counters))
    for (host, device, number), shares in rates_of_rounds(load_jobs, write_bw).items():
        # A switch shares by flow or by port, so that a sender is given too little only where it gets less by both.
        known = {sender: pairs.get((sender, number)) for sender in shares}
        each = {sender: rate / (known[sender] or 1) if all(known.values()) else rate for sender, rate in shares.items()}
        fast, fastest = max(shares, key=lambda sender: shares[sender]), max(each.values())
        part = pod_fair_share_percent / 100
        slow = [sender for sender in shares if shares[sender] < shares[fast] * part and each[sender] < fastest * part]
        if slow:
            least = min(slow, key=lambda sender: shares[sender])
            own = min(shares[fast], fastest * (known[least] or 1) if all(known.values()) else shares[fast]) * part
            words = f"{shares[least]:.4g} Gb/s{_over(known, least)}, and {fast[0]} {fast[1]} {shares[fast]:.4g}{_over(known, fast)}"
            words += counted.of_incast((host, device), shares, {})
            where = at_device(least[1], f"to {host} {device} in round {number}", peers=(host, fast[0]))
            yield Finding(where, f"{own:.4g} Gb/s or more", words, host=least[0])


def _queue_pairs(load_jobs: Grouped) -> dict[tuple[End, t.Any], int]:
    """With how many queue pairs each rail sent in each round; without those that are not reported."""
    return {((host, job["device"]), job["round"]): job["qps"] for host, rows in load_jobs.items() for job in incast_jobs(rows, "client") if job.get("qps")}


def _over(pairs: Mapping[End, int | None], sender: End) -> str:
    """The queue pairs of a sender, where those of a round differ."""
    return f" over {counted(pairs[sender] or 0, 'queue pair')}" if len(set(pairs.values())) > 1 else ""


def rates_of_rounds(load_jobs: Grouped, write_bw: Grouped) -> dict[tuple[str, str, t.Any], dict[End, float]]:
    """The rate of each sender (Gb/s) by the receiver's host and device and the round.

    Raises CannotTell where none is reported.
    """
    receivers, rates = _incasts(load_jobs), sent(load_jobs, write_bw, kinds=(OWN,))
    found = {(*receiver, number): senders for receiver in receivers for number, senders in sorted(rates.get(receiver, {}).items())}
    if not found:
        raise no_result("rates of the senders: not reported")
    return found


@check(
    cause="Senders reduce their rate too far: switches mark too early (ECN thresholds for another port speed, or in another unit), DCQCN reduces too "
    "much, or pauses.",
    fix="Fix slow_receiver first, where it is reported. Then compare the leaf's ECN thresholds with its vendor's, and the senders' DCQCN with its defaults.",
    fabric="roce",
    scope="group",
    severity="warn",
    hosts=INCAST,
)
def incast_fills_link(
    load_jobs: Grouped, write_bw: Grouped, pod_rails: list[Rail], pod_link_gbit_s: float, pod_incast_fill_percent: float,
    rdma_counters_idle: Optionally | None = None, rdma_counters: Optionally | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """The senders to one receiver together reach at least {pod_incast_fill_percent} percent of its link rate."""
    least, counted = bonded_gbit_s(pod_rails, pod_link_gbit_s) * pod_incast_fill_percent / 100, Counted((None, None, rdma_counters_idle, rdma_counters))
    for (host, device, number), shares in rates_of_rounds(load_jobs, write_bw).items():
        if sum(shares.values()) < least:
            together = f"{least:.4g} Gb/s or more of {len(shares)} senders together"
            words = f"{sum(shares.values()):.4g}{counted.of_incast((host, device), shares, {})}"
            yield Finding(at_device(device, f"in round {number}"), together, words, host=host)
