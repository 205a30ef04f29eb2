# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs and node checks leave to the history, and what becomes of it."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.series import all_series
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.export import export_parquet
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.findings import Findings, findings_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.of_node_check import Refused, entries_of_journal
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.schema import TABLES
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.history_page import render_history_page, render_history_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.history_textfile import render_history_textfile
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.history import keep_history
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

NOW = 2_000_000_000.0
LINE = re.compile(r'^gpufabric_pyramid_(\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)+)\} (\S+)$')


class Kept(t.NamedTuple):
    """A history of two climbs, of a healthy pod and of one with faults, and what it comes to."""

    path: Path
    findings: Findings


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    place = tmp_path_factory.mktemp("history")
    path = place / "history.db"
    steering = {"pod_name": "small", "pod_history": str(path)}
    pods = inprocess.Pods(layout.write(place / "pod", racks=1, hosts_per_rack=4, spines=2, expectations=steering))
    for number, (layer, faults) in enumerate([("rdma", ()), ("links", ("gpu_lost", "xid_79"))]):
        run = place / f"run{number}"
        report = pods.climb(pods.pod(faults), run, pod_to_layer=layer)
        store = RunStore(run)
        keep_history(store, pods.plan, store.state(), t.cast(t.Any, report))
    with History(path, create=False) as history:
        # A run of this simulated pod ends now; two within one second are in the order in which they were added.
        return Kept(path, findings_of(history, "small", NOW, 10_000, ["gpu03", "gpu01"]))


def rows(path: Path, question: str, *values: t.Any) -> list[tuple[t.Any, ...]]:
    with History(path, create=False) as history:
        return [tuple(row.values()) for row in history.rows(question, *values)]


def test_a_run_leaves_verdicts_findings_numbers_and_parts(kept: Kept) -> None:
    assert rows(kept.path, "SELECT source, verdict FROM entry ORDER BY id") == [("run", "go"), ("run", "no_go")]
    assert rows(kept.path, "SELECT entry, verdict FROM outcome WHERE node = 'gpu03' AND layer = 'preflight' ORDER BY entry") == [(1, "pass"), (2, "fail")]
    assert rows(kept.path, "SELECT node, layer, \"check\", verdict FROM finding WHERE node = 'gpu03' AND \"check\" = 'gpus_present'")
    (light,) = rows(kept.path, "SELECT COUNT(*) FROM number WHERE metric = 'light_received' AND low IS NOT NULL AND high > low AND port != ''")
    assert light[0] > 20
    bandwidth = rows(kept.path, "SELECT DISTINCT node, place LIKE '% 1048576', low FROM number WHERE metric = 'write_bandwidth'")
    assert {node for node, _whole, _low in bandwidth} == {"gpu01", "gpu02", "gpu03", "gpu04"}
    # Of the message sizes of layer 4's curve no rate is required.
    assert {(whole, low) for _node, whole, low in bandwidth} == {(1, 350.0), (0, None)}
    parts = dict(rows(kept.path, "SELECT kind, COUNT(*) FROM part WHERE entry = 1 GROUP BY kind"))
    assert set(parts) == {"software", "gpu", "optic", "cable"} and parts["gpu"] == 32
    # Of the second climb only what differs; a GPU that is gone has no row.
    assert rows(kept.path, "SELECT COUNT(*) FROM part WHERE entry = 2") == [(0,)]


def test_a_run_leaves_counters_of_ports_nics_and_gpus(kept: Kept) -> None:
    found = rows(kept.path, "SELECT DISTINCT metric, port != '' FROM number WHERE entry = 1 AND node = 'gpu01'")
    counters = {metric: of_port for metric, of_port in found if metric in all_series()}
    ports = dict.fromkeys(("link_losses", "symbol_errors", "fcs_errors"), 1)
    assert counters == {**ports, **dict.fromkeys(("retransmissions", "timeouts", "out_of_sequence", "xids"), 0)}
    of_switches = rows(kept.path, "SELECT DISTINCT metric FROM number WHERE entry = 1 AND node NOT LIKE 'gpu%'")
    assert {"link_changes", "corrected", "uncorrectable", "pre_fec_ber"} <= {metric for (metric,) in of_switches}
    xids = "SELECT place, value FROM number WHERE metric = 'xids' AND node = 'gpu03' AND value > 0 AND entry = ?"
    assert rows(kept.path, xids, 1) == [] and rows(kept.path, xids, 2) == [("gpu03 0000:9d:00", 1.0)]


def test_only_ports_of_the_wiring_plan_have_limits(kept: Kept) -> None:
    """Each switch has one further port that is up."""
    without = rows(kept.path, "SELECT DISTINCT node, port FROM number WHERE metric = 'pre_fec_ber' AND high IS NULL")
    assert {port for node, port in without if node.startswith("leaf")} == {"Ethernet47/1"} and len(without) == len({node for node, _port in without})
    assert rows(kept.path, "SELECT COUNT(*) > 20 FROM number WHERE metric = 'pre_fec_ber' AND high > 0") == [(1,)]


def test_the_node_that_turned_bad_comes_first(kept: Kept) -> None:
    found = kept.findings
    assert [one.node for one in found.risks] == ["gpu03", "gpu01"] and found.risks[0].probability == 1
    assert [turn.node for turn in found.turns][:1] == ["gpu03"]
    assert found.nodes["gpu03"].bad and "gpus_present" in found.nodes["gpu03"].checks


def test_page_text_and_metrics_say_the_same(kept: Kept) -> None:
    page, text = render_history_page(kept.findings), render_history_text(kept.findings, kept.findings.risks[:1])
    assert "What changed before a node turned bad" in page and ">gpu03<" in page and "<script" not in page
    assert "validate next: -e pod_only=gpu03\n" in text and "bad now: gpu03" in text
    lines = [line for line in render_history_textfile(kept.findings).splitlines() if not line.startswith("#")]
    assert all(LINE.match(line) for line in lines)
    assert 'gpufabric_pyramid_node_bad{pod="small",node="gpu03"} 1' in lines
    assert 'gpufabric_pyramid_node_risk{pod="small",node="gpu03"} 1' in lines


def test_a_history_that_cannot_be_written_costs_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "history.db").write_text("something else, and more than a header of a database\n" * 20, encoding="ascii")
    directory = layout.write(tmp_path / "pod", racks=1, hosts_per_rack=2, spines=1, expectations={"pod_history": str(tmp_path / "history.db")})
    pods = inprocess.Pods(directory)
    report = pods.climb(pods.pod(), tmp_path / "run", pod_to_layer="preflight")
    store = RunStore(tmp_path / "run")
    keep_history(store, pods.plan, store.state(), t.cast(t.Any, report))
    assert "WARNING: this run is not in the pod's history: " in "".join(capsys.readouterr())


def line(**changed: t.Any) -> str:
    found = [{"layer": "links", "check": "port_errors", "verdict": "fail", "words": "", "findings": [{"where": "ens0", "expected": "0", "actual": "7"}]}]
    numbers = [["light_received", "ens0", 1, -2.5, "dBm", -10.0, None], ["symbol_errors", "ens0", None, 3, "errors", None, None]]
    known = {"pod": "small", "node": "gpu01", "plan_digest": "d", "version": "1", "status": "FAIL", "time": 1000}
    return json.dumps({**known, "layers": {"links": "fail", "preflight": "pass"}, "found": found, "numbers": numbers, **changed})


def test_a_journal_becomes_entries(tmp_path: Path) -> None:
    with History(tmp_path / "h") as history:
        for one in entries_of_journal("small", "gpu01", f"{line()}\n{line(time=2000)}\n", 3000):
            assert history.add(one)
        # A journal is taken in again with all that it told before.
        assert [history.add(one) for one in entries_of_journal("small", "gpu01", f"{line()}\n{line(time=2000)}\n", 3000)] == [False, False]
    assert rows(tmp_path / "h", "SELECT place, verdict, actual FROM finding WHERE entry = 1") == [("ens0", "fail", "7")]
    assert rows(tmp_path / "h", "SELECT place, value, low FROM number WHERE entry = 2") == [("gpu01 ens0 1", -2.5, -10.0), ("gpu01 ens0", 3.0, None)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"), ("[]", "must be a mapping"), (line(node="gpu02"), "is of gpu02"), (line(pod="other"), "of pod other"),
        (line(time=9000), "from the future"), (line(layers={"links": "go"}), "field layers.links"), (line(layers={"top": "pass"}), "field layers"),
        (line(numbers=[["light_received", "ens0", 1, "x", "dBm", None, None]]), r"field numbers\[0\]\[3\]"), (line(found=[{}]), "field found"),
    ],
)  # fmt: skip
def test_a_line_that_is_none_of_this_host_is_refused_after_those_before(text: str, words: str) -> None:
    found = entries_of_journal("small", "gpu01", f"{line()}\n{text}\n{line(time=2000)}\n", 3000)
    assert next(found).time == 1000
    with pytest.raises(Refused, match=f"line 2.*{words}"):
        next(found)


def test_all_rows_are_exported_as_parquet(kept: Kept, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with History(kept.path, create=False) as history:
        written = export_parquet(history, tmp_path / "parquet")
    assert [path.name for path in written] == [f"{table}.parquet" for table in TABLES]
    assert {path.stat().st_mode & 0o777 for path in written} == {0o600}
    for path in written:
        assert parquet.read_table(path).num_rows == rows(kept.path, f"SELECT COUNT(*) FROM {path.stem}")[0][0]


def test_parquet_without_pyarrow_is_refused_with_what_it_needs(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with History(kept.path, create=False) as history, pytest.raises(RunError, match="needs the Python package pyarrow"):
        export_parquet(history, tmp_path / "parquet")
