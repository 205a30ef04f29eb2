# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold the GPUs of idle nodes of Kubernetes by pods that give way to every other one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_hold
short_description: Hold the GPUs of idle nodes of Kubernetes by pods that give way to every other one
version_added: 0.4.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Holds nodes by one pod on each, named C(gpufabric-patrol-*), which asks for all its GPUs and only waits. It cordons, taints and drains nothing.
  - The pods end by themselves about four minutes after they were last renewed, so that nodes are given back also where whoever held them was killed. Pods of a
    higher priority preempt them before.
  - Reports the pending pods that ask for GPUs of the nodes. A pod with scheduling gates does not ask yet.
  - The kubeconfig is that of C(K8S_AUTH_KUBECONFIG) or C(KUBECONFIG), or C(~/.kube/config), or else the service account of the pod that this runs in.
requirements: [kubernetes (Python package)]
extends_documentation_fragment: [gpufabric.pyramid.step]
attributes:
  check_mode:
    support: full
    description: It reports what it would do, and creates and deletes no pod.
  diff_mode:
    support: none
    description: It changes no node.
options:
  nodes:
    description: The nodes, by their names in Kubernetes.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(looked_at) changes nothing. V(held) creates the pods and waits until they run; where one does not, all are deleted.
      - V(renewed) lets O(job) hold them for longer. V(released) deletes the pods of O(job), and waits until they are gone.
    type: str
    choices: [looked_at, held, renewed, released]
    default: looked_at
  job:
    description: What holds the nodes, as returned.
    type: str
    default: ""
  minutes:
    description: For how long the pods may run at most.
    type: int
    default: 60
  namespace:
    description: The namespace of the pods.
    type: str
    default: default
  image:
    description: The image of the pods, which has C(/bin/sh), C(sleep) and C(cat).
    type: str
    default: ""
  priority_class:
    description: Their priority class, such as one of a negative value without preemption; empty is the cluster's default.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Hold the GPUs of two nodes
  gpufabric.pyramid.kubernetes_hold:
    nodes: [node047, node048]
    image: docker.io/library/busybox:1.36
    state: held
  delegate_to: localhost
"""

RETURN = r"""
idle:
  description:
    - The nodes of which no pod has GPUs, NICs or claims of devices, which are ready, and which nothing but their GPUs taints. For how many seconds is 0, which
      Kubernetes does not report.
  returned: when O(state=looked_at)
  type: dict
  sample: {node047: 0}
waiting:
  description: The pending pods that ask for GPUs of the nodes.
  returned: always
  type: list
  elements: str
  sample: ["team/training-0"]
held:
  description: Whether the pods have the nodes, and none of them is about to be deleted.
  returned: when O(state) is V(held) or V(renewed)
  type: bool
job:
  description: What holds the nodes; empty where nothing does.
  returned: when O(state) is V(held) or V(renewed)
  type: str
"""

import json
import os
import time
import traceback
import uuid

MISSING = ""
try:
    import kubernetes
    from urllib3.exceptions import HTTPError
except ImportError:
    MISSING = traceback.format_exc()

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.gpufabric.pyramid.plugins.module_utils import holding, repairing
from ansible_collections.gpufabric.pyramid.plugins.module_utils.gpu_pods import LABEL, NAME, RENEWED, ended, holding_pod, holds, idle, waiting

SECONDS = 20
# How long an image may take to be there, and pods to be gone.
START_SECONDS = 60
END_SECONDS = 45
# To these it is no failure that the pod has gone meanwhile; to others a 404 says that there is no such namespace.
OF_A_POD = ("delete_namespaced_pod", "patch_namespaced_pod")


class Kubernetes(holding.Scheduler):
    """Nodes of a cluster, held by pods; its API is asked in plain documents."""

    def __init__(self):
        super().__init__()
        try:
            kubernetes.config.load_config(config_file=os.environ.get("K8S_AUTH_KUBECONFIG") or None)
            self.api = kubernetes.client.CoreV1Api()
        except kubernetes.config.ConfigException as failed:
            raise repairing.Broken(f"Kubernetes is not reached: {failed}") from None

    def call(self, method, *words, **options):
        """What a method of the API returns, as a document; None where the pod that it is about has gone."""
        try:
            answer = getattr(self.api, method)(*words, _request_timeout=SECONDS, _preload_content=False, **options)
            return json.loads(answer.data)
        except kubernetes.client.exceptions.ApiException as failed:
            if failed.status == 404 and method in OF_A_POD:
                return None
            raise repairing.Broken(f"Kubernetes refuses {method}: {failed.status} {failed.reason}: {_message(failed)}") from None
        except (HTTPError, ValueError) as failed:
            raise repairing.Broken(f"Kubernetes does not answer {method}: {failed}") from None

    def pods(self, **selector):
        """The pods that a selector chooses."""
        return self.call("list_pod_for_all_namespaces", **selector).get("items", [])

    def of_job(self, job):
        """The pods of a job that are there."""
        return self.pods(label_selector=f"{LABEL}={job}")

    def read(self, names):
        found = {one["metadata"]["name"]: one for one in self.call("list_node").get("items", ())}
        unknown = sorted(set(names) - set(found))
        if unknown:
            raise repairing.Broken(f"Kubernetes has no node {', '.join(unknown[:5])}")
        self.nodes = {name: found[name] for name in names}

    def idle(self):
        return idle(self.nodes, self.pods())

    def waiting(self):
        return waiting(self.nodes, self.pods(field_selector="status.phase=Pending"))

    def is_there(self, job):
        return bool(self.of_job(job))

    def holds(self, job):
        return holds(self.of_job(job), self.nodes)

    def hold(self, params):
        job = f"{NAME}-{uuid.uuid4().hex[:8]}"
        try:
            for number, node in enumerate(self.nodes.values()):
                self.call("create_namespaced_pod", params["namespace"], holding_pod(job, number, node, params))
            until = time.monotonic() + START_SECONDS
            while not (held := self.holds(job)) and time.monotonic() < until and not ended(self.of_job(job)):
                time.sleep(0.5)
        except repairing.Broken:
            self.release(job)
            raise
        if not held:
            self.release(job)
        return job if held else ""

    def renew(self, job):
        for one in self.of_job(job):
            meta = one["metadata"]
            self.call("patch_namespaced_pod", meta["name"], meta["namespace"], {"metadata": {"annotations": {RENEWED: f"{time.time():.0f}"}}})

    def release(self, job):
        until = time.monotonic() + END_SECONDS
        for one in self.of_job(job):
            # What they wait for is nothing: nobody has to wait for its end.
            self.call("delete_namespaced_pod", one["metadata"]["name"], one["metadata"]["namespace"], grace_period_seconds=1)
        while left := [one for one in self.of_job(job) if one["status"].get("phase") not in ("Succeeded", "Failed")]:
            if time.monotonic() > until:
                names = ", ".join(sorted(str(one["spec"].get("nodeName")) for one in left))
                raise repairing.Broken(f"pods of {job} still hold {names} {END_SECONDS} s after they were deleted")
            time.sleep(0.5)


def _message(failed):
    """The words of a refusal."""
    try:
        return str(json.loads(failed.body)["message"])[:300]
    except (ValueError, TypeError, LookupError):
        return "no words"


def main():
    """Look, hold, renew or release."""
    module = AnsibleModule(
        argument_spec={
            **holding.SPEC,
            "namespace": {"type": "str", "default": "default"},
            "image": {"type": "str", "default": ""},
            "priority_class": {"type": "str", "default": ""},
        },
        required_if=[*holding.REQUIRED_IF, ("state", "held", ("image",))],
        supports_check_mode=True,
    )
    if MISSING:
        module.fail_json(msg=missing_required_lib("kubernetes"), exception=MISSING)
    try:
        module.exit_json(**holding.act(Kubernetes(), module.params, module.check_mode))
    except repairing.Broken as broken:
        module.fail_json(msg=str(broken))


if __name__ == "__main__":
    main()
