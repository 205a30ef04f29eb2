# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that switches lost, and the health of optics, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links.optics_health import optic_health
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links.switch_ports import switch_link_flaps

Rows = list[dict[str, t.Any]]
CABLES = [{"port": f"Ethernet{number}/1", "peer": f"spine0{number}", "peer_port": "Ethernet0", "medium": "optic"} for number in (1, 2)]


def summary(findings: t.Iterable[Finding]) -> list[tuple[str, str | None]]:
    return [(str(one), one.severity) for one in findings]


def links(*changes: int | None, column: str = "changes") -> Rows:
    blank = {"changes": None, "since_seconds": None}
    return [{**blank, "port": f"Et{number}/1", column: value} for number, value in enumerate(changes, 1)]


def flaps(now: Rows, before: Rows) -> list[tuple[str, str | None]]:
    return summary(switch_link_flaps(now, before, CABLES))


def test_a_link_that_changes_in_the_soak() -> None:
    assert flaps(links(7, 1), links(7, 1)) == []
    assert flaps(links(9, 1), links(7, 1)) == [
        ("Ethernet1/1: expected no change of the link in the soak, got 2 changes of the link to spine01 Ethernet0", None)
    ]
    # A port without a cable of the plan is none of the pod's.
    assert flaps(links(7, 1, 90), links(7, 1, 2)) == []


def test_a_platform_that_reports_when_it_changed() -> None:
    then = links(500.0, 90000.0, column="since_seconds")
    assert flaps(links(800.0, 90300.0, column="since_seconds"), then) == []
    assert flaps(links(74.0, 90300.0, column="since_seconds"), then) == [
        ("Ethernet1/1: expected no change of the link in the soak, got the link to spine01 Ethernet0 changed 74 s before the second reading", None)
    ]


def test_changes_that_are_not_known_are_no_pass() -> None:
    for now, before in ((links(7), links(7)), (links(7, None), links(7, 1)), (links(7, 1), links(7, None)), (links(7, 0), links(7, 1))):
        assert [one for _words, one in flaps(now, before)] == ["unknown"]
    for now, before in ((links(7.0, 1, column="since_seconds"), links(7.0, None, column="since_seconds")), (links(7, 1), links(7, 1, column="since_seconds"))):
        assert "unknown" in [one for _words, one in flaps(now, before)]
    with pytest.raises(NotApplicable):
        flaps(links(None, None), links(None, None))


def module(
    number: int = 1, lane: int | None = 1, temperature: float | None = 45.0, sent: float | None = 1.0, received: float | None = 0.5, **more: t.Any
) -> t.Any:
    row = {"port": f"Et{number}/1", "lane": lane, "media": "400GBASE-DR4", "media_lanes": 4, "temperature_c": temperature}
    return {**row, "tx_power_dbm": sent, "rx_power_dbm": received, **more}


def health(*odd: t.Any, rest: Rows | None = None) -> list[tuple[str, str | None]]:
    return summary(optic_health([*odd, *([module(2)] if rest is None else rest)], CABLES, 70, 80, -8))


def test_temperature_of_optics() -> None:
    assert health(module()) == []
    expected = "Ethernet1/1 temperature: expected below 70 degrees C (80: fail), got"
    assert health(module(temperature=70.0), module(lane=2)) == [(f"{expected} 70 degrees C", "warn")]
    assert health(module(temperature=80.0)) == [(f"{expected} 80 degrees C", None)]
    assert [one for _words, one in health(module(temperature=None))] == ["unknown"]
    # No module of this node has a sensor.
    assert health(module(temperature=None), rest=[module(2, temperature=None)]) == []


def test_a_laser_that_sends_too_little() -> None:
    expected = "Ethernet1/1 lane 1 sent power: expected at least -8 dBm, got"
    assert health(module(sent=-8.1)) == [(f"{expected} -8.1 dBm, while it receives 0.5 dBm", "warn")]
    assert health(module(sent=-40.0)) == [(f"{expected} -40 dBm, while it receives 0.5 dBm", None)]
    assert [one for _words, one in health(module(sent=None), module(lane=2))] == ["unknown"]
    # A cable that monitors its temperature only.
    assert health(module(sent=None, received=None)) == []
    assert health(module(sent=-9.0, received=None)) == [(f"{expected} -9 dBm", "warn")]
    # optic_rx_power evaluates a lane that is dark both ways, and a module has fewer lanes of light than of copper.
    assert health(module(sent=-40.0, received=-40.0)) == [] == health(module(), module(lane=5, sent=-40.0))


def test_what_has_no_monitors_is_not_judged() -> None:
    mute = {"temperature": None, "sent": None, "received": None}
    assert health(module(**mute)) == [] == health(module(media="Copper cable", temperature=90.0)) == health()
    with pytest.raises(NotApplicable):
        health(module(**mute), rest=[module(2, **mute)])
