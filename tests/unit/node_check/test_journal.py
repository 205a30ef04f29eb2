# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host remembers of its own checks: as its pod's history takes it in, and no more than it may be."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.of_node_check import entries_of_journal
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check import journal
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import load_node_plan, node_plan_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.outcome import Outcome, outcome_of
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess

ID = "0123456789abcdef0123456789abcdef"
NOTHING: t.Any = {"readings": {}}
GOOD = Verdict("links", "port_errors", "rack_01", "gpu03", "pass", ("rack_01",), "No port has errors.", "", ())
BAD = replace(GOOD, verdict="fail", findings=(Finding(at_port("ens0"), "0", "7 symbol errors"),))


def outcome(pods: inprocess.Pods, *verdicts: Verdict) -> Outcome:
    return outcome_of(load_node_plan(node_plan_text(pods.plan, "gpu03", ID, "1", (), ""), ID), verdicts, "", 1.0)


def lines(directory: Path, name: str = journal.NAME) -> list[dict[str, t.Any]]:
    return [json.loads(line) for line in (directory / name).read_text(encoding="utf-8").splitlines()]


def test_a_line_is_written_where_something_changed_and_once_an_hour(tmp_path: Path, pods: inprocess.Pods) -> None:
    told = [(0, GOOD), (300, GOOD), (600, BAD), (900, BAD), (1200, GOOD), (4799, GOOD), (4800, GOOD)]
    for at, verdict in told:
        journal.note(tmp_path, outcome(pods, verdict), NOTHING, float(at))
    assert [one["time"] for one in lines(tmp_path)] == [0, 600, 1200, 4800]
    assert (tmp_path / journal.NAME).stat().st_mode & 0o777 == 0o600


def test_the_history_takes_it_in(tmp_path: Path, pods: inprocess.Pods) -> None:
    ports = {"port": "ens0", "lane": 1, "rx_power_dbm": -2.0, "rx_low_alarm_dbm": -10.0, "rx_high_alarm_dbm": 4.0}
    errors = {"port": "ens0", "symbol_errors": 7, "fcs_errors": None}
    readings: t.Any = {"readings": {name: {"status": "ok", "rows": [row]} for name, row in (("transceivers", ports), ("interface_errors", errors))}}
    journal.note(tmp_path, outcome(pods, BAD, replace(GOOD, layer="preflight", verdict="unknown", words="no tool")), readings, 1000.0)
    (entry,) = entries_of_journal("small", "gpu03", (tmp_path / journal.NAME).read_text(encoding="utf-8"), 2000.0)
    assert sorted((one.layer, one.verdict) for one in entry.outcomes) == [("links", "fail"), ("preflight", "unknown")]
    assert sorted((one.check, one.place, one.actual) for one in entry.findings) == [("port_errors", "", "no tool"), ("port_errors", "ens0", "7 symbol errors")]
    assert [(one.metric, one.place, one.value, one.low) for one in entry.numbers] == [
        ("light_received", "gpu03 ens0 1", -2.0, -10.0), ("symbol_errors", "gpu03 ens0", 7.0, None),
    ]  # fmt: skip


def test_two_files_of_a_bounded_size_are_kept(tmp_path: Path, pods: inprocess.Pods, monkeypatch: t.Any) -> None:
    monkeypatch.setattr(journal, "MOST_BYTES", 2000)
    for number in range(40):
        journal.note(tmp_path, outcome(pods, GOOD if number % 2 else BAD), NOTHING, number * 300.0)
    assert lines(tmp_path)[-1]["time"] == 39 * 300
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4000 and len(list(tmp_path.iterdir())) == 2
    times = [one["time"] for name in (journal.OLDER, journal.NAME) for one in lines(tmp_path, name)]
    assert times == sorted(times)


def test_a_damaged_journal_begins_anew(tmp_path: Path, pods: inprocess.Pods) -> None:
    (tmp_path / journal.NAME).write_text("half a li", encoding="ascii")
    journal.note(tmp_path, outcome(pods, GOOD), NOTHING, 1000.0)
    assert [one["time"] for one in lines(tmp_path)] == [1000]
    assert (tmp_path / journal.OLDER).read_text(encoding="utf-8") == "half a li"
