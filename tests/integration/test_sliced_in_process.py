# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod in planned slices: with seams and layers over all hosts it is a go, and without any part of it it is none."""

from __future__ import annotations

import json
import shutil
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json, write_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import FILE, WHOLE_LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.merge import headline
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.sliced import read_sliced
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

from .slices_in_process import SWITCHES, merged, planned

# One worker climbs the healthy pod for all of them.
pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("sliced")]


def made(into: Path) -> Path:
    """The plan of a healthy pod in two slices, each part with its run; without the plan beside them, each read all of its switches."""
    inventory = layout.write(into / "inventory", racks=3, hosts_per_rack=4, spines=2, expectations={"pod_to_layer": "training"})
    pods = inprocess.Pods(inventory)
    sliced = planned(inventory, pods, 2)
    for name, groups in {**sliced.slices, **sliced.seams, **{layer: [] for layer in WHOLE_LAYERS}}.items():
        only = {"only": name} if name in WHOLE_LAYERS else {}
        pods.climb(pods.pod(()), into / name / sliced.pod / "latest", groups=groups, **only)
    write_json(into / FILE, sliced.dump())
    return into / FILE


def faulted(plan: Path, name: str, fault: str) -> Path:
    """The plan of slices of which one slice or seam was run again with a fault."""
    sliced, pods = read_json(plan), inprocess.Pods(plan.parent / "inventory")
    into = plan.parent / name / sliced["pod"] / "latest"
    shutil.rmtree(into)
    pods.climb(pods.pod([fault]), into, groups={**sliced["slices"], **sliced["seams"]}[name])
    return plan


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("sliced")).parent


@pytest.fixture
def good(healthy: Path, tmp_path: Path) -> Path:
    """A copy to change; its plan."""
    return Path(shutil.copytree(healthy, tmp_path / "sliced")) / FILE


def change(path: Path, edit: t.Callable[[t.Any], t.Any]) -> None:
    document = read_json(path)
    edit(document)
    write_json(path, document)


def test_slices_seams_and_layers_over_all_hosts_are_a_go(good: Path) -> None:
    one = merged(good)
    assert (one.verdict, one.reasons, one.up_to_layer) == ("go", [], "training")
    assert one.owners.keys() == SWITCHES
    words = "seams between slices tested 1 of 1, spines crossed 2 of 2, rails crossed 8 of 8, largest run: hosts 12 of 12"
    assert headline("pod", one).endswith(f"2 slices, 3 gate groups, {words}")


@pytest.mark.parametrize("layer", WHOLE_LAYERS)
def test_without_a_layer_over_all_hosts_no_fault_is_seen(layer: str, good: Path) -> None:
    shutil.rmtree(good.parent / layer)
    one = merged(good)
    assert (one.verdict, one.reasons) == ("no_fault_seen", [f"{layer} was not run over all hosts at once"])


@pytest.mark.parametrize("name", ["slice_1", "slice_2", "seam_1"])
def test_a_run_that_never_started_is_a_no_go(name: str, good: Path) -> None:
    shutil.rmtree(good.parent / name)
    one = merged(good)
    assert one.verdict == "no_go" and any(reason.startswith(f"{name} has no run that can be read") for reason in one.reasons), one.reasons


@pytest.mark.parametrize("name", ["slice_1", "seam_1", "training"])
def test_a_run_that_was_killed_is_a_no_go(name: str, good: Path) -> None:
    run = good.parent / name / "simulated" / "latest"
    change(run / "state.json", lambda state: state.update(finished=False, ended=""))
    book = RunStore(run)
    write_report(book, book.plan(), book.state())
    one = merged(good)
    assert one.verdict == "no_go" and any("has not ended" in reason for reason in one.reasons), one.reasons


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"planned": "2999-01-01T00:00:00Z"}, "before the slices were planned"),
        ({"digest": "other"}, "has another digest than the plan of the slices"),
        ({"version": "9"}, "has another version than the plan of the slices"),
        ({"slices": {"slice_1": ["rack_01"], "slice_2": ["rack_02"]}}, "the slices do not have every gate group of the plan once"),
        ({"slices": {"slice_1": ["rack_02"], "slice_2": ["rack_01", "rack_03"]}}, "were planned"),
        ({"seams": {"seam_1": ["rack_01", "rack_02", "rack_03"]}}, "were planned"),
    ],
)
def test_runs_of_another_plan_are_a_no_go(edit: dict[str, t.Any], words: str, good: Path) -> None:
    change(good, lambda document: document.update(edit))
    one = merged(good)
    assert one.verdict == "no_go" and any(words in reason for reason in one.reasons), one.reasons


def test_without_a_seam_the_pair_of_slices_is_named(good: Path) -> None:
    change(good, lambda document: document.update(seams={}))
    one = merged(good)
    assert one.verdict == "no_fault_seen" and "no seam tests the paths between slice_1 and slice_2" in one.reasons
    assert "no seam is shown to cross spine01" in one.reasons and "no seam loads rail 0" in one.reasons


def test_a_plan_that_cannot_be_read_is_named(good: Path) -> None:
    good.write_text(json.dumps({"schema": 2}), encoding="utf-8")
    with pytest.raises(RunError, match=r"slices.json: field pod is missing"):
        read_sliced(good, recheck=False)


def test_a_plan_of_another_schema_is_refused(good: Path) -> None:
    change(good, lambda document: document.update(schema=document["schema"] + 1))
    with pytest.raises(RunError, match=r"slices.json: field schema must be 2"):
        read_sliced(good, recheck=False)


def test_a_run_of_a_few_hosts_is_not_one_over_all(good: Path) -> None:
    for name in WHOLE_LAYERS:
        shutil.rmtree(good.parent / name)
        shutil.copytree(good.parent / "slice_1", good.parent / name)
    one = merged(good)
    assert one.verdict == "no_go" and any("is no run of training over all hosts" in reason for reason in one.reasons), one.reasons


@pytest.mark.parametrize("layer", WHOLE_LAYERS)
def test_every_verdict_of_a_layer_over_all_hosts_is_needed(layer: str, good: Path) -> None:
    run = good.parent / layer / "simulated" / "latest"
    change(run / "verdicts" / f"{layer}.json", lambda document: document["verdicts"].pop())
    book = RunStore(run)
    write_report(book, book.plan(), book.state())
    one = merged(good)
    assert one.verdict == "no_go" and any("verdicts that" in reason and "are missing" in reason for reason in one.reasons), one.reasons


def test_a_fault_in_a_slice_closes_its_group_alone(good: Path) -> None:
    one = merged(faulted(good, "slice_1", "crc_grows"))
    assert one.verdict == "no_go" and one.gates["rack_03"]["links"] == "open" and one.gates["rack_01"]["links"] == "closed", one.reasons


def test_a_fault_at_a_seam_is_reported_at_the_seam(good: Path) -> None:
    """Only the run between the slices has it: each slice by itself is well."""
    one = merged(faulted(good, "seam_1", "spine_port_unused"))
    assert one.verdict == "no_go" and one.reasons and all(reason.startswith("seam_1: ") for reason in one.reasons), one.reasons
