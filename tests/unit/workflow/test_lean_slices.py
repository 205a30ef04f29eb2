# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a merge keeps of a slice: everything that can be said against it, and a plan that it shares only with slices of the same plan."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.kept_slice import Slice
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.lean_slices import lean, same_plan
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

PASSED: dict[str, t.Any] = {"host": "gpu01", "verdict": "pass", "findings": [], "waived": [], "left_out": False}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_of(layout.write(tmp_path_factory.mktemp("plan"), racks=2, hosts_per_rack=1, spines=2))


def run_of(plan: Plan, *verdicts: dict[str, t.Any]) -> Slice:
    state = State("pod", "run", "standard", "full", "", "d", "v")
    return Slice(Path("run"), t.cast(t.Any, {"depth": "standard", "verdicts": list(verdicts)}), plan, state, t.cast(t.Any, {"links": {"verdicts": verdicts}}))


@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        ({}, False),
        ({"verdict": "skip"}, False),
        ({"unavailable": False}, False),
        ({"verdict": "warn"}, True),
        ({"verdict": "fail"}, True),
        ({"verdict": "unknown"}, True),
        ({"findings": [{"where": "mlx5_0"}]}, True),
        ({"waived": [{"host": "gpu01"}]}, True),
        ({"left_out": True}, True),
        ({"verdict": "skip", "left_out": True}, True),
        ({"unavailable": True}, True),
    ],
)
def test_a_verdict_that_says_more_than_a_pass_stays_in_the_report(edit: dict[str, t.Any], kept: bool, plan: Plan) -> None:
    one = lean(run_of(plan, {**PASSED, **edit}), [])
    assert one.report == {"depth": "standard", "verdicts": [{**PASSED, **edit}] if kept else []}


def test_verdicts_are_kept_of_switches_alone(plan: Plan) -> None:
    hosts: t.Sequence[str | None] = ("gpu01", "spine01", None, "leaf01", "not_in_the_plan")
    one = lean(run_of(plan, *({**PASSED, "host": host} for host in hosts)), [])
    assert [record["host"] for record in one.judged["links"]["verdicts"]] == ["spine01", "leaf01"]


def changed(plan: Plan, name: str, **edit: t.Any) -> Plan:
    """A plan of its own, of which one node is another."""
    return Plan({**plan.nodes, name: replace(plan.nodes[name], **edit)}, plan.groups, plan.cables)


def test_runs_of_one_plan_keep_it_once_also_those_that_they_stand_on(plan: Plan) -> None:
    first, second = (run_of(changed(plan, "gpu01")) for _number in range(2))
    second.earlier["before"] = run_of(changed(plan, "gpu01", values={**plan.nodes["gpu01"].values, "pod_runs_dir": "elsewhere"}), PASSED)
    lean(second, [lean(first, [])])
    assert first.plan is second.plan is second.earlier["before"].plan and second.earlier["before"].report["verdicts"] == []
    third, other = run_of(plan), changed(plan, "gpu01", values={**plan.nodes["gpu01"].values, "pod_mtu": 1500})
    third.earlier = {"one": run_of(other), "two": run_of(changed(other, "gpu02"))}
    lean(third, [first])
    assert third.plan is first.plan and third.earlier["one"].plan is third.earlier["two"].plan is other


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("leaf01", {"role": "spine"}),
        ("leaf01", {"platform": "sonic"}),
        ("leaf01", {"asn": 1}),
        ("gpu02", {"group": "rack_01"}),
        ("gpu02", {"values": {}}),
    ],
)
def test_a_plan_with_another_node_is_another(name: str, edit: dict[str, t.Any], plan: Plan) -> None:
    assert same_plan(plan, plan) and same_plan(plan, changed(plan, name))
    assert not same_plan(plan, changed(plan, name, **edit)) and not same_plan(changed(plan, name, **edit), plan)


def test_a_plan_with_other_groups_cables_or_nodes_is_another(plan: Plan) -> None:
    more = {**plan.nodes, "leaf99": plan.nodes["leaf01"]}
    for changed_plan in (
        Plan(plan.nodes, {**plan.groups, "rack_02": []}, plan.cables),
        Plan(plan.nodes, plan.groups, plan.cables[1:]),
        Plan(more, plan.groups, plan.cables),
    ):
        assert not same_plan(plan, changed_plan) and not same_plan(changed_plan, plan)
