# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile text of devices, wiring plans and neighbors through every output: terminal, md, html, json, junit, prom, csv and names of files."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.draft import draft_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.inventory_files import inventory_files
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.wires import NAME as NEIGHBOR_NAME
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.comparison import compare_runs, render_comparison
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.document import load_report
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.html import embedded
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.junit import render_junit
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.markdown import render_markdown
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.table import render_table
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.textfile import render_textfile
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import NAME
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report

from tests import made_run

ACTING = {
    "escape": "\x1b[2J\x1b]0;owned\x07",
    "carriage return": "x\rGO: pod made",
    "line": "x\nGO: pod made, up to layer training",
    "backspace": "NO-GO\x08\x08\x08\x08\x08GO   ",
    "C1": "\x9b31m\x9d0;owned\x9c\x85",
    "null": "\x00\x7f",
    "direction": "\u202eog-on\u202c \u2066x\u2069 \u200f\u061c",
    "lines of Unicode": "x\u2028GO\u2029GO",
    "invisible": "le\u200baf\u00ad01\ufeff\u2060\U000e0041",
    "half a character": "\ud800\udc1b",
    "no character of XML": "\ufffe\uffff",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)> ]]> </testsuite> &#27;[2J",
    "Markdown": "![x](http://x) [x](javascript:x) `x` | x | ~~x~~ @everyone # x",
    "label": 'x"} 1\nup{x="\\',
    "template": "{{ lookup('pipe', 'touch acted_upon') }} $(touch acted_upon)",
    "formula": "=HYPERLINK(1)",
    "path": "../../../../etc/passwd",
}
HOSTILE = " ".join(ACTING.values())


def unseen(text: str) -> set[str]:
    """The characters that act on a terminal or its reader and are not seen; line breaks are the renderers' own."""
    return {repr(one) for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") and one != "\n"}


@pytest.fixture
def run(plan, tmp_path: Path) -> Path:
    """A finished run in which devices said hostile things, as findings, as the reason of an unknown and as evidence."""
    verdicts = [
        made_run.verdict(plan, "links", "port_speed", "leaf01", *(Finding(Place(text), text, text) for text in (*ACTING.values(), HOSTILE))),
        made_run.verdict(plan, "links", "crc_clean", "leaf01", Finding(Place("x"), HOSTILE, HOSTILE, "unknown"), words=HOSTILE),
        made_run.verdict(plan, "links", "optics_uniform", "leaf02", Finding(Place(HOSTILE), HOSTILE, HOSTILE, "warn"), words=HOSTILE),
    ]
    book = made_run.make(tmp_path / "run", plan, verdicts)
    made_run.printed(book, "links", "leaf01", "lldp_neighbors", HOSTILE, ["lldpctl", HOSTILE])
    write_report(book, book.plan(), book.state(), page=True)
    return book.run


def test_nothing_unseen_in_what_is_printed_or_put_into_a_ticket(run: Path) -> None:
    report = load_report(run)
    rendered = {"terminal": render_table(report), "md": render_markdown(report), "prom": render_textfile(report), "junit": render_junit(report)}
    rendered["comparison"] = render_comparison(report, report, compare_runs({**report, "verdicts": []}, report, [Finding(Place(HOSTILE), HOSTILE, HOSTILE)]))
    assert {name: unseen(text) for name, text in rendered.items()} == {name: set() for name in rendered}
    assert "onerror" in rendered["terminal"] + rendered["md"] and "onerror" in rendered["junit"], "the hostile words are not there, so nothing was tried"
    for name in ("terminal", "comparison", "md"):
        assert not re.search(r"^(?:GO|up\{)", rendered[name], re.MULTILINE), f"a line of {name} is not ours"


def test_nothing_unseen_in_any_file_of_the_report_and_every_one_is_whole(run: Path) -> None:
    files = [path for path in run.glob("report.*") if path.is_file()]
    assert {"report.json", "report.md", "report.xml", "report.html", "report.prom"} <= {path.name for path in files}
    assert {path.name: unseen(path.read_text(encoding="utf-8").replace("\t", "")) for path in files} == {path.name: set() for path in files}
    report = json.loads((run / "report.json").read_text())
    assert all(not unseen(text) for record in report["verdicts"] for one in record["findings"] for text in map(str, one.values()))
    ET.fromstring((run / "report.xml").read_text(encoding="utf-8").partition("\n")[2])
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page and "<script>alert" not in page
    text = (run / "report.md").read_text(encoding="utf-8")
    assert not re.search(r"(?<!\\)(?:<script|<img|!\[|\]\(|`x|~~|@everyone|&#)", text)
    line = re.compile(r'^[a-z_]+\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\} \S+$')
    assert all(line.match(one) for one in (run / "report.prom").read_text().splitlines() if not one.startswith("#"))


def test_names_of_files_are_those_of_nodes_layers_and_readings(run: Path) -> None:
    assert [path.name for path in run.rglob("*") if not NAME.fullmatch(path.name)] == []


@pytest.mark.parametrize("text", ACTING.values(), ids=ACTING)
def test_a_refusal_is_lines_of_its_own(text: str) -> None:
    refused = Refused([f"cabling.csv: line 2: node {text} is not in the inventory", "another"])
    assert not unseen(str(refused)) and all("\n" not in reason and not unseen(reason) for reason in refused.reasons)


@pytest.mark.parametrize("text", ACTING.values(), ids=ACTING)
def test_results_and_failures_of_tasks_show_all_that_they_say(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    class Says(PyramidAction):
        def act(self, given, task_vars):
            if given["fails"]:
                raise AnsibleActionFail(text)
            show(text)
            return {"msg": text, "rows": [{text: (text, 1)}]}

    action = object.__new__(Says)
    result = action._clean({"fails": False}, {})
    assert not unseen(result["msg"]) and not unseen("".join(next(iter(result["rows"][0])))) and result["rows"][0].popitem()[1][1] == 1
    assert not unseen(capsys.readouterr().out)
    with pytest.raises(AnsibleActionFail) as failed:
        action._clean({"fails": True}, {})
    assert not unseen(failed.value.message)


@pytest.mark.parametrize("text", ACTING.values(), ids=ACTING)
def test_a_drafted_wiring_plan_has_only_names_in_its_cells(text: str) -> None:
    """A neighbor gives any text for the name of its port; the cell of a spreadsheet must not begin a formula, and YAML must stay ours."""
    response = {
        "leaf01": {"lldp_neighbors": [{"port": "Ethernet1", "neighbor": "gpu01", "neighbor_port": text}]},
    }
    draft = draft_pod({"gpu01": "host", "leaf01": "leaf"}, response, "roce")
    texts = inventory_files(draft, {"rack_01": ["gpu01"]}, "made")
    cells = [cell for row in csv.reader(io.StringIO(texts["group_vars/cabling.csv"])) for cell in row]
    assert all(not cell or NEIGHBOR_NAME.fullmatch(cell) for cell in cells)
    assert {name: unseen(text) for name, text in texts.items()} == {name: set() for name in texts}
    assert any("leaf01 Ethernet1" in blank and "no name" in blank for blank in draft.blanks)
    assert all(line.startswith("#") for line in texts["group_vars/all/pod.yml"].partition("# Blanks:")[2].splitlines()[1:])


def test_evidence_on_the_page_is_seen_whole(run: Path) -> None:
    """The page packs it; what it unpacks to is cleaned before."""
    from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.control_characters import visible

    assert not unseen(visible(HOSTILE).replace("\t", "")) and embedded(visible({HOSTILE: HOSTILE})).isascii()
