# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers 0 to 2 judged on two machines with real RDMA tools: what these can tell is judged right, and the rest is unknown, never a pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.labs.judged import ROOT, Judged, Verdicts, climbed
from ansible_collections.gpufabric.pyramid.tests.labs.softroce.lab import Lab
from ansible_collections.gpufabric.pyramid.tests.labs.softroce.shape import HOSTS, RAIL_MTU, RAILS

pytestmark = pytest.mark.alone

# What Soft-RoCE devices and these machines cannot tell: there is no GPU, no NIC firmware, no QoS, no module, no switch.
NOT_TOLD = {
    "preflight": {
        "gpus_present", "gpu_errors", "gpu_throttled", "fabric_state", "nic_gpu_affinity", "pcie_link", "gpudirect_available", "software_pinned",
        "nic_settings", "nic_reset_pending", "dcqcn_running", "roce_qos", "job_limits",
    },
    "links": {"port_speed", "crc_clean", "errors_clean", "cabling_as_planned", "optic_rx_power"},
    "routing": set(),
}  # fmt: skip
# What they do tell, and a check must therefore pass on.
TOLD = {
    "preflight": {"answered", "rails_present", "adapters_capable", "mtu", "gid_index", "address_plan", "virtualization_as_planned"},
    "links": {"answered", "ports_present", "link_flaps"},
    "routing": {"answered", "rails_reachable"},
}

# The checks that fail of lost packets.
LOSE_PACKETS = {"rails_reachable", "path_carries_full_size"}


def judge(machines: Lab, runs: Path, layer: str) -> Judged:
    """Judge one layer of both machines over ssh."""
    return climbed(machines.inventory, runs, pod_only=layer)


def judge_again(machines: Lab, runs: Path, layer: str) -> Judged:
    """Judge a layer; where packets were lost, which processors that are emulated on a busy machine do, again, twice at most."""
    for attempt in range(3):
        judged = judge(machines, runs / str(attempt), layer)
        if not {check for check, _host, _verdict in judged.with_verdict("fail")} & LOSE_PACKETS:
            break
    return judged


def of_both(checks: set[str], verdict: str) -> Verdicts:
    """A verdict of these checks for both machines."""
    return {(check, host, verdict) for check in checks for host in HOSTS}


def adhoc(machines: Lab, module: str) -> dict[str, dict[str, t.Any]]:
    """What a module of the collection returns for each host, asked without a playbook."""
    command = [str(Path(sys.executable).with_name("ansible")), "-i", str(machines.inventory), "all", "-m", f"gpufabric.pyramid.{module}"]
    environment = {**os.environ, "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.json", "ANSIBLE_LOAD_CALLBACK_PLUGINS": "true", "ANSIBLE_NOCOLOR": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=120, check=False)
    return json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("layer", ["preflight", "links", "routing"])
def test_what_whole_machines_tell_passes_and_what_they_cannot_tell_is_unknown(machines: Lab, tmp_path: Path, layer: str) -> None:
    judged = judge_again(machines, tmp_path, layer)
    assert judged.with_verdict("fail") == set(), judged.output
    assert of_both(NOT_TOLD[layer], "unknown") <= judged.with_verdict("unknown")
    assert of_both(TOLD[layer], "pass") <= judged.with_verdict("pass")
    gates = {one["layer"]: one["groups"]["rack_01"]["gate"] for one in judged.report["layers"] if "rack_01" in one["groups"]}
    assert gates[layer] == ("closed" if NOT_TOLD[layer] else "open")
    if layer == "preflight":
        assert judged.words("gpus_present", "gpu01") == "nvidia-smi: not found on PATH"
        assert {("mtu_uniform", "rack_01", "pass"), ("gid_index_uniform", "rack_01", "pass")} <= judged.with_verdict("pass")


@pytest.mark.exhaustive
def test_faults_of_rails_are_found_on_their_rails_only(machines: Lab, tmp_path: Path) -> None:
    machines.cut(4)
    machines.run("gpu01", "rdma", "link", "del", "mlx5_5")
    machines.run("gpu01", "ip", "link", "set", "dev", "rail2", "mtu", "1500")
    machines.run("gpu02", "ip", "address", "add", "172.16.6.77/24", "dev", "rail6")
    try:
        judged = judge(machines, tmp_path, "preflight")
        refused = adhoc(machines, "ibstat")
    finally:
        machines.run("gpu02", "ip", "address", "del", "172.16.6.77/24", "dev", "rail6")
        machines.heal()
    down = {"mlx5_4": ("Active and LinkUp", "Down and Polling")}
    expected = {
        ("rails_present", "gpu01"): {**down, "mlx5_5": ("Active and LinkUp", "no such RDMA device")},
        ("rails_present", "gpu02"): down,
        ("adapters_capable", "gpu01"): {"mlx5_5": ("an RDMA adapter", "no such RDMA device")},
        ("mtu", "gpu01"): {"mlx5_2": ("active RDMA MTU 4096", "1024"), "rail2": ("MTU 4200", "1500"), "mlx5_5": ("an MTU", "not reported")},
        ("mtu_uniform", "rack_01"): {"rail2": ("MTU 4200, as its group", "1500")},
        ("gid_index", "gpu01"): {"mlx5_5": ("one IPv4 RoCE v2 GID", "0")},
        ("gid_index", "gpu02"): {"mlx5_6": ("one IPv4 RoCE v2 GID", "2")},
        ("gid_index_uniform", "rack_01"): {"mlx5_5": ("a GID index as its group", "not reported"), "mlx5_6": ("GID index 1, as its group", "2")},
    }
    assert judged.with_verdict("fail") == {(*place, "fail") for place in expected}, judged.output
    assert {place: judged.findings(*place) for place in expected} == expected
    ports = {host: {row["device"]: row["state"] for row in response["rows"]} for host, response in refused.items()}
    assert ports["gpu01"] == {f"mlx5_{rail}": "Down" if rail == 4 else "Active" for rail in range(RAILS) if rail != 5}
    assert ports["gpu02"]["mlx5_4"] == "Down"


@pytest.mark.exhaustive
def test_a_host_without_any_rdma_device_passes_nothing_that_reads_one(machines: Lab, tmp_path: Path) -> None:
    """Every tool ends well and prints nothing where there is no device: an empty answer must not be one."""
    machines.run("gpu02", "modprobe", "--remove", "rdma_rxe")
    try:
        assert machines.run("gpu02", "ibstat").stdout == ""
        judged = judge(machines, tmp_path, "preflight")
        asked = adhoc(machines, "ibstat")
    finally:
        machines.run("gpu02", "modprobe", "rdma_rxe")
        machines.heal()
    assert asked["gpu02"]["failed"] and len(asked["gpu01"]["rows"]) == RAILS
    verdicts = judged.verdicts()
    not_well = {check: verdicts[check, "gpu02"]["verdict"] for check in ("rails_present", "adapters_capable", "mtu", "gid_index")}
    assert set(not_well.values()) <= {"fail", "unknown"}, not_well
    assert {check: verdicts[check, "gpu01"]["verdict"] for check in not_well} == dict.fromkeys(not_well, "pass")


def booted(machines: Lab, host: str, play: Path) -> str:
    """Boot a machine as remediate.yml does, and wait for its rails; returns what Ansible says."""
    tasks = [{"name": "Boot", "ansible.builtin.include_tasks": str(ROOT / "playbooks/tasks/boot.yml")}]
    play.write_text(json.dumps([{"name": "Boot", "hosts": host, "gather_facts": False, "tasks": tasks}]))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(machines.inventory), str(play)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, text=True, capture_output=True, timeout=300, check=False)
    machines.forget(host)
    machines.wait()
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_a_reboot_keeps_what_is_written_and_loses_what_is_only_set(machines: Lab, tmp_path: Path) -> None:
    """What remedies are proved by: module loading, MTU and sysctl over a real boot, which is remediate.yml's own."""
    machines.run("gpu01", "modprobe", "dummy")
    machines.run("gpu01", "tee", "/etc/modules-load.d/test.conf", stdin="mlx5_ib\n")
    machines.run("gpu01", "ip", "link", "set", "dev", "rail1", "mtu", "1500")
    try:
        boot_id = ("cat", "/proc/sys/kernel/random/boot_id")
        before, first = adhoc(machines, "lsmod")["gpu01"]["rows"], machines.run("gpu01", *boot_id).stdout
        result = booted(machines, "gpu01", tmp_path / "boot.yml")
        after = adhoc(machines, "lsmod")["gpu01"]["rows"]
    finally:
        machines.run("gpu01", "rm", "/etc/modules-load.d/test.conf")
        machines.heal()
    loaded = [{row["module"] for row in rows} & {"dummy", "mlx5_ib", "rdma_rxe"} for rows in (before, after)]
    assert loaded == [{"dummy", "rdma_rxe"}, {"mlx5_ib", "rdma_rxe"}]
    assert "changed: [gpu01]" in result and machines.run("gpu01", *boot_id).stdout != first
    assert machines.run("gpu01", "cat", "/sys/class/net/rail1/mtu").stdout.strip() == str(RAIL_MTU)
