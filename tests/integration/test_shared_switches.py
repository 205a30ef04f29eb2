# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices that share switches: each is asked once, and what it says is judged by every slice."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json, write_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import FILE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

from .slices_in_process import SWITCHES, merged, planned

pytestmark = pytest.mark.exhaustive


def climbed(into: Path, faults: t.Sequence[str] = (), kept: inprocess.Kept | None = None, **expectations: t.Any) -> tuple[Path, inprocess.Pods]:
    """The plan of a pod in three slices that share all switches, with its slices, one after another, and its seam without the faults; and who was asked."""
    inventory = layout.write(into / "inventory", racks=3, hosts_per_rack=2, spines=2, expectations=expectations)
    pods = inprocess.Pods(inventory, kept)
    sliced = planned(inventory, pods, 3)
    write_json(into / FILE, sliced.dump())
    for name, groups in sliced.slices.items():
        pods.climb(pods.pod(faults), into / name / sliced.pod / "latest", groups=groups)
    asked = pods.asked.copy()
    pods.climb(pods.pod(()), into / "seam_1" / sliced.pod / "latest", groups=sliced.seams["seam_1"])
    assert pods.asked["links", "now", "spine01"] == asked["links", "now", "spine01"] + 1, "a seam reads its switches itself"
    pods.asked = asked
    return into / FILE, pods


def times_asked(pods: inprocess.Pods) -> dict[tuple[str, str], set[int]]:
    """How often switches were asked, by layer and phase."""
    found: dict[tuple[str, str], set[int]] = {}
    for (layer, phase, node), times in pods.asked.items():
        if node in SWITCHES and times:
            found.setdefault((layer, phase), set()).add(times)
    return found


def test_three_slices_ask_a_switch_once_and_the_verdict_is_the_same(tmp_path: Path) -> None:
    answers: inprocess.Kept = {}
    plan, pods = climbed(tmp_path / "shared", kept=answers, pod_to_layer="routing")
    assert times_asked(pods) == {("links", "before"): {1}, ("links", "now"): {1}, ("routing", "now"): {1}}
    alone, pods = climbed(tmp_path / "alone", kept=answers, pod_to_layer="routing", pod_shared_readings_max_age_seconds=0)
    assert times_asked(pods) == {("links", "before"): {3}, ("links", "now"): {3}, ("routing", "now"): {3}}
    one, other = merged(plan, recheck=True), merged(alone)
    assert one == replace(other, rechecked=True, stands_on=one.stands_on) and (one.verdict, one.reasons) == ("go", []) and set(one.owners) == SWITCHES
    kept = RunStore(plan.parent / "slice_3" / "simulated" / "latest").answers("routing", "now")
    assert {name: kept[name]["shared"]["slice"] for name in SWITCHES} == dict.fromkeys(SWITCHES, "slice_1")
    for part, sources in (("slice_1", []), ("slice_3", [("slice_1", "latest", len(SWITCHES))]), ("seam_1", [])):
        report = read_json(plan.parent / part / "simulated" / "latest" / "report.json")
        assert [(one["slice"], one["run"], one["switches"]) for one in report["shared_readings"]] == sources
        assert [words for words in report["stands_on"] if "read by" in words][:1] == [
            f"10 switches read by slice_1, up to {one['age_seconds']:.0f} s before" for one in report["shared_readings"]
        ]


@pytest.mark.parametrize(("fault", "layer", "switch"), [("fec_uncorrectable", "links", "spine02"), ("bgp_wrong_as", "routing", "leaf03")])
def test_a_fault_of_a_shared_switch_is_found_by_every_slice(fault: str, layer: str, switch: str, tmp_path: Path) -> None:
    plan, pods = climbed(tmp_path, [fault], pod_to_layer=layer)
    assert pods.asked[layer, "now", switch] == 1
    one = merged(plan, recheck=True)
    assert one.verdict == "no_go" and {gates[layer] for gates in one.gates.values()} == {"closed"}, one.reasons
    for name in ("slice_1", "slice_2", "slice_3"):
        records = RunStore(plan.parent / name / "simulated" / "latest").verdicts()[layer]["verdicts"]
        assert switch in {record["host"] for record in records if record["verdict"] == "fail"}, name
