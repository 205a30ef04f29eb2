# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Idle nodes of Kubernetes are held by pods that give way: to pods that ask for GPUs, and to preemption. The API server is a stand-in, its client is real."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufabric.pyramid.plugins.module_utils import gpu_pods
from ansible_collections.gpufabric.pyramid.plugins.modules import kubernetes_hold
from ansible_collections.gpufabric.pyramid.tests.labs.kubernetes import api

NODES = ["gpu01", "gpu02", "gpu03"]
HELD = NODES[:2]
IMAGE = "docker.io/library/busybox:1.36"
Hold = t.Callable[..., dict[str, t.Any]]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[api.Api]:
    server = api.Api(NODES)
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", str(server.configuration(tmp_path / "kubeconfig")))
    yield server
    server.end()


@pytest.fixture
def hold(capsys: pytest.CaptureFixture[str], cluster: api.Api) -> Hold:
    """Run the module."""

    def run(state: str, **arguments: t.Any) -> dict[str, t.Any]:
        with patch_module_args({"nodes": HELD, "state": state, "image": IMAGE, **arguments}), pytest.raises(SystemExit):
            kubernetes_hold.main()
        return t.cast(dict[str, t.Any], json.loads(capsys.readouterr().out))

    return run


def test_idle_nodes_are_held_until_a_pod_asks_for_gpus(cluster: api.Api, hold: Hold) -> None:
    looked = hold("looked_at")
    assert (looked["idle"], looked["waiting"], looked["changed"]) == ({"gpu01": 0, "gpu02": 0}, [], False)
    planned = hold("held", _ansible_check_mode=True)
    assert (planned["held"], planned["changed"], cluster.pods) == (False, True, {})

    held = hold("held", minutes=30, namespace="validation", priority_class="lowest")
    assert held["held"] and held["job"].startswith("gpufabric-patrol-") and hold("looked_at")["idle"] == {}
    pods = list(cluster.pods.values())
    assert {one["spec"]["nodeName"] for one in pods} == set(HELD) and {one["metadata"]["namespace"] for one in pods} == {"validation"}
    (container,) = pods[0]["spec"]["containers"]
    assert (container["image"], container["resources"]) == (IMAGE, {"limits": {"nvidia.com/gpu": "8"}})
    assert (pods[0]["spec"]["activeDeadlineSeconds"], pods[0]["spec"]["priorityClassName"]) == (1800, "lowest")
    for one in pods:
        one["metadata"]["annotations"][gpu_pods.RENEWED] = "0"
    assert hold("renewed", job=held["job"])["held"] is True
    assert "0" not in {one["metadata"]["annotations"][gpu_pods.RENEWED] for one in pods}

    # The third node is free for the first pod; the second one waits for what is held.
    cluster.run(api.pod("training-0", "", gpus=8), api.pod("training-1", "", gpus=8))
    renewed = hold("renewed", job=held["job"])
    assert renewed["waiting"] == ["default/training-1"] and renewed["held"] is True
    assert hold("released", job=held["job"])["changed"] is True and set(cluster.pods) == {"training-0", "training-1"}
    assert cluster.pods["training-1"]["status"]["phase"] == "Running" and hold("released", job=held["job"])["changed"] is False
    assert {method for method, path in cluster.requests if path.startswith("/api/v1/nodes")} == {"GET"}


def test_a_pod_that_is_preempted_holds_no_more(cluster: api.Api, hold: Hold) -> None:
    job = hold("held")["job"]
    cluster.preempt(next(iter(cluster.pods)))
    assert hold("renewed", job=job)["held"] is False
    hold("released", job=job)
    assert cluster.pods == {}


def test_nodes_that_are_used_or_marked_are_not_idle(cluster: api.Api, hold: Hold) -> None:
    cluster.run(api.pod("training", "gpu01", gpus=1), api.pod("web", "gpu02"))
    assert hold("looked_at")["idle"] == {"gpu02": 0}
    marks: list[dict[str, t.Any]] = [
        {"spec": {"unschedulable": True}}, {"spec": {"taints": [{"key": "team", "effect": "NoSchedule"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}], "allocatable": {"nvidia.com/gpu": "8"}}}, {"status": {"allocatable": {}}},
    ]  # fmt: skip
    for mark in marks:
        healthy = dict(cluster.nodes["gpu02"])
        cluster.nodes["gpu02"] |= mark
        assert hold("looked_at")["idle"] == {}, mark
        cluster.nodes["gpu02"] = healthy
    cluster.nodes["gpu02"]["spec"]["taints"] = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}, {"key": "old", "effect": "PreferNoSchedule"}]
    claiming = api.pod("claims", "gpu02")
    assert hold("looked_at")["idle"] == {"gpu02": 0}
    claiming["spec"]["resourceClaims"] = [{"name": "gpu"}]
    cluster.run(claiming)
    assert hold("looked_at")["idle"] == {}


def test_pods_that_cannot_have_the_nodes_do_not_wait_for_them(cluster: api.Api, hold: Hold) -> None:
    elsewhere, gated, large = (api.pod(name, "", gpus=9) for name in ("elsewhere", "gated", "large"))
    elsewhere["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "8"
    elsewhere["spec"]["nodeSelector"] = {"gpu": "h200"}
    gated["spec"]["schedulingGates"] = [{"name": "queue"}]
    job = hold("held")["job"]
    cluster.run(api.pod("other", "gpu03", gpus=8), gated, large)
    cluster.pods["elsewhere"] = elsewhere
    assert hold("renewed", job=job)["waiting"] == []
    cluster.nodes["gpu01"]["metadata"]["labels"]["gpu"] = "h200"
    assert hold("renewed", job=job)["waiting"] == ["default/elsewhere"]


def test_nodes_that_are_not_to_be_had_are_left(cluster: api.Api, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_hold, "START_SECONDS", 0)
    cluster.run(api.pod("training", "gpu02", gpus=1))
    held = hold("held")
    assert (held["held"], held["job"]) == (False, "") and set(cluster.pods) == {"training"}


def test_a_namespace_that_does_not_exist_is_named_at_once(cluster: api.Api, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, absent = cluster.answer, (404, {"kind": "Status", "reason": "NotFound", "message": 'namespaces "validation" not found'})
    monkeypatch.setattr(cluster, "answer", lambda method, *request: absent if method == "POST" else answer(method, *request))
    said = hold("held", namespace="validation")["msg"]
    assert said == 'Kubernetes refuses create_namespaced_pod: 404 Not Found: namespaces "validation" not found'


def test_what_fails_is_said_in_words(cluster: api.Api, hold: Hold, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert hold("looked_at", nodes=["gpu09"])["msg"] == "Kubernetes has no node gpu09"
    monkeypatch.setattr(cluster, "answer", lambda *_request: (403, {"kind": "Status", "message": "nodes is forbidden: no such right"}))
    assert hold("looked_at")["msg"] == "Kubernetes refuses list_node: 403 Forbidden: nodes is forbidden: no such right"
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", str(tmp_path / "absent"))
    assert hold("looked_at")["msg"].startswith("Kubernetes is not reached: ")
