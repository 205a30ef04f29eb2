# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes to validate next: for each the probability that it has become bad since it was last well, from its own past and that of the others.

Rates of nodes differ: some are bad again and again. Each node's own rate is estimated from how often it became bad in how many hours, drawn
towards the rate of all of them by as much as little is known of it (a Gamma distribution of rates, fitted to the pod's own counts by their mean and
variance; no number is set by hand). The probability then follows from the hours since it was last well. What SuperBench's Selector does by a
survival model that is trained on the fleet (Xiong et al., USENIX ATC 2024), with what one pod knows.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from .past import Past
from .times import HOUR_SECONDS


@dataclass(frozen=True)
class Risk:
    """A node's risk; probability: that it is bad; hours: since it was last well, None where it never was; times: how often it became bad."""

    node: str
    probability: float
    hours: float | None
    times: int
    rate: float

    @property
    def words(self) -> str:
        """Why, in a few words."""
        if self.hours is None:
            return "never judged well"
        bad = f"bad {self.times} time{'' if self.times == 1 else 's'}" if self.times else "never bad"
        return f"{bad}, last well {self.hours:.0f} h ago"


class Prior(t.NamedTuple):
    """The Gamma distribution of the rates (per hour) of a pod's nodes; shape: infinite where no difference between nodes is seen."""

    mean: float
    shape: float

    def rate(self, times: int, hours: float) -> float:
        """A node's rate, from how often it became bad in so many hours."""
        if math.isinf(self.shape):
            return self.mean
        return (self.shape + times) / (self.shape / self.mean + hours)


def fitted_prior(counts: t.Sequence[tuple[int, float]]) -> Prior:
    """The distribution of rates, from how often each node became bad in how many hours, by its first two moments.

    Where none ever was bad, the rate is that at which half a fault is expected in all hours together.
    """
    hours = sum(own for _times, own in counts)
    times = sum(own for own, _hours in counts)
    if not hours:
        return Prior(0.0, math.inf)
    mean = max(times, 0.5) / hours
    # What the counts differ by beyond what chance does to equal rates.
    variance = (sum((own - mean * time) ** 2 for own, time in counts) - times) / sum(time**2 for _own, time in counts)
    return Prior(mean, mean**2 / variance if variance > 0 and times else math.inf)


def risks(nodes: t.Iterable[str], known: t.Mapping[str, Past], now: float, use_hours: t.Mapping[str, float] | None = None) -> list[Risk]:
    """The risk of each node, the highest first; of two alike the one that was well longer ago.

    use_hours: by node, for how many of the hours since it was last well it was in use, where that is known; otherwise all of them count.
    """
    counts = {name: (len(past.begun()), max(now - past.first, 0) / HOUR_SECONDS) for name, past in known.items()}
    prior = fitted_prior(list(counts.values()))
    found = [_risk(name, known.get(name), counts.get(name, (0, 0.0)), prior, now, (use_hours or {}).get(name)) for name in nodes]
    return sorted(found, key=lambda one: (-one.probability, -math.inf if one.hours is None else -one.hours, one.node))


def _risk(name: str, past: Past | None, count: tuple[int, float], prior: Prior, now: float, used: float | None) -> Risk:
    rate = prior.rate(*count)
    if past is None or past.well is None:
        return Risk(name, 1.0, None, count[0], rate)
    hours = max(now - past.well, 0) / HOUR_SECONDS
    return Risk(name, 1.0 if past.bad else -math.expm1(-rate * (hours if used is None else used)), hours, count[0], rate)


def any_bad(chosen: t.Iterable[Risk]) -> float:
    """The probability that at least one of some nodes is bad, which is that of a job on all of them to meet one."""
    return 1 - math.prod(1 - one.probability for one in chosen)


def to_validate(ordered: t.Sequence[Risk], accepted: float) -> list[Risk]:
    """As few of a job's nodes as leave the others with no more than an accepted probability that one of them is bad; the riskiest first."""
    for count in range(len(ordered)):
        if any_bad(ordered[count:]) <= accepted:
            return list(ordered[:count])
    return list(ordered)
