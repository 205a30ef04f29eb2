# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The current of lasers against the limits of their module, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links.optics_health import laser_bias

Row = dict[str, t.Any]
CABLES = [{"port": "ens0", "peer": "leaf01", "peer_port": "1", "peer_role": "leaf", "medium": "optic", "length_m": 30.0}]
LIMITS = {"bias_low_alarm_ma": 3.0, "bias_low_warning_ma": 4.0, "bias_high_warning_ma": 11.0, "bias_high_alarm_ma": 13.0}


def lane(number: int | None, current: float | None, sent: float | None = 1.0, **limits: float | None) -> Row:
    module = {"port": "ens0", "media": None, "media_lanes": None, "temperature_c": 42.0, **(limits or LIMITS)}
    return {**module, "lane": number, "tx_bias_ma": current, "tx_power_dbm": sent}


def found(*rows: Row) -> list[tuple[str, str, str | None]]:
    return [(str(one.where), f"{one.expected}: {one.actual}", one.severity) for one in laser_bias(list(rows), CABLES, 70)]


def test_currents_within_the_limits_are_well() -> None:
    assert found(lane(1, 4.0), lane(2, 11.0), lane(3, 7.5)) == []
    assert found(lane(None, 4.0)) == []


@pytest.mark.parametrize(
    ("current", "words", "severity"),
    [
        (13.1, "3 to 13 mA (alarm limits): 13.1 mA", None),
        (2.9, "3 to 13 mA (alarm limits): 2.9 mA", None),
        (11.5, "4 to 11 mA (warning limits): 11.5 mA", "warn"),
        (3.5, "4 to 11 mA (warning limits): 3.5 mA", "warn"),
        (None, "a current within the module's limits: not reported", "unknown"),
    ],
)
def test_the_lane_out_of_its_limits_is_named(current: float | None, words: str, severity: str | None) -> None:
    assert found(lane(1, 7.5), lane(2, current)) == [("ens0 lane 2 laser current", words, severity)]


def test_limits_are_those_of_the_module() -> None:
    without = dict.fromkeys(LIMITS)
    assert found(lane(1, 7.5), lane(2, 14.0, **without))[0][2] is None
    assert found(lane(1, 14.0, **{**without, "bias_high_alarm_ma": 13.0})) == [("ens0 lane 1 laser current", "- to 13 mA (alarm limits): 14 mA", None)]


def test_a_limit_of_nothing_is_none() -> None:
    assert found(lane(1, 7.5, **{**LIMITS, "bias_high_alarm_ma": 0.0, "bias_high_warning_ma": 0.0})) == []


def test_a_laser_that_is_switched_off_has_no_current() -> None:
    assert found(lane(1, 0.0, -40.0)) == []
    assert found(lane(1, 0.0, None))[0][2] is None


def test_modules_without_currents_or_limits_are_not_judged() -> None:
    for rows in ([], [lane(1, None)], [lane(1, 7.5, **dict.fromkeys(LIMITS))]):
        with pytest.raises(NotApplicable):
            found(*rows)


def test_copper_that_tells_currents_has_no_laser() -> None:
    with pytest.raises(NotApplicable):
        found({**lane(1, 0.0, None), "media": "Copper cable unequalized"})


def test_current_of_a_hot_module_is_no_age() -> None:
    def causes(*rows: Row) -> list[str | None]:
        return [one.cause for one in laser_bias(list(rows), CABLES, 70)]

    hot = [{**lane(number, 13.5), "temperature_c": 74.0} for number in (1, 2)]
    assert [str(cause).partition(",")[0] for cause in causes(*hot)] == ["All lasers of this module need more current than it allows for"] * 2
    assert causes(hot[0], {**hot[1], "tx_bias_ma": 7.5}) == [None], "a laser that ages alone"
    assert causes(*({**row, "temperature_c": 69.0} for row in hot)) == [None, None]
    assert causes(*({**row, "temperature_c": None} for row in hot)) == [None, None]
