# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person and a machine read at the end of a run."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate import explaining_checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.root_causes import add_explanations
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import from_record
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS, DESCRIPTION
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import culprits, grouping, merged_texts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.conditions import conditions_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.documentation import CheckLinks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.junit import render_junit
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.markdown import SUMMARY_CHARACTERS, render_markdown, summary
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.table import render_table
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.ranges import ranges
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report

from tests import made_run

NASTY = "\x1b[31m<script>alert(1)</script>|`x`\x00 {{ lookup('pipe', 'id') }}"


def record(host: str, where: str = "mlx5_0", verdict: str = "fail", check: str = "rails_present", actual: str = "Down", **more: t.Any) -> dict[str, t.Any]:
    finding = {"where": where, "expected": "Active", "actual": actual, "severity": verdict, "host": host, "leaf": more.pop("leaf", None)}
    base = {"layer": "preflight", "check": check, "group": "rack_01", "host": host, "verdict": verdict, "affects": ["rack_01"], "statement": "It is up."}
    return {**base, "words": "", "findings": [finding], "waived": [], "cause": "Broken.", "fix": "Mend it.", "remedy": None, "left_out": False, **more}


UNUSED = {"check": "port_speed", "host": "gpu09", "where": "ens0", "until": "2026-12-01"}


def report(*records: dict[str, t.Any], groups: t.Sequence[str] = ("rack_01", "rack_02"), explained: dict[str, list[str]] | None = None) -> dict[str, t.Any]:
    gates = {
        group: {"gate": "closed" if number == 0 else "open", "reasons": ["x is fail"], "time": None, "counts": {"pass": 1}}
        for number, group in enumerate(groups)
    }
    layers = [{"number": number, "layer": name, "asked": True, "groups": gates, "shared": {"counts": {}}} for number, name in enumerate(("preflight", "links"))]
    return {
        "pod": "small", "run_id": "1", "depth": "standard", "mode": "full", "version": "0.1.0", "verdict": "no_go", "reasons": ["rack_01 is held"],
        "up_to_layer": None, "replayed_from": "", "layers": layers, "explained": explained or {}, "verdicts": list(records),
        "opened": "2026-06-15T12:00:00Z", "ended": "2026-06-15T12:10:00Z", "started_by": "operator", "controller": "admin01",
        "versions": {"collection": "0.1.0", "ansible_core": "2.19.0", "python": "3.11.2"}, "limit": "rack_01:leaves", "check": True,
        "tags": ["always"], "skip_tags": [], "stands_on": ["1 waiver until 2026-12-01"], "unused_waivers": [UNUSED], "quarantined": {},
        "changed_expectations": {"pod_soak_seconds": {"default": 300, "value": 1, "nodes": 4}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        (["gpu01", "gpu02", "gpu03"], "gpu01-gpu03"),
        (["gpu01", "gpu02"], "gpu01, gpu02"),
        (["gpu10", "gpu9", "gpu8", "x"], "gpu8-gpu10, x"),
        (["Ethernet1/1", "Ethernet2/1", "Ethernet3/1"], "Ethernet1-3/1"),
        # What runs from 1/1 to 1/3 is one slot's.
        (["Ethernet1/1", "Ethernet1/2", "Ethernet1/3"], "Ethernet1/1-Ethernet1/3"),
        (list("acegik"), "a, c, e, g and 2 more"),
        (["rail mlx5_3", "rail mlx5_4", "rail mlx5_5"], "rail mlx5_3-5"),
        (["tests of 2, group 1: srun", "tests of 2, group 2: srun", "tests of 2, group 3: srun"], "tests of 2, group 1-3: srun"),
    ],
)
def test_names_fold_into_ranges(names, folded) -> None:
    assert ranges(names) == folded


def test_links_to_a_node_that_did_not_answer_below_are_counted_to_it_with_what_they_say_of_it() -> None:
    silent = [record(host, host, "unknown", "answered", "timed out") for host in ("gpu01", "gpu02")]
    dark = record("leaf01", "Ethernet1/1", check="port_speed", layer="links")
    dark["findings"][0] |= {"origin": ("answered", "gpu01", ""), "cause": "No power.", "fix": "Look at the feed."}
    (entry,) = grouping.entries(report(*silent, dark))
    assert (entry.check, entry.cause, entry.fix, entry.explained) == ("answered", "No power.", "Look at the feed.", ["port_speed on leaf01 Ethernet1/1"])
    # Where the node answered below, or the check is another one, it is any other finding.
    assert [entry.check for entry in grouping.entries(report(dark))] == ["port_speed"]
    dark["findings"][0]["origin"] = ("rails_present", "gpu01", "")
    assert len(grouping.entries(report(record("gpu01"), dark))) == 2


def test_findings_that_say_the_same_are_one_entry() -> None:
    entries = grouping.entries(report(*(record(f"gpu{number:02}", leaf="leaf01") for number in range(1, 33))))
    assert len(entries) == 1 and entries[0].where == "gpu01-gpu32 mlx5_0" and entries[0].size == " (32 findings, all on leaf01)"
    two = grouping.entries(report(record("gpu01"), record("gpu02", actual="Polling")))
    assert [entry.actual for entry in two] == ["Down", "Polling"]


def test_folded_findings_show_the_numbers_of_all_of_them_and_each_culprit_its_place() -> None:
    rates = {"gpu01": "388.5", "gpu02": "391", "gpu03": "388.5"}
    records = [record(host, actual=f"{rate} Gb/s with gpu1{host[-1]} mlx5_0") for host, rate in rates.items()]
    for one, least in zip(records, ("395", "395", "390")):
        one["findings"][0]["expected"] = f"{least} Gb/s or more"
    found = report(*records)
    (entry,) = grouping.entries(found)
    assert entry.actual == "388.5 to 391 Gb/s with gpu11-gpu13 mlx5_0" and entry.wanted == "390 to 395 Gb/s or more"
    for text in (render_table(found), render_markdown(found)):
        assert "388.5 to 391 Gb/s" in text.replace("\\", "")
    assert culprits.culprits(found, set(rates)) == {host: ["preflight/rails_present at mlx5_0"] for host in rates}


def entry_of(*findings: tuple[str, str, str, str]) -> grouping.Entry:
    """An entry of findings: host, where, expected, got."""
    one = grouping.Entry("links", "cabling_as_planned", "fail", "", "", None)
    for host, where, expected, got in findings:
        one.places.append((host, where))
        one.expected.append(expected)
        one.found.append(got)
    return one


def test_of_swapped_cables_each_place_has_its_own_port():
    one = entry_of(("gpu03", "ens1", "leaf03 Ethernet3/1", "leaf03 Ethernet4/1"), ("gpu04", "ens1", "leaf03 Ethernet4/1", "leaf03 Ethernet3/1"))
    assert one.wanted == "leaf03 Ethernet3/1 at gpu03 ens1; leaf03 Ethernet4/1 at gpu04 ens1"
    assert one.actual == "leaf03 Ethernet4/1 at gpu03 ens1; leaf03 Ethernet3/1 at gpu04 ens1"
    many = entry_of(*((f"gpu{number}", f"gpu{number}", f"port e{number}", f"port e{9 - number}") for number in range(1, 9)))
    assert many.actual == "port e8 at gpu1; port e7 at gpu2; port e6 at gpu3; port e5 at gpu4; and 4 more"


def test_what_is_said_behind_each_name_is_said_once():
    one = entry_of(*(("gpu03", f"mlx5_{number}, cuda memory", "", "") for number in (0, 3, 4, 5)))
    assert one.where == "gpu03 mlx5_0, mlx5_3-mlx5_5, cuda memory"
    both = entry_of(("gpu03", "mlx5_0, cuda memory", "", ""), ("gpu03", "mlx5_0", "", ""))
    assert both.where == "gpu03 mlx5_0, mlx5_0, cuda memory"


def test_rates_and_one_common_expectation_stay_one_text():
    rates = entry_of(("gpu01", "mlx5_0", "390 Gb/s or more", "200 Gb/s with gpu11"), ("gpu02", "mlx5_0", "395 Gb/s or more", "210 Gb/s with gpu12"))
    assert (rates.wanted, rates.actual) == ("390 to 395 Gb/s or more", "200 to 210 Gb/s with gpu11, gpu12")
    ports = entry_of(("leaf01", "e1", "up", "down since e7"), ("leaf02", "e2", "up", "down since e8"))
    assert (ports.wanted, ports.actual) == ("up", "down since e7, e8")
    others = entry_of(*((f"gpu{number}", f"gpu{number}", f"port e{number}", f"port f{number}") for number in range(1, 6)))
    assert (others.wanted, others.actual) == ("port e1-e5", "port f1-f5")


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (["Down"], "Down"),
        (["Down", "Down"], "Down"),
        (["Xid 63", "Xid 79"], "Xid 63, 79"),
        (["+3", "+17", "+5", "+4", "+90"], "+3 to +90"),
        (["1e-05 before FEC", "3.2e-06 before FEC"], "3.2e-06 to 1e-05 before FEC"),
        (["-12.5 dBm", "-9 dBm"], "-12.5 to -9 dBm"),
        (["80 % of 2 s, 3 frames", "9 % of 2 s, 12 frames"], "9 to 80 % of 2 s, 3 to 12 frames"),
        (["AS 65001", "AS 65002", "AS 65003", "AS 65009", "AS 65010"], "AS 65001-65003, 65009, 65010"),
        (["10.0.1.6 is Idle", "10.0.2.6 is Idle"], "10.0.1.6, 10.0.2.6 is Idle"),
        (["with gpu01, gpu03", "with gpu02, gpu03"], "with gpu01-gpu03"),
        (["slow with gpu01, gpu03, fast without it", "slow with gpu03, gpu01, fast without it"], "slow with gpu01, gpu03, fast without it"),
        (["slow with gpu01, gpu02, else fast", "slow with gpu03, gpu04, else fast"], "slow with gpu01-gpu04, else fast"),
        (["gpu01, gpu02 and leaf3, leaf4.", "gpu02, gpu03 and leaf3, leaf4."], "gpu01-gpu03 and leaf3, leaf4."),
        (["slow (gpu01) here", "slow (gpu04) here"], "slow (gpu01, gpu04) here"),
        (["goes to leaf1.", "goes to leaf2."], "goes to leaf1, leaf2."),
        (["Ethernet1/1:", "Ethernet1/2:"], "Ethernet1/1, Ethernet1/2:"),
        (["one thing", "another"], "one thing; another"),
        (["a", "b", "c", "d", "e"], "a; b; c; and 2 more"),
    ],
)
def test_texts_that_differ_in_numbers_are_one(texts, merged) -> None:
    assert merged_texts.merged(texts) == merged


@pytest.mark.parametrize("of_finding", [True, False])
def test_findings_with_different_fixes_are_two_entries(of_finding: bool) -> None:
    one, two = record("gpu01"), record("gpu02")
    if of_finding:
        one["findings"][0] |= {"cause": "Global pause is on.", "fix": "ethtool -A ens0 rx off"}
        two["findings"][0] |= {"cause": "Global pause is on.", "fix": "ethtool -A ens1 rx off"}
    else:
        one |= {"cause": "One.", "fix": "Mend one."}
    found = report(one, two)
    assert len(grouping.entries(found)) == 2
    expected = ["ethtool -A ens0 rx off", "ethtool -A ens1 rx off"] if of_finding else ["Mend one.", "Mend it."]
    assert [entry.fix for entry in grouping.entries(found)] == expected


def test_what_no_check_could_read_of_a_node_is_one_line_with_their_names() -> None:
    words = "ethtool: not found on PATH"
    silent = [record("gpu01", check=check, actual=words, verdict="unknown", where=None) for check in ("a", "b", "c", "d")]
    found = report(*silent)
    found["verdict"] = "no_go"
    assert culprits.culprits(found, {"gpu01"}) == {"gpu01": ["preflight/a, b, c and 1 more check"]}


def test_a_warning_beside_a_failure_is_listed() -> None:
    both = record("gpu01", actual="300 Gb/s")
    both["findings"].append({**both["findings"][0], "where": "mlx5_1", "actual": "380 Gb/s", "severity": "warn"})
    found = report(both)
    assert [(entry.verdict, entry.where) for entry in grouping.entries(found, ("warn",))] == [("warn", "gpu01 mlx5_1")]
    assert [(entry.verdict, entry.where) for entry in grouping.entries(found)] == [("fail", "gpu01 mlx5_0")]
    text = render_markdown(found)
    assert "## Warnings" in text and "380 Gb/s" in text and "Warnings: 1, of rails_present" in render_table(found)


def test_a_silent_node_explains_in_the_layer_in_which_it_is_silent_alone() -> None:
    places = {"leaf01": ["gpu01:ens0", "*:leaf01"]}
    silent = record("leaf01", "leaf01", "unknown", "answered", "unreachable", group=None, layer="links")
    below, beside = record("gpu01", "ens0", check="ports_present"), record("gpu01", "ens0", check="ports_present", layer="links")
    entries = grouping.entries(report(below, beside, silent, explained=places))
    assert [(entry.layer, entry.check, entry.explains) for entry in entries] == [("preflight", "ports_present", 0), ("links", "answered", 1)]


def test_a_silent_node_explains_states_that_follow_from_it_and_no_faults_beside_it() -> None:
    silent = record("leaf01", "leaf01", "unknown", "answered", "unreachable", group=None, layer="links")
    crc, down = (record("gpu01", "ens0", check=check, layer="links") for check in ("crc_clean", "ports_present"))
    unread = record("gpu01", "ens0", "unknown", "optic_rx_power", "not reported", layer="links")
    judged = record("gpu01", "ens0", "unknown", "bit_error_rate", "counted too short", layer="links")
    judged["findings"][0]["judged"] = True
    found = report(crc, down, unread, judged, silent, explained={"leaf01": ["gpu01:ens0"]})
    entries = grouping.entries(found)
    assert [entry.check for entry in entries] == ["answered", "crc_clean", "bit_error_rate"]
    assert entries[0].explained == ["ports_present on gpu01 ens0", "optic_rx_power on gpu01 ens0"]
    for text in (render_table(found), render_markdown(found)):
        assert "ports_present on gpu01 ens0" in " ".join(text.replace("\\", "").split())


def test_a_silent_switch_explains_what_hangs_on_it() -> None:
    silent = record("leaf01", "leaf01", "unknown", "answered", "unreachable", group=None)
    followers = [record("gpu01", "ens0"), record("gpu02", "mlx5_0 to gpu03 mlx5_1 (10.51.0.3)")]
    followers[1]["findings"][0]["place"] = {"device": "mlx5_0", "of": "to gpu03 mlx5_1 (10.51.0.3)", "peers": ["gpu03", "10.51.0.3"]}
    entries = grouping.entries(report(*followers, silent, explained={"leaf01": ["gpu01:ens0", "*:10.51.0.3"]}))
    assert [(entry.check, entry.explains) for entry in entries] == [("answered", 2)]


def test_damaged_frames_that_were_passed_on_are_counted_to_the_link_at_which_they_began() -> None:
    begun, behind = (record(host, where, verdict, check="crc_clean") for host, where, verdict in (("leaf01", "Et3/1", "fail"), ("gpu02", "ens1", "unknown")))
    begun["findings"][0]["place"] = at_port("Et3/1").record()
    behind["findings"][0] |= {"origin": ["crc_clean", "leaf01", "Ethernet3/1"], "judged": True}
    (entry,) = grouping.entries(report(behind, begun))
    assert (entry.places, entry.explains, entry.explained) == ([("leaf01", "Et3/1")], 1, ["crc_clean on gpu02 ens1"])
    # Where that link's finding is not asked for or was waived, what came of it is named itself.
    assert [entry.places for entry in grouping.entries(report(behind, begun), ("unknown",))] == [[("gpu02", "ens1")]]


def test_an_entry_names_the_groups_that_it_closes() -> None:
    leaf = record("leaf01", "Ethernet1", affects=["rack_01", "rack_02"], by_group={"rack_01": "fail", "rack_02": "pass"}, group=None)
    assert [entry.groups for entry in grouping.entries(report(leaf))] == [["rack_01"]]


def test_what_one_tool_left_untold_is_one_entry() -> None:
    untold = [record("gpu01", check=check, verdict="unknown", findings=[], words="nvidia-smi: not found on PATH") for check in ("gpus_present", "gpu_errors")]
    entries = grouping.entries(report(*untold))
    assert [entry.checks for entry in entries] == [["gpus_present", "gpu_errors"]] and "was not reported or not measured" in entries[0].cause


def test_what_one_load_that_did_not_start_left_unread_is_one_entry() -> None:
    """Checks of a gate group say of which host as a whole nothing was read; what such a check found of a rank stays an entry of its own."""
    own = {"cause": "The load did not start.", "fix": "Start it."}
    checks = ("node_all_reduce", "rail_all_reduce", "nvls_available")
    unread = [record("gpu01", where="gpu01", check=check, verdict="unknown", actual="it was not loaded: nvidia-smi: not found on PATH") for check in checks]
    for one in unread:
        one["findings"][0] |= own
    rank = record("gpu01", where="rank 3", check="slow_rank", verdict="unknown", actual="it was not loaded: nvidia-smi: not found on PATH")
    found = {tuple(entry.checks): entry for entry in grouping.entries(report(*unread, rank))}
    assert set(found) == {checks, ("slow_rank",)}
    assert found[checks].wanted == "a reading to judge by" and found[checks].cause == own["cause"]


def test_the_words_of_a_check_that_judged_are_not_replaced() -> None:
    """Only what did not answer is to be made to answer."""
    silent, judged, own = (record("gpu01", verdict="unknown", check=check) for check in ("one", "two", "three"))
    judged["findings"][0]["judged"] = True
    own["findings"][0].update(judged=True, cause="A variable forces it.", fix="Remove the variable.")
    words = record("gpu01", verdict="unknown", check="four", findings=[], words="all hosts are alike", judged=True)
    of_check = {entry.check: (entry.cause, entry.fix) for entry in grouping.entries(report(silent, judged, own, words))}
    assert "was not reported or not measured" in of_check["one"][0]
    assert of_check["two"] == of_check["four"] == ("Broken.", "Mend it.")
    assert of_check["three"] == ("A variable forces it.", "Remove the variable.")


def test_findings_of_different_causes_are_two_entries() -> None:
    one, two = record("gpu01"), record("gpu02")
    one["findings"][0]["cause"] = "A variable forces it."
    assert [entry.cause for entry in grouping.entries(report(one, two))] == ["A variable forces it.", "Broken."]


def test_the_table_fits_a_hundred_columns_and_has_colour_only_when_asked() -> None:
    wide = report(record("gpu01", "x" * 300, actual="y " * 200), groups=[f"scalable_unit_{number:02}" for number in range(20)])
    text = render_table(wide)
    assert max(map(len, text.splitlines())) <= 302 and all(len(line) <= 100 for line in text.splitlines() if "x" * 50 not in line)
    assert "\x1b" not in text and "scalable_unit_19" in text and "\x1b[31m" in render_table(wide, colour=True)


def test_device_text_stays_text() -> None:
    nasty = report(record("gpu01", NASTY, actual=NASTY))
    text = render_markdown(nasty)
    assert "\\<script\\>" in text and "\\|" in text and not re.search(r"(?<!\\)<script", text)
    tree = ET.fromstring(render_junit(nasty).partition("\n")[2])
    case = next(case for case in tree.iter("testcase") if case.get("name") == "rails_present gpu01")
    assert "<script>" in case.find("failure").get("message") and "\x00" not in case.find("failure").get("message")
    assert "\x1b[31m<" not in render_table(nasty)


def test_junit_counts_what_it_holds() -> None:
    whole = report(
        record("gpu01"), record("gpu02", verdict="unknown"), record("gpu03", verdict="skip", findings=[], words="no soak"), record("gpu04", verdict="warn")
    )
    suite = ET.fromstring(render_junit(whole).partition("\n")[2]).find("testsuite[@name='preflight']")
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {"tests": "6", "failures": "1", "errors": "2", "skipped": "1"}


def test_the_markdown_report_tells_gates_findings_and_waivers() -> None:
    text = render_markdown(
        report(record("gpu01", waived=[{"host": "gpu02", "finding": "mlx5_0: x", "reason": "spare", "until": "2026-07-01"}]), record("gpu03", verdict="warn"))
    )
    assert "| 0 preflight | CLOSED | open |" in text and "## Warnings" in text and "(until 2026-07-01: spare)" in text and "  - fix: Mend it." in text


def test_checks_with_findings_link_their_documentation(tmp_path: Path) -> None:
    whole, links = report(record("gpu01"), record("gpu02", verdict="pass", findings=[], check="mtu")), CheckLinks(tmp_path, "https://docs.example.com")
    address = "https://docs.example.com/checks.html#rails-present"
    assert render_markdown(whole, links).endswith(f"## Documentation of these checks\n\n- rails_present: <{address}>\n")
    cases = ET.fromstring(render_junit(whole, links).partition("\n")[2]).iterfind("testsuite/testcase")
    linked = {case.get("name"): [one.get("value") for one in case.iterfind("properties/property")] for case in cases}
    assert {name: found for name, found in linked.items() if found} == {"rails_present gpu01": [address]}


def test_a_verdict_comes_first_then_its_reasons_then_its_conditions() -> None:
    good = {**report(), "verdict": "go", "reasons": [], "up_to_layer": "links"}
    assert "GO: pod small, up to layer links, depth standard\n  Conditions: 1 waiver until 2026-12-01\n" in render_table(good)
    assert render_markdown(good).startswith("# small: go, up to layer links\n\nConditions: 1 waiver until 2026-12-01.\n\nRun ")
    assert summary(good).startswith("# small: go, up to layer links\n\nConditions: 1 waiver until 2026-12-01.\n\nRun ")
    closed = [line.strip() for line in render_table(report()).splitlines()]
    assert [line.partition(" ")[0] for line in closed if line.startswith(("NO-GO: pod small", "because", "Conditions: 1 waiver"))] == [
        "NO-GO:", "because", "Conditions:",
    ]  # fmt: skip
    suite = ET.fromstring(render_junit(good).partition("\n")[2]).find("testsuite[@name='verdict']")
    words = suite.findtext("testcase/system-out")
    assert words == "GO: pod small, up to layer links\nConditions: 1 waiver until 2026-12-01" and suite.get("failures") == "0"
    failed = ET.fromstring(render_junit(report()).partition("\n")[2]).find("testsuite[@name='verdict']")
    assert failed.get("failures") == "1" and "rack_01 is held" in failed.find("testcase/failure").get("message")


@pytest.mark.parametrize(
    ("reached", "words"),
    [
        ({"rack_01": 2, "rack_02": 2}, "up to layer links"),
        (
            {"rack_01": 1, "rack_02": 3, "rack_03": 3, "rack_04": 2},
            "every group is proved up to preflight; rack_04 up to links; rack_02, rack_03 up to routing",
        ),
        ({"rack_01": 0, "rack_02": 2}, "no layer is proved for every group; rack_02 up to links"),
        ({"rack_01": 0, "rack_02": 0}, "no layer is proved for every group"),
        ({"rack_01": 2, "rack_02": 1, "rack_03": -1}, "every group is proved up to preflight; rack_01 up to links"),
    ],
)
def test_the_verdict_says_how_far_each_group_has_come(reached: dict[str, int], words: str) -> None:
    whole = report(groups=list(reached))
    names = ("preflight", "links", "routing", "congestion")
    states = {group: ["out_of_scope"] * 4 if top < 0 else [*["open"] * top, "closed", *["not_reached"] * 4] for group, top in reached.items()}
    gates = [{group: {"gate": state[number], "reasons": [], "counts": {}} for group, state in states.items()} for number in range(4)]
    whole["layers"] = [
        {"number": number, "layer": name, "asked": number < 3, "groups": gates[number], "shared": {"counts": {}}} for number, name in enumerate(names)
    ]
    least = min(top for top in reached.values() if top >= 0)
    whole["up_to_layer"] = names[least - 1] if least else None
    assert words + ", depth standard" in " ".join(render_table(whole).split())
    markdown, junit = render_markdown(whole).replace("\\", ""), render_junit(whole)
    for text in (markdown, junit):
        assert words in text


def test_reports_say_where_a_verdict_comes_from() -> None:
    for text in (render_markdown(report()), render_junit(report())):
        for words in ("2026-06-15T12:10:00Z", "operator", "admin01", "2.19.0", "3.11.2", "limit rack", "check", "tags always"):
            assert words in text.replace("\\", ""), words
    text = render_markdown(report())
    assert "pod\\_soak\\_seconds: 1 instead of 300, on 4 nodes" in text and "port\\_speed on gpu09, ens0 (until 2026-12-01) is unused" in text
    assert "port_speed on gpu09, ens0 (until 2026-12-01) is" in render_table(report())


@pytest.mark.parametrize("expired", [False, True])
def test_a_waiver_has_expired_by_its_flag_and_not_by_what_a_device_reports(plan, tmp_path, expired: bool) -> None:
    found = Finding(at_port("Ethernet1"), "no description", "waiver expired on 2020-01-01: as a switch describes its port", "warn", waiver_expired=expired)
    verdict = replace(made_run.verdict(plan, "links", "port_speed", "gpu01"), verdict="warn", findings=(found,))
    book = made_run.make(tmp_path, plan, [verdict], asked=["links"])
    assert ("a waiver has expired" in write_report(book, plan, book.state())["reasons"]) is expired
    assert from_record(verdict.record()).findings == (replace(found, host="gpu01"),)


def conditioned(*waived: dict[str, str], **fields: t.Any) -> list[str]:
    records = [record("gpu01", verdict="skip", findings=[], waived=list(waived))]
    return conditions_of([{"verdicts": records, "quarantined": {}, **fields}])


def test_what_a_verdict_stands_on() -> None:
    first = {"host": "gpu01", "where": "ens0", "finding": "x", "reason": "y", "until": "2026-12-01"}
    assert conditioned() == []
    assert conditioned(first, first) == ["1 waiver until 2026-12-01"]
    assert conditioned(first, {**first, "where": "ens1", "until": "2026-11-01"}) == ["2 waivers, the first until 2026-11-01"]
    read = [{"slice": part, "run": "A", "switches": number, "age_seconds": age} for part, number, age in (("slice_1", 2, 3.4), ("slice_2", 1, 0.0))]
    assert conditioned(shared_readings=read) == ["2 switches read by slice_1, up to 3 s before", "1 switch read by slice_2, up to 0 s before"]
    assert conditioned(shared_readings=[*read, {**read[0], "age_seconds": 9}])[0] == "2 switches read by slice_1, up to 9 s before"
    assert conditioned(resumed=[{"run": "A", "layers": ["preflight", "links"], "minutes": 40}]) == ["preflight and links from run A, 40 min old"]
    assert conditioned(quarantined={"gpu01": {}, "gpu02": {}}) == ["2 hosts left out by quarantine (gpu01, gpu02)"]
    names = ("pod_soak_seconds", "pod_name", "pod_ping_rtt_max_ms", "pod_load_busy_hosts", "pod_flaps_max", "pod_pause_max_percent")
    changed = {name: {"default": DEFAULTS[name], "value": value, "nodes": 1} for name, value in zip(names, (1, "mine", 7, True, 9, 50))}
    assert conditioned(changed_expectations=changed) == [
        "soak 1 s instead of 300", "ping rtt max 7 ms instead of 5", "load busy hosts true instead of False", "2 more values instead of the defaults",
    ]  # fmt: skip


def test_every_number_of_a_threshold_is_reported() -> None:
    assert not [name for name in DESCRIPTION if name not in DEFAULTS]
    # Where a report goes says nothing about what it proves.
    assert {name for name in DEFAULTS if name.startswith("pod_publish")} <= DESCRIPTION
    assert {"pod_soak_seconds", "pod_gate_policy", "pod_ping_peers", "pod_write_bw_min_percent", "pod_rdma_mtu"} <= set(DEFAULTS) - DESCRIPTION


def test_a_run_keeps_what_it_stands_on(plan, tmp_path) -> None:
    for node in plan.nodes.values():
        node.values["pod_waivers"] = [{**UNUSED, "host": "gpu01", "reason": "spare ordered"}, {**UNUSED, "host": "gpu02", "where": "ens1", "reason": "x"}]
        node.values["pod_soak_seconds"] = 1
    waived = replace(made_run.verdict(plan, "links", "port_speed", "gpu01"), verdict="skip")
    waived = replace(waived, waived=({"host": "gpu01", "where": "ens0", "finding": "x", "reason": "spare ordered", "until": "2026-12-01"},))
    book = made_run.make(tmp_path, plan, [waived, made_run.verdict(plan, "links", "port_speed", "gpu02")], asked=["links"])
    state = book.state()
    state.gates["preflight"] = {group: {**gate, "run": "earlier", "time": "2026-06-15T11:20:00Z"} for group, gate in state.gates["links"].items()}
    kept = write_report(book, plan, state)
    assert kept["stands_on"] == ["1 waiver until 2026-12-01", "preflight from run earlier, 40 min old", "soak 1 s instead of 300"]
    assert [(one["host"], one["where"]) for one in kept["unused_waivers"]] == [("gpu02", "ens1")]
    page = made_run.page(book)
    places = [
        page.index(words) for words in (
            "<h1>", "Gate groups in scope: ", "<p class=\"stands\">Conditions: 1 waiver until 2026-12-01; preflight from run earlier, 40 min old; soak 1 s "
            "instead of 300.</p>", "Run ", "<nav",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert "port_speed on gpu02, ens1" in page and "pod_soak_seconds: 1 instead of 300" in page


def test_a_summary_fits_and_counts_what_it_leaves_out() -> None:
    many = report(*(record(f"gpu{number:03}", actual=f"state {chr(97 + number % 26)}{chr(97 + number // 26)}") for number in range(200)))
    text = summary(many, "https://reports.example.com/a_b/report.html")
    assert len(text) <= SUMMARY_CHARACTERS and text.startswith("# ") and "<https://reports.example.com/a_b/report.html>" in text
    shown = text.count("  - cause: ")
    assert 5 < shown < 200 and f"- and {200 - shown} more findings in the report" in text
    few = summary(report(record("gpu001")))
    assert "more findings" not in few and "**fail " in few and few.count("  - fix: ") == 1


def test_a_summary_of_many_groups_shows_those_with_a_closed_gate() -> None:
    groups = [f"rack_{number:02}" for number in range(40)]
    wide = report(record("gpu001"), groups=groups)
    wide["layers"][0]["groups"]["rack_17"]["gate"] = "closed"
    for layer in wide["layers"]:
        for group in groups:
            if group != "rack_17":
                layer["groups"][group]["gate"] = "open"
    text = summary(wide)
    assert " rack\\_17 |" in text and " rack\\_16 |" not in text and "39 more gate groups" in text


def test_culprits_are_the_nodes_with_findings_of_a_no_go() -> None:
    found = report(record("gpu001"), record("gpu002", verdict="warn"), record("leaf01", where="Ethernet1"))
    found["verdict"] = "no_go"
    named = culprits.culprits(found, {"gpu001", "gpu002", "leaf01"})
    assert named == {"gpu001": ["preflight/rails_present at mlx5_0"], "leaf01": ["preflight/rails_present at Ethernet1"]}
    assert culprits.culprits({**found, "verdict": "no_fault_seen"}, {"gpu001"}) == {}
    assert culprits.culprits(found, {"gpu009"}) == {}


def test_of_a_culprit_the_places_of_one_check_are_one_and_five_checks_are_named() -> None:
    records = [record("gpu01", where=f"mlx5_{number}") for number in range(8)] + [record("gpu01", check=f"c{number}") for number in range(6)]
    found = report(*records)
    found["verdict"] = "no_go"
    (lines,) = culprits.culprits(found, {"gpu01"}).values()
    assert lines[0] == "preflight/rails_present at mlx5_0-mlx5_7" and lines[5:] == ["2 more checks"]


@pytest.mark.parametrize("severity", ["fail", "unknown"])
def test_a_finding_with_a_cause_of_its_own_comes_with_it_and_is_not_folded_with_others(severity: str) -> None:
    usual, special = record("gpu01", verdict=severity), record("gpu02", verdict=severity)
    special["findings"][0] |= {"cause": "Global pause is on.", "fix": "ethtool -A ens0 rx off tx off"}
    found = {entry.places[0][0]: entry for entry in grouping.entries(report(usual, special))}
    assert (found["gpu02"].cause, found["gpu02"].fix) == ("Global pause is on.", "ethtool -A ens0 rx off tx off")
    assert found["gpu01"].cause != "Global pause is on."


def test_the_cause_of_a_finding_survives_its_record() -> None:
    found = Finding(at_port("ens0"), "off", "on", cause="Global pause is on.", fix="Switch it off.", began_at=("leaf01", "Et3/1"))
    again = from_record(json.loads(json.dumps(replace(from_record({**record("gpu01"), "findings": []}), findings=(found,)).record())))
    assert [(one.cause, one.fix, one.began_at) for one in again.findings] == [("Global pause is on.", "Switch it off.", ("leaf01", "Et3/1"))]


def test_what_a_lower_layer_found_explains_a_rate_of_the_same_place() -> None:
    skewed = record("leaf03", "Ethernet33/1", "warn", "ecmp_balanced", "1.80 times the mean of 4 uplinks", layer="congestion", group=None)
    elsewhere = record("leaf07", "Ethernet33/1", "warn", "ecmp_balanced", "1.5 times", layer="congestion", group=None, affects=["rack_02"])
    worn = record("gpu02", "mlx5_2", "warn", "nic_bit_error_rate", "3e-06", layer="links")
    other = record("gpu02", "GPU 1", "warn", "gpu_errors", "Xid 63")
    slow = record("gpu01", "all_reduce", check="all_reduce_bandwidth", actual="180 GB/s", layer="collectives")
    its = record("gpu02", "all_reduce", check="all_reduce_bandwidth", actual="170 GB/s", layer="collectives")
    records = [skewed, elsewhere, worn, other, slow, its]
    add_explanations(records)
    known = {name for checks in REGISTRY.values() for name in checks}
    assert known >= explaining_checks.RATES | explaining_checks.OF_PATHS | explaining_checks.OF_HOSTS
    assert [one["check"] for one in slow["findings"][0]["explained_by"]] == ["ecmp_balanced"]
    assert [one["check"] for one in its["findings"][0]["explained_by"]] == ["nic_bit_error_rate", "ecmp_balanced"]
    assert not worn["findings"][0].get("explained_by")
    whole = report(*records)
    whole["layers"] += [{**whole["layers"][0], "layer": name} for name in ("congestion", "collectives")]
    text = render_table(whole)
    assert "explained by:" in text and "warn congestion/ecmp_balanced on leaf03 Ethernet33/1: 1.80 times the mean of 4" in " ".join(text.split())
    assert "explained by warn congestion/ecmp\\_balanced on leaf03" in render_markdown(whole)
    assert "leaf07" not in text


def test_what_follows_from_a_finding_of_its_layer_comes_behind_it() -> None:
    session = record("leaf03", "spine01 (10.0.1.6)", check="bgp_established", actual="Idle with AS 65000", layer="links", group=None)
    paths = [record("leaf03", f"10.5{number}.0.0/24", check="ecmp_paths", actual="3 next hops", layer="links", group=None) for number in range(9)]
    records = [*paths, session]
    add_explanations(records)
    found = grouping.entries(report(*records))
    assert [(entry.check, entry.follows) for entry in found] == [("bgp_established", False), ("ecmp_paths", True)]
    assert list(found[1].explained_by) == ["fail links/bgp_established on leaf03 spine01 (10.0.1.6): Idle with AS 65000"]
    assert (found[1].cause, found[1].fix) == (
        "The finding that explains it.", "Mend the finding that explains it first, then judge it again with -e pod_only=ecmp_paths."
    )  # fmt: skip
    whole, paths = (" ".join(text.split()) for text in render_table(report(*records)).partition("links/ecmp_paths")[::2])
    assert "Broken." in whole and "Broken." not in paths
    assert paths.index("explained by: fail links/bgp_established") < paths.index("cause: The finding that explains it.")


def test_what_was_found_alike_on_several_nodes_explains_in_one_line_and_an_option_keeps_its_value() -> None:
    sessions = [record(f"leaf0{number}", "spine01", check="bgp_established", actual="Idle", layer="links", group=None) for number in range(1, 4)]
    paths = record("leaf01", "10.51.0.0/24", check="ecmp_paths", actual="no route", layer="links", group=None)
    paths["findings"][0]["explained_by"] = [
        {"layer": "links", "check": "bgp_established", "host": one["host"], "where": "spine01", "severity": "fail", "actual": "Idle"} for one in sessions
    ]
    paths["findings"][0]["follows"] = True
    whole = report(*sessions, paths)
    assert "  explained by: fail links/bgp_established on leaf01-leaf03 spine01: Idle" in render_table(whole).splitlines()
    for columns in range(60, 101):
        assert not any(line.endswith(" -e") for line in render_table(whole, columns=columns).splitlines())
    assert "-e pod_only=ecmp_paths" in render_table(whole)


def test_what_may_have_another_cause_than_the_finding_beside_it_names_both() -> None:
    """A session of another leaf that is down is no reason to hide what its own leaf may lack."""
    session = record("leaf06", "spine01 (10.0.1.6)", check="bgp_established", actual="Idle with AS 65000", layer="links", group=None)
    paths = record("leaf03", "10.51.0.0/24", check="ecmp_paths", actual="1 next hop", layer="links", group=None)
    add_explanations([session, paths])
    (narrow,) = [entry for entry in grouping.entries(report(session, paths)) if entry.check == "ecmp_paths"]
    assert narrow.explained_by and narrow.cause == "The finding that explains it. Where it does not: Broken." and narrow.fix.endswith("remains: Mend it.")


def test_a_leaf_that_does_not_mark_explains_the_receivers_on_it_alone() -> None:
    unmarked = record("leaf03", "ECN", check="switch_marks", actual="none on any port", layer="links", group=None)
    receivers = [record(host, "mlx5_4 as receiver", check="ecn_marks_under_load", actual="none", layer="links") for host in ("gpu01", "gpu02")]
    receivers[0]["findings"][0]["leaf"], receivers[1]["findings"][0]["leaf"] = "leaf03", "leaf04"
    add_explanations([*receivers, unmarked])
    assert [[one["host"] for one in each["findings"][0]["explained_by"]] for each in receivers] == [["leaf03"], []]


def test_what_a_lower_layer_found_stays_named_beside_a_finding_of_the_same_layer() -> None:
    worn = [record("gpu01", f"mlx5_{number}", "warn", "nic_bit_error_rate", "3e-06", layer="links") for number in range(9)]
    long = record("gpu01", "rank 0, step 77", check="step_outliers", actual="4556 ms", layer="training")
    unsteady = record("gpu01", "rank 0", check="step_time_stable", actual="74.6 %", layer="training")
    add_explanations([*worn, long, unsteady])
    assert [one["check"] for one in unsteady["findings"][0]["explained_by"]] == [*["nic_bit_error_rate"] * 4, "step_outliers"]
    assert [one["check"] for one in long["findings"][0]["explained_by"]] == ["nic_bit_error_rate"] * 5


def test_what_was_not_reported_stands_behind_an_unknown_that_was_judged() -> None:
    silent = record("gpu01", actual="not reported", verdict="unknown", check="rails_present")
    judged = record("gpu02", actual="two of three", verdict="unknown")
    judged["findings"][0]["judged"] = True
    silent["findings"] += [{**silent["findings"][0], "where": "mlx5_9"}]
    first, second = grouping.entries(report(silent, judged))
    assert (first.where, second.unproved) == ("gpu02 mlx5_0", True) and not first.unproved and len(second.places) > len(first.places)
