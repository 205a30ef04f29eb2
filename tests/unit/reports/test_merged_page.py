# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a merge: a line for each run, its findings where it is opened, and nothing in it that runs."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.merged_page import render_merged_page
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import collection_version
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.kept_slice import Slice, read_slice
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.merge import Merged, headline, merge_slices, merged_summary
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Merged, list[Slice]]:
    """Two slices of one rack each, of which the first has lost a GPU."""
    top = tmp_path_factory.mktemp("merged")
    pods = inprocess.Pods(layout.write(top / "inventory", racks=2, hosts_per_rack=3, spines=2, expectations={"pod_to_layer": "preflight"}))
    for group, faults in (("rack_01", ["gpu_lost"]), ("rack_02", [])):
        pods.climb(pods.pod(faults), top / "runs" / group, groups=[group])
    slices = [read_slice(top / "runs" / group) for group in ("rack_01", "rack_02")]
    return merge_slices(slices, datetime.now(UTC), 60, collection_version(), False), slices


def page(merged: Merged, slices: list[Slice], links: list[str] | None = None, **changed: object) -> str:
    record = {**merged.record("pod", "2026-01-01T00:00:00Z", "1", slices), **changed}
    pages = links or [f"{one.run.name}.html" for one in slices]
    runs = [str(one.run) for one in slices]
    return render_merged_page(record, headline("pod", merged), merged.conditions, dict(zip(runs, (one.report for one in slices))), dict(zip(runs, pages)))


def test_a_finding_stands_below_its_run_and_links_its_report(merged) -> None:
    one, slices = merged
    text = page(one, slices)
    assert one.verdict == "no_go" and '<header class="no_go">' in text
    assert f'<a href="rack_01.html">{slices[0].name}</a>' in text
    runs, _groups = text.split('<section id="groups">')
    found = re.findall(r"<details><summary>(\S+): (\d+) finding", runs)
    assert [name for name, _number in found] == [slices[0].name] and "Closed at preflight: rack_01." in runs
    assert re.search(r"preflight/[\w, ]+</b> on gpu03", runs) and "gpu04" not in runs


def test_each_run_has_its_hosts_and_gates(merged) -> None:
    one, slices = merged
    rows = re.findall(r"<tr><td><a href=[^>]+>.*?</tr>", page(one, slices))
    assert ["<td>3</td>" in row for row in rows] == [True, True]
    assert ['class="gate closed">1 closed' in row for row in rows] == [True, False] and 'class="gate open">1 open' in rows[1]


def test_text_of_a_device_is_no_markup_and_nothing_runs(merged) -> None:
    one, slices = merged
    text = page(one, slices, reasons=["<script>alert(1)</script>\x1b[31m"])
    policy = html.unescape(re.findall(r'Security-Policy" content="([^"]+)"', text)[0])
    assert "<script" not in text and "&lt;script&gt;alert(1)" in text and "\x1b" not in text
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "script" not in policy


def test_a_merge_without_a_run_has_a_page() -> None:
    assert "No run could be read." in page(merge_slices([], datetime.now(UTC), 60, "1", False), [])


def test_a_run_without_a_page_is_not_linked(merged) -> None:
    one, slices = merged
    text = page(one, slices, ["", "rack_02.html"])
    assert f"<td>{slices[0].name}</td>" in text and "which was not published" in text and 'href=""' not in text


def test_the_summary_has_verdict_reasons_and_link(merged) -> None:
    one, _slices = merged
    lines = merged_summary("pod", one, "https://reports.example.com/merge.html").splitlines()
    assert lines[0].startswith("# NO-GO") and any("rack_01 is closed at preflight" in line.replace("\\", "") for line in lines)
    assert lines[-1] == "Report: <https://reports.example.com/merge.html>" and one.closed() == {"preflight": ["rack_01"]}
