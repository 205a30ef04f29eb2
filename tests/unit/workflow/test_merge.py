# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict of several slices, which fails closed; the slices are run directories of a simulated pod, written by the code of a run."""

from __future__ import annotations

import json
import os
import random
import shutil
import typing as t
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json, utc_now, write_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import expectations_digest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.pod_only import parse_pod_only
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import FILE, slice_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.state import gate_state
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore, collection_version, plan_digest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.kept_slice import read_slice
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.lean_slices import read_slices
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.merge import (
    Merged,
    headline,
    merge_sliced,
    merge_slices,
    merged_junit,
    merged_markdown,
    merged_summary,
    render_merged,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.sliced import read_sliced
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

# What a gate that is open reports besides.
NO_REASONS: dict[str, list[str]] = {"reasons": [], "unproved": [], "too_few": []}


def made(into: Path, last: str, faults: t.Sequence[str] = (), hosts_per_rack: int = 2, **expectations: t.Any) -> list[Path]:
    """A run directory for each gate group of a pod, as one controller each would write it."""
    inventory = into.parent / f"{into.name}_inventory"
    inventory.mkdir()
    pods = inprocess.Pods(layout.write(inventory, racks=2, hosts_per_rack=hosts_per_rack, spines=2, expectations={"pod_to_layer": last, **expectations}))
    found = []
    for group in pods.plan.groups:
        found.append(into / group)
        pods.climb(pods.pod(faults), found[-1], groups=[group])
    return found


def copied(place: Path, into: Path) -> Path:
    """A copy of run directories to change: evidence, which is most of their files and which tests take away and do not write, is the same files."""

    def copy(source: str, target: str) -> None:
        (os.link if "/evidence/" in source else shutil.copy)(source, target)

    return Path(shutil.copytree(place, into, copy_function=copy))


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Slices up to links in which nothing is wrong."""
    place = tmp_path_factory.mktemp("proved")
    made(place, "links")
    return place


@pytest.fixture
def good(proved: Path, tmp_path: Path) -> list[Path]:
    """A copy of them to change."""
    copied(proved, tmp_path / "slices")
    return sorted((tmp_path / "slices").iterdir())


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Slices up to links, of which one has a fail."""
    place = tmp_path_factory.mktemp("failed")
    made(place, "links", ["crc_grows"])
    return place


@pytest.fixture
def bad(failed: Path, tmp_path: Path) -> list[Path]:
    """A copy of them to change."""
    copied(failed, tmp_path / "failed")
    return sorted((tmp_path / "failed").iterdir())


def merged(places: t.Sequence[Path], recheck: bool = False, minutes: float = 60, later: float = 0) -> Merged:
    found = read_slices(places, recheck)
    return merge_slices(found, datetime.now(UTC) + timedelta(minutes=later), minutes, collection_version(), recheck)


def change(path: Path, edit: t.Callable[[t.Any], t.Any]) -> None:
    """Edit a JSON file."""
    document = read_json(path)
    edit(document)
    write_json(path, document)


def both(run: Path, layer: str, edit: t.Callable[[list[t.Any]], t.Any]) -> None:
    """Edit a layer's verdicts where the report has them and where they were written first, and build the report again."""
    change(run / "verdicts" / f"{layer}.json", lambda document: edit(document["verdicts"]))
    book = RunStore(run)
    write_report(book, book.plan(), book.state())


def test_slices_that_are_all_well_are_a_go(good: list[Path]) -> None:
    one = merged(good)
    assert (one.verdict, one.reasons, one.up_to_layer) == ("go", [], "links")
    assert one.runs == {place.name: [place.name] for place in good}
    first, *others = render_merged("pod", one).splitlines()
    assert (
        first == "GO: pod pod, up to layer links, 2 slices, 2 gate groups"
        and others[-1].startswith("  Conditions: ")
        and "evidence not rechecked" in others[-1]
    )


def test_slices_of_too_few_hosts_to_prove_a_layer_are_no_fault_seen(tmp_path: Path) -> None:
    """Their gates are neither open nor closed, and they are evaluated above them as any group that continues: no go, as each run says by itself."""
    places = made(tmp_path / "few", "congestion", hosts_per_rack=1)
    assert read_json(places[0] / "state.json")["gates"]["routing"]["rack_01"]["state"] == "not_proved"
    one = merged(places)
    assert (one.verdict, one.up_to_layer) == ("no_fault_seen", "links")
    assert one.reasons[:2] == ["rack_01 is not proved at routing", "rack_02 is not proved at routing"]


def test_evidence_is_evaluated_again(good: list[Path]) -> None:
    one = merged(good, recheck=True)
    assert (one.verdict, one.reasons) == ("go", []) and "not rechecked" not in render_merged("pod", one)


def test_evidence_that_comes_to_something_else_is_a_no_go(good: list[Path], failed: Path) -> None:
    shutil.rmtree(good[1] / "evidence")
    shutil.copytree(failed / "rack_02" / "evidence", good[1] / "evidence")
    assert merged(good).verdict == "go"
    one = merged(good, recheck=True)
    assert one.verdict == "no_go" and any("crc_clean on leaf03 is pass, and its evidence comes to fail" in reason for reason in one.reasons), one.reasons
    shutil.rmtree(good[1] / "evidence" / "links" / "gpu03")
    one = merged(good, recheck=True)
    assert any("answered on gpu03 is pass, and its evidence comes to unknown" in reason for reason in one.reasons), one.reasons


def test_kept_responses_that_are_not_of_their_schema_are_a_no_go_that_names_file_and_field(good: list[Path]) -> None:
    path = good[1] / "readings" / "links" / "now" / "gpu03.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "readings": True}), encoding="utf-8")
    one = merged(good, recheck=True)
    assert one.verdict == "no_go" and any(f"{path}: field readings must be a mapping, not True" in reason for reason in one.reasons), one.reasons


def test_evidence_is_read_only_where_it_is_asked_for(good: list[Path]) -> None:
    shutil.rmtree(good[0] / "evidence")
    assert read_slice(good[0]).wrong == []
    assert read_slice(good[0], recheck=True).wrong != []


def test_a_gate_is_what_the_verdicts_behind_it_come_to(good: list[Path]) -> None:
    change(good[0] / "verdicts" / "links.json", lambda document: document["verdicts"].clear())
    one = read_slice(good[0])
    assert gate_state(one.state, "links", "rack_01") == "open"
    assert one.gate("links", "rack_01") != "open"


def test_a_long_name_of_a_run_is_cut(good: list[Path]) -> None:
    change(good[0] / "state.json", lambda state: state["gates"]["links"]["rack_01"].update(run="a" * 100))
    assert f"it was resumed on gates of run {'a' * 60}, which is not beside it in {good[0].parent}" in read_slice(good[0]).wrong


def test_a_fail_is_a_no_go_with_and_without_its_evidence(bad: list[Path]) -> None:
    for recheck in (False, True):
        one = merged(bad, recheck)
        assert one.verdict == "no_go" and not any("agree" in reason for reason in one.reasons), one.reasons


def opened(document: t.Any) -> None:
    for layer in document["layers"]:
        for gate in layer["groups"].values():
            if gate["gate"] in ("closed", "not_reached") and layer["asked"]:
                gate["gate"] = "open"


def open_state(document: t.Any) -> None:
    for layer in document["layers"]:
        for group in [group for group, scope in document["scope"].items() if scope == "in"]:
            gate = document["gates"].setdefault(layer, {}).setdefault(group, {**NO_REASONS, "time": utc_now(), "run": document["run_id"]})
            gate["state"] = "open"


def test_a_gate_that_was_edited_to_open_stays_closed(bad: list[Path]) -> None:
    for place in bad:
        change(place / "report.json", opened)
    assert merged(bad).verdict == "no_go"
    for place in bad:
        change(place / "state.json", open_state)
        change(place / "report.json", lambda report: report.update(verdict="go", reasons=[]))
    assert merged(bad).verdict == "no_go"
    for place in bad:
        book = RunStore(place)
        assert write_report(book, book.plan(), book.state())["verdict"] != "no_go"
    one = merged(bad)
    assert one.verdict == "no_go" and any("its verdicts come to closed" in reason for reason in one.reasons), one.reasons


@pytest.mark.parametrize("layer", ["preflight", "links"])
def test_without_its_verdicts_a_slice_proves_nothing(layer: str, good: list[Path]) -> None:
    change(good[0] / "report.json", lambda report: report.update(verdicts=[]))
    assert any("field verdicts is not what" in reason for reason in merged(good).reasons)
    both(good[0], layer, lambda records: records.clear())
    assert any("verdicts that" in reason and "are missing" in reason for reason in merged(good).reasons)
    (good[0] / "verdicts" / f"{layer}.json").unlink()
    assert merged(good).verdict == "no_go"


def test_every_single_verdict_is_needed(good: list[Path]) -> None:
    number = len(read_json(good[0] / "verdicts" / "links.json")["verdicts"])
    for at in random.Random(1).sample(range(number), 8):
        text = (good[0] / "verdicts" / "links.json").read_text(encoding="utf-8")
        both(good[0], "links", lambda records, at=at: records.pop(at))
        assert merged(good).verdict == "no_go", at
        (good[0] / "verdicts" / "links.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("layer", "owed"), [("preflight", False), ("links", True), ("routing", True)])
def test_a_host_owes_no_verdict_of_the_layers_above_the_one_that_left_it_out(layer: str, owed: bool, good: list[Path]) -> None:
    change(good[0] / "state.json", lambda state: state.update(quarantined={"gpu01": {"group": "rack_01", "layer": layer, "check": "mtu"}}))
    both(good[0], "links", lambda records: records.__setitem__(slice(None), [record for record in records if record["host"] != "gpu01"]))
    wrong = read_slice(good[0]).wrong
    assert [words for words in wrong if "such as that of answered on gpu01" in words] == wrong[:1] and bool(wrong) == owed, wrong


def test_a_host_that_answered_owes_every_verdict(good: list[Path]) -> None:
    """Also where nothing else of it is kept."""
    both(good[0], "links", lambda records: records.__setitem__(slice(None), [one for one in records if one["host"] != "gpu01" or one["check"] == "answered"]))
    one = merged(good)
    assert one.verdict == "no_go" and any("on gpu01" in words and "are missing" in words for words in one.reasons), one.reasons


def test_a_verdict_is_as_bad_as_its_findings(bad: list[Path]) -> None:
    for place in bad:
        for layer in ("preflight", "links"):
            if (place / "verdicts" / f"{layer}.json").is_file():
                both(place, layer, lambda records: [record.update(verdict="pass", by_group={}) for record in records])
        change(place / "state.json", open_state)
        book = RunStore(place)
        write_report(book, book.plan(), book.state())
    one = merged(bad)
    assert one.verdict == "no_go" and any("its findings come to" in reason for reason in one.reasons), one.reasons


def test_no_single_edit_of_a_failed_slice_is_a_go(bad: list[Path]) -> None:
    words = ["open", "pass", "go", "in", "out", [], {}, None, True, False, 0]
    rng = random.Random(7)
    texts = {path: path.read_text(encoding="utf-8") for place in bad for path in sorted(place.rglob("*.json")) if path.parent.name in (place.name, "verdicts")}
    for _number in range(80):
        path = rng.choice(list(texts))
        document = read_json(path)
        at, key = document, rng.choice(list(document))
        while isinstance(at[key], (dict, list)) and at[key] and rng.random() < 0.85:
            at = at[key]
            key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        at[key] = rng.choice(words)
        write_json(path, document)
        try:
            verdict = merged(bad).verdict
        except RunError as error:
            assert str(path) in str(error) and ("field" in str(error) or "verdicts" in str(error)), error
            verdict = "no_go"
        assert verdict == "no_go", (path, key, at[key])
        path.write_text(texts[path], encoding="utf-8")


def resumed(run: Path) -> Path:
    """Make two runs of one: the links of it stand on the preflight of another beside it."""
    before = run.with_name(f"{run.name}-before")
    shutil.copytree(run, before)
    for place, layer, other in ((before, "preflight", "links"), (run, "links", "preflight")):
        (place / "verdicts" / f"{other}.json").unlink()
        change(place / "state.json", lambda state, place=place, layer=layer: state.update(run_id=place.name, layers=[layer]))
        gates = {gate: before.name if gate == "preflight" else run.name for gate in ("preflight", "links")}
        change(place / "state.json", lambda state, gates=gates: [gate.update(run=gates[one]) for one, own in state["gates"].items() for gate in own.values()])
    change(before / "state.json", lambda state: state["gates"].pop("links"))
    for place in (before, run):
        book = RunStore(place)
        write_report(book, book.plan(), book.state())
    return before


def test_a_resumed_slice_needs_the_run_that_it_stands_on(good: list[Path]) -> None:
    for place in good:
        resumed(place)
    one = merged(good)
    assert (one.verdict, one.reasons, one.up_to_layer) == ("go", [], "links")
    assert "  Conditions: preflight from run rack_01-before, 0 min old" in render_merged("pod", one)
    before = good[0].with_name("rack_01-before")
    both(before, "preflight", lambda records: records.clear())
    assert any("run rack_01-before, on whose gates it was resumed" in reason for reason in merged(good).reasons)
    shutil.rmtree(before)
    one = merged(good)
    assert one.verdict == "no_go" and any("which is not beside it" in reason for reason in one.reasons), one.reasons


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"digest": "0"}, "it is of another pod, wiring or expectations"),
        ({"digest": "z"}, "it is of another pod, wiring or expectations"),
        ({"pod": "a"}, "it is of another pod, wiring or expectations"),
        ({"pod": "z"}, "it is of another pod, wiring or expectations"),
        ({"only": "preflight"}, "it evaluated only preflight"),
        ({"replay": "/kept"}, "it evaluated kept evidence"),
    ],
)
def test_a_slice_is_not_resumed_on_a_run_of_something_else(edit: dict[str, t.Any], words: str, good: list[Path]) -> None:
    before, *_others = [resumed(place) for place in good]
    change(before / "state.json", lambda state: state.update(edit))
    one = merged(good)
    assert one.verdict == "no_go", one.reasons
    assert any(f"run {before.name}, on whose gates it was resumed: {words}" in reason for reason in one.reasons), one.reasons


def test_every_run_that_a_slice_stands_on_is_looked_for_beside_it_alone(good: list[Path], tmp_path: Path) -> None:
    for place in good:
        resumed(place)
    outside = tmp_path / "outside"
    shutil.copytree(good[0].with_name("rack_01-before"), outside)

    def elsewhere(state: t.Any) -> None:
        gates = state["gates"]["preflight"]
        gates["rack_02"] = {**gates["rack_01"], "run": "never_there"}
        gates["rack_01"]["run"] = f"../{outside.name}"

    change(good[0] / "state.json", elsewhere)
    reasons = merged(good).reasons
    for name in (f"../{outside.name}", "never_there"):
        assert any(f"it was resumed on gates of run {name}, which is not beside it" in reason for reason in reasons), reasons


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        ({"host": "gpu99"}, "gpu99"),
        ({"affects": ["rack_99"]}, "gpu01"),
        ({"group": "rack_99"}, "gpu01"),
        ({"layer": "links"}, "gpu01"),
        ({"layer": "routing"}, "gpu01"),
        ({"host": None, "group": None}, "None"),
        ({"host": None, "layer": "links"}, "rack_01"),
    ],
)
def test_a_verdict_of_what_the_plan_does_not_have_is_named(edit: dict[str, t.Any], name: str, good: list[Path]) -> None:
    def of_gpu01(document: t.Any) -> None:
        next(record for record in document["verdicts"] if (record["check"], record["host"]) == ("mtu", "gpu01")).update(edit)

    change(good[0] / "verdicts" / "preflight.json", of_gpu01)
    words = f"the verdict of mtu on {name} is of another layer, or of a node or gate group that plan.json does not have"
    one = merged(good, recheck=True)
    assert one.verdict == "no_go" and any(words in reason for reason in one.reasons), one.reasons


def test_a_verdict_of_a_gate_group_that_is_out_of_scope_is_named(good: list[Path]) -> None:
    def add(verdicts: list[t.Any]) -> None:
        of_gpu01 = next(record for record in verdicts if (record["check"], record["host"]) == ("mtu", "gpu01"))
        verdicts.append({**of_gpu01, "host": "gpu03", "group": "rack_02", "affects": ["rack_02"]})

    both(good[0], "preflight", add)
    assert "preflight: the verdict of mtu on gpu03 is kept, and rack_02 is out of scope by state.json" in read_slice(good[0]).wrong


def test_what_a_report_has_otherwise_is_named_by_its_entry(good: list[Path]) -> None:
    count = len(read_json(good[0] / "report.json")["verdicts"])
    change(good[0] / "report.json", lambda report: report["verdicts"][1].update(verdict="warn"))
    change(good[1] / "report.json", lambda report: report["verdicts"].pop())
    reasons = merged(good).reasons
    assert any(reason.endswith("field verdicts is not what state.json and verdicts/ come to (entry 1)") for reason in reasons), reasons
    assert any(f" come to ({count - 1} entries, not {count})" in reason for reason in reasons), reasons


def test_what_a_report_has_as_another_text_is_named(good: list[Path]) -> None:
    change(good[0] / "report.json", lambda report: report.update(depth="x" * 100))
    words = f"report.json: field depth is {'x' * 60!r}, and state.json and verdicts/ come to 'standard'"
    reasons = merged(good).reasons
    assert any(reason.endswith(words) for reason in reasons), reasons


def test_what_the_other_files_come_to_is_shown_as_far_as_a_line_goes(good: list[Path]) -> None:
    change(good[0] / "state.json", lambda state: state.update(pod="y" * 100))
    assert any(reason.endswith(f"state.json and verdicts/ come to {'y' * 60!r}") for reason in merged(good).reasons)


def test_paths_between_slices_are_nobodys(tmp_path: Path) -> None:
    one = merged(made(tmp_path, "routing"))
    assert (one.verdict, one.reasons) == ("no_fault_seen", ["paths between hosts of different slices were not tested"])


def test_a_missing_slice_is_a_no_go(good: list[Path]) -> None:
    one = merged(good[:1])
    assert (one.verdict, one.up_to_layer) == ("no_go", None) and f"no slice evaluated {good[1].name}" in one.reasons
    assert merge_slices([], datetime.now(UTC), 60, collection_version(), False).verdict == "no_go"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"finished": False}, "has not ended"),
        ({"digest": "other"}, "another digest"),
        ({"pod": "other"}, "another pod"),
        ({"version": "9"}, "another version"),
        ({"depth": "quick"}, "another depth"),
        ({"only": "gpu01"}, "evaluated only gpu01"),
        ({"replay": "x"}, "evaluated kept evidence"),
        ({"layers": ["preflight"]}, "other layers"),
        ({"opened": "2026-06-15T11:00:00Z"}, "minutes ago, and 60 are allowed"),
        ({"quarantined": {"gpu03": {"group": "rack_01", "layer": "links", "check": "mtu"}}}, "gpu03 is quarantined"),
        ({"plan_digest": "other"}, "plan.json is not the plan that the run was opened with"),
        ({"plan_digest": ""}, "plan.json is not the plan that the run was opened with"),
    ],
)
def test_a_slice_that_does_not_fit_is_a_no_go(edit: dict[str, t.Any], words: str, good: list[Path]) -> None:
    change(good[1] / "state.json", lambda state: state.update(edit))
    book = RunStore(good[1])
    write_report(book, book.plan(), book.state())
    one = merged(good)
    assert one.verdict == "no_go" and any(words in reason for reason in one.reasons), one.reasons


def test_a_slice_that_is_opened_later_than_now_is_a_no_go(good: list[Path]) -> None:
    assert any(reason.endswith("the clocks of the controllers disagree") for reason in merged(good, later=-30).reasons)


OPENED = datetime(2026, 6, 15, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, None),
        (3600, None),
        (-1, "was opened 1 s after the time of this merge: the clocks of the controllers disagree"),
        (-900, "was opened 900 s after the time of this merge: the clocks of the controllers disagree"),
        (3601, "was opened 60 minutes ago"),
        (7200, "was opened 120 minutes ago, and 60 are allowed"),
    ],
)
def test_a_slice_is_as_old_as_the_time_since_it_was_opened(seconds: int, words: str | None, good: list[Path]) -> None:
    for place in good:
        change(place / "state.json", lambda state: state.update(opened="2026-06-15T11:00:00Z"))
        book = RunStore(place)
        write_report(book, book.plan(), book.state())
    found = merge_slices([read_slice(place) for place in good], OPENED + timedelta(seconds=seconds), 60, collection_version(), False)
    assert found.reasons == [] if words is None else len(found.reasons) == 2 and all(words in one for one in found.reasons), found.reasons


def test_a_time_that_is_none_is_shown_as_far_as_a_line_goes(good: list[Path]) -> None:
    change(good[0] / "report.json", lambda report: report.update(opened="x" * 61))
    expected = f"{good[0] / 'report.json'}: field opened must be a time with its offset, not '{'x' * 60}'"
    assert any(one.endswith(expected) for one in merged(good).reasons), merged(good).reasons


@pytest.mark.parametrize("version", ["0.0.1", "999.0.0"])
def test_slices_are_merged_by_the_version_that_evaluated_them(version: str, good: list[Path]) -> None:
    found = merge_slices([read_slice(place) for place in good], datetime.now(UTC), 60, version, False)
    words = f"was evaluated by version {collection_version()} of the collection, and this is {version}; merge with the version that evaluated them"
    assert found.verdict == "no_go" and found.reasons == [f"run {place.name} {words}" for place in good]


def test_a_slice_in_check_mode_evaluated_nothing(good: list[Path]) -> None:
    change(good[1] / "report.json", lambda report: report.update(verdict="not_judged"))
    assert f"run {good[1].name} was in check mode, which evaluates nothing" in merged(good).reasons


def test_slices_may_be_steered_each_in_its_way(good: list[Path]) -> None:
    change(good[1] / "plan.json", lambda plan: plan["common"].update(pod_runs_dir="elsewhere"))
    change(good[1] / "state.json", lambda state: state.update(plan_digest=plan_digest((good[1] / "plan.json").read_text(encoding="utf-8"))))
    assert not any("another plan.json" in reason for reason in merged(good).reasons)


def test_another_plan_is_a_no_go(good: list[Path]) -> None:
    change(good[1] / "plan.json", lambda plan: plan["common"].update(pod_soak_seconds=1))
    change(good[1] / "state.json", lambda state: state.update(plan_digest=plan_digest((good[1] / "plan.json").read_text(encoding="utf-8"))))
    assert any("another plan.json" in reason for reason in merged(good).reasons)


@pytest.mark.parametrize(
    ("name", "edit", "words"),
    [
        ("report.json", lambda report: report["layers"][1]["groups"]["rack_01"].update(gate="ajar"), "field layers[1].groups.rack_01.gate must be one of"),
        ("report.json", lambda report: report.pop("digest"), "field digest is missing"),
        ("report.json", lambda report: report.update(schema=2), "field schema must be 1, not 2"),
        ("report.json", lambda report: report.update(changed_expectations=None), "field changed_expectations must be a mapping, not None"),
        ("report.json", lambda report: report["changed_expectations"]["pod_name"].pop("value"), "field changed_expectations.pod_name.value is missing"),
        ("report.json", lambda report: report.update(resumed=[{"run": "x"}]), "field resumed[0].layers is missing"),
        ("report.json", lambda report: report["verdicts"][0].update(findings=None), "field verdicts[0].findings must be a list, not None"),
        ("state.json", lambda state: state.update(layers=["links", "roof"]), "field layers[1] must be one of preflight"),
        ("plan.json", lambda plan: plan["nodes"].update({"../x": ["host", "linux", None, None, {}]}), "field nodes must have names that match"),
        ("plan.json", lambda plan: plan["groups"].update(rack_01=["nobody"]), "field groups.rack_01 must name nodes of the plan"),
        ("plan.json", lambda plan: plan["cables"][0].__setitem__(0, "nobody"), "field cables names 'nobody'"),
        ("verdicts/links.json", lambda judged: judged["verdicts"][3].update(verdict="good"), "field verdicts[3].verdict must be one of pass"),
    ],
)
def test_a_malformed_file_is_named_with_its_field(name: str, edit: t.Callable[[t.Any], t.Any], words: str, good: list[Path]) -> None:
    change(good[0] / name, edit)
    with pytest.raises(RunError) as error:
        read_slice(good[0])
    assert str(good[0] / name) in str(error.value) and words in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100000, '{"schema": 1}', "\x00"])
def test_what_is_no_report_is_named(text: str, good: list[Path]) -> None:
    (good[0] / "report.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=r"report\.json"):
        read_slice(good[0])


def test_a_missing_file_is_named(good: list[Path]) -> None:
    (good[0] / "state.json").unlink()
    with pytest.raises(RunError, match=r"state.json cannot be read: No such file"):
        read_slice(good[0])


def test_what_a_depth_left_out_is_not_proved(tmp_path: Path) -> None:
    one = merged(made(tmp_path, "links", pod_depth="quick"))
    assert one.verdict == "no_fault_seen", one.reasons


def plan_slices(place: Path, **expectations: t.Any) -> Path:
    """Two planned slices up to links, and the seam between them."""
    pods = inprocess.Pods(layout.write(place / "inventory", racks=2, hosts_per_rack=1, spines=2, expectations={"pod_to_layer": "links", **expectations}))
    cabling = (place / "inventory" / "group_vars" / "cabling.csv").read_text(encoding="utf-8")
    version = collection_version()
    sliced = slice_pod(pods.plan, 2, expectations_digest(pods.plan, cabling, version), version, "2026-01-01T00:00:00Z")
    for name, groups in {**sliced.slices, **sliced.seams}.items():
        pods.climb(pods.pod(), place / name / sliced.pod / "latest", groups=groups)
    write_json(place / FILE, sliced.dump())
    return place


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plan_slices(tmp_path_factory.mktemp("planned"))


@pytest.fixture
def sliced_pod(planned: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return copied(planned, tmp_path / "planned")


def test_a_merge_keeps_one_plan_of_all_runs_and_no_verdict_on_a_host(sliced_pod: Path, good: list[Path]) -> None:
    runs = read_sliced(sliced_pod / FILE, False).runs()
    assert len(runs) > 2 and len({id(one.plan) for one in runs.values()}) == 1
    kept = [record for one in runs.values() for judged in one.judged.values() for record in judged["verdicts"]]
    assert kept and {one.plan.nodes[record["host"] or ""].kind for one in runs.values() for record in kept} == {"switch"}
    assert not [record for one in runs.values() for record in one.report["verdicts"] if record["verdict"] == "pass" and not record["findings"]]
    # One that expects something else keeps its own.
    change(good[1] / "plan.json", lambda plan: plan["common"].update(pod_mtu=1500))
    own, other = read_slices(good[:2], False)
    assert own.plan is not other.plan and {node.values["pod_mtu"] for node in other.plan.nodes.values()} == {1500}


def merged_plan(place: Path, recheck: bool = False) -> Merged:
    return merge_sliced(read_sliced(place / FILE, recheck), datetime.now(UTC), 60, collection_version(), recheck)


def test_planned_slices_that_are_all_well_are_a_go(sliced_pod: Path) -> None:
    one = merged_plan(sliced_pod)
    assert (one.verdict, one.reasons, one.rechecked) == ("go", [], False)
    assert one.coverage is not None and one.coverage.words() == "largest run: hosts 2 of 2", "below routing a seam tests nothing"
    assert one.owners == {switch: f"{owner}/latest" for switch, owner in read_json(sliced_pod / FILE)["owners"].items()} and len(one.owners) == 10


def test_a_layer_over_all_hosts_is_read_where_it_was_run(sliced_pod: Path) -> None:
    """It is judged by the same plan: a run of a slice that stands in its place judges too few gate groups."""
    assert (read_sliced(sliced_pod / FILE, False).whole, read_sliced(sliced_pod / FILE, False).wrong) == ({}, [])
    shutil.copytree(sliced_pod / "slice_1", sliced_pod / "training")
    runs = read_sliced(sliced_pod / FILE, False)
    assert {name: one.name for name, one in runs.whole.items()} == {"training": "training/latest"}
    assert runs.wrong == ["run training/latest judges rack_01, and rack_01, rack_02 were planned"]


def test_what_two_slices_have_in_common_is_found_where_they_meet(tmp_path: Path) -> None:
    """Each of the two NICs is the only one of its slice with that MAC address."""
    places = made(tmp_path / "slices", "links", ["mac_twice"], hosts_per_rack=4)
    assert [read_slice(place).report["verdict"] for place in places] == ["no_fault_seen"] * 2, "no slice sees it"
    one = merged(places)
    assert one.verdict == "no_go" and len(one.reasons) == 2, one.reasons
    assert any(reason.startswith("identities_unique on gpu05, ") and "b8:3f:d2:02:00:02" in reason and "gpu02" in reason for reason in one.reasons)
    assert all("Compare the MAC address with what is printed on the NIC" in reason for reason in one.reasons)


def test_hosts_without_evidence_are_not_compared_and_no_go(good: list[Path]) -> None:
    (good[1] / "readings" / "preflight" / "now" / "gpu03.json").unlink()
    one = merged(good)
    assert one.verdict == "no_go" and one.reasons == ["gpu03: no evidence of preflight to compare with the hosts of other slices"]


def test_an_owner_that_is_no_slice_answers_for_no_switch(sliced_pod: Path) -> None:
    change(sliced_pod / FILE, lambda document: document["owners"].update(spine01="slice_9"))
    one = merged_plan(sliced_pod)
    assert "spine01" not in one.owners and "spine02" in one.owners


def test_what_is_not_proved_has_no_coverage(sliced_pod: Path) -> None:
    shutil.rmtree(sliced_pod / "seam_1")
    one = merged_plan(sliced_pod)
    assert one.verdict == "no_go" and one.reasons and one.coverage is None


def test_planned_slices_of_a_quick_run_are_no_more_than_no_fault_seen(tmp_path: Path) -> None:
    one = merged_plan(plan_slices(tmp_path, pod_depth="quick"))
    assert one.verdict == "no_fault_seen" and len(one.reasons) == 1 and one.coverage is not None


def test_layers_that_a_depth_does_not_load_are_not_proved_and_no_fault(tmp_path: Path) -> None:
    """Each run by itself sees no fault, and so do all of them; nothing that was not loaded counts as covered."""
    place = plan_slices(tmp_path, pod_depth="quick", pod_to_layer="rdma")
    one = merged_plan(place)
    assert one.verdict == "no_fault_seen" and one.up_to_layer == "links", one.reasons
    assert one.gates["rack_01"]["congestion"] == "not_run" and "rack_01 is not proved at routing" in one.reasons
    assert "seam_1: rack_02 is not run at congestion" in one.reasons, one.reasons
    assert one.coverage is not None and one.coverage.pairs == (0, 1) and one.coverage.rails[0] == 0


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (("not_proved", "open"), "no_fault_seen"),
        (("not_proved", "not_reached"), "no_go"),
        (("not_reached", "closed"), "no_go"),
    ],
)  # fmt: skip
def test_a_group_that_one_judge_did_not_reach_is_not_passed(states: tuple[str, str], verdict: str, good: list[Path]) -> None:
    found = [read_slice(place) for place in (*good, good[0])]
    for one, state in zip((found[0], found[-1]), states):
        one.gates = {layer: dict(gates) for layer, gates in one.gates.items()}
        one.gates["links"]["rack_01"] = state
    merged = merge_slices(found, datetime.now(UTC), 60, collection_version(), False)
    assert merged.verdict == verdict and merged.gates["rack_01"]["links"] == (states[1] if verdict == "no_go" else "not_proved")


def test_a_go_is_recorded_with_its_coverage_and_a_no_go_without(sliced_pod: Path) -> None:
    one = merged_plan(sliced_pod)
    assert one.record("pod", "now", "1", [])["coverage"]["hosts"] == (2, 2)
    shutil.rmtree(sliced_pod / "seam_1")
    assert merged_plan(sliced_pod).record("pod", "now", "1", [])["coverage"] is None


def test_a_plan_of_which_no_slice_ran_is_a_no_go(sliced_pod: Path) -> None:
    for name in ("slice_1", "slice_2"):
        shutil.rmtree(sliced_pod / name)
    one = merged_plan(sliced_pod)
    assert one.verdict == "no_go" and [reason.split()[0] for reason in one.reasons] == ["slice_1", "slice_2", "no"]


@pytest.mark.parametrize("name", ["slice_2", "seam_1"])
def test_a_run_that_was_killed_is_named(name: str, sliced_pod: Path) -> None:
    run = sliced_pod / name / "simulated" / "latest"
    change(run / "state.json", lambda state: state.update(finished=False, ended=""))
    book = RunStore(run)
    write_report(book, book.plan(), book.state())
    one = merged_plan(sliced_pod)
    assert one.verdict == "no_go" and f"run {name}/latest has not ended" in one.reasons


@pytest.mark.parametrize("name", ["slice_2", "seam_1"])
def test_a_run_of_another_depth_is_compared_with_the_first_slice(name: str, sliced_pod: Path) -> None:
    change(sliced_pod / name / "simulated" / "latest" / "report.json", lambda report: report.update(depth="quick"))
    one = merged_plan(sliced_pod)
    assert one.verdict == "no_go" and f"run {name}/latest has another depth than run slice_1/latest: 'quick', not 'standard'" in one.reasons


def test_the_first_closed_gate_of_a_group_is_named(tmp_path: Path) -> None:
    one = merged(made(tmp_path, "links", ["acs_redirects"]))
    assert one.verdict == "no_go" and any(reason.endswith(" is closed at preflight") for reason in one.reasons), one.reasons


def test_a_merge_of_nothing_is_a_record_of_the_first_schema_without_rechecked_evidence() -> None:
    nothing = merge_slices([], datetime.now(UTC), 60, "1", rechecked=True)
    assert render_merged("pod", nothing).endswith("  Conditions: evidence not rechecked\n") and nothing.record("pod", "now", "1", [])["schema"] == 1


def test_a_terminal_shows_twelve_reasons_and_how_many_more_there_are() -> None:
    words = [f"reason {chr(ord('a') + number) * 3} of its own" for number in range(13)]
    assert render_merged("pod", Merged("no_go", words[:12])).count("because") == 12
    printed = render_merged("pod", Merged("no_go", words)).splitlines()
    assert [line.strip() for line in printed[-3:]] == [
        "because reason lll of its own",
        "because 1 more reason in merge.json",
        "Conditions: evidence not rechecked",
    ]


def test_the_closed_gates_are_named_by_layer() -> None:
    gates = {"rack_01": {"links": "open", "routing": "closed"}, "rack_02": {"links": "not_run", "routing": "closed"}}
    assert Merged("no_go", [], gates=gates).closed() == {"routing": ["rack_01", "rack_02"]}
    assert Merged("no_go", []).closed() == {}


def test_a_summary_ends_with_where_the_report_is() -> None:
    lines = merged_summary("pod", Merged("no_go", ["why"]), "https://example.org/run").splitlines()
    assert lines[0].startswith("# NO-GO: pod pod") and "- why" in lines and lines[-2:] == ["", "Report: <https://example.org/run>"]
    assert "Report" not in merged_summary("pod", Merged("no_go", ["why"]), "") and merged_summary("pod", Merged("go", []), "").endswith(".\n")


def state_of(run: Path, **edit: t.Any) -> None:
    """Edit a run's state, and build its report again."""
    change(run / "state.json", lambda state: state.update(edit))
    book = RunStore(run)
    write_report(book, book.plan(), book.state())


def gate_of(run: Path, layer: str, group: str, state: str) -> None:
    change(run / "state.json", lambda document: document["gates"][layer][group].update(state=state))
    state_of(run)


def test_a_single_run_over_all_gate_groups_tested_all_paths(tmp_path: Path) -> None:
    pods = inprocess.Pods(layout.write(tmp_path / "inventory", racks=2, hosts_per_rack=2, spines=2, expectations={"pod_to_layer": "routing"}))
    pods.climb(pods.pod(), tmp_path / "run")
    one = merged([tmp_path / "run"])
    assert (one.verdict, one.reasons, one.up_to_layer) == ("go", [], "routing")


@pytest.mark.parametrize(("edit", "words"), [({"depth": "quick"}, "depth quick and mode full"), ({"mode": "passive"}, "depth standard and mode passive")])
def test_a_depth_and_a_mode_that_prove_less_are_named(edit: dict[str, t.Any], words: str, good: list[Path]) -> None:
    for place in good:
        state_of(place, **edit)
    one = merged(good)
    assert (one.verdict, one.reasons) == ("no_fault_seen", [f"{words} prove less than a complete run"])


def test_a_check_that_one_slice_left_out_is_not_proved(good: list[Path]) -> None:
    both(good[1], "links", lambda records: records[-1].update(left_out=True))
    one = merged(good)
    assert (one.verdict, one.reasons) == ("no_fault_seen", ["depth standard and mode full prove less than a complete run"])


def test_the_worst_gate_of_several_judges_is_the_groups(good: list[Path], tmp_path: Path) -> None:
    for state, worst in (("not_run", "not_run"), ("closed", "closed")):
        other = tmp_path / state
        shutil.copytree(good[0], other)
        gate_of(other, "links", "rack_01", state)
        assert merged([*good, other]).gates["rack_01"] == {"preflight": "open", "links": worst}
    assert merged([*good, tmp_path / "not_run", tmp_path / "closed"]).gates["rack_01"]["links"] == "closed"


def test_no_layer_is_proved_above_one_that_is_not(good: list[Path]) -> None:
    found = [read_slice(place) for place in good]
    found[0].state.gates["preflight"]["rack_01"]["state"] = "not_proved"
    one = merge_slices(found, datetime.now(UTC), 60, collection_version(), False)
    assert one.gates["rack_01"] == {"preflight": "not_proved", "links": "open"} and one.up_to_layer is None
    assert "no layer is proved for every group" in headline("pod", one) and "up to layer" not in headline("pod", one)


@pytest.mark.parametrize("at", [0, 1])
def test_slices_of_other_layers_are_no_go_whichever_has_more(at: int, good: list[Path]) -> None:
    state_of(good[at], layers=["preflight"])
    assert any("was run with other layers than run" in reason for reason in merged(good).reasons)


def test_slices_that_evaluated_no_layer_prove_none(good: list[Path]) -> None:
    for place in good:
        state_of(place, layers=[])
    assert merged(good).verdict == "no_go" and "training" in merged(good).gates["rack_01"]


def test_of_a_slice_that_disagrees_the_evidence_is_not_evaluated(good: list[Path]) -> None:
    change(good[0] / "report.json", lambda report: report.update(depth="other"))
    shutil.rmtree(good[0] / "evidence")
    assert read_slice(good[0], recheck=True).wrong == read_slice(good[0]).wrong != []


def only_links(run: Path, only: str, **edit: t.Any) -> None:
    """Let a run up to links have been one of links alone, by a ``pod_only`` whose selection is edited."""
    (run / "verdicts" / "preflight.json").unlink()
    change(run / "state.json", lambda state: state["gates"].pop("preflight"))
    state_of(run, only=only, layers=["links"], focus={**asdict(parse_pod_only(RunStore(run).plan(), only)), **edit})


@pytest.mark.parametrize(
    ("only", "recomputed"), [("links", True), ("gpu01", False), ("crc_clean", False), ("mlx5_0", False), ("preflight", False), ("", True)],
)  # fmt: skip
def test_gates_are_recomputed_where_whole_layers_were_evaluated(only: str, recomputed: bool, good: list[Path]) -> None:
    if only:
        only_links(good[0], only)
    one = read_slice(good[0])
    assert (bool(one.gates), one.wrong) == (recomputed, [])


@pytest.mark.parametrize("edit", [{"nodes": ["gpu01"]}, {"check": "crc_clean"}, {"places": ["leaf01:Ethernet1"]}])
def test_a_layer_of_some_nodes_places_or_checks_is_no_whole_one(edit: dict[str, t.Any], good: list[Path]) -> None:
    only_links(good[0], "links", **edit)
    one = read_slice(good[0])
    assert (one.gates, one.wrong) == ({}, [])


def test_the_hosts_of_a_slice_are_those_of_its_gate_groups(good: list[Path]) -> None:
    assert [read_slice(place).hosts for place in good] == [2, 2]
    change(good[0] / "state.json", lambda state: state["scope"].update(rack_02="partly", rack_03="in"))
    assert read_slice(good[0], reported=False).hosts == 4, "a group that is partly in counts, and one that the plan does not have does not"


JUDGED_TWICE = Merged(
    "no_go",
    ["rack_02 is not reached at links"],
    {"rack_01": ["one", "two"], "rack_02": []},
    {"rack_01": {"preflight": "open", "links": "open"}, "rack_02": {"preflight": "closed", "links": "not_reached"}},
    owners={"leaf01": "one"},
)


def test_a_ticket_has_the_reasons_the_gates_the_runs_and_the_owners() -> None:
    record = {"pod": "pod", "time": "now", "version": "1.2", "slices": [{"run_id": "one", "verdict": "go", "run": "/runs/one"}]}
    text = merged_markdown(record, JUDGED_TWICE)
    assert text.endswith("|\n") and text.splitlines()[1:] == [
        "",
        "- rack\\_02 is not reached at links",
        "",
        "Conditions: evidence not rechecked.",
        "",
        "Merged now by collection 1.2.",
        "",
        "| gate group | runs | preflight | links |",
        "| --- | --- | --- | --- |",
        "| rack\\_01 | one, two | open | open |",
        "| rack\\_02 | none | closed | not reached |",
        "",
        "| run | verdict of the run | directory |",
        "| --- | --- | --- |",
        "| one | go | /runs/one |",
        "",
        "| switch | run that answers for it |",
        "| --- | --- |",
        "| leaf01 | one |",
    ]
    without = merged_markdown(record, Merged("go", [], JUDGED_TWICE.runs, JUDGED_TWICE.gates))
    assert without.splitlines()[5:7] == ["", "| gate group | runs | preflight | links |"] and "switch" not in without


def test_a_test_report_has_a_case_for_each_gate() -> None:
    cases = [
        (case.get("classname"), case.get("name"), [one.get("message") for one in case.findall("error")])
        for case in ET.fromstring(merged_junit("pod", JUDGED_TWICE)).iter("testcase")
    ]
    assert cases[1:] == [
        ("preflight", "gate of rack_01", []),
        ("links", "gate of rack_01", []),
        ("preflight", "gate of rack_02", ["closed"]),
        ("links", "gate of rack_02", ["not_reached"]),
    ]
