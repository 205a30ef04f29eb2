# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection ``kubernetes.core.kubectl`` with a kubectl of the tests, which runs the command on the spot: no Kubernetes is behind it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import ROOT
from ansible_collections.gpufabric.pyramid.tests.labs.ranks.python import with_torch

pytestmark = pytest.mark.exhaustive

# kubectl -n NAMESPACE exec -i POD -c CONTAINER -- COMMAND... ; each pod has a network and a temporary directory of its own.
KUBECTL = """#!/bin/sh
printf '%s\\n' "$*" >>"{place}/log"
while [ "$1" != "--" ]; do
  case "$1" in pyramid-*) pod=${{1#pyramid-}} ;; esac
  shift
done
shift
exec {enter} env TMPDIR="{place}/$pod" OMP_NUM_THREADS=1 "$@"
"""
PLAY = """
- hosts: gpu01
  gather_facts: false
  tasks:
    - gpufabric.pyramid.ib_write_bw: {state: server, traffic_class: 106, deadline: 20, tests: [{device: none_0}]}
    - gpufabric.pyramid.ib_write_bw: {state: collected}
      register: servers
    - ansible.builtin.copy: {content: "{{ servers | to_json }}", dest: "RESULT", mode: "0600"}
      delegate_to: localhost
      vars: {ansible_connection: local, ansible_python_interpreter: "PYTHON"}
"""
PODS = ("gpu01", "gpu02")
CABLES = "a_node,a_port,b_node,b_port,medium,length_m,a_address,b_address\n" + "".join(
    f"{pod},eth0,leaf01,Ethernet{number},optic,30,,\n" for number, pod in enumerate(PODS, 1)
)


def kubectl_of(place: Path, enter: str = "") -> None:
    """Put the tests' kubectl into a place; enter: the words that go into a pod's network."""
    for pod in PODS:
        (place / pod).mkdir(parents=True)
    kubectl = place / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL.format(place=place, enter=enter))
    kubectl.chmod(0o755)


def play(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ansible-playbook with that kubectl."""
    environment = {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1", "TMPDIR": str(place)}
    command = [str(Path(sys.executable).with_name("ansible-playbook")), *words]
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=240, check=False)


def test_a_test_pod_is_loaded_and_collected_through_kubectl(tmp_path: Path) -> None:
    kubectl_of(tmp_path)
    result, file = tmp_path / "result.json", tmp_path / "play.yml"
    file.write_text(PLAY.replace("RESULT", str(result)).replace("PYTHON", sys.executable))
    done = play(tmp_path, str(file), "-i", "inventories/kubernetes", "-e", f"ansible_python_interpreter={sys.executable}")
    assert done.returncode == 0, done.stdout + done.stderr
    asked = (tmp_path / "log").read_text()
    assert "pyramid-gpu01" in asked and "-n pyramid" in asked and "-c test" in asked
    (server,) = json.loads(result.read_text())["servers"]
    assert server["argv"][:3] == ["ib_write_bw", "-d", "none_0"]
    assert server["stderr"] in ("ib_write_bw: not found on PATH",) or "none_0" in server["stderr"] or "RDMA" in server["stderr"]


@contextlib.contextmanager
def networks() -> t.Iterator[dict[str, str]]:
    """A network for each pod, one cable between the two; gives their addresses."""
    spaces = {pod: f"k{os.getpid()}{pod}" for pod in PODS}
    addresses = {pod: f"192.0.2.{number}" for number, pod in enumerate(PODS, 1)}

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, timeout=20)

    try:
        for space in spaces.values():
            ip("netns", "add", space)
        one, other = spaces.values()
        ip("link", "add", "eth0", "netns", one, "type", "veth", "peer", "name", "eth0", "netns", other)
        for pod, space in spaces.items():
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "address", "add", f"{addresses[pod]}/24", "dev", "eth0")
        yield addresses
    finally:
        for space in spaces.values():
            subprocess.run(["ip", "netns", "del", space], check=False, timeout=20)


def pods(place: Path, addresses: dict[str, str]) -> Path:
    """An inventory of the two test pods."""
    shared = {
        "pod_name": "mypods", "pod_fabric": "roce", "pod_topology": "rail_optimised", "pod_gate_groups": ["rack_01"], "pod_hosts_count": 2,
        "pod_leaves_count": 1, "pod_spines_count": 0, "pod_runs_dir": str(place / "runs"), "pod_idle_seconds": 1, "pod_launcher": "kubernetes",
        "pod_collective_backend": "gloo", "pod_torch_python": with_torch(), "pod_gpus_per_host": 2, "pod_collective_sizes": [4096, 65536],
        "pod_collective_iterations": 2, "pod_node_busbw_gbyte_s": 0.000001,
        "pod_nccl_environment": {"GLOO_SOCKET_IFNAME": "eth0"},
    }  # fmt: skip
    own = {
        "ansible_connection": "kubernetes.core.kubectl", "ansible_kubectl_namespace": "pyramid", "ansible_kubectl_container": "test",
        "ansible_kubectl_pod": "pyramid-{{ inventory_hostname }}", "ansible_python_interpreter": sys.executable,
    }  # fmt: skip
    hosts = {
        pod: {"pod_bootstrap_address": address, "pod_rails": [{"device": "mlx5_0", "netdev": "eth0", "gpu": 0, "leaf": "leaf01", "address": f"{address}/24"}]}
        for pod, address in addresses.items()
    }
    leaves = {"hosts": {"leaf01": {"pod_platform": "eos"}}}
    children = {"gpu_hosts": {"vars": own, "children": {"rack_01": {"hosts": hosts}}}, "leaves": leaves, "spines": {"hosts": {}}}
    inventory = place / "inventory"
    (inventory / "group_vars").mkdir(parents=True)
    (inventory / "hosts.yml").write_text(yaml.safe_dump({"all": {"vars": shared, "children": children}}))
    (inventory / PLACE).write_text(CABLES)
    return inventory


@pytest.mark.long
def test_each_test_pod_starts_its_own_ranks_and_they_meet(tmp_path: Path) -> None:
    """Real torch with gloo, alone and over both pods, without an ssh between them."""
    with networks() as addresses:
        kubectl_of(tmp_path, enter=f'nsenter --net="/run/netns/k{os.getpid()}$pod"')
        command = ["playbooks/validate.yml", "-i", str(pods(tmp_path, addresses)), "-e", "pod_only=collectives"]
        refused = play(tmp_path, *command)
        done = play(tmp_path, *command, "-e", json.dumps({"pod_load_busy_hosts": True}))
    assert refused.returncode == 2 and "collectives: gpu02 is not loaded: whether it is idle is not known: nvidia-smi" in refused.stdout
    # All checks that lack this load are one finding of both pods, whose first line may be wrapped.
    finding = r"UNKNOWN collectives/[\w, ]+ on gpu01, gpu02 \(\d+ findings\) expected: a reading to judge by got: it was not loaded: whether it is idle"
    assert re.search(finding, " ".join(refused.stdout.split()))
    report = tmp_path / "runs" / "mypods" / "latest" / "report.json"
    assert report.is_file(), done.stdout + done.stderr
    verdicts = json.loads(report.read_text())["verdicts"]
    passed = {(one["check"], one["host"] or one["group"]) for one in verdicts if one["verdict"] == "pass"}
    wanted = {(check, pod) for check in ("collectives_correct", "no_wrong_values", "ranks_as_asked", "node_all_reduce") for pod in PODS}
    assert passed >= wanted, [(one["check"], one["host"], one["verdict"], one["words"], one["findings"]) for one in verdicts]
    assert "all-reduce over 2 hosts" in done.stdout
