# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A patrol takes idle hosts from Kubernetes and gives way to a pod that asks for their GPUs; the API server is a stand-in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.labs.kubernetes import api
from ansible_collections.gpufabric.pyramid.tests.processes import carrying
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout

ROOT = Path(__file__).resolve().parents[2]
HOSTS = [f"gpu{number:02}" for number in range(1, 6)]
GIVES_WAY_SECONDS, END_SECONDS = 30, 120
EXPECTATIONS = {
    "pod_name": "small", "pod_to_layer": "training", "pod_scheduler": "kubernetes", "pod_patrol_hosts": 3, "pod_soak_seconds": 1, "pod_idle_seconds": 1,
    "pod_load_setup_seconds": 4, "pod_incast_seconds": 3, "pod_patrol_image": "docker.io/library/busybox:1.36",
}  # fmt: skip


@pytest.fixture
def cluster(tmp_path: Path) -> t.Iterator[api.Api]:
    server = api.Api(HOSTS)
    server.configuration(tmp_path / "kubeconfig")
    yield server
    server.end()


@pytest.fixture
def patrol(tmp_path: Path, cluster: api.Api) -> t.Iterator[t.Callable[..., subprocess.Popen[str]]]:
    """Start a patrol; what still runs at the end is ended."""
    (tmp_path / "tmp").mkdir()
    inventory = layout.write(tmp_path / "inventory", racks=1, hosts_per_rack=5, spines=2, expectations=EXPECTATIONS)
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **variables: t.Any) -> subprocess.Popen[str]:
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/patrol.yml", "-i", str(inventory), *arguments]
        extra = ["-e", json.dumps({"pod_runs_dir": str(tmp_path / "runs"), **variables})]
        own = {"K8S_AUTH_KUBECONFIG": str(tmp_path / "kubeconfig"), "ANSIBLE_NOCOLOR": "1", "TMPDIR": str(tmp_path / "tmp")}
        output = (tmp_path / "patrol.out").open("w")
        started.append(
            subprocess.Popen([*command, *extra], cwd=ROOT, env={**os.environ, **own}, stdout=output, stderr=output, text=True, start_new_session=True)
        )
        output.close()
        return started[-1]

    yield start
    for one in started:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()


@pytest.mark.exhaustive
def test_a_pod_gets_its_gpus_in_time_while_a_patrol_loads_the_hosts(patrol: t.Callable[..., subprocess.Popen[str]], cluster: api.Api, tmp_path: Path) -> None:
    running = patrol(pod_from_layer="rdma")

    def loads() -> dict[int, str]:
        return carrying(f"GPUFABRIC_PYRAMID_LOAD={tmp_path}/tmp")

    def until(holds: t.Callable[[], t.Any], what: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end and running.poll() is None, f"{what}: {(tmp_path / 'patrol.out').read_text(encoding='utf-8')}"
            time.sleep(0.1)

    until(loads, "a load", END_SECONDS)
    held = {one["spec"]["nodeName"] for one in cluster.pods.values()}
    assert len(held) == 3
    # Two of the five nodes are free: the third pod waits for what is held.
    cluster.run(*(api.pod(f"training-{number}", "", gpus=8) for number in range(3)))
    until(lambda: cluster.pods["training-2"]["status"]["phase"] == "Running", "the pod", GIVES_WAY_SECONDS)
    assert not loads(), "the pod met a load"
    assert running.wait(END_SECONDS) == 0
    output = (tmp_path / "patrol.out").read_text(encoding="utf-8")
    assert "of Kubernetes holds gpu0" in output and "pod default/training-2 of Kubernetes asks for nodes" in output, output
    assert set(cluster.pods) == {"training-0", "training-1", "training-2"}
    assert {method for method, path in cluster.requests if path.startswith("/api/v1/nodes")} == {"GET"}


def test_what_a_patrol_of_kubernetes_needs_is_refused_in_words(patrol: t.Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    assert patrol("--check", pod_patrol_image="", pod_launcher="kubernetes").wait(END_SECONDS) == 2
    output = (tmp_path / "patrol.out").read_text(encoding="utf-8")
    assert "argument 'pod_patrol_image' must be set" in output and "argument 'pod_launcher' must not be kubernetes" in output, output
