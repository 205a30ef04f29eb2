# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A queue under an incast, step by step: marks, notifications, senders that back off or do not, pauses and drops.

A fluid model of one switch port in steps of a microsecond. It is no simulator of a chip: it is there so that what the counters
say follows from thresholds and from who reacts, and so that another threshold gives other counters.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

STEP_US = 1.0
# The first moments are a burst at line rate, the rest is how it goes on.
BURST_STEPS, STEADY_STEPS = 1000, 4000
PACKET_BYTES = 4170
# Senders do not start at line rate all at once: together they begin at so many times the link.
BEGIN = 1.5
# A receiver notifies a sender at most so often (ConnectX's default); so often a sender speeds up again.
NOTIFY_US, RECOVER_US = 50, 55
RECOVER_GBIT_S = 5.0
# What still arrives after a pause was sent: the cable, and what sender and switch have on their way.
STILL_ARRIVES_US = 2


@dataclass(frozen=True)
class Port:
    """A switch port's queue: thresholds in bytes (marks begin at min and are certain at max), room behind the pause threshold, and what is on.

    takes_gbit_s: what the receiver behind it takes; less than the link where its host is slow.
    """

    link_gbit_s: float
    takes_gbit_s: float
    marking: bool = True
    min_bytes: int = 150_000
    max_bytes: int = 1_500_000
    pausing: bool = True
    pause_bytes: int = 2_500_000
    headroom_bytes: int = 12_000_000
    drop_bytes: int = 20_000_000


@dataclass(frozen=True)
class Outcome:
    """What an incast of some seconds counts: each sender's rate (Gb/s), notifications sent to each sender, and of the port the rest."""

    rates: tuple[float, ...]
    notified: tuple[int, ...]
    marked: int
    pauses: int
    paused_seconds: float
    dropped: int


@functools.cache
def incast(port: Port, reacts: tuple[bool, ...], seconds: float, notifies: bool = True) -> Outcome:
    """What comes of senders that all want their line rate; reacts: which of them heed notifications; notifies: whether the receiver sends any."""
    queue = _Queue(port, list(reacts), notifies)
    for _step in range(BURST_STEPS):
        queue.step()
    burst = queue.counted
    queue.counted = _Counted(len(reacts))
    for _step in range(STEADY_STEPS):
        queue.step()
    steady, times = queue.counted, seconds * 1e6 / (STEADY_STEPS * STEP_US)
    return Outcome(
        tuple(sent * 8 / 1000 / (STEADY_STEPS * STEP_US) for sent in steady.sent),
        tuple(round(first + then * times) for first, then in zip(burst.notified, steady.notified)),
        round(burst.marked + steady.marked * times), round(burst.pauses + steady.pauses * times),
        (burst.paused_us + steady.paused_us * times) / 1e6, round(burst.dropped + steady.dropped * times),
    )  # fmt: skip


class _Counted:
    """Counters, from zero: bytes sent and notifications by sender, packets marked and dropped, pauses and how long they lasted."""

    def __init__(self, senders: int) -> None:
        self.marked, self.dropped, self.pauses, self.paused_us = 0.0, 0.0, 0, 0.0
        self.sent, self.notified = [0.0] * senders, [0] * senders


class _Queue:
    """The port's state: bytes waiting, the senders' rates, and what was counted."""

    def __init__(self, port: Port, reacts: list[bool], notifies: bool) -> None:
        self.port, self.reacts, self.notifies = port, reacts, notifies
        self.waiting, self.paused, self.clock, self.still = 0.0, False, 0.0, 0
        self.rates = [min(port.link_gbit_s, port.link_gbit_s * BEGIN / len(reacts))] * len(reacts)
        self.waits = [0.0] * len(reacts)
        self.counted = _Counted(len(reacts))

    def step(self) -> None:
        """One microsecond."""
        self.clock += STEP_US
        arriving = sum(self.rates) if not self.paused or self.still > 0 else 0.0
        self.still -= 1
        # A Gb/s is 125 bytes a microsecond.
        self.waiting += arriving * 125 * STEP_US
        room = self.port.drop_bytes if not self.port.pausing else min(self.port.drop_bytes, self.port.pause_bytes + self.port.headroom_bytes)
        if self.waiting > room:
            self.counted.dropped += (self.waiting - room) / PACKET_BYTES
            self.waiting = float(room)
        self._pause()
        served = min(self.waiting, min(self.port.link_gbit_s, self.port.takes_gbit_s) * 125 * STEP_US)
        self.waiting -= served
        self._deliver(served)

    def _deliver(self, served: float) -> None:
        share = self._marking()
        self.counted.marked += share * served / PACKET_BYTES
        total = sum(self.rates)
        for number, rate in enumerate(self.rates):
            self.counted.sent[number] += served * rate / total
            self.waits[number] += STEP_US
            if share and self.notifies and self.waits[number] >= NOTIFY_US:
                self.waits[number] = 0.0
                self.counted.notified[number] += 1
                if self.reacts[number]:
                    self.rates[number] = max(rate * (1 - share / 2), 1.0)
            elif self.clock % RECOVER_US < STEP_US:
                self.rates[number] = min(rate + RECOVER_GBIT_S, self.port.link_gbit_s)

    def _marking(self) -> float:
        """The share of packets that are marked."""
        port = self.port
        if not port.marking or self.waiting <= port.min_bytes:
            return 0.0
        return min(1.0, (self.waiting - port.min_bytes) / (port.max_bytes - port.min_bytes))

    def _pause(self) -> None:
        if self.paused:
            self.counted.paused_us += STEP_US
        if not self.port.pausing:
            return
        if not self.paused and self.waiting > self.port.pause_bytes:
            self.paused, self.still = True, STILL_ARRIVES_US
            self.counted.pauses += 1
        elif self.paused and self.waiting < self.port.pause_bytes * 0.8:
            self.paused = False
