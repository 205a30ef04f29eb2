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
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.judging import own_readings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import NodePlan, load_node_plan, node_plan_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.outcome import outcome_of
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess

ID = "0123456789abcdef0123456789abcdef"
SILENT: t.Any = {"asked_at": None, "uptime_seconds": None, "readings": {}}
GOOD = Verdict("links", "port_errors", "rack_01", "gpu03", "pass", ("rack_01",), "No port has errors.", "", ())
BAD = replace(GOOD, verdict="fail", findings=(Finding(at_port("ens0"), "0", "7 symbol errors"),))


def own(pods: inprocess.Pods) -> NodePlan:
    return load_node_plan(node_plan_text(pods.plan, "gpu03", ID, "1", (), ""), ID)


def noted(directory: Path, pods: inprocess.Pods, now: t.Any, at: float, *verdicts: Verdict) -> None:
    """A check whose verdicts and readings are noted at a time."""
    journal.note(directory, own(pods), outcome_of(own(pods), verdicts, "", 1.0), now, at)


def answered(**readings: t.Any) -> t.Any:
    """What a host that booted at 400 s reports at 1000 s."""
    return {"asked_at": 1000.0, "uptime_seconds": 600.0, "readings": {name: {"status": "ok", "rows": rows} for name, rows in readings.items()}}


def lines(directory: Path, name: str = journal.NAME) -> list[dict[str, t.Any]]:
    return [json.loads(line) for line in (directory / name).read_text(encoding="utf-8").splitlines()]


def test_a_line_is_written_where_something_changed_and_once_an_hour(tmp_path: Path, pods: inprocess.Pods) -> None:
    told = [(0, GOOD), (300, GOOD), (600, BAD), (900, BAD), (1200, GOOD), (4799, GOOD), (4800, GOOD)]
    for at, verdict in told:
        noted(tmp_path, pods, SILENT, float(at), verdict)
    assert [one["time"] for one in lines(tmp_path)] == [0, 600, 1200, 4800]
    assert (tmp_path / journal.NAME).stat().st_mode & 0o777 == 0o600


def test_the_history_takes_it_in(tmp_path: Path, pods: inprocess.Pods) -> None:
    lane = {"lane": 1, "rx_low_alarm_dbm": -10.0, "rx_high_alarm_dbm": 4.0}
    port = str(pods.plan.rails()[0]["netdev"])
    lights = [{**lane, "port": port, "rx_power_dbm": -2.0}, {**lane, "port": "ens0", "rx_power_dbm": -40.0}]
    errors = {"port": "ens0", "symbol_errors": 7, "fcs_errors": None}
    noted(
        tmp_path,
        pods,
        answered(transceivers=lights, interface_errors=[errors]),
        1000.0,
        BAD,
        replace(GOOD, layer="preflight", verdict="unknown", words="no tool"),
    )
    (entry,) = entries_of_journal("small", "gpu03", (tmp_path / journal.NAME).read_text(encoding="utf-8"), 2000.0)
    assert sorted((one.layer, one.verdict) for one in entry.outcomes) == [("links", "fail"), ("preflight", "unknown")]
    assert sorted((one.check, one.place, one.actual) for one in entry.findings) == [("port_errors", "", "no tool"), ("port_errors", "ens0", "7 symbol errors")]
    assert [(one.metric, one.place, one.value, one.low) for one in entry.numbers] == [
        ("booted", "gpu03", 400.0, None), ("light_received", f"gpu03 {port} 1", -2.0, -10.0),
        ("light_received", "gpu03 ens0 1", -40.0, None), ("symbol_errors", "gpu03 ens0", 7.0, None),
    ], "the plan has no cable at ens0, whose light is nobody's fault"  # fmt: skip


def test_counters_of_nics_and_xids_of_gpus_are_of_their_own_places(tmp_path: Path, pods: inprocess.Pods) -> None:
    counters = [{"device": "mlx5_0", "name": name, "value": value} for name, value in (("local_ack_timeout_err", 3), ("packet_seq_err", 4), ("np_cnp_sent", 9))]
    gpus = [{"pci": f"0000:{slot}:00.0", "uuid": f"GPU-{slot}"} for slot in ("1b", "9d")]
    log = [{"event": "xid", "device": "0000:9D:00", "code": code} for code in (79, 154, 13)] + [{"event": "link_down", "device": "0000:1b:00.0", "code": None}]
    bits = [{"netdev": "ens0", "name": "rx_corrected_bits_phy", "value": 12}]
    noted(tmp_path, pods, answered(rdma_counters=counters, gpus=gpus, kernel_log=log, nic_counters=bits), 1000.0, GOOD)
    (entry,) = entries_of_journal("small", "gpu03", (tmp_path / journal.NAME).read_text(encoding="utf-8"), 2000.0)
    assert [(one.metric, one.port, one.place, one.value) for one in entry.numbers if one.metric != "booted"] == [
        ("corrected_bits", "ens0", "gpu03 ens0", 12.0), ("retransmissions", "", "gpu03 mlx5_0", 4.0), ("timeouts", "", "gpu03 mlx5_0", 3.0),
        ("xids", "", "gpu03 0000:1b:00", 0.0), ("xids", "", "gpu03 0000:9d:00", 1.0),
    ]  # fmt: skip


def test_of_a_log_that_was_not_read_no_gpu_is_said_to_have_no_xid(tmp_path: Path, pods: inprocess.Pods) -> None:
    noted(tmp_path, pods, answered(gpus=[{"pci": "0000:1b:00.0", "uuid": "GPU-1"}]), 1000.0, GOOD)
    assert [one[0] for one in lines(tmp_path)[0]["numbers"]] == ["booted"]


def test_a_host_reads_what_its_series_are_from(pods: inprocess.Pods) -> None:
    asked = {one.reading.name for one in own_readings(own(pods)).queries}
    assert {"rdma_counters", "nic_counters", "kernel_log", "interface_errors"} <= asked and "rdma_port_counters" not in asked


def test_two_files_of_a_bounded_size_are_kept(tmp_path: Path, pods: inprocess.Pods, monkeypatch: t.Any) -> None:
    monkeypatch.setattr(journal, "MOST_BYTES", 2000)
    for number in range(40):
        noted(tmp_path, pods, SILENT, number * 300.0, GOOD if number % 2 else BAD)
    assert lines(tmp_path)[-1]["time"] == 39 * 300
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4000 and len(list(tmp_path.iterdir())) == 2
    times = [one["time"] for name in (journal.OLDER, journal.NAME) for one in lines(tmp_path, name)]
    assert times == sorted(times)


def test_a_damaged_journal_begins_anew(tmp_path: Path, pods: inprocess.Pods) -> None:
    (tmp_path / journal.NAME).write_text("half a li", encoding="ascii")
    noted(tmp_path, pods, SILENT, 1000.0, GOOD)
    assert [one["time"] for one in lines(tmp_path)] == [1000]
    assert (tmp_path / journal.OLDER).read_text(encoding="utf-8") == "half a li"
