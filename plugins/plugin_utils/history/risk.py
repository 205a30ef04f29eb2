# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes to validate next: for each the probability that it has become bad since it was last well, from its own past and that of the others.

Rates of nodes differ: some are bad again and again. Each node's own rate is estimated from how often it became bad in how many hours, drawn
towards the rate of all of them by as much as little is known of it (a Gamma distribution of rates, fitted to the pod's own counts by their mean and
variance; no number is set by hand). The probability then follows from the hours since it was last well. What SuperBench's Selector does by a
survival model that is trained on the fleet (Xiong et al., USENIX ATC 2024), with what one pod knows.

A counter of errors that grew raises a node's rate for a week, by as much as nodes of this pod became bad more often in such weeks than their own rates
say: how often they did, and how often that was to be expected, with one more added to both, so that nothing is concluded from few. It lowers none.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from .past import Past
from .times import DAY_SECONDS, HOUR_SECONDS

# For how long errors that grew raise a rate.
RAISED_SECONDS = 7 * DAY_SECONDS


@dataclass(frozen=True)
class Risk:
    """A node's risk; probability: that it is bad; hours: since it was last well, None where it never was; times: how often it became bad.

    rate: at which it becomes bad, per hour; raised: by what factor it is higher because errors of the node grew lately.
    """

    node: str
    probability: float
    hours: float | None
    times: int
    rate: float
    raised: float = 1.0

    @property
    def words(self) -> str:
        """Why, in a few words."""
        if self.hours is None:
            return "never judged well"
        bad = f"bad {self.times} time{'' if self.times == 1 else 's'}" if self.times else "never bad"
        grew = f", errors grew: rate {self.raised:.1f} times as high" if self.raised > 1 else ""
        return f"{bad}, last well {self.hours:.0f} h ago{grew}"


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


def risks(
    nodes: t.Iterable[str], known: t.Mapping[str, Past], now: float, use_hours: t.Mapping[str, float] | None = None,
    errors: t.Mapping[str, t.Sequence[float]] | None = None,
) -> list[Risk]:  # fmt: skip
    """The risk of each node, the highest first; of two alike the one that was well longer ago.

    use_hours: by node, for how many of the hours since it was last well it was in use, where that is known; otherwise all of them count.
    errors: by node, when its counters of errors were seen to have grown, in seconds since the epoch.
    """
    counts = {name: (len(past.begun()), max(now - past.first, 0) / HOUR_SECONDS) for name, past in known.items()}
    prior = fitted_prior(list(counts.values()))
    ranked = list(nodes)
    rates = {name: prior.rate(*counts.get(name, (0, 0.0))) for name in {*known, *ranked}}
    weeks = {name: _weeks(times, now) for name, times in (errors or {}).items() if name in known}
    factor = raised_by(known, rates, weeks)
    found = []
    for name in ranked:
        raised = factor if any(end >= now for _begun, end in weeks.get(name, ())) else 1.0
        found.append(_risk(name, known.get(name), rates[name], raised, now, (use_hours or {}).get(name)))
    return sorted(found, key=lambda one: (-one.probability, -math.inf if one.hours is None else -one.hours, one.node))


def _weeks(times: t.Iterable[float], now: float) -> list[tuple[float, float]]:
    """The times in which a rate is raised: a week from each of some times, joined where they overlap, and none after now."""
    found: list[tuple[float, float]] = []
    for time in sorted(times):
        end = min(time + RAISED_SECONDS, now)
        if found and time <= found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((time, end))
    return found


def raised_by(known: t.Mapping[str, Past], rates: t.Mapping[str, float], weeks: t.Mapping[str, t.Sequence[tuple[float, float]]]) -> float:
    """By what factor nodes became bad more often than at their own rates within some times, drawn towards 1 by as much as one more of both does; at least 1.

    A node that became bad as its errors were seen counts not, nor one that was bad already: what is asked is what errors tell of the time after them.
    """
    seen, expected = 0, 0.0
    for name, own in weeks.items():
        expected += rates[name] * sum(end - begun for begun, end in own) / HOUR_SECONDS
        seen += sum(any(begun < time <= end for begun, end in own) for time in known[name].turned())
    return max(1.0, (seen + 1) / (expected + 1))


def _risk(name: str, past: Past | None, rate: float, raised: float, now: float, used: float | None) -> Risk:
    times = len(past.begun()) if past else 0
    if past is None or past.well is None:
        return Risk(name, 1.0, None, times, rate, raised)
    hours = max(now - past.well, 0) / HOUR_SECONDS
    return Risk(name, 1.0 if past.bad else -math.expm1(-rate * raised * (hours if used is None else used)), hours, times, rate, raised)


def any_bad(chosen: t.Iterable[Risk]) -> float:
    """The probability that at least one of some nodes is bad, which is that of a job on all of them to meet one."""
    return 1 - math.prod(1 - one.probability for one in chosen)


def to_validate(ordered: t.Sequence[Risk], accepted: float) -> list[Risk]:
    """As few of a job's nodes as leave the others with no more than an accepted probability that one of them is bad; the riskiest first."""
    for count in range(len(ordered)):
        if any_bad(ordered[count:]) <= accepted:
            return list(ordered[:count])
    return list(ordered)
