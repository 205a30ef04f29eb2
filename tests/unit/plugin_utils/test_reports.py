# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person and a machine read at the end of a run."""

from __future__ import annotations

import re
import typing as t
from xml.etree import ElementTree as ET

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import folding, junit, markdown, table

NASTY = "\x1b[31m<script>alert(1)</script>|`x`\x00 {{ lookup('pipe', 'id') }}"


def record(host: str, where: str = "mlx5_0", verdict: str = "fail", check: str = "rails_present", actual: str = "Down", **more: t.Any) -> dict[str, t.Any]:
    finding = {"where": where, "expected": "Active", "actual": actual, "severity": verdict, "host": host, "leaf": more.pop("leaf", None)}
    base = {"layer": "preflight", "check": check, "group": "rack_01", "host": host, "verdict": verdict, "affects": ["rack_01"], "statement": "It is up."}
    return {**base, "words": "", "findings": [finding], "waived": [], "cause": "Broken.", "fix": "Mend it.", "remedy": None, "left_out": False, **more}


def report(*records: dict[str, t.Any], groups: t.Sequence[str] = ("rack_01", "rack_02"), explained: dict[str, list[str]] | None = None) -> dict[str, t.Any]:
    gates = {
        group: {"gate": "closed" if number == 0 else "open", "reasons": ["x is fail"], "time": None, "counts": {"pass": 1}}
        for number, group in enumerate(groups)
    }
    layers = [{"number": number, "layer": name, "asked": True, "groups": gates, "shared": {"counts": {}}} for number, name in enumerate(("preflight", "links"))]
    return {
        "pod": "small", "run_id": "1", "depth": "standard", "mode": "full", "version": "0.1.0", "verdict": "no_go", "reasons": ["rack_01 is held"],
        "up_to_layer": None, "replayed_from": "", "layers": layers, "explained": explained or {}, "verdicts": list(records),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        (["gpu01", "gpu02", "gpu03"], "gpu01-gpu03"),
        (["gpu01", "gpu02"], "gpu01, gpu02"),
        (["gpu10", "gpu9", "gpu8", "x"], "gpu8-gpu10, x"),
        (["Ethernet1/1", "Ethernet2/1", "Ethernet3/1"], "Ethernet1/1-Ethernet3/1"),
        (list("acegik"), "a, c, e, g and 2 more"),
    ],
)
def test_names_fold_into_ranges(names, folded) -> None:
    assert folding.ranges(names) == folded


def test_findings_that_say_the_same_are_one_entry() -> None:
    entries = folding.entries(report(*(record(f"gpu{number:02}", leaf="leaf01") for number in range(1, 33))))
    assert len(entries) == 1 and entries[0].where == "gpu01-gpu32 mlx5_0" and entries[0].size == " (32 findings, all on leaf01)"
    two = folding.entries(report(record("gpu01"), record("gpu02", actual="Polling")))
    assert [entry.actual for entry in two] == ["Down", "Polling"]


def test_a_silent_switch_explains_what_hangs_on_it() -> None:
    silent = record("leaf01", "leaf01", "unknown", "answered", "unreachable", group=None)
    followers = [record("gpu01", "ens0"), record("gpu02", "mlx5_0 to gpu03 mlx5_1 (10.51.0.3)")]
    entries = folding.entries(report(*followers, silent, explained={"leaf01": ["gpu01:ens0", "*:10.51.0.3"]}))
    assert [(entry.check, entry.explains) for entry in entries] == [("answered", 2)]


def test_an_entry_names_the_groups_that_it_closes() -> None:
    leaf = record("leaf01", "Ethernet1", affects=["rack_01", "rack_02"], by_group={"rack_01": "fail", "rack_02": "pass"}, group=None)
    assert [entry.groups for entry in folding.entries(report(leaf))] == [["rack_01"]]


def test_what_one_tool_left_untold_is_one_entry() -> None:
    untold = [record("gpu01", check=check, verdict="unknown", findings=[], words="nvidia-smi: not found on PATH") for check in ("gpus_present", "gpu_errors")]
    entries = folding.entries(report(*untold))
    assert [entry.checks for entry in entries] == [["gpus_present", "gpu_errors"]] and "could not be read" in entries[0].cause


def test_the_table_fits_a_hundred_columns_and_has_colour_only_when_asked() -> None:
    wide = report(record("gpu01", "x" * 300, actual="y " * 200), groups=[f"scalable_unit_{number:02}" for number in range(20)])
    text = table.render(wide)
    assert max(map(len, text.splitlines())) <= 302 and all(len(line) <= 100 for line in text.splitlines() if "x" * 50 not in line)
    assert "\x1b" not in text and "scalable_unit_19" in text and "\x1b[31m" in table.render(wide, colour=True)


def test_device_text_stays_text() -> None:
    nasty = report(record("gpu01", NASTY, actual=NASTY))
    text = markdown.render(nasty)
    assert "\\<script\\>" in text and "\\|" in text and not re.search(r"(?<!\\)<script", text)
    tree = ET.fromstring(junit.render(nasty).partition("\n")[2])
    case = next(case for case in tree.iter("testcase") if case.get("name") == "rails_present gpu01")
    assert "<script>" in case.find("failure").get("message") and "\x00" not in case.find("failure").get("message")
    assert "\x1b[31m<" not in table.render(nasty)


def test_junit_counts_what_it_holds() -> None:
    whole = report(
        record("gpu01"), record("gpu02", verdict="unknown"), record("gpu03", verdict="skip", findings=[], words="no soak"), record("gpu04", verdict="warn")
    )
    suite = ET.fromstring(junit.render(whole).partition("\n")[2]).find("testsuite")
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {"tests": "6", "failures": "1", "errors": "2", "skipped": "1"}


def test_the_markdown_report_tells_gates_findings_and_waivers() -> None:
    text = markdown.render(
        report(record("gpu01", waived=[{"host": "gpu02", "finding": "mlx5_0: x", "reason": "spare", "until": "2026-07-01"}]), record("gpu03", verdict="warn"))
    )
    assert "| 0 preflight | CLOSED | open |" in text and "## Warnings" in text and "(until 2026-07-01: spare)" in text and "  - fix: Mend it." in text
