# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One layer of a run evaluated: which of its checks a gate needs, who is left out over all layers, and that check mode evaluates nothing."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
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
