# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan of three tiers of switches: whom each of them serves, how high two rails meet, and what inventories of it are refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incast_expectations import incast_expectations
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incasts import incasts_among
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.uplinks import core_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.tiers import above, below, is_above
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.ways import spines_of_plane
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.tier_errors import apart_from_spines, cabled_past_spines
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout, planned


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Two units of a rack of three hosts, with eight leaves and two spines each, and two super-spines."""
    return planned.plan_of(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=3, spines=2, units=2, super_spines=2))


def test_tiers_are_in_order() -> None:
    assert [above(role) for role in ("host", "leaf", "spine", "super_spine")] == ["leaf", "spine", "super_spine", ""]
    assert [below(role) for role in ("host", "leaf", "spine", "super_spine")] == ["", "host", "leaf", "spine"]
    assert is_above("super_spine", "spine") and not is_above("leaf", "leaf")


def test_each_switch_serves_what_is_below_it(plan: Plan) -> None:
    assert [plan.nodes[name].role for name in ("leaf09", "spine03", "superspine02")] == ["leaf", "spine", "super_spine"]
    assert plan.behind("leaf09") == plan.behind("spine03") == {"rack_02"}
    assert plan.behind("superspine02") == {"rack_01", "rack_02"}
    cable = next(cable for cable in plan.at["spine03"] if cable.seen_from("spine03")[1].node == "superspine02")
    near, far = cable.seen_from("spine03")
    assert plan.affects("spine03", near.port) == plan.affects("superspine02", far.port) == {"rack_02"}
    assert plan.affects("superspine02") == {"rack_01", "rack_02"}


def test_two_rails_meet_at_the_lowest_switch_that_both_reach(plan: Plan) -> None:
    rails = {(rail["host"], rail["index"]): rail for rail in plan.rails()}
    own = rails["gpu01", 0]
    assert [plan.highest_tier(own, rails[other]) for other in (("gpu02", 0), ("gpu02", 1), ("gpu04", 0), ("gpu04", 1))] == [
        "leaf", "spine", "super_spine", "super_spine"
    ]  # fmt: skip


def test_what_is_planned_of_each_tier(plan: Plan) -> None:
    spine, top = plan.planned("spine01"), plan.planned("superspine01")
    assert (spine["pod_uplinks"], top["pod_uplinks"], plan.planned("leaf01")["pod_uplinks"]) == (4, 0, 2)
    assert {cable["lower"] for cable in top["pod_tier_cables"]} == {"spine01", "spine02", "spine03", "spine04"}
    assert {cable["upper"] for cable in spine["pod_tier_cables"]} == {"spine01", "spine02", "spine03", "spine04"}
    assert len(spine["pod_ways"]["leaf01"]) == 1 and len(spine["pod_ways"]["leaf09"]) == 4
    assert len(top["pod_ways"]["leaf01"]) == len(top["pod_ways"]["leaf09"]) == 4
    links = {name: [(cable.seen_from(name)[1].node, "") for cable in plan.at[name]] for name, node in plan.nodes.items() if node.kind == "switch"}
    links = {name: [end for end in its if end[0] in links] for name, its in links.items()}
    roles = {name: node.role for name, node in plan.nodes.items()}
    assert spines_of_plane("leaf01", links, roles) == ["spine01", "spine02"]
    assert spines_of_plane("spine01", links, roles) == ["superspine01", "superspine02"]


def test_incasts_go_from_unit_to_unit(plan: Plan) -> None:
    core, found = core_of(plan), incasts_among(plan, plan.rails())
    over = [pair for pair in found.pairs if core.crosses(pair["sender"]["leaf"], pair["receiver"]["leaf"])]
    assert over and all(pair["across"] for pair in over)
    # The super-spines carry more than the leaves that receive in one round, so that the ports of spines to leaves are full.
    assert {pair["offered"] > 1 for pair in over} == {True}
    rows = incast_expectations(plan, list(plan.nodes))
    roles = {name: {row["role"] for row in rows[name]["pod_incasts"] if row["across"]} for name in ("spine01", "superspine01")}
    assert roles == {"spine01": {"uplink", "downlink"}, "superspine01": {"downlink"}}
    up = [row for row in rows["spine01"]["pod_incasts"] if row["role"] == "uplink"]
    assert min(row["flows"] for row in up) >= core.flows("leaf01") // len(core.unit("leaf01"))


def test_a_narrow_third_tier_is_what_receivers_share(plan: Plan) -> None:
    whole = incasts_among(plan, plan.rails())
    # Of the four cables that each spine has to super-spines one is left.
    kept, seen = [], set()
    for cable in plan.cables:
        ends = {cable.a.node, cable.b.node}
        spine = next((end for end in ends if end.startswith("spine")), "")
        if any(end.startswith("superspine") for end in ends) and spine in seen:
            continue
        seen |= {spine} if any(end.startswith("superspine") for end in ends) else set()
        kept.append(cable)
    narrow = Plan(plan.nodes, plan.groups, kept)
    found = incasts_among(narrow, narrow.rails())
    across = [pair for pair in found.pairs if pair["across"]]
    receivers = {(pair["round"], pair["receiver"]["host"], pair["receiver"]["device"]) for pair in across}
    each = max(
        sum(1 for one in receivers if one[0] == number and one[1] in narrow.groups[group])
        for number in {one[0] for one in receivers}
        for group in narrow.groups
    )
    assert min(pair["share"] for pair in across) == pytest.approx(2 * 400 / each)
    assert {pair["offered"] for pair in across} == {0.0}
    assert min(pair["share"] for pair in across) < min(pair["share"] for pair in whole.pairs if pair["across"])


def test_a_pod_of_two_tiers_has_no_core(tmp_path: Path) -> None:
    plan = planned.plan_of(layout.write(tmp_path, racks=1, hosts_per_rack=3, spines=2))
    assert core_of(plan).super_spines == frozenset() and not core_of(plan).crosses("leaf01", "leaf02")
    assert plan.planned("spine01")["pod_ways"] == {} and plan.planned("spine01")["pod_remote_rails"] == []


def test_super_spines_are_spines_and_end_at_spines(plan: Plan) -> None:
    assert apart_from_spines({"spines": ["spine01", "top01"], "super_spines": ["top01"]}) == []
    (words,) = apart_from_spines({"spines": ["spine01"], "super_spines": ["top01"]})
    assert words == "the inventory group super_spines must be a child of the group spines, which lacks top01"
    assert cabled_past_spines(plan) == []
    cable = next(one for one in plan.cables if one.b.node == "superspine01")
    wrong = Plan(plan.nodes, plan.groups, [*plan.cables, dataclasses.replace(cable, a=dataclasses.replace(cable.a, node="leaf01"))])
    assert cabled_past_spines(wrong) == ["every cable of a super-spine must end at a spine, not as superspine01 to leaf01"]
