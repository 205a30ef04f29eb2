# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The line, the exit status, the document and the metrics of a check."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import NodePlan, load_node_plan, node_plan_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.outcome import LINE_LENGTH, metrics, not_judged, outcome_of
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess

ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def mine(pods: inprocess.Pods) -> NodePlan:
    return load_node_plan(node_plan_text(pods.plan, "gpu03", ID, "1.2.3", (), "mlx5_core"), ID)


def verdict(check: str, state: str, *findings: Finding, words: str = "") -> Verdict:
    """A check's verdict on gpu03."""
    return Verdict("links", check, "rack_01", "gpu03", state, ("rack_01",), "statement", words, findings, cause="cause", fix="fix")


PASSED = verdict("port_speed", "pass")
SLOW = Finding(at_port("enp24s0np0"), "400 Gb/s", "100 Gb/s")


def test_all_passed(mine: NodePlan) -> None:
    done = outcome_of(mine, [PASSED, verdict("port_mtu", "skip")], "2030-01-02T03:04:05Z", 0.5)
    assert (done.status, done.line) == (0, "OK gpu03: 1 check passed")
    assert (done.document["status"], done.document["checked"], done.document["seconds"]) == ("OK", "2030-01-02T03:04:05Z", 0.5)


def test_a_warning_is_said_and_ends_well(mine: NodePlan) -> None:
    done = outcome_of(mine, [PASSED, verdict("port_mtu", "warn", SLOW)], "", 0)
    assert (done.status, done.line) == (0, "OK gpu03: 1 check passed, 1 warning")


def test_a_failure_comes_before_what_is_not_known(mine: NodePlan) -> None:
    unknown = verdict("port_mtu", "unknown", words="ethtool did not end within 4 s")
    done = outcome_of(mine, [unknown, PASSED, verdict("port_speed", "fail", SLOW, SLOW)], "", 0)
    assert (done.status, done.line) == (1, "FAIL gpu03: port_speed: enp24s0np0: expected 400 Gb/s, got 100 Gb/s (2 places); and 1 more check")
    done = outcome_of(mine, [unknown, PASSED], "", 0)
    assert (done.status, done.line) == (2, "UNKNOWN gpu03: port_mtu: ethtool did not end within 4 s")


def test_nothing_judged_is_not_known() -> None:
    done = not_judged("the plan is of gpu04")
    assert (done.status, done.line, done.document["verdicts"]) == (2, "UNKNOWN: the plan is of gpu04", [])


def test_a_line_is_one_line_of_what_a_scheduler_keeps(mine: NodePlan) -> None:
    done = outcome_of(mine, [verdict("port_speed", "fail", Finding(at_port("enp24s0np0"), "a\nb\x1b[31m", "c" * 500))], "", 0)
    assert len(done.line) == LINE_LENGTH and "c ... c" in done.line
    assert "expected a b\ufffd[31m, got ccc" in done.line


def test_a_document_has_each_finding_with_its_cause(mine: NodePlan) -> None:
    record = outcome_of(mine, [verdict("port_speed", "fail", SLOW)], "", 0).document["verdicts"][0]
    assert record == {
        "layer": "links", "check": "port_speed", "verdict": "fail", "words": "", "cause": "cause", "fix": "fix",
        "findings": [{"where": "enp24s0np0", "expected": "400 Gb/s", "actual": "100 Gb/s"}],
    }  # fmt: skip


def test_metrics_are_of_the_status_the_time_and_each_check(mine: NodePlan) -> None:
    lines = metrics(mine, outcome_of(mine, [PASSED, verdict("port_mtu", "fail", SLOW)], "", 0), 1700000000.4).splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        'gpufabric_node_check_status{pod="small",node="gpu03"} 1',
        'gpufabric_node_check_time_seconds{pod="small",node="gpu03"} 1700000000',
        'gpufabric_node_check_verdict{pod="small",node="gpu03",layer="links",check="port_speed"} 0',
        'gpufabric_node_check_verdict{pod="small",node="gpu03",layer="links",check="port_mtu"} 3',
    ]
