# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quarantine and waivers on real climbs: the only ways past a finding, and what they leave in the verdict."""

from __future__ import annotations

import datetime

import pytest

from .conftest import Pod

pytestmark = pytest.mark.exhaustive


def test_a_quarantined_member_is_left_out_and_the_verdict_stays_no_go(pod: Pod) -> None:
    climb = pod.climb("-e", "simulated_faults=trust_pcp", pod_gate_policy="quarantine", pod_quarantine_max=1)
    assert climb.rc == 2 and climb.report["verdict"] == "no_go"
    assert {climb.gate(layer, "rack_01") for layer in ("preflight", "links", "routing")} == {"open"}
    assert climb.report["quarantined"] == {"gpu03": {"group": "rack_01", "layer": "preflight", "check": "roce_qos"}}
    assert "gpu03 is quarantined by roce_qos" in climb.report["reasons"]
    above = [
        one for one in climb.report["verdicts"] if one["layer"] != "preflight" and "gpu03" in (one["host"], *(finding["host"] for finding in one["findings"]))
    ]
    assert above == []


def test_more_bad_members_than_may_be_left_out_close_the_gate(pod: Pod) -> None:
    climb = pod.climb("-e", "simulated_faults=trust_pcp", pod_gate_policy="quarantine", pod_quarantine_max=0)
    assert climb.rc == 2 and climb.gate("preflight", "rack_01") == "closed" and climb.report["quarantined"] == {}


@pytest.mark.long
def test_a_switch_cannot_be_quarantined(pod: Pod) -> None:
    climb = pod.climb("-e", "simulated_faults=port_at_100g", pod_gate_policy="quarantine", pod_quarantine_max=4)
    assert climb.rc == 2 and climb.gate("links", "rack_01") == "closed" and climb.report["quarantined"] == {}


UNTIL = str(datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=300))
WAIVER = {"check": "port_speed", "host": "leaf03", "where": "Ethernet3/1", "reason": "spare is ordered", "until": UNTIL}


def test_a_waived_finding_is_a_skip_with_its_reason(pod: Pod) -> None:
    unused = {**WAIVER, "where": "Ethernet2/1"}
    climb = pod.climb("-e", "simulated_faults=port_at_100g", pod_waivers=[WAIVER, unused])
    assert climb.rc == 0 and climb.report["verdict"] == "go"
    assert f"\n  Conditions: 1 waiver until {UNTIL}; soak 1 s instead of 300" in climb.output.partition("\nGO: pod ")[2]
    assert [one["where"] for one in climb.report["unused_waivers"]] == ["Ethernet2/1"]
    assert "waiver for port_speed on leaf03, Ethernet2/1" in climb.output
    waived = [one for one in climb.report["verdicts"] if one["waived"]]
    assert [(one["check"], one["host"], one["verdict"], one["words"]) for one in waived] == [
        ("port_speed", "leaf03", "skip", f"waived until {UNTIL}: spare is ordered")
    ]


@pytest.mark.long
def test_an_expired_waiver_is_a_fail(pod: Pod) -> None:
    climb = pod.climb("-e", "simulated_faults=port_at_100g", pod_waivers=[{**WAIVER, "until": "2020-01-01"}])
    assert climb.rc == 2 and climb.not_well() == {"port_speed": "fail"} and "waiver expired on 2020-01-01: spare is ordered" in climb.output
