# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html as text: what a device said stays text, nothing is left out in silence, and what is drawn is what was told."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import typing as t
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place, at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import charts, checklist, evidence, topology
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.html import PAGE, embedded
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.reader import RunReader
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.control_characters import visible

from tests import made_run

NASTY = "</script><img src=x onerror=alert(1)> \x1b[2J\u202e{{ 7 * 7 }} {% raw %} <!-- evidence --> \"'&\x00 \udcff"


class Seen(HTMLParser):
    """The elements and attributes of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        if tag == "script":
            self._script = dict(attrs).get("id") or f"program {len(self.scripts)}"
            self.scripts[self._script] = ""

    def handle_endtag(self, tag: str) -> None:
        self._script = None if tag == "script" else self._script

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] += data

    def packed(self, number: int) -> t.Any:
        """The evidence in one of the page's chunks."""
        return json.loads(zlib.decompress(base64.b64decode(self.scripts[f"evidence-{number}"]), -zlib.MAX_WBITS))


@pytest.fixture
def book(plan, tmp_path: Path) -> t.Any:
    """A run with a finding on a leaf's port, and what the leaf printed."""
    bad = made_run.verdict(plan, "links", "port_speed", "leaf01", Finding(at_port("Ethernet1"), "connected at 400 Gb/s", "connected at 100 Gb/s"))
    good = [made_run.verdict(plan, "links", "port_speed", node) for node in plan.nodes if node != "leaf01"]
    book = made_run.make(tmp_path / "run", plan, [bad, *good])
    made_run.printed(book, "links", "leaf01", "interface_status", "Ethernet1 connected 100G\n", ["show interfaces status"])
    made_run.printed(book, "links", "gpu01", "interface_status", "Speed: 400000Mb/s\n", ["ethtool", "ens0"])
    return book


def test_what_a_device_reported_is_never_markup(plan, tmp_path: Path) -> None:
    calm, wild = (
        made_run.make(tmp_path / name, plan, [made_run.verdict(plan, "links", "port_speed", "leaf01", Finding(Place(text), text, text), words=text)])
        for name, text in (("calm", "text"), ("wild", NASTY))
    )
    for book, text in ((calm, "text"), (wild, NASTY)):
        made_run.printed(book, "links", "leaf01", "interface_status", text.replace("\udcff", ""), ["show", text])
    ours, theirs = Seen(made_run.page(calm)), Seen(made_run.page(wild))
    assert theirs.elements == ours.elements and [name for name, _value in theirs.attributes] == [name for name, _value in ours.attributes]
    output = json.loads(theirs.scripts["data"])["verdicts"][0][4]
    assert output == visible(NASTY) and "49" not in output and "onerror" in output
    assert "\x1b" not in (wild.run / "report.html").read_text() and "\u202e" not in output
    assert "onerror" in theirs.packed(0)["leaf01"]["texts"][""]


def test_the_page_lets_only_its_own_programs_run(book) -> None:
    text = made_run.page(book)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1].replace("&#39;", "'")
    programs = [own for name, own in Seen(text).scripts.items() if name.startswith("program")]
    hashes = {"'sha256-" + base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() + "'" for own in programs}
    assert len(programs) == 3 and hashes == set(re.search("script-src ([^;]+);", policy)[1].split())
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy


def test_unseen_characters_are_seen() -> None:
    assert visible({"a": ["x\x1b[31m\u202ey\tz\n", 5, None]}) == {"a": ["x\ufffd[31m\ufffdy\tz\n", 5, None]}


def test_every_verdict_and_its_evidence_is_in_the_page(book) -> None:
    seen = Seen(made_run.page(book))
    data, index = json.loads(seen.scripts["data"]), json.loads(seen.scripts["evidence"])
    assert [row[1:4] for row in data["verdicts"] if row[3] != "pass"] == [["leaf01", None, "fail"]] and len(data["verdicts"]) == 8
    assert index == [["links", "interface_status", ["gpu01", "leaf01"], True]]
    assert seen.packed(0)["leaf01"] == {
        "texts": {"": "Ethernet1 connected 100G\n"},
        "commands": [{"argv": ["show interfaces status"], "rc": 0, "status": "ran", "seconds": 0.1, "stderr": ""}],
    }


def test_evidence_without_room_is_reported_as_left_out_and_that_of_findings_stays(book) -> None:
    for number in range(50):
        made_run.printed(book, "routing", "gpu02", f"reading_{number}", str(number) * 50, ["true"])
    kept = RunReader(book.run, book.plan())
    whole = evidence.chunks(kept, {("links", "leaf01")}, 10**6)
    room = len(next(one.packed for one in whole if one.layer == "links"))
    some = evidence.chunks(kept, {("links", "leaf01")}, room)
    assert len(whole) == 51 and all(one.packed for one in whole)
    assert [one.layer for one in some if one.packed] == ["links"] and len(some) == 51


def test_a_run_directory_cannot_lead_out_of_itself(book, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hidden treasure")
    place = book.run / "evidence" / "links"
    (place / "gpu01" / "lsmod.txt").symlink_to(tmp_path / "secret.txt")
    (place / "gpu02").symlink_to(tmp_path, target_is_directory=True)
    output = [chunk.packed for chunk in evidence.chunks(RunReader(book.run, book.plan()), set(), 10**6)]
    text = b"".join(zlib.decompress(base64.b64decode(one), -zlib.MAX_WBITS) for one in output)
    assert b"400000Mb/s" in text and b"treasure" not in text


def test_the_checklist_says_command_expected_got_and_fix(book) -> None:
    report, plan = read_json(book.run / "report.json"), book.plan()
    rows = {row.check.id: row for row in checklist.checklist(report, plan, RunReader(book.run, plan))}
    bad, unjudged = rows["port_speed"], rows["rails_present"]
    assert (bad.verdict, bad.found[0].wanted, bad.fix) == ("fail", "connected at 400 Gb/s", bad.check.fix)
    assert bad.commands == {"eos": "show interfaces status", "linux": "ethtool ens0"} and "leaf01 Ethernet1: connected at 100 Gb/s" in bad.got
    assert bad.groups == "fail in every group"
    assert (unjudged.verdict, unjudged.got) == ("unknown", "nothing was evaluated") and unjudged.fix


def test_a_check_of_how_loads_ended_is_reported_by_what_they_ran() -> None:
    commands = [{"reading": "nic_counters", "argv": ["ethtool"]}, {"reading": "write_bw", "also": ["load_jobs"], "argv": ["ib_write_bw", "-d", "mlx5_0"]}]
    assert checklist._command(REGISTRY["congestion"]["incasts_ran"], commands) == "ib_write_bw -d mlx5_0"
    assert checklist._command(REGISTRY["congestion"]["incasts_ran"], commands[:1]) == ""
    program = ["python3", "/tmp/loads/7/torch_collectives.py", "--sizes", "1048576," * 30]
    result = checklist._command(REGISTRY["collectives"]["no_wrong_values"], [{"reading": "collective_ranks", "also": ["collective_rates"], "argv": program}])
    assert result.startswith("python3 torch_collectives.py --sizes 1048576,") and " ... " in result and result.endswith(",1048576,") and len(result) == 160


def test_a_switch_finding_is_of_the_groups_that_it_touches() -> None:
    record = {"verdict": "fail", "by_group": {"rack_01": "fail"}, "affects": ["rack_01", "rack_02"]}
    assert [checklist.on(record, group) for group in ("rack_01", "rack_02")] == ["fail", "pass"]


def test_the_picture_has_every_node_and_the_bad_cable(book) -> None:
    drawn = topology.topology(read_json(book.run / "report.json"), book.plan())
    verdicts = {name: verdict for name, _row, _place, verdict, _group in drawn["nodes"]}
    assert verdicts == {**dict.fromkeys(book.plan().nodes, "pass"), "leaf01": "fail"}
    assert [link for link in drawn["links"] if link[3] != "pass"] == [["gpu01", "leaf01", 1, "fail", ["leaf01 Ethernet1"]]]


def test_a_node_that_nobody_judged_is_not_drawn_as_well(plan, tmp_path: Path) -> None:
    book = made_run.make(tmp_path / "run", plan, [])
    drawn = topology.topology(read_json(book.run / "report.json"), plan)
    assert {verdict for _name, _row, _place, verdict, _group in drawn["nodes"]} == {"not_reached"}


@pytest.mark.parametrize("chart", charts.charts(), ids=lambda chart: chart.name)
def test_a_declared_chart_draws_columns_that_exist(chart) -> None:
    columns = {column.name for column in catalogue()[chart.reading].columns} | {"node", "group", "seconds", "sample"}
    columns |= {f"job.{column.name}" for column in catalogue()["load_jobs"].columns} if catalogue()[chart.reading].load else set()
    axes = [axis if isinstance(axis, str) else next(iter(axis.values())) for axis in (chart.x, chart.y, chart.series) if axis]
    assert set(chart.only) <= columns
    assert {chart.value, *axes} <= columns and chart.draw in charts.WAYS and chart.worst in ("min", "max")


def chart(way: str, **more: t.Any) -> charts.Chart:
    return charts.Chart("made", "Made", "made", way, "gbit_s", "Gb/s", "min", **more)


def drawn(book: t.Any, one: charts.Chart) -> t.Any:
    return charts.draw(RunReader(book.run, book.plan()), [one])


def test_a_heat_map_keeps_the_worst_of_each_cell(book) -> None:
    rows = [{"target": "10.50.0.2", "device": "mlx5_0", "gbit_s": rate} for rate in (390.0, 71.5)] + [{"target": "10.50.0.9", "gbit_s": 1.0}]
    made_run.result(book, "rdma", "gpu01", made=rows)
    (one,) = drawn(book, chart("heat_map", x={"host_of": "target"}, y="node"))
    assert (one["xs"], one["ys"], one["cells"]) == (["gpu02"], ["gpu01"], [[0, 0, 71.5]])
    jobs = [{"item": "one", "kind": "write_bw", "peer": "gpu03"}, {"item": "two", "kind": "retest", "peer": "gpu02"}]
    made_run.result(book, "rdma", "gpu01", load_jobs=jobs, made=[{"item": item, "device": "mlx5_0", "gbit_s": 71.5} for item in ("one", "two")])
    (by_peer,) = drawn(book, chart("heat_map", x={"host_of": "job.peer"}, y="node", only={"job.kind": "write_bw"}))
    assert (by_peer["xs"], by_peer["cells"]) == (["gpu03"], [[0, 0, 71.5]])
    (by_rail,) = drawn(book, chart("heat_map", x={"rail_of": "device"}, y="node"))
    assert (by_rail["xs"], by_rail["cells"]) == (["rail 0"], [[0, 0, 71.5]])


def test_a_histogram_counts_every_row_that_has_a_value(book) -> None:
    made_run.result(book, "links", "gpu01", made=[{"port": "a", "gbit_s": value} for value in (0.2, 0.4, 0.6, None, -0.1)])
    (one,) = drawn(book, chart("histogram", step=0.5))
    assert (one["bins"], one["series"]) == ([-0.5, 0.0, 0.5], [{"name": "", "counts": [1, 2, 1]}])
    assert one["worst_rows"][0] == ["gpu01", "a", -0.1]


def test_a_curve_is_a_line_a_series_with_what_was_expected(book) -> None:
    made_run.result(
        book, "collectives", "gpu01", made=[{"bytes": size, "hosts": hosts, "gbit_s": size / len(hosts)} for size in (8, 4) for hosts in ("a", "ab")]
    )
    made_run.result(book, "training", "gpu01", made=[{"bytes": 4, "hosts": "other", "gbit_s": 1.0}])
    (one,) = drawn(book, chart("curve", x="bytes", series={"count_of": "hosts"}, only={"hosts": "a*"}, log_x=True, expected="pod_link_gbit_s"))
    assert one["series"] == [{"name": "1 host", "points": [[4, 4.0], [8, 8.0]]}, {"name": "2 hosts", "points": [[4, 2.0], [8, 4.0]]}]


def test_growth_over_time_is_between_samples_and_few_lines_are_drawn(book) -> None:
    for number, node in enumerate(["gpu01", "gpu02", "gpu03", "gpu04"]):
        for at in range(3):
            rows = [{"port": f"p{port}", "gbit_s": 100.0 * at * (number + 1)} for port in range(4)]
            made_run.result(book, "congestion", node, f"during-{at}", 3.0 * at, made=rows)
    (one,) = drawn(book, chart("over_time", series="port", growth=True))
    assert len(one["series"]) == charts.MOST_LINES + 1 and one["series"][0]["points"] == [[3.0, 100.0], [6.0, 100.0]]
    assert one["series"][-1] == {"name": "median of 4 others", "points": [[3.0, 400.0], [6.0, 400.0]]}


def test_a_heat_map_of_growth_is_of_what_grew_in_the_loads_of_its_layer(book) -> None:
    for layer, phase, values in (("rdma", "idle", (5.0, 7.0, 9.0)), ("rdma", "now", (5.0, 17.0, 2.0)), ("collectives", "now", (900.0, 900.0, 900.0))):
        rows = [{"device": "mlx5_0", "name": name, "gbit_s": value} for name, value in zip("abc", values)] + [
            {"device": "mlx5_0", "name": phase, "gbit_s": 99.0}
        ]
        made_run.result(book, layer, "gpu01", phase, made=rows)
    (one,) = drawn(book, chart("heat_map", x={"rail_of": "device"}, y="node", layer="rdma", growth=True))
    assert one["cells"] == [[0, 0, 0.0]], "the worst is the least; c was reset, and a name that is not in both readings has no growth"
    (one,) = drawn(book, chart("heat_map", x={"rail_of": "device"}, y="node", layer="rdma", growth=True, only={"name": "b"}))
    assert one["cells"] == [[0, 0, 10.0]]


def test_a_chart_of_one_layer_takes_no_rows_of_another(book) -> None:
    for layer, rate in (("congestion", 120.0), ("rdma", 390.0)):
        made_run.result(book, layer, "gpu01", made=[{"device": "mlx5_0", "gbit_s": rate}])
    (one,) = drawn(book, chart("heat_map", x={"rail_of": "device"}, y="node", layer="rdma"))
    assert one["cells"] == [[0, 0, 390.0]]


def test_numbers_that_stand_out_are_named_in_the_page(book) -> None:
    lanes = [{"port": "ens0", "lane": lane, "rx_power_dbm": -0.1 * (lane % 3), "part_number": "<b>"} for lane in range(12)]
    made_run.result(book, "links", "gpu01", transceivers=[*lanes, {"port": "ens1", "lane": 1, "rx_power_dbm": -6.5, "part_number": "<b>"}])
    text = made_run.page(book)
    assert "Outliers" in text and "<td>light received</td><td>gpu01 ens1 1</td><td>-6.5 dBm</td><td>-0.1 dBm</td>" in text
    made_run.result(book, "links", "gpu01", transceivers=lanes)
    assert "Outliers" not in made_run.page(book)


def test_a_chart_without_rows_is_not_drawn(book) -> None:
    assert drawn(book, chart("histogram")) == []
    made_run.result(book, "links", "gpu01", made=[{"gbit_s": None}])
    assert drawn(book, chart("histogram")) == []


def test_embedded_data_cannot_end_its_script() -> None:
    text = embedded({"a": "</script><!--&"})
    assert "<" not in text and ">" not in text and "&" not in text and json.loads(text) == {"a": "</script><!--&"}


def test_the_library_is_the_one_that_is_named() -> None:
    digest = hashlib.sha256((PAGE / "echarts.min.js").read_bytes()).hexdigest()
    assert digest in (PAGE / "README.md").read_text(encoding="utf-8")
