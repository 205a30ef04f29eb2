# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What choosing by risk is worth: 2,000 hosts over 90 days, against taking them in turn and against validating every host before every job.

docs/history.md says what is assumed and where the rates are from. Nothing here was chosen by what came out.
"""

from __future__ import annotations

import math
import random
import sys
import typing as t
from dataclasses import dataclass, field

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.past import Episode, Past
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.risk import risks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.times import HOUR_SECONDS

HOSTS, DAYS = 2000, 90
# Failures per 1,000 host-days (Kokolis et al., HPCA 2025: clusters RSC-1 and RSC-2; Llama 3: 419 in 54 days on 2,048 hosts).
RATES = {"RSC-1": 6.50, "RSC-2": 2.34, "Llama 3": 419 / 54 / 2048 * 1000}
# Mean hours of a job (assumed), and the share of the time in which hosts are in use (the first paper: over 80 %).
JOB_HOURS, USED = 12.0, 0.8
# Jobs that start within so many hours compete for being validated before.
STEP_HOURS = 6
# Hours of a repair (assumed).
REPAIR_HOURS = 24.0
# By the risk of a history, by who was well longest ago, and by the rates that the hosts were given, which nobody knows: the best that past and time allow.
POLICIES = RISK, TURN, KNOWN = "by risk", "in turn", "rates known"
# The shares of validating every host before every job.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass
class Host:
    """A host; rate: at which it becomes bad, per hour; bad_at: when it becomes bad next, which nobody sees; free_at: when its next job starts."""

    name: str
    rate: float
    past: Past
    bad_at: float
    free_at: float


@dataclass
class Result:
    """What became of faults: found before a job began on the host, or met by the next job; and how many job starts there were, and validations before them."""

    found: int = 0
    met: int = 0
    starts: int = 0
    validated: int = 0

    @property
    def share(self) -> float:
        """The share of faults that were found before a job met them."""
        return self.found / max(self.found + self.met, 1)


@dataclass
class Fleet:
    """A fleet under one policy; share: of the job starts of which the host is validated before."""

    count: int
    rate: float
    shape: float
    share: float
    policy: str
    seed: int
    hosts: list[Host] = field(default_factory=list)
    result: Result = field(default_factory=Result)

    def run(self) -> Result:
        """Ninety days, hour by hour."""
        self.chance, self.owed = random.Random(self.seed), 0.0
        mean = self.rate / 1000 / 24
        for number in range(self.count):
            own = mean if math.isinf(self.shape) else self.chance.gammavariate(self.shape, mean / self.shape)
            past = Past(f"host{number}", 0, 0, 0)
            self.hosts.append(Host(past.node, own, past, self.chance.expovariate(own), self.chance.uniform(0, JOB_HOURS / USED)))
        for hour in range(0, DAYS * 24, STEP_HOURS):
            starting = [one for one in self.hosts if one.free_at <= hour]
            chosen = self._chosen(starting, hour)
            for host in starting:
                self._start(host, hour, host.name in chosen)
        return self.result

    def _chosen(self, starting: list[Host], hour: int) -> set[str]:
        """The hosts that are validated before the jobs that start now: as many as the share allows, what is left over is kept for later."""
        self.owed += self.share * len(starting)
        count = int(self.owed)
        self.owed -= count
        if self.policy != RISK:
            return {one.name for one in sorted(starting, key=lambda one: self._well(one, hour))[:count]}
        known = {one.name: one.past for one in self.hosts} if count else {}
        return {one.node for one in risks([one.name for one in starting], known, hour * HOUR_SECONDS)[:count]} if count else set()

    def _well(self, host: Host, hour: int) -> float:
        """How sure it is that a host is well: by when it last was, weighted by its rate where that is known."""
        since = hour * HOUR_SECONDS - (host.past.well or 0)
        return -since * (host.rate if self.policy == KNOWN else 1.0)

    def _start(self, host: Host, hour: int, validated: bool) -> None:
        host.free_at = hour + self.chance.expovariate(USED / JOB_HOURS)
        self.result.starts += 1
        self.result.validated += validated
        if host.bad_at > hour:
            host.past.well = int(hour * HOUR_SECONDS) if validated else host.past.well
            return
        # A job that meets it says so too: it fails, and the host is repaired and proved.
        self.result.found += validated
        self.result.met += not validated
        well = hour + REPAIR_HOURS
        host.past.episodes.append(Episode("rdma", int(hour * HOUR_SECONDS), host.past.well, int(well * HOUR_SECONDS)))
        host.past.well, host.bad_at, host.free_at = int(well * HOUR_SECONDS), well + self.chance.expovariate(host.rate), well


def main(arguments: t.Sequence[str]) -> None:
    """Print the curves; arguments: a number of hosts, and the names of rates, where not all are wanted."""
    count = int(arguments[0]) if arguments else HOSTS
    print(f"{count} hosts, {DAYS} days; faults that were found before a job met them, by share of the host-hours of\nvalidating each host before each job")
    for name, rate in ((one, rate) for one, rate in RATES.items() if one in arguments[1:] or not arguments[1:]):
        for words, shape in (("hosts alike", math.inf), ("rates spread as an exponential", 1.0)):
            print(f"\n{name}: {rate:.2f} failures per 1,000 host-days, {words}")
            print(f"  {'share':>6} " + "".join(f"{policy:>13}" for policy in POLICIES) + "   faults")
            for share in SHARES:
                done = [Fleet(count, rate, shape, share, policy, 1).run() for policy in POLICIES]
                print(f"  {share:6.0%} " + "".join(f"{one.share:13.1%}" for one in done) + f"   {done[0].found + done[0].met:6}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
