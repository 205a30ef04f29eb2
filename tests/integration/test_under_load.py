# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 4 of a small simulated pod under real processes that load nothing: the whole way from the plan to the blame."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.tests.processes import environments
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import changes, inprocess
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.connection.simulated_pod import pod as answers_of

from .conftest import RACKS, ROOT, Climb, Pod, alike, more

pytestmark = pytest.mark.exhaustive

SHORT = {
    "pod_idle_seconds": 1, "pod_write_bw_seconds": 1, "pod_load_setup_seconds": 10, "pod_load_lead_seconds": 1, "pod_load_tick_seconds": 5,
    "pod_only": "rdma", "pod_to_layer": "rdma",
}  # fmt: skip
FAULTS = {name: fault for name, fault in changes.known().items() if fault.get("loads") is True and fault["expect"]["layer"] == "rdma"}
# Those of what is watched meanwhile are in test_watched_loads.py.
WATCHED = {name for name, check in REGISTRY["rdma"].items() if ".checks.watched." in check.judge.__module__}
# Faults that do not hide each other are looked for in one climb.
TOGETHER = [
    ["gpus_at_work", "perftest_missing"],
    ["slow_sender", "slow_receiver", "gpu_memory_halved", "gpu_memory_sends_slowly", "latency_high", "class_ignored", "other_mtu_measured"],
    ["slow_path", "host_saturates"],
]


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path, **SHORT)


@pytest.fixture
def small(tmp_path: Path) -> Pod:
    return Pod(tmp_path, racks=2, hosts_per_rack=2, spines=2, **SHORT)


def blamed_hosts(climb: Climb) -> set[str]:
    """The hosts of which a rail is said to be slow."""
    assert climb.report is not None, climb.output
    verdicts = [one for one in climb.report["verdicts"] if one["check"] == "write_bw_per_rail" and one["verdict"] == "fail"]
    return {one["host"] for one in verdicts}


def worst(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """What two faults come to together, check by check."""
    order = ["warn", "unknown", "fail"]
    return {name: max(one.get(name, "warn"), other.get(name, "warn"), key=order.index) for name in (*one, *other)}


def test_every_check_of_the_layer_has_a_fault() -> None:
    of_roce = {name for name, check in REGISTRY["rdma"].items() if check.fabric != "infiniband"}
    assert {check for fault in FAULTS.values() for check in fault["expect"]["checks"]} == of_roce - WATCHED
    assert sorted(name for names in TOGETHER for name in names) == sorted(FAULTS)


def test_a_healthy_pod_carries_its_rates(pod: Pod) -> None:
    climb = pod.climb()
    assert climb.report is not None and climb.not_well() == {}, climb.output
    assert {climb.gate("rdma", rack) for rack in RACKS} == {"open"} and climb.rc == 0
    assert "rounds of pairs over 8 hosts" in climb.output and "8 hosts loaded for at most" in climb.output
    judged = {one["check"]: one["verdict"] for one in climb.report["verdicts"] if one["host"] == "gpu01"}
    assert judged["write_bw_per_rail"] == judged["right_class"] == judged["measured_as_asked"] == judged["gpu_write_bw"] == "pass"
    assert climb.run is not None and (climb.run / "evidence" / "rdma" / "gpu01" / "write_bw.load-0.txt").stat().st_size > 1000
    page = (climb.run / "report.html").read_text()
    assert "ib_write_bw -d mlx5_" in page and "none was run" not in page, "the checklist names the command of each check"


@pytest.mark.parametrize("names", [alike(TOGETHER[0]), TOGETHER[1], alike(TOGETHER[2])], ids="+".join)
def test_faults_are_found_where_they_are(pod: Pod, names: list[str]) -> None:
    pods = inprocess.Pods(pod.inventory)
    healthy = pods.pod()
    for name in names:
        named = {changes.node_of(change) for change in FAULTS[name]["changes"]}
        assert {node for node in pods.plan.nodes if pods.pod([name]).nodes[node] != healthy.nodes[node]} == named, "the fault is not in force"
    climb = pod.climb("-e", f"simulated_faults={','.join(names)}")
    expected: dict[str, str] = {}
    for name in names:
        expected = worst(expected, FAULTS[name]["expect"]["checks"])
    assert climb.not_well() == expected, climb.output
    assert climb.report is not None
    response = json.dumps(climb.report["verdicts"])
    assert [words for name in names if (words := FAULTS[name]["expect"]["words"]) not in response] == []
    blamed = {FAULTS[name]["changes"][0]["host"] for name in names if FAULTS[name]["expect"]["checks"].get("write_bw_per_rail") == "fail"}
    assert blamed_hosts(climb) == blamed | ({"gpu08"} if "slow_path" in names else set())
    closed = {rack for name in names for rack in FAULTS[name]["expect"]["groups"]}
    assert {rack for rack in RACKS if climb.gate("rdma", rack) == "closed"} == closed


def test_both_directions_at_once_are_held_against_twice_the_link(small: Pod) -> None:
    climb = small.climb("-e", "simulated_faults=slow_sender@gpu02", pod_write_bw_bidirectional=True)
    assert climb.report is not None and climb.not_well() == {"write_bw_per_rail": "fail", "slow_rail": "fail"}, climb.output
    assert blamed_hosts(climb) == {"gpu02"}
    found = [one for record in climb.report["verdicts"] if record["check"] == "write_bw_per_rail" for one in record["findings"]]
    assert [one["expected"] for one in found] == ["700 Gb/s or more"] and found[0]["actual"].startswith("360 Gb/s with gpu")


def test_check_mode_prints_the_plan_and_loads_nothing(small: Pod) -> None:
    climb = small.climb("--check")
    assert "rounds of pairs over 4 hosts" in climb.output and "check mode loads nothing: this is the plan only" in climb.output
    assert {climb.gate("rdma", rack) for rack in RACKS} == {"not_run"}
    assert climb.report is not None and climb.report["verdict"] not in ("go", "no_go") and climb.rc == 0
    assert not loaded(small) and climb.run is not None and not (climb.run / "loads").exists()


@pytest.mark.parametrize("how", [{"pod_mode": "passive"}, alike({"pod_depth": "quick"})])
def test_a_pod_that_is_not_loaded_is_not_proved(small: Pod, how: dict[str, str]) -> None:
    climb = small.climb(**how)
    assert {climb.gate("rdma", rack) for rack in RACKS} == {"not_run"} and climb.report is not None and climb.report["verdict"] == "no_fault_seen"
    assert not loaded(small)


def loaded(pod: Pod) -> list[int]:
    """The processes of this pod's loads."""
    return [pid for pid, place in marked() if str(pod.runs) in _owner(place)]


def marked() -> list[tuple[int, str]]:
    """Every process of a load and the load's directory, by the mark that each of them carries."""
    return [(pid, word.partition("=")[2]) for pid, words in environments() for word in words if word.startswith("GPUFABRIC_PYRAMID_LOAD=")]


def _owner(place: str) -> str:
    try:
        return str(json.loads((Path(place) / "record.json").read_text())["owner"])
    except (OSError, ValueError):
        return ""


@pytest.mark.parametrize("number", [alike(signal.SIGINT), signal.SIGKILL])
def test_what_an_interrupted_run_left_is_ended_by_the_next_one(small: Pod, number: signal.Signals) -> None:
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(small.inventory)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}
    ) as running:
        until = time.monotonic() + 120
        while not (left := loaded(small)):
            assert time.monotonic() < until and running.poll() is None, "the run never loaded anything"
            time.sleep(0.1)
        os.killpg(running.pid, number)
        running.wait(60)
    assert left
    climb = small.climb()
    assert climb.report is not None and climb.not_well() == {}, climb.output
    assert "ended what was left of" in climb.output or not [pid for pid in left if Path(f"/proc/{pid}").exists()]
    assert loaded(small) == []


BY_HAND = """
- hosts: gpu01,gpu02
  gather_facts: false
  tasks:
    - gpufabric.pyramid.ib_write_bw: {state: server, traffic_class: 106, deadline: 60, tests: [{device: mlx5_0, gid_index: 3}, {device: mlx5_3, gid_index: 3}]}
      when: inventory_hostname == "gpu01"
    - gpufabric.pyramid.ib_write_bw:
        state: client
        traffic_class: 106
        seconds: 1
        deadline: 30
        tests: [{device: mlx5_0, gid_index: 3, peer: 10.51.0.1}, {device: DEVICE, gid_index: 3, peer: 10.52.0.1, port: 18516}]
      when: inventory_hostname == "gpu02"
      register: measured
      ignore_errors: true
    - gpufabric.pyramid.ib_write_bw: {state: collected}
      when: inventory_hostname == "gpu01"
      register: servers
    - ansible.builtin.copy:
        content: "{{ {'measured': hostvars.gpu02.measured, 'servers': hostvars.gpu01.servers} | to_json }}"
        dest: RESULT
        mode: "0600"
      delegate_to: localhost
      run_once: true
      vars: {ansible_connection: local, ansible_python_interpreter: PYTHON}
"""


@pytest.mark.parametrize(("device", "rates", "words"), [more("mlx5_3", 2, ""), ("mlx5_99", 1, "IB device mlx5_99 not found")])
def test_the_module_measures_rails_side_by_side_and_leaves_no_server(small: Pod, tmp_path: Path, device: str, rates: int, words: str) -> None:
    play, result = tmp_path / "play.yml", tmp_path / "result.json"
    play.write_text(BY_HAND.replace("DEVICE", device).replace("RESULT", str(result)).replace("PYTHON", sys.executable))
    done = small.playbook(playbook=str(play))
    assert done.rc == 0, done.output
    response = json.loads(result.read_text())
    assert len(response["measured"]["rows"]) == rates and all(row["gbit_s"] > 350 for row in response["measured"]["rows"])
    assert response["measured"].get("failed", False) == bool(words) and words in response["measured"]["msg"]
    ends = sorted(one["status"] for one in response["servers"]["servers"])
    assert ends == ["ran", "ran"] if rates == 2 else ends == ["ran", "stopped"]
    here = str(answers_of(small.inventory, "", 1))
    assert [place for _pid, place in marked() if place.startswith(here)] == []
