# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines through numbers, and on which day they reach a limit: only where more than chance says so."""

from __future__ import annotations

import random

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.times import DAY_SECONDS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.trends import Point, crossed_of, trend_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.history_page import reached

LOW, HIGH = -10.0, 4.0


def light(days: int, slope: float, noise: float = 0.05, seed: int = 1, start: float = -3.0) -> list[Point]:
    """Received power once a day, in dBm."""
    chance = random.Random(seed)
    return [Point(day * DAY_SECONDS + 100.0, start + slope * day + chance.gauss(0, noise), LOW, HIGH) for day in range(days)]


def test_a_falling_light_reaches_its_alarm_on_a_day_with_its_uncertainty() -> None:
    trend = trend_of("light_received", "gpu01 ens0 1", light(40, -0.1))
    assert trend is not None and trend.crossing is not None
    # From -3 dBm it takes 70 days to -10 dBm.
    assert trend.crossing.limit == LOW
    assert trend.crossing.earliest < 70 * DAY_SECONDS < (trend.crossing.latest or 0)
    assert abs(trend.crossing.expected / DAY_SECONDS - 70) < 2
    assert trend.slope is not None and trend.slope.least < -0.1 < trend.slope.most < 0


def test_a_rising_number_goes_to_its_upper_limit() -> None:
    trend = trend_of("light_received", "p", light(40, 0.1))
    assert trend is not None and trend.crossing is not None and trend.crossing.limit == HIGH


@pytest.mark.parametrize("days", [2, 5, 7, 10])
def test_few_days_say_nothing(days: int) -> None:
    """Ten days are enough of them, and reach over nine only."""
    assert trend_of("light_received", "p", light(days, -0.5)) is None


def test_many_numbers_of_one_day_are_one_day() -> None:
    assert trend_of("light_received", "p", [Point(number * 60.0, -3.0 - number / 100, LOW) for number in range(1000)]) is None


def test_noise_has_a_trend_as_seldom_as_chance_allows() -> None:
    """At 95 %, one of twenty series without a trend looks like one."""
    found = [trend_of("light_received", "p", light(30, 0.0, 0.3, seed)) for seed in range(400)]
    assert 5 <= sum(one is not None for one in found) <= 40


def test_the_day_is_within_its_interval_as_often_as_it_says() -> None:
    chance = [trend_of("light_received", "p", light(45, -0.1, 0.4, seed)) for seed in range(200)]
    known = [one.crossing for one in chance if one is not None and one.crossing is not None]
    held = [one for one in known if one.earliest <= 70 * DAY_SECONDS and (one.latest is None or one.latest >= 70 * DAY_SECONDS)]
    assert len(known) > 150 and len(held) / len(known) > 0.9


def test_nothing_is_said_of_a_day_that_is_farther_ahead_than_the_numbers_reach_back() -> None:
    trend = trend_of("light_received", "p", light(30, -0.01, 0.001))
    assert trend is not None and trend.crossing is None


def test_a_latest_day_beyond_that_is_not_named() -> None:
    trend = trend_of("light_received", "p", light(36, -0.1, 0.6, seed=4))
    assert trend is not None and trend.crossing is not None and trend.crossing.latest is None


def test_a_limit_that_is_behind_is_not_ahead() -> None:
    trend = trend_of("light_received", "p", light(30, -0.1, start=-9.0))
    assert trend is not None and trend.last < LOW and trend.crossing is None
    # From -9 dBm it takes ten days to -10 dBm.
    assert trend.crossed is not None and trend.crossed.limit == LOW and 9 <= trend.crossed.since // DAY_SECONDS <= 12


@pytest.mark.parametrize(
    ("values", "since"),
    [([-9.0, -11.0, -11.0], 1), ([-11.0, -9.0, -11.0], 2), ([-11.0, -11.0, -9.0], None), ([5.0, -11.0, -11.0], 0), ([LOW, HIGH, LOW], None), ([], None)],
)
def test_a_limit_is_crossed_since_the_first_day_from_which_every_one_was_beyond_one(values: list[float], since: int | None) -> None:
    found = crossed_of([Point(day * DAY_SECONDS, value, LOW, HIGH) for day, value in enumerate(values)])
    assert (found and found.since) == (since if since is None else since * DAY_SECONDS)


@pytest.mark.parametrize(("days", "dark_from"), [(30, 0), (30, 20), (1, 0)])
def test_a_number_that_is_flat_beyond_its_limit_has_crossed_it_since_a_day(days: int, dark_from: int) -> None:
    points = [Point(day * DAY_SECONDS, -12.0 if day >= dark_from else -3.0, LOW, HIGH) for day in range(days)]
    trend = trend_of("light_received", "p", points[dark_from:])
    assert trend is not None and (trend.slope, trend.crossing, trend.last) == (None, None, -12.0)
    assert trend.crossed == (LOW, dark_from * DAY_SECONDS)


def test_errors_that_ended_are_beyond_no_limit() -> None:
    """No error at all has no exponent, and is a day all the same."""
    rates = [1e-3, 1e-3, 0.0]
    assert trend_of("pre_fec_ber", "p", [Point(day * DAY_SECONDS, rate, None, 2.4e-4) for day, rate in enumerate(rates)]) is None


def test_no_numbers_have_no_trend() -> None:
    assert trend_of("light_received", "p", []) is None


def test_the_page_says_crossed_with_its_day() -> None:
    trend = trend_of("pre_fec_ber", "leaf01 Ethernet1", [Point(day * DAY_SECONDS, 10 ** (-6 + day / 10), None, 2.4e-4) for day in range(30)])
    assert trend is not None and trend.crossed is not None and trend.crossed.limit == pytest.approx(2.4e-4)
    assert reached(trend) == "crossed 1970-01-25"


def test_without_a_limit_there_is_a_trend_and_no_day() -> None:
    trend = trend_of("step_time", "gpu01", [Point(day * DAY_SECONDS, 100 + day + day % 2) for day in range(20)])
    assert trend is not None and trend.crossing is None and trend.slope is not None and 0.9 < trend.slope.per_day < 1.1


def test_of_a_rate_of_errors_the_exponent_moves_in_a_line() -> None:
    """From 1e-8 a decade every ten days: 2.4e-4 is reached after some 44 days."""
    trend = trend_of("pre_fec_ber", "leaf01 Ethernet1", [Point(day * DAY_SECONDS, 10 ** (-8 + day / 10), None, 2.4e-4) for day in range(30)])
    assert trend is not None and trend.crossing is not None
    assert trend.crossing.limit == pytest.approx(2.4e-4) and trend.last == pytest.approx(10**-5.1)
    assert 43 < trend.crossing.expected / DAY_SECONDS < 45


def test_an_unchanging_number_has_no_trend() -> None:
    assert trend_of("light_received", "p", [Point(day * DAY_SECONDS, -3.0, LOW) for day in range(30)]) is None
