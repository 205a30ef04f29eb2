# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the runs of planned slices cover, and which of them are not what was planned; no run is made, each is what its files would say."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer_input import ANSWERED
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.pod_only import Selection
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import WHOLE_LAYERS, Sliced, slice_pod, slices_loaded, slices_pinged
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import State
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.kept_slice import Slice
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.sliced import (
    SPINE_CHECK,
    Coverage,
    SlicedRuns,
    _unlike_plan,
    coverage_of,
    stopped_reasons,
    whole_reasons,
)
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

TIME = "2026-06-15T12:00:00Z"
TO_ROUTING, TO_RDMA = LAYERS[:3], LAYERS[:5]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_of(layout.write(tmp_path_factory.mktemp("plan"), racks=3, hosts_per_rack=4, spines=2))


def run_of(plan: Plan, part: str, groups: t.Sequence[str], layers: t.Sequence[str] = LAYERS, only: str = "") -> Slice:
    """A run of some gate groups in which every gate is open and every switch passes."""
    verdicts = [
        {"check": check, "host": node.name, "verdict": "pass"} for node in plan.nodes.values() if node.kind == "switch" for check in (ANSWERED, SPINE_CHECK)
    ]
    gates = {layer: dict.fromkeys(groups, "open") for layer in layers}
    state = State("pod", "run", "standard", "full", TIME, "d", "v", only=only, focus=Selection(layers=[only]) if only else None, layers=list(layers))
    state.scope = {group: "in" if group in groups else "out" for group in plan.groups}
    state.gates = t.cast(t.Any, {layer: {group: {"state": "open", "run": "run"} for group in groups} for layer in layers})
    return Slice(Path(part), t.cast(t.Any, {}), plan, state, t.cast(t.Any, {layer: {"verdicts": list(verdicts)} for layer in layers}), gates, part=part)


@pytest.fixture
def runs(plan: Plan) -> SlicedRuns:
    """A pod in two slices in which all is well."""
    sliced = replace(slice_pod(plan, 2, "d", "v", TIME), pod="pod")
    found = SlicedRuns(sliced)
    found.slices = {name: run_of(plan, name, groups) for name, groups in sliced.slices.items()}
    found.seams = {name: run_of(plan, name, groups) for name, groups in sliced.seams.items()}
    found.whole = {layer: run_of(plan, layer, list(plan.groups), [layer], layer) for layer in WHOLE_LAYERS}
    return found


def unlike(sliced: Sliced, name: str, one: Slice) -> list[str]:
    return list(_unlike_plan(sliced, name, one))


def set_gate(one: Slice, layer: str, group: str, state: str) -> None:
    one.state.gates[layer][group]["state"] = state


def test_all_that_is_well_covers_everything(runs: SlicedRuns) -> None:
    assert coverage_of(runs, LAYERS) == Coverage((1, 1), (2, 2), (8, 8), (12, 12), [])
    assert list(whole_reasons(runs)) == stopped_reasons(runs, LAYERS) == []
    assert [words for name, one in runs.runs().items() for words in unlike(runs.plan, name, one)] == []


def test_a_coverage_is_of_the_layers_that_were_asked_for(runs: SlicedRuns) -> None:
    whole, runs.whole = runs.whole, {}
    assert coverage_of(runs, LAYERS[:2]) == Coverage(hosts=(8, 12))
    assert coverage_of(runs, TO_ROUTING) == Coverage((1, 1), (2, 2), (0, 0), (8, 12), [])
    assert coverage_of(runs, TO_RDMA) == Coverage((1, 1), (2, 2), (8, 8), (8, 12), [])
    assert coverage_of(runs, LAYERS[:6]).missing == ["collectives was not run over all hosts at once"]
    runs.whole = {"training": whole["training"]}
    assert coverage_of(runs, LAYERS).missing == ["collectives was not run over all hosts at once"]


def test_a_coverage_says_what_was_loaded_alone() -> None:
    assert Coverage() == Coverage((0, 0), (0, 0), (0, 0), (0, 0), []) and Coverage().words() == ""
    assert Coverage(pairs=(1, 2), hosts=(3, 4)).words() == "seams between slices tested 1 of 2, largest run: hosts 3 of 4"


def test_a_group_that_is_partly_in_is_no_host_of_the_largest_run(runs: SlicedRuns) -> None:
    runs.whole["training"].state.scope["rack_03"] = "partly"
    runs.whole["collectives"].state.scope["rack_01"] = "out"
    runs.whole["collectives"].state.scope["rack_02"] = "out"
    assert coverage_of(runs, LAYERS).hosts == (8, 12)


def test_one_slice_has_no_seam_to_cover(plan: Plan) -> None:
    found = SlicedRuns(slice_pod(plan, 1, "d", "v", TIME), {"slice_1": run_of(plan, "slice_1", list(plan.groups))})
    assert coverage_of(found, LAYERS[:4]) == Coverage(hosts=(12, 12))


def test_without_a_seam_nothing_between_slices_is_covered(runs: SlicedRuns) -> None:
    runs.seams = {}
    found = coverage_of(runs, TO_RDMA)
    assert (found.pairs, found.spines, found.rails) == ((0, 1), (0, 2), (0, 8))
    rails = [f"no seam loads rail {index}" for index in range(8)]
    spines = [f"no seam is shown to cross spine0{number}" for number in (1, 2)]
    assert found.missing == ["no seam tests the paths between slice_1 and slice_2", *rails, *spines]


@pytest.mark.parametrize("state", ["not_run", "not_proved"])
def test_a_seam_that_passed_without_being_open_covers_no_pair_and_no_rail(state: str, runs: SlicedRuns) -> None:
    group = runs.plan.seams["seam_1"][-1]
    set_gate(runs.seams["seam_1"], "rdma", group, state)
    set_gate(runs.seams["seam_1"], "training", group, state)
    found = coverage_of(runs, LAYERS)
    assert (found.pairs, found.rails) == ((0, 1), (0, 8))
    assert found.missing[0] == f"seam_1: {group} is {state.replace('_', ' ')} at rdma" and stopped_reasons(runs, LAYERS) == []


def test_a_seam_of_the_hosts_of_one_slice_covers_nothing_of_the_others(plan: Plan, runs: SlicedRuns) -> None:
    groups = runs.plan.slices["slice_1"]
    assert len(groups) == 2
    runs.plan.seams["seam_1"] = groups
    runs.seams["seam_1"] = run_of(plan, "seam_1", groups)
    assert coverage_of(runs, LAYERS).pairs == (0, 1) and coverage_of(runs, TO_ROUTING).pairs == (0, 1)
    assert coverage_of(runs, LAYERS).rails == (0, 8)


def test_slices_have_met_in_each_layer_that_was_asked_for(tmp_path: Path) -> None:
    """In a large seam, pings and loads each leave out pairs that the other has."""
    plan = plan_of(layout.write(tmp_path, racks=12, hosts_per_rack=2, expectations={"pod_ping_peers_max": 4, "pod_ping_peers": 3}))
    sliced = slice_pod(plan, 12, "d", "v", TIME)
    groups = sliced.seams["seam_1"]
    found = SlicedRuns(sliced, {name: run_of(plan, name, own) for name, own in sliced.slices.items()}, {"seam_1": run_of(plan, "seam_1", groups)})
    loaded, pinged = slices_loaded(plan, sliced, groups)[0], slices_pinged(plan, sliced, groups)
    assert len(loaded & pinged) < len(pinged)
    assert coverage_of(found, TO_ROUTING).pairs == (len(pinged), 66) and coverage_of(found, TO_RDMA).pairs == (len(loaded & pinged), 66)


@pytest.mark.parametrize(("layers", "layer", "check"), [(TO_ROUTING, "routing", ANSWERED), (LAYERS, "congestion", SPINE_CHECK)])
@pytest.mark.parametrize(
    ("edit", "crossed"),
    [
        ({}, 2),
        ({"verdict": "warn"}, 2),
        ({"verdict": "fail"}, 1),
        ({"verdict": "unknown"}, 1),
        ({"verdict": "skip"}, 1),
        ({"check": "lossless"}, 1),
        ({"host": "leaf01"}, 1),
    ],
)
def test_a_spine_is_crossed_where_a_check_of_it_passes(
    layers: t.Sequence[str], layer: str, check: str, edit: dict[str, str], crossed: int, runs: SlicedRuns
) -> None:
    records = t.cast("list[t.Any]", runs.seams["seam_1"].judged[layer]["verdicts"])
    next(record for record in records if (record["check"], record["host"]) == (check, "spine02")).update(edit)
    found = coverage_of(runs, layers)
    assert found.spines == (crossed, 2) and found.missing == ["no seam is shown to cross spine02"] * (2 - crossed)


def test_without_verdicts_of_the_layer_no_spine_is_crossed(runs: SlicedRuns) -> None:
    del runs.seams["seam_1"].judged["congestion"]
    assert coverage_of(runs, LAYERS).spines == (0, 2)


def test_the_only_spine_is_crossed_by_loads_and_not_by_pings_alone(tmp_path: Path) -> None:
    """A ping between rails of one index stays below their leaf; of an incast across leaves there is no other way."""
    plan = plan_of(layout.write(tmp_path, racks=2, hosts_per_rack=2, spines=1))
    sliced = slice_pod(plan, 2, "d", "v", TIME)
    found = SlicedRuns(sliced, {name: run_of(plan, name, groups) for name, groups in sliced.slices.items()})
    found.seams = {"seam_1": run_of(plan, "seam_1", sliced.seams["seam_1"])}
    found.seams["seam_1"].judged = {}
    assert coverage_of(found, TO_RDMA).spines == (1, 1) and coverage_of(found, TO_ROUTING).spines == (0, 1)


def test_a_seam_and_a_layer_over_all_hosts_are_named_by_their_lowest_gate(runs: SlicedRuns) -> None:
    for layer, state in (("links", "not_run"), ("routing", "closed"), ("rdma", "not_reached")):
        set_gate(runs.seams["seam_1"], layer, "rack_01", state)
    set_gate(runs.whole["training"], "training", "rack_02", "not_reached")
    del runs.whole["collectives"].gates["collectives"]["rack_03"]
    assert stopped_reasons(runs, LAYERS) == [
        "seam_1: rack_01 is closed at routing", "collectives: rack_03 is not reached at collectives", "training: rack_02 is not reached at training",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "edit",
    [
        {"layers": ["rdma", "training"]},
        {"layers": ["rdma"]},
        {"layers": ["training", "rdma"]},
        {"only": ""},
        {"only": "write_bw_per_rail"},
        {"only": "gpu01"},
        {"focus": None},
        {"focus": Selection(layers=["training"], nodes=["gpu01"])},
        {"focus": Selection(layers=["training"], check="train_steps")},
    ],
)
def test_a_run_of_a_part_of_a_layer_is_not_one_over_all_hosts(edit: dict[str, t.Any], runs: SlicedRuns) -> None:
    runs.whole["training"].state = replace(runs.whole["training"].state, **edit)
    assert list(whole_reasons(runs)) == ["training: run training/run is no run of training over all hosts"]


@pytest.mark.parametrize("name", ["slice_1", "slice_2", "seam_1", "training"])
@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"scope": {}}, "judges no gate group, and "),
        ({"scope": {"rack_01": "in", "rack_02": "in", "rack_03": "in", "rack_04": "in"}}, "judges rack_01, rack_02, rack_03, rack_04, and "),
        ({"pod": "a"}, "has another pod than the plan of the slices: a, not pod"),
        ({"pod": "z"}, "has another pod than the plan of the slices: z, not pod"),
        ({"digest": "a"}, "has another digest than the plan of the slices: a, not d"),
        ({"version": "z"}, "has another version than the plan of the slices: z, not v"),
        ({"opened": "2026-06-15T11:59:59Z"}, f"was opened at 2026-06-15T11:59:59Z, before the slices were planned at {TIME}"),
    ],
)
def test_a_run_of_something_else_is_named(name: str, edit: dict[str, t.Any], words: str, runs: SlicedRuns) -> None:
    one = runs.runs()[name]
    one.state = replace(one.state, **edit)
    found = unlike(runs.plan, name, one)
    assert len(found) == 1 and found[0].startswith(f"run {name}/run {words}"), found


def test_a_run_of_a_part_of_a_group_is_named(runs: SlicedRuns) -> None:
    """It judges the groups that it should, and a part of another one besides."""
    one = runs.slices["slice_1"]
    one.state.scope["rack_01" if "rack_01" not in runs.plan.slices["slice_1"] else "rack_03"] = "partly"
    assert len(unlike(runs.plan, "slice_1", one)) == 1


def test_every_group_is_in_one_slice(runs: SlicedRuns) -> None:
    words = "the slices do not have every gate group of the plan once"
    runs.plan.slices["slice_3"] = ["rack_01"]
    assert unlike(runs.plan, "seam_1", runs.seams["seam_1"]) == [words]
    runs.plan.slices = {"slice_1": ["rack_01"], "slice_2": ["rack_03"]}
    assert unlike(runs.plan, "seam_1", runs.seams["seam_1"]) == [words]
