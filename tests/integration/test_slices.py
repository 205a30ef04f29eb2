# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of a pod by the playbooks: two runs with --limit, one verdict over them, and what they keep of how they were started."""

from __future__ import annotations

import json
import shutil
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import RACKS, SMALLEST, Climb, Pod

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def slices(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pod, list[Climb]]:
    """A healthy pod, and a run of each rack of it up to links."""
    pod = Pod(tmp_path_factory.mktemp("slices"), **SMALLEST, pod_to_layer="links")
    return pod, [pod.climb("--limit", f"{rack}:leaves:spines") for rack in RACKS]


def merge(pod: Pod, runs: t.Sequence[Path | None], into: Path, **more: t.Any) -> tuple[Climb, dict[str, t.Any]]:
    """Run merge.yml; its end and merge.json."""
    ended = pod.playbook(playbook="playbooks/merge.yml", merge_runs=[str(run) for run in runs], merge_report_dir=str(into), **more)
    written = list(into.glob("small/*/merge.json"))
    return ended, json.loads(written[-1].read_text(encoding="utf-8")) if written else {}


def test_slices_are_merged_with_and_without_their_evidence(slices, tmp_path: Path) -> None:
    pod, climbs = slices
    runs = [climb.run for climb in climbs]
    ended, record = merge(pod, runs, tmp_path / "plain")
    assert ended.rc == 0 and (record["verdict"], record["up_to_layer"], record["reasons"]) == ("go", "links", []), ended.output
    line = next(line for line in ended.output.splitlines() if line.startswith("GO"))
    assert line == "GO: pod small, up to layer links, 2 slices, 2 gate groups"
    (conditions,) = (line for line in ended.output.splitlines() if line.startswith("  Conditions: "))
    assert conditions.startswith("  Conditions: soak 1 s instead of 300; ") and conditions.endswith("; evidence not rechecked")
    place = next((tmp_path / "plain").glob("small/*"))
    assert place.stat().st_mode & 0o77 == 0 and {path.name for path in place.iterdir()} == {"merge.html", "merge.json", "merge.md", "merge.xml"}
    ended, record = merge(pod, runs, tmp_path / "again", merge_recheck=True)
    assert ended.rc == 0 and record["verdict"] == "go" and record["rechecked"] and "not rechecked" not in ended.output, ended.output


def test_two_merges_at_once_have_a_report_each(slices, tmp_path: Path) -> None:
    pod, climbs = slices
    runs = [climb.run for climb in climbs]
    with ThreadPoolExecutor() as both:
        ended = [one.result()[0] for one in [both.submit(merge, pod, runs, tmp_path) for _time in range(2)]]
    assert [one.rc for one in ended] == [0, 0], ended[0].output
    written = list(tmp_path.glob("small/*"))
    assert len(written) == 2 and all({path.name for path in place.iterdir()} == {"merge.html", "merge.json", "merge.md", "merge.xml"} for place in written)
    named = {line for one in ended for line in one.output.splitlines() if line.startswith("report: ")}
    assert named == {f"report: {place / 'merge.html'}" for place in written}


def test_an_edited_slice_is_never_a_go(slices, tmp_path: Path) -> None:
    pod, climbs = slices
    copies = []
    for climb in climbs:
        assert climb.run is not None
        copies.append(shutil.copytree(climb.run, tmp_path / climb.run.name))
    report = json.loads((copies[0] / "report.json").read_text(encoding="utf-8"))
    (copies[0] / "report.json").write_text(json.dumps({**report, "verdicts": []}), encoding="utf-8")
    ended, record = merge(pod, copies, tmp_path / "empty")
    assert ended.rc == 2 and record["verdict"] == "no_go" and "field verdicts is not what" in ended.output, ended.output
    report["layers"][1]["groups"]["rack_01"]["gate"] = "ajar"
    (copies[0] / "report.json").write_text(json.dumps(report), encoding="utf-8")
    ended, record = merge(pod, copies, tmp_path / "ajar")
    assert ended.rc == 2 and not record and "field layers[1].groups.rack_01.gate must be one of" in ended.output, ended.output


def test_a_report_says_how_its_run_was_started(slices) -> None:
    report = slices[1][0].report
    assert report is not None
    assert report["limit"] == "rack_01:leaves:spines" and report["ended"] >= report["opened"] and report["started_by"] and report["controller"]
    assert report["versions"]["ansible_core"].startswith("2.") and report["versions"]["python"].startswith("3.")
    assert report["changed_expectations"]["pod_soak_seconds"] == {"default": 300, "value": 1, "nodes": report["changed_expectations"]["pod_name"]["nodes"]}
    output = slices[1][0].output
    assert "NO FAULT SEEN: pod small, " in output and "  Conditions: soak 1 s instead of 300; " in output.partition("NO FAULT SEEN: pod small, ")[2]


def test_compare_fails_on_a_new_fail(slices) -> None:
    pod, climbs = slices
    broken = pod.climb("--limit", "rack_01:leaves:spines", simulated_faults="crc_grows")
    assert broken.rc == 2 and broken.run != climbs[0].run
    given = {"playbook": "playbooks/compare.yml", "compare_old": str(climbs[0].run), "compare_new": str(broken.run)}
    assert pod.playbook(**given).rc == 0
    ended = pod.playbook(**given, compare_fail_on="new_fail")
    assert ended.rc == 2 and "links/crc_clean fails on leaf03" in ended.output, ended.output
    same = pod.playbook(playbook="playbooks/compare.yml", compare_old=str(broken.run), compare_new=str(broken.run), compare_fail_on="new_unknown")
    assert same.rc == 0, same.output


def test_a_byte_order_mark_is_read_and_another_encoding_is_one_error(pod: Pod) -> None:
    plan = pod.inventory / "group_vars" / "cabling.csv"
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text, encoding="utf-8-sig")
    assert pod.climb(pod_to_layer="preflight").rc == 0
    plan.write_text(text, encoding="utf-16")
    refused = pod.climb(pod_to_layer="preflight")
    assert refused.rc == 2 and refused.run is None and "cabling.csv: line 1: the file is UTF-16; save it as UTF-8" in refused.output, refused.output
    assert "has no cable" not in refused.output
