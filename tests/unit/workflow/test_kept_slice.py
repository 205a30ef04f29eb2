# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a kept verdict is better than its findings, and where it is not: a slice is not accused of what it wrote as it is."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.kept_slice import Slice, _weaker
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

GROUPS = ("rack_01", "rack_02")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_of(layout.write(tmp_path_factory.mktemp("plan"), racks=2, hosts_per_rack=1, spines=2))


def finding(severity: str, port: str | None = None) -> Finding:
    return Finding(Place(port or "the host", port=port), "this", "that", severity)


def verdict(host: str | None, group: str | None, word: str, *severities: str, **edit: t.Any) -> Verdict:
    affects = (group,) if group else GROUPS
    return replace(Verdict("links", "crc_clean", group, host, word, affects, findings=tuple(map(finding, severities))), **edit)


def port_to(plan: Plan, host: str) -> str:
    """The port of a leaf that a host is at."""
    return next(near.port for near, far in (cable.seen_from("leaf01") for cable in plan.at["leaf01"]) if far.node == host)


def weaker(plan: Plan, one: Verdict, scope: dict[str, str] | None = None) -> list[str]:
    state = State("pod", "run", "standard", "full", "", "d", "v", scope=scope or dict.fromkeys(GROUPS, "in"))
    return list(_weaker(Slice(Path("run"), t.cast(t.Any, {}), plan, state, {}), one.record()))


@pytest.mark.parametrize(
    ("word", "severities", "comes_to"),
    [
        ("pass", (), None),
        ("skip", (), None),
        ("warn", ("warn",), None),
        ("unknown", ("warn", "unknown"), None),
        ("fail", ("fail", "warn"), None),
        ("fail", (), None),
        ("fail", ("warn",), None),
        ("pass", ("warn",), "warn"),
        ("skip", ("warn",), "warn"),
        ("warn", ("warn", "unknown"), "unknown"),
        ("unknown", ("fail", "warn"), "fail"),
    ],
)
def test_a_verdict_is_no_better_than_its_worst_finding(word: str, severities: tuple[str, ...], comes_to: str | None, plan: Plan) -> None:
    expected = [f"the verdict of crc_clean on gpu01 is {word}, and its findings come to {comes_to}"] if comes_to else []
    assert weaker(plan, verdict("gpu01", "rack_01", word, *severities)) == expected


def test_a_verdict_is_about_every_group_of_its_node(plan: Plan) -> None:
    words = "the verdict of crc_clean on {} is not about {}, and its node serves that gate group"
    assert weaker(plan, verdict("gpu01", "rack_01", "pass", affects=())) == [words.format("gpu01", "rack_01")]
    assert weaker(plan, verdict("leaf01", None, "pass", affects=("rack_02",))) == [words.format("leaf01", "rack_01")]
    assert weaker(plan, verdict("leaf01", None, "pass", affects=())) == [words.format("leaf01", "rack_01, rack_02")]
    assert weaker(plan, verdict(None, "rack_02", "pass", affects=())) == [words.format("rack_02", "rack_02")]
    assert weaker(plan, verdict("leaf01", None, "pass")) == weaker(plan, verdict(None, "rack_02", "pass")) == []
    assert weaker(plan, verdict("gpu01", "rack_01", "pass", affects=GROUPS)) == [], "about more groups than its node's"


def test_only_a_verdict_of_a_group_in_scope_is_kept(plan: Plan) -> None:
    scope = {"rack_01": "in", "rack_02": "out"}
    assert weaker(plan, verdict("gpu01", "rack_01", "pass"), scope) == weaker(plan, verdict("leaf01", None, "pass"), scope) == []
    assert weaker(plan, verdict("gpu02", "rack_02", "pass"), scope) == [
        "the verdict of crc_clean on gpu02 is kept, and rack_02 is out of scope by state.json"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("by_group", "words"),
    [
        ({"rack_01": "fail", "rack_02": "pass"}, None),
        ({"rack_01": "fail"}, None),
        ({"rack_01": "fail", "rack_02": "warn"}, None),
        ({"rack_01": "warn", "rack_02": "pass"}, "is warn for rack_01, and its findings come to fail"),
        ({"rack_01": "unknown", "rack_02": "fail"}, "is unknown for rack_01, and its findings come to fail"),
        ({"rack_02": "fail"}, "is pass for rack_01, and its findings come to fail"),
    ],
)
def test_a_verdict_is_no_better_for_a_group_than_the_findings_on_its_ports(by_group: dict[str, str], words: str | None, plan: Plan) -> None:
    """The port leads to the host of the first group, so that it is that group's alone."""
    one = verdict("leaf01", None, "fail", findings=(finding("fail", port_to(plan, "gpu01")),), by_group=by_group)
    assert weaker(plan, one) == ([f"the verdict of crc_clean on leaf01 {words}"] if words else [])


def test_of_several_groups_the_first_by_name_is_named(plan: Plan) -> None:
    findings = finding("fail", port_to(plan, "gpu01")), finding("unknown", port_to(plan, "gpu02"))
    one = verdict("leaf01", None, "fail", findings=findings, by_group={"rack_01": "warn", "rack_02": "pass"})
    assert weaker(plan, one) == ["the verdict of crc_clean on leaf01 is warn for rack_01, and its findings come to fail"]


def test_what_a_verdict_is_by_group_is_looked_at_of_nodes_alone(plan: Plan) -> None:
    assert weaker(plan, verdict(None, "rack_01", "fail", "fail", by_group={"rack_01": "fail"})) == []
    assert weaker(plan, verdict("leaf01", None, "pass", by_group={"rack_01": "pass"})) == []


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ([], False),
        ([{"check": "crc_clean", "host": "gpu01"}], True),
        ([{"check": "mtu", "host": "gpu01"}, {"check": "crc_clean", "host": "gpu01"}], True),
        ([{"check": "mtu", "host": "gpu01"}], False),
        ([{"check": "crc_clean", "host": "gpu02"}], False),
    ],
)
def test_a_finding_is_waived_by_a_waiver_of_the_plan(given: list[dict[str, str]], known: bool, plan: Plan) -> None:
    nodes = {name: replace(node, values={**node.values, "pod_waivers": given}) for name, node in plan.nodes.items()}
    waived: t.Any = ({"host": "gpu01", "where": "the host", "finding": "it", "reason": "known", "until": "2999-01-01"},)
    found = weaker(Plan(nodes, plan.groups, plan.cables), verdict("gpu01", "rack_01", "skip", waived=waived))
    assert found == ([] if known else ["the verdict of crc_clean on gpu01 has a waived finding, and pod_waivers has no waiver for it"])
