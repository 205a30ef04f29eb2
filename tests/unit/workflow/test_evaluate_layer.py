# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One layer of a run evaluated: which of its checks a gate needs, who is left out over all layers, and that check mode evaluates nothing."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.baselines import BASELINE_CHECK
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import evaluate_layer as of_layer
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.evaluate_layer import evaluate_layer
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout


def pods_of(place: Path, **expectations: t.Any) -> inprocess.Pods:
    return inprocess.Pods(layout.write(place / "inventory", racks=2, hosts_per_rack=3, spines=2, expectations={"pod_to_layer": "links", **expectations}))


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    return pods_of(tmp_path_factory.mktemp("pods"))


def states(run: Path, layer: str) -> dict[str, str]:
    """The gates of a layer of a run."""
    return {group: gate["state"] for group, gate in RunStore(run).state().gates[layer].items()}


@pytest.mark.parametrize("only", ["leaf01", "cabling_as_planned"])
def test_a_few_nodes_or_one_check_need_no_other_required_check(only: str, pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod(), tmp_path / "run", only=only)
    assert set(states(tmp_path / "run", "links").values()) == {"open"}, report["reasons"]


def test_who_is_left_out_counts_in_each_layer(tmp_path: Path) -> None:
    pods = pods_of(tmp_path, pod_gate_policy="quarantine", pod_quarantine_max=1)
    first = pods.climb(pods.pod(["trust_pcp"]), tmp_path / "first")
    assert list(first["quarantined"]) == ["gpu03"] and states(tmp_path / "first", "links") == {"rack_01": "open", "rack_02": "open"}
    second = pods.climb(pods.pod(["trust_pcp", "nic_crc_grows@gpu02"]), tmp_path / "second")
    assert list(second["quarantined"]) == ["gpu03"] and states(tmp_path / "second", "links") == {"rack_01": "closed", "rack_02": "open"}
    alone = pods.climb(pods.pod(["nic_crc_grows@gpu02"]), tmp_path / "alone")
    assert list(alone["quarantined"]) == ["gpu02"] and states(tmp_path / "alone", "links") == {"rack_01": "open", "rack_02": "open"}


def test_check_mode_evaluates_nothing(pods: inprocess.Pods, tmp_path: Path) -> None:
    asked: list[str] = []

    def in_check_mode(run: Path, layer: str, silent_words: t.Callable[[str], str | None]) -> tuple[dict[str, t.Any], dict[str, str]]:
        store = RunStore(run)
        state = store.state()
        state.plans_only = True
        store.keep_state(state)
        return evaluate_layer(run, layer, lambda node: asked.append(node) or silent_words(node))

    pods.climb(pods.pod(["crc_grows"]), tmp_path / "run", hold=in_check_mode)
    assert set(states(tmp_path / "run", "preflight").values()) == set(states(tmp_path / "run", "links").values()) == {"not_run"} and asked == []


def test_two_may_be_left_out_one_after_the_other(tmp_path: Path) -> None:
    pods = pods_of(tmp_path, pod_gate_policy="quarantine", pod_quarantine_max=2)
    report = pods.climb(pods.pod(["trust_pcp", "nic_crc_grows@gpu02"]), tmp_path / "run")
    assert list(report["quarantined"]) == ["gpu03", "gpu02"] and states(tmp_path / "run", "links")["rack_01"] == "open"


@pytest.mark.parametrize(("only", "state"), [("", "closed"), ("links", "closed"), ("leaf01", "open"), ("port_speed", "open")])
def test_a_required_check_without_a_verdict_closes_unless_a_part_was_asked_for(
    only: str, state: str, pods: inprocess.Pods, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = of_layer.verdicts_of_layer

    def lacking(*given: t.Any) -> t.Any:
        judged, verdicts = complete(*given)
        return judged, [one for one in verdicts if one.check != "port_speed"]

    monkeypatch.setattr(of_layer, "verdicts_of_layer", lacking)
    pods.climb(pods.pod(), tmp_path / "run", only=only)
    assert set(states(tmp_path / "run", "links").values()) == {state}


def test_a_host_that_boots_closes_the_gate_below_in_its_group(pods: inprocess.Pods, tmp_path: Path) -> None:
    pods.climb(pods.pod(["host_boots"]), tmp_path / "run")
    assert states(tmp_path / "run", "preflight") == {"rack_01": "closed", "rack_02": "open"}
    (reason,) = RunStore(tmp_path / "run").state().gates["preflight"]["rack_01"]["reasons"]
    assert reason.startswith("gpu03 ")


def test_a_host_that_boots_and_is_left_out_closes_no_gate(tmp_path: Path) -> None:
    pods = pods_of(tmp_path, pod_gate_policy="quarantine", pod_quarantine_max=1)
    report = pods.climb(pods.pod(["host_boots"]), tmp_path / "run")
    assert list(report["quarantined"]) == ["gpu03"] and states(tmp_path / "run", "preflight") == {"rack_01": "open", "rack_02": "open"}


def test_a_switch_that_boots_closes_only_gates_of_the_run(tmp_path: Path) -> None:
    pods = pods_of(tmp_path, pod_to_layer="routing")
    pods.climb(pods.pod(["leaf_boots"]), tmp_path / "run", groups=["rack_02"])
    gates = RunStore(tmp_path / "run").state().gates
    assert {layer: gates[layer]["rack_02"]["state"] for layer in ("links", "routing")} == {"links": "closed", "routing": "closed"}


def test_the_pings_of_a_layer_are_between_those_who_take_part_in_it(tmp_path: Path) -> None:
    pods = pods_of(tmp_path, pod_to_layer="routing")
    kept: dict[str, set[str]] = {}

    def pinged(run: Path) -> set[str]:
        return {ping["peer"] for ping in read_json(run / "plan" / "gpu04.json")["items"]["ping"]}

    def noted(run: Path, layer: str, silent_words: t.Callable[[str], str | None]) -> tuple[dict[str, t.Any], dict[str, str]]:
        kept[layer] = pinged(run)
        return evaluate_layer(run, layer, silent_words)

    # gpu03 closes its rack at links.
    pods.climb(pods.pod(["nic_crc_grows"]), tmp_path / "run", hold=noted)
    assert "gpu01" in kept["links"] and kept["routing"] == pinged(tmp_path / "run") and set() < kept["routing"] <= {"gpu05", "gpu06"}


def states_after(silence: t.Callable[[Path, str], dict[str, str]], group: str, pods: inprocess.Pods, run: Path) -> t.Any:
    """The one verdict that a node did not respond; silence: what makes nodes silent at a layer, and their words."""
    report = pods.climb(pods.pod(), run, hold=lambda place, layer, _words: evaluate_layer(place, layer, silence(place, layer).get), groups=[group])
    (one,) = [record for record in report["verdicts"] if record["check"] == "answered" and record["verdict"] == "unknown"]
    assert states(run, one["layer"]) == {group: "closed"}
    return one


def test_a_host_whose_connection_fails_after_its_first_phase_closes_its_group(pods: inprocess.Pods, tmp_path: Path) -> None:
    one = states_after(lambda _run, layer: {"gpu02": "ssh timed out"} if layer == "links" else {}, "rack_01", pods, tmp_path / "run")
    assert (one["layer"], one["host"], one["words"]) == ("links", "gpu02", "ssh timed out")


def test_a_host_of_which_nothing_was_kept_closes_its_group(pods: inprocess.Pods, tmp_path: Path) -> None:
    def lost(run: Path, layer: str) -> dict[str, str]:
        if layer == "preflight":
            (run / "readings" / layer / "now" / "gpu04.json").unlink()
        return {}

    one = states_after(lost, "rack_02", pods, tmp_path / "run")
    assert (one["layer"], one["host"], one["words"]) == ("preflight", "gpu04", "never read")


def test_of_one_check_no_other_is_evaluated(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod(), tmp_path / "run", only="port_speed")
    assert {record["check"] for record in report["verdicts"] if record["layer"] == "links"} == {"port_speed", "answered"}


def test_nodes_of_the_groups_in_scope_are_counted(pods: inprocess.Pods, tmp_path: Path) -> None:
    pods.climb(pods.pod(), tmp_path / "run", groups=["rack_01"])
    counts = read_json(tmp_path / "run" / "verdicts" / "preflight.json")["counts"]
    assert {group: {word: number for word, number in row.items() if number} for group, row in counts.items()} == {
        "rack_01": {"pass": 3},
        "rack_02": {"out_of_scope": 3},
        "shared": {"pass": 8, "skip": 2},
    }


def counts(run: Path, layer: str, group: str) -> dict[str, int]:
    """Of how many nodes of a group a layer came to what."""
    return {word: number for word, number in RunStore(run).verdicts()[layer]["counts"][group].items() if number}


def test_nodes_that_were_not_reached_are_counted_apart_from_those_out_of_scope(pods: inprocess.Pods, tmp_path: Path) -> None:
    pods.climb(pods.pod(["trust_pcp"]), tmp_path / "all")
    assert counts(tmp_path / "all", "links", "rack_01") == {"not_reached": 3} and counts(tmp_path / "all", "links", "rack_02") == {"pass": 3}
    pods.climb(pods.pod(), tmp_path / "one", groups=["rack_02"])
    assert counts(tmp_path / "one", "links", "rack_01") == {"out_of_scope": 3} and counts(tmp_path / "one", "links", "rack_02") == {"pass": 3}


@pytest.mark.parametrize(
    ("only", "state"), [("leaf03", "closed"), ("links", "closed"), ("leaf03:Ethernet3/1", "closed"), ("leaf03:Ethernet1/1", "open")],
)  # fmt: skip
def test_a_place_limits_what_is_found_and_a_node_or_a_layer_does_not(only: str, state: str, pods: inprocess.Pods, tmp_path: Path) -> None:
    pods.climb(pods.pod(["crc_grows"]), tmp_path / "run", only=only)
    assert states(tmp_path / "run", "links")["rack_01"] == state


def test_nodes_that_answered_well_are_compared_with_the_baseline(pods: inprocess.Pods, tmp_path: Path) -> None:
    pods.climb(pods.pod(), tmp_path / "first")
    first = RunStore(tmp_path / "first")
    numbers = yaml.safe_load(first.captured(first.plan(), first.state()))
    for measure in numbers["measures"].values():
        for number in measure["numbers"].values():
            number["value"] += 10
    refused: list[str] = []

    def compared(run: Path, layer: str, _words: t.Callable[[str], str | None]) -> tuple[dict[str, t.Any], dict[str, str]]:
        RunStore(run).keep_baseline(yaml.safe_dump(numbers))
        if layer == "links":
            path = run / "readings" / layer / "now" / "gpu06.json"
            envelope = read_json(path)
            for stated in envelope["readings"].values():
                refused.append(stated["status"])
                stated["status"] = "unknown"
            path.write_text(json.dumps(envelope))
        return evaluate_layer(run, layer, {"gpu05": "ssh timed out"}.get if layer == "links" else {}.get)

    report = pods.climb(pods.pod(), tmp_path / "second", hold=compared)
    found = {record["host"]: record["verdict"] for record in report["verdicts"] if record["check"] == BASELINE_CHECK and record["layer"] == "links"}
    # gpu05 did not answer, and nothing that gpu06 reported could be read; both have optics, and numbers in the baseline.
    compared_with = {place.partition(" ")[0] for measure in numbers["measures"].values() for place in measure["numbers"]}
    assert "ok" in refused and compared_with - found.keys() == {"gpu05", "gpu06"}
    assert set(found.values()) == {"warn"}
