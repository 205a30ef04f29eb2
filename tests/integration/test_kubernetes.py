# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection ``kubernetes.core.kubectl`` with a kubectl of the tests, which runs the command on the spot: no Kubernetes is behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.ledger import ROOT

KUBECTL = """#!/bin/sh
# kubectl -n NAMESPACE exec -i POD -c CONTAINER -- COMMAND...
printf '%s\\n' "$*" >>"{log}"
while [ "$1" != "--" ]; do shift; done
shift
exec "$@"
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


def test_a_test_pod_is_loaded_and_collected_through_kubectl(tmp_path: Path) -> None:
    log, result, play = tmp_path / "log", tmp_path / "result.json", tmp_path / "play.yml"
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL.format(log=log))
    kubectl.chmod(0o755)
    play.write_text(PLAY.replace("RESULT", str(result)).replace("PYTHON", sys.executable))
    command = [
        str(Path(sys.executable).with_name("ansible-playbook")),
        str(play),
        "-i",
        "inventories/kubernetes",
        "-e",
        f"ansible_python_interpreter={sys.executable}",
    ]
    environment = {**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1", "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = log.read_text()
    assert "pyramid-gpu01" in asked and "-n pyramid" in asked and "-c test" in asked
    (server,) = json.loads(result.read_text())["servers"]
    assert server["argv"][:3] == ["ib_write_bw", "-d", "none_0"]
    assert server["stderr"] in ("ib_write_bw: not found on PATH",) or "none_0" in server["stderr"] or "RDMA" in server["stderr"]
