# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""As much of a Kubernetes API server as draining and holding a node needs: nodes and pods in memory, merge patches, evictions, and GPUs that pods wait for."""

from __future__ import annotations

import json
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import yaml

Document = dict[str, t.Any]
GPUS = "nvidia.com/gpu"
VERBS = ["create", "delete", "get", "list", "patch"]
RESOURCES = [("nodes", "Node", False, VERBS), ("pods", "Pod", True, VERBS), ("pods/eviction", "Eviction", True, ["create"])]


def node(name: str) -> Document:
    """A node with eight GPUs that takes pods."""
    status = {"allocatable": {"cpu": "190", GPUS: "8"}, "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": {}, "labels": {}}, "spec": {}, "status": status}


def pod(name: str, on: str, gpus: int = 0, owner: str = "ReplicaSet") -> Document:
    """A pod that runs on a node, or where none is named waits for one that has so many GPUs free."""
    limits = {GPUS: str(gpus)} if gpus else {}
    own = [{"apiVersion": "apps/v1", "kind": owner, "name": "owner", "uid": "1", "controller": True}]
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "uid": name, "ownerReferences": own},
        "spec": {**({"nodeName": on} if on else {}), "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}]},
        "status": {"phase": "Running" if on else "Pending"},
    }  # fmt: skip


def _merge(into: Document, patch: Document) -> None:
    """A JSON merge patch."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


class Api:
    """A server with nodes and pods; ``requests`` holds what was asked of it."""

    def __init__(self, nodes: t.Sequence[str]) -> None:
        self.nodes = {name: node(name) for name in nodes}
        self.pods: dict[str, Document] = {}
        # Requests are answered side by side.
        self.lock = threading.Lock()
        self.requests: list[tuple[str, str]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def run(self, *pods: Document) -> None:
        """Put pods on their nodes, or let them wait for one."""
        with self.lock:
            self.pods |= {one["metadata"]["name"]: one for one in pods}
            self._schedule()

    def preempt(self, name: str) -> None:
        """Tell a pod that it is deleted, as the scheduler does for one of a higher priority; it may end for as long as its grace lasts."""
        self.pods[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def _schedule(self) -> None:
        """Give pods that wait to nodes that have as many GPUs free as they ask for, those first that have waited longest."""
        for one in self.pods.values():
            spec = one["spec"]
            wanted = spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
            names = wanted[0]["matchFields"][0]["values"] if wanted else list(self.nodes)
            free = next((name for name in names if name in self.nodes and self._free(name) >= _gpus(one)), None)
            if not spec.get("nodeName") and free is not None:
                spec["nodeName"], one["status"]["phase"] = free, "Running"

    def _free(self, name: str) -> int:
        offered = int(self.nodes[name]["status"]["allocatable"][GPUS])
        return offered - sum(_gpus(one) for one in self.pods.values() if one["spec"].get("nodeName") == name and one["status"]["phase"] == "Running")

    def configuration(self, path: Path) -> Path:
        """A kubeconfig for the server."""
        url = f"http://127.0.0.1:{self.server.server_port}"
        clusters, users = [{"name": "lab", "cluster": {"server": url}}], [{"name": "lab", "user": {"token": "none"}}]
        contexts = [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}]
        named = {"clusters": clusters, "users": users, "contexts": contexts, "current-context": "lab"}
        path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **named}))
        return path

    def end(self) -> None:
        """Stop serving."""
        self.server.shutdown()
        self.server.server_close()

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Document) -> tuple[int, Document]:
        """Status and document of a request."""
        self.requests.append((method, path))
        known = {
            "/version": {"major": "1", "minor": "31"},
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "groups": []},
        }
        if path in known:
            return 200, known[path]
        if path == "/api/v1":
            rows = [{"name": name, "kind": kind, "namespaced": namespaced, "verbs": verbs} for name, kind, namespaced, verbs in RESOURCES]
            return 200, {"kind": "APIResourceList", "groupVersion": "v1", "resources": rows}
        words = path.removeprefix("/api/v1/").split("/")
        if words[0] == "nodes":
            return self._node(method, words[1:], body)
        with self.lock:
            return self._pod(method, words, query, body)

    def _node(self, method: str, words: list[str], body: Document) -> tuple[int, Document]:
        if not words:
            return 200, {"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": list(self.nodes.values())}
        if words[0] not in self.nodes:
            return 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": f"nodes {words[0]} not found"}
        if method == "PATCH":
            _merge(self.nodes[words[0]], body)
        return 200, self.nodes[words[0]]

    def _pod(self, method: str, words: list[str], query: dict[str, list[str]], body: Document) -> tuple[int, Document]:
        if words == ["pods"]:
            items = [one for one in self.pods.values() if _chosen(one, query)]
            return 200, {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items}
        if method == "POST" and words[2:] == ["pods"]:
            own = {"name": body["metadata"]["name"], "namespace": words[1], "uid": body["metadata"]["name"]}
            self.pods[own["name"]] = {**body, "metadata": {**body["metadata"], **own}, "status": {"phase": "Pending"}}
            self._schedule()
            return 201, self.pods[own["name"]]
        name = words[3] if len(words) > 3 else ""
        if name not in self.pods:
            return 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": f"pods {name} not found"}
        if method == "PATCH":
            _merge(self.pods[name], body)
        if method == "DELETE" or (method == "POST" and words[4:] == ["eviction"]):
            del self.pods[name]
            self._schedule()
            return 200 if method == "DELETE" else 201, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        return 200, self.pods[name]


def _gpus(one: Document) -> int:
    return sum(int(container["resources"]["limits"].get(GPUS, 0)) for container in one["spec"]["containers"])


def _chosen(one: Document, query: dict[str, list[str]]) -> bool:
    """Whether selectors of fields and labels, each of one, choose a pod."""
    fields = {"spec.nodeName": one["spec"].get("nodeName", ""), "status.phase": one["status"]["phase"]}
    known = {"fieldSelector": fields, "labelSelector": one["metadata"].get("labels") or {}}
    asked = [(known[kind], query[kind][0].partition("=")) for kind in known if kind in query]
    return all(values.get(name) == value for values, (name, _equals, value) in asked)


def _handler(api: Api) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, document = api.answer(self.command, parts.path.rstrip("/"), parse_qs(parts.query), json.loads(text) if text else {})
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

        def log_message(self, format: str, *args: t.Any) -> None:
            """Nobody reads it."""

    return Handler
