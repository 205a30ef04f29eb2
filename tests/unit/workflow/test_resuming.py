# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is resumed on the gates of another, whose files were changed since, or cut short."""

from __future__ import annotations

import json
import shutil
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    expectations = {"pod_name": "resumed", "pod_soak_seconds": 1}
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=2, spines=2, expectations=expectations))


@pytest.fixture(scope="module")
def proved(pods: inprocess.Pods, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy pod's run up to links."""
    run = tmp_path_factory.mktemp("proved") / "first"
    assert pods.climb(pods.pod(), run, pod_to_layer="links")["verdict"] == "go"
    return run


@pytest.fixture(scope="module")
def failed(pods: inprocess.Pods, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run up to links that closed the gate of rack_02 there."""
    run = tmp_path_factory.mktemp("failed") / "first"
    report = pods.climb(pods.pod(["symbols_wrong"]), run, pod_to_layer="links")
    assert {group: gate["gate"] for group, gate in report["layers"][1]["groups"].items()} == {"rack_01": "open", "rack_02": "closed"}
    return run


def copied(run: Path, into: Path) -> Path:
    return Path(shutil.copytree(run, into / run.name))


def change(path: Path, edit: t.Callable[[t.Any], t.Any]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    edit(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def resumed(pods: inprocess.Pods, earlier: Path) -> dict[str, t.Any]:
    return pods.climb(pods.pod(), earlier.parent / "second", earlier=earlier, pod_from_layer="routing")


def test_a_run_resumes_on_open_gates(pods: inprocess.Pods, proved: Path, tmp_path: Path) -> None:
    first = copied(proved, tmp_path)
    # A killed run's report may be older than its gates.
    change(first / "report.json", lambda report: report["layers"].clear())
    assert resumed(pods, first)["verdict"] == "go"


def test_a_run_resumes_on_one_that_was_resumed_with_another_expectation_of_its_own_layers(pods: inprocess.Pods, proved: Path, tmp_path: Path) -> None:
    first = copied(proved, tmp_path)
    second = pods.climb(pods.pod(), tmp_path / "second", earlier=first, pod_from_layer="routing", pod_to_layer="routing", pod_ping_rtt_max_ms=20)
    third = pods.climb(pods.pod(), tmp_path / "third", earlier=tmp_path / "second", pod_from_layer="routing", pod_to_layer="routing")
    assert (second["verdict"], third["verdict"]) == ("go", "go")
    # What layers below the first one of a run use must not differ; what its later layers use may.
    wide = pods.climb(pods.pod(), tmp_path / "wide", earlier=first, pod_from_layer="routing", pod_to_layer="congestion", pod_ping_rtt_max_ms=20)
    assert wide["layers"][2]["groups"]["rack_01"]["gate"] == "open"
    assert pods.climb(pods.pod(), tmp_path / "last", earlier=tmp_path / "wide", pod_from_layer="routing", pod_to_layer="routing")["verdict"] == "go"
    # Without the run that proved the gates below it, the second proves nothing of them.
    shutil.rmtree(first)
    with pytest.raises(Refused, match=r"it was resumed on gates of run first, which is not beside it"):
        pods.climb(pods.pod(), tmp_path / "fourth", earlier=tmp_path / "second", pod_from_layer="routing", pod_to_layer="routing")


def test_a_gate_that_was_edited_to_open_is_refused(pods: inprocess.Pods, failed: Path, tmp_path: Path) -> None:
    first = copied(failed, tmp_path)
    change(first / "state.json", lambda state: state["gates"]["links"]["rack_02"].update(state="open"))
    with pytest.raises(Refused, match=r"links: the gate of rack_02 is open in state\.json, and its verdicts come to closed; start from preflight"):
        resumed(pods, first)


@pytest.mark.parametrize("layer", ["preflight", "links"])
def test_gates_without_their_verdicts_are_refused(layer: str, pods: inprocess.Pods, proved: Path, tmp_path: Path) -> None:
    first = copied(proved, tmp_path)
    (first / "verdicts" / f"{layer}.json").unlink()
    with pytest.raises(Refused, match="start from preflight"):
        resumed(pods, first)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("state.json", '{"pod": ', r"state\.json is not JSON"),
        ("plan.json", '{"common": {}}', r"plan\.json: field nodes is missing"),
        ("verdicts/links.json", "[]", r"links\.json: field \(all of it\) must be a mapping"),
    ],
)
def test_a_malformed_file_is_named(name: str, text: str, words: str, pods: inprocess.Pods, proved: Path, tmp_path: Path) -> None:
    first = copied(proved, tmp_path)
    (first / name).write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=words):
        resumed(pods, first)
    # It is of no interest to a run that starts from preflight.
    assert pods.climb(pods.pod(), tmp_path / "third", earlier=first, pod_to_layer="preflight")["verdict"] == "go"


def test_a_boot_that_was_edited_is_named(pods: inprocess.Pods, proved: Path, tmp_path: Path) -> None:
    first = copied(proved, tmp_path)
    change(first / "state.json", lambda state: state["boots"]["leaf01"].update(uptime_seconds="long"))
    with pytest.raises(RunError, match=r"state\.json: field boots\.leaf01\.uptime_seconds must be a number"):
        resumed(pods, first)
