# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes of Kubernetes have idle GPUs, which pods ask for them, and the pod that holds those of one node; all over the documents of its API."""

from __future__ import annotations

import time

NAME, LABEL, RENEWED = "gpufabric-patrol", "gpufabric.pyramid/hold", "gpufabric.pyramid/renewed"
GPUS, DEVICES = ("nvidia.com/gpu", "amd.com/gpu"), ("nvidia.com/", "amd.com/")
# What a pod that is preempted may still have, in which the patrol ends what it loaded.
GRACE_SECONDS = 30
# A renewal changes an annotation, which the kubelet shows in the file within some 90 s; 45 looks without a change end the pod.
SCRIPT = """seen= left=45
while [ "$left" -gt 0 ]; do
  sleep 4
  now=$(cat /hold/renewed)
  if [ "$now" != "$seen" ]; then seen=$now left=45; else left=$((left - 1)); fi
done"""


def asked(pod):
    """How many of each device a pod asks for."""
    found = {}
    for container in (*pod["spec"].get("containers", ()), *pod["spec"].get("initContainers", ())):
        for name, count in (container.get("resources", {}).get("limits") or {}).items():
            if name.startswith(DEVICES):
                found[name] = found.get(name, 0) + int(count)
    return found


def gpus_of(node):
    """The name and number of the GPUs that a node offers; nothing and 0 where it offers none."""
    offered = node["status"].get("allocatable") or {}
    return next(((name, int(offered[name])) for name in GPUS if int(offered.get(name, 0))), ("", 0))


def idle(nodes, pods):
    """The nodes that nobody uses: any mark beside the taint of its GPUs is a reason to leave a node alone."""
    used = {one["spec"].get("nodeName") for one in pods if one["status"].get("phase") not in ("Succeeded", "Failed") and (asked(one) or _claims(one))}
    return {name: 0 for name, node in nodes.items() if name not in used and gpus_of(node)[1] and _takes_pods(node)}


def _claims(pod):
    return bool(pod["spec"].get("resourceClaims"))


def _takes_pods(node):
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions") or ())
    marks = [one for one in node["spec"].get("taints") or () if one["effect"] != "PreferNoSchedule" and one["key"] not in GPUS]
    return ready and not marks and not node["spec"].get("unschedulable")


def waiting(nodes, pods):
    """The pending pods that ask for GPUs which one of the nodes offers."""
    found = []
    for pod in pods:
        spec, meta = pod["spec"], pod["metadata"]
        if spec.get("nodeName") or spec.get("schedulingGates") or LABEL in (meta.get("labels") or {}) or meta.get("deletionTimestamp"):
            continue
        wanted = asked(pod)
        if _claims(pod) or (wanted and any(_fits(spec, wanted, node) for node in nodes.values())):
            found.append(f"{meta['namespace']}/{meta['name']}")
    return found


def _fits(spec, wanted, node):
    """Whether a node is one that a pod asks for, by its labels and the number of devices."""
    labels, offered = node["metadata"].get("labels") or {}, node["status"].get("allocatable") or {}
    chosen = all(labels.get(name) == value for name, value in (spec.get("nodeSelector") or {}).items())
    return chosen and all(int(offered.get(name, 0)) >= count for name, count in wanted.items())


def holding_pod(job, number, node, params):
    """The pod that holds a node."""
    resource, count = gpus_of(node)
    field = {"fieldRef": {"fieldPath": f"metadata.annotations['{RENEWED}']"}, "path": "renewed"}
    refuses = {"allowPrivilegeEscalation": False, "runAsNonRoot": True, "runAsUser": 65534, "capabilities": {"drop": ["ALL"]}}
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node["metadata"]["name"]]}]}
    spec = {
        "restartPolicy": "Never", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": GRACE_SECONDS,
        "activeDeadlineSeconds": params["minutes"] * 60,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [here]}}},
        "tolerations": [{"key": resource, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [{
            "name": "hold", "image": params["image"], "command": ["/bin/sh", "-c", SCRIPT], "resources": {"limits": {resource: str(count)}},
            "securityContext": {**refuses, "seccompProfile": {"type": "RuntimeDefault"}}, "volumeMounts": [{"name": "hold", "mountPath": "/hold"}],
        }],
        "volumes": [{"name": "hold", "downwardAPI": {"items": [field]}}],
    }  # fmt: skip
    if params["priority_class"]:
        spec["priorityClassName"] = params["priority_class"]
    meta = {"name": f"{job}-{number}", "labels": {LABEL: job}, "annotations": {RENEWED: f"{time.time():.0f}"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def holds(pods, nodes):
    """Whether pods have all nodes, and none of them is about to lose its own."""
    running = {one["spec"].get("nodeName") for one in pods if one["status"].get("phase") == "Running" and not one["metadata"].get("deletionTimestamp")}
    return running == set(nodes)


def ended(pods):
    """Whether one of the pods cannot hold its node any more, such as one that a kubelet refused."""
    return any(one["status"].get("phase") in ("Succeeded", "Failed") or one["metadata"].get("deletionTimestamp") for one in pods)
