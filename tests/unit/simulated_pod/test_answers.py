# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command of the simulated pods is answered, and every answer is parsed; the files that the tools print are those answers."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import answers, healthy, inprocess, layout, rendering
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.render import gpu

INVENTORIES = Path(__file__).parents[3] / "inventories"
PODS = ("simulated", "simulated_ib")


@pytest.fixture(scope="module", params=PODS)
def pods(request: t.Any) -> inprocess.Pods:
    """The pods of an inventory of the repository."""
    return inprocess.Pods(INVENTORIES / request.param)


def test_every_reading_of_every_node_is_rows(pods: inprocess.Pods) -> None:
    pod, meshes, kept = pods.pod(), pods.plan.meshes([name for name, node in pods.plan.nodes.items() if node.role == "host"]), {}
    read: dict[str, int] = {}
    for name in pods.plan.nodes:
        items = {**pods.plan.items(name), **meshes.get(name, {})}
        # Nobody renders what an InfiniBand pod says under load.
        for layer in inprocess.LAYERS[:3] if pods.directory.name == "simulated_ib" else inprocess.LAYERS:
            for phase in inprocess.PHASES.get(layer, inprocess.SOAKED):
                for reading, reply in inprocess._output(pods.plan, pod, layer, name, phase, items, kept).items():
                    assert reply.status in ("ok", "not_applicable") and not reply.lost, (name, reading, reply.words, reply.lost)
                    read[reading] = read.get(reading, 0) + len(reply.rows)
    silent = {name for name, rows in read.items() if not rows}
    # A healthy pod forces no variable and has no other client of peer memory; its NVLinks end in the host; NICs of
    # InfiniBand are no netdevs; its routes are BGP's, no cables are bundled, its rails are in the default VRF and in no overlay, and nothing runs in
    # containers.
    nothing = {"nccl_environment", "memory_peers", "mac_table", "gpu_health", "imex_domain", "imex_links", "ospf_neighbors", "port_channels"}
    nothing |= {"bonds", "container_image", "port_vrfs", "evpn_sessions", "vnis"}
    of_netdevs = {"interface_status", "transceivers", "lldp_neighbors", "fabric_diagnosis"}
    assert len(read) > 20 and silent <= (nothing | of_netdevs if pods.directory.name == "simulated_ib" else nothing)


@pytest.mark.parametrize("role", ["host", "leaf", "spine"])
def test_the_tools_print_what_was_rendered(role: str, tmp_path: Path) -> None:
    directory = INVENTORIES / "simulated"
    pods = inprocess.Pods(directory)
    name = next(node.name for node in pods.plan.nodes.values() if node.role == role)
    rendering.render_node(pods.plan, pods.pod(), name, tmp_path / "pod")
    answered = answers.of_node(pods.pod(), pods.plan, name)
    assert answered
    place = tmp_path / "pod" / name / "bin"
    environment = {**os.environ, "PATH": str(place), "SIMULATED_POD": str(tmp_path / "pod"), "SIMULATED_NODE": name, "SIMULATED_RUN": "unit"}
    for argv, printed in answered.items():
        words = [argv[1].strip("{}"), *argv[2:]] if argv[0] == "python3" else argv[0].split() + list(argv[1:]) if len(argv) == 1 else list(argv)
        done = subprocess.run([str(place / words[0]), *words[1:]], env=environment, capture_output=True, text=True, check=False, timeout=10)
        assert (done.stdout, done.returncode) == (printed.stdout, printed.rc), argv


def test_a_program_that_runs_a_nics_own_tool_is_answered_under_its_name(tmp_path: Path) -> None:
    pods = inprocess.Pods(INVENTORIES / "simulated")
    pod = pods.pod()
    pod.hosts["gpu01"].lacks = ["mlnx_qos", "dcb"]
    rendering.render_node(pods.plan, pod, "gpu01", tmp_path / "pod")
    place = tmp_path / "pod" / "gpu01" / "bin"
    pci = pod.hosts["gpu01"].rails[0].pci
    argv = next(argv for argv in answers.of_node(pod, pods.plan, "gpu01") if argv[:2] == ("python3", "{nicctl_qos}"))
    environment = {**os.environ, "PATH": str(place), "SIMULATED_POD": str(tmp_path / "pod"), "SIMULATED_NODE": "gpu01", "SIMULATED_RUN": "unit"}
    called = [str(place / "python3"), "/tmp/nicctl_qos.py", *argv[2:]]
    done = subprocess.run(called, env=environment, capture_output=True, text=True, check=False, timeout=10)
    assert done.returncode == 0 and f"({pci})" in done.stdout and (place / "nicctl").exists()


def test_whoever_works_on_a_gpu_is_reported_by_every_question(pods: inprocess.Pods) -> None:
    """What a run reads of a busy GPU and what a repair asks must agree: a repair that sees nobody would reset a GPU at work."""
    pod = pods.pod(["gpus_at_work@gpu01"])
    asked = next(argv for argv in answers.of_node(pod, pods.plan, "gpu01") if "--query-compute-apps=pid,process_name" in argv)
    users = {name: answers.of_node(pod, pods.plan, name)[asked].stdout for name in ("gpu01", "gpu02")}
    assert users == {"gpu01": "4711, python\n", "gpu02": ""}
    log = gpu.nvidia_smi_q(pod.hosts["gpu01"])
    assert log.count("Process ID") == 1 and "4711" in log


def test_a_rail_keeps_some_neighbors_of_a_large_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healthy, "MOST_NEIGHBORS", 2)
    pod = inprocess.Pods(layout.write(tmp_path, racks=1, hosts_per_rack=4, spines=2)).pod(())
    first = {name: {pod.hosts[other].rails[0].address for other in others} for name, others in
             {"gpu01": ("gpu02", "gpu03"), "gpu02": ("gpu03", "gpu04"), "gpu03": ("gpu04", "gpu01"), "gpu04": ("gpu01", "gpu02")}.items()}  # fmt: skip
    assert {name: set(host.rails[0].neighbors) for name, host in pod.hosts.items()} == first
