# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Releases, power supplies, fans and temperatures of switches, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.links.switch_state import nos_uniform, switch_environment

Rows = list[dict[str, t.Any]]


def summary(findings: t.Iterable[Finding]) -> list[tuple[str, str | None]]:
    return [(str(one), one.severity) for one in findings]


def release(own: str, **others: str) -> list[tuple[str, str | None]]:
    peers = {node: [{"version": version}] for node, version in {**others, "leaf01": own, "spine01": "9.9"}.items()}
    return summary(nos_uniform([{"version": own}], peers, "leaf01", ["leaf02", "leaf03"], "leaf"))


def test_one_release_on_all_switches_of_a_role() -> None:
    assert release("4.31", leaf02="4.31", leaf03="4.31") == []
    assert release("4.29", leaf02="4.31", leaf03="4.31") == [("release: expected 4.31, as 2 of 3 leaf switches, got 4.29", None)]
    # Another switch's release is not this one's fault, unless no release is that of most.
    assert release("4.31", leaf02="4.31", leaf03="4.29") == []
    assert release("4.31", leaf02="4.29") == [("release: expected one release on all 2 leaf switches, got 4.31, beside 4.29 (leaf02)", None)]
    with pytest.raises(NotApplicable):
        release("4.31")
    with pytest.raises(CannotTell):
        list(nos_uniform([], {"leaf02": [{"version": "4.31"}]}, "leaf01", ["leaf02"], "leaf"))


def part(state: str, present: bool = True, name: str = "1") -> Rows:
    return [{"name": name, "present": present, "state": state}]


def heat(celsius: float | None, warning: float | None = 95.0, critical: float | None = 105.0) -> Rows:
    return [{"name": "ASIC", "celsius": celsius, "warning_c": warning, "critical_c": critical}]


def test_power_supplies_and_fans() -> None:
    assert summary(switch_environment(part("OK"), part("Ok"), heat(50))) == []
    assert summary(switch_environment(part("powerLoss"), part("Not OK"), heat(50))) == [
        ("power supply 1: expected ok, got powerLoss", "warn"),
        ("fan 1: expected ok, got Not OK", "warn"),
    ]
    # An empty bay is no failure.
    assert summary(switch_environment(part("NOT PRESENT", present=False))) == []
    for nothing in (None, []):
        with pytest.raises(NotApplicable):
            list(switch_environment(nothing, nothing, nothing))


def test_the_same_supply_of_many_switches_is_a_feed() -> None:
    def cause(*lost: str, others: int = 0, both: bool = True) -> str | None:
        well = part("OK", name="PSU1") if both else []
        of_peers = {leaf: [*well, *part("powerLoss", name="PSU2")] for leaf in lost}
        of_peers |= {f"spine{number:02}": [*part("OK", name="PSU1"), *part("OK", name="PSU2")] for number in range(others)}
        return next(iter(switch_environment(of_peers[lost[0]], None, None, of_peers))).cause

    assert "of 3 of 5 switches is not ok (leaf01-leaf03)" in str(cause("leaf01", "leaf02", "leaf03", others=2))
    # Few of many break by themselves, and a switch with a single supply would not answer without its feed.
    assert cause("leaf01", "leaf02", others=0) is None
    assert cause("leaf01", "leaf02", "leaf03", others=4) is None
    assert cause("leaf01", "leaf02", "leaf03", both=False) is None


def test_temperatures() -> None:
    assert summary(switch_environment(None, None, heat(95))) == [("temperature ASIC: expected below 95 degrees C, got 95", "warn")]
    assert summary(switch_environment(None, None, heat(105))) == [("temperature ASIC: expected below 105 degrees C, got 105", None)]
    assert summary(switch_environment(None, None, heat(200, None, None))) == [] == summary(switch_environment(None, None, heat(40, 0.0, 0.0)))
    assert summary(switch_environment(None, None, heat(None) + heat(50))) == []
    assert summary(switch_environment(None, None, heat(None))) == [("temperatures: expected of every sensor, got not reported by any", "unknown")]
