# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bandwidth test must reach, from host and from GPU memory."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...loads.pair_tests import HostMemoryRates, PairEnd, PairTest
from ...loads.thresholds import RailRates, minimum_gbit_s
from .._slow_pairs import STUCK


class Minimum(t.Protocol):
    """What tests must reach."""

    def of(self, test: PairTest) -> float:
        """In Gb/s."""

    def words(self, test: PairTest) -> str:
        """For a finding."""

    def stuck(self, test: PairTest) -> float:
        """Below this rate, in Gb/s, a NIC without errors is stuck."""


@dataclass(frozen=True)
class OfLink:
    """A percentage of the slower end's link rate."""

    rates: RailRates
    percent: float
    bidirectional: bool

    def of_ends(self, *ends: PairEnd) -> float:
        """Of a test between two rails, or with partners as fast as one."""
        return minimum_gbit_s(ends, self.rates, self.percent, self.bidirectional)

    def of(self, test: PairTest) -> float:
        return self.of_ends(*test.ends)

    def words(self, test: PairTest) -> str:
        return f"{self.of(test):g} Gb/s or more"

    def stuck(self, test: PairTest) -> float:
        return STUCK * minimum_gbit_s(test.ends, self.rates, 100, self.bidirectional)


@dataclass(frozen=True)
class OfHostMemory:
    """A percentage of what the ends reach from host memory."""

    rates: HostMemoryRates
    percent: float

    def of(self, test: PairTest) -> float:
        return (self.rates.of(test) or 0.0) * self.percent / 100

    def words(self, test: PairTest) -> str:
        rate = self.rates.of(test)
        return f"{self.percent:g} % of the {rate:.4g} Gb/s from host memory" if rate else f"{self.percent:g} % of the rate from host memory"

    def stuck(self, test: PairTest) -> float:
        return 0.0
