# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One task reads all nodes, each with its own variables and over its own connection, as a task of that node would."""

from __future__ import annotations

import concurrent.futures
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

# The other tasks of a run end well within it, also on a busy machine.
TASK_TIMEOUT = 20
LATE_ONCE = """#!/bin/sh
/bin/mkdir "{place}/late_once" 2>/dev/null && /bin/sleep {seconds}
exec {python} "$@"
"""
SLOW = """#!/bin/sh
echo $$ > "{place}/waits.new" && /bin/mv "{place}/waits.new" "{place}/waits"
while [ ! -e "{place}/go" ]; do /bin/sleep 0.05; done
exec {python} "$@"
"""


def of_host(pod, host: str, **variables: object) -> None:
    """Give a host variables of its own."""
    place = pod.inventory / "host_vars" / host
    place.mkdir(parents=True, exist_ok=True)
    (place / "own.yml").write_text(yaml.safe_dump(variables), encoding="utf-8")


@pytest.mark.exhaustive
def test_each_node_has_its_own_variables_and_what_is_wrong_with_them_is_its_own(pod) -> None:
    if shutil.which("ssh") is None:
        leave_out("needs ssh (Debian: openssh-client)")
    of_host(pod, "gpu01", ansible_python_interpreter="/nonexistent/{{ 'py' ~ 'thon' }}")
    of_host(pod, "gpu02", ansible_become="{{ nowhere_defined }}")
    of_host(pod, "gpu03", ansible_connection="ssh", ansible_host="127.0.0.1", ansible_port=1)
    climb = pod.climb("-e", "pod_to_layer=preflight")
    assert climb.rc == 2 and climb.not_well() == {"answered": "unknown"}
    output = " ".join(climb.output.split())
    assert "/nonexistent/python on the node ended with status 127" in output
    assert "'nowhere_defined' is undefined" in output
    assert re.search(r"gpu03: unreachable: .*port 1: Connection refused", output)
    for host in ("gpu01", "gpu02", "gpu03"):
        # Hosts with the same counts are one line.
        assert re.search(rf"^[^:\n]*\b{host}\b[^:\n]*: .*failed=1 ", climb.output, re.MULTILINE), "the recap names it"


@pytest.mark.exhaustive
def test_verbosity_shows_what_is_done_on_each_node(pod) -> None:
    output = pod.climb("-vvv", "-e", "pod_to_layer=preflight").output
    hosts = {host for host in ("gpu01", "gpu02", "gpu03", "gpu04") if re.search(rf"<{host}> EXEC .*-SE -", output)}
    assert len(hosts) == 4, output[-2000:]


@pytest.mark.exhaustive
def test_a_task_timeout_of_the_user_ends_no_reading(pod, monkeypatch, tmp_path) -> None:
    """The task that reads all nodes takes longer than a task may; each command of a node has a timeout of its own."""
    late = tmp_path / "late"
    late.write_text(LATE_ONCE.format(place=tmp_path, seconds=TASK_TIMEOUT + 2, python=sys.executable), encoding="utf-8")
    late.chmod(0o755)
    of_host(pod, "gpu01", ansible_python_interpreter=str(late))
    monkeypatch.setenv("ANSIBLE_TASK_TIMEOUT", str(TASK_TIMEOUT))
    climb = pod.climb("-e", "pod_to_layer=preflight")
    assert (tmp_path / "late_once").is_dir(), climb.output[-3000:]
    assert "Timed out after" not in " ".join(climb.output.split())
    assert climb.gate("preflight", "rack_01") == "open", climb.output[-3000:]


def reader_of(pid: int) -> int:
    """The process of ansible-playbook that a client is of: its nearest ancestor that is one."""
    while "ansible-playbook" not in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace"):
        pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[1])
    return pid


@pytest.mark.exhaustive
def test_nodes_of_a_process_that_is_killed_are_unknown_by_name(pod, tmp_path) -> None:
    slow = tmp_path / "slow"
    slow.write_text(SLOW.format(place=tmp_path, python=sys.executable), encoding="utf-8")
    slow.chmod(0o755)
    of_host(pod, "gpu01", ansible_python_interpreter=str(slow))
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        climb = beside.submit(pod.climb, "-e", "pod_to_layer=preflight")
        until = time.monotonic() + 60
        while not (tmp_path / "waits").exists() and time.monotonic() < until:
            time.sleep(0.05)
        reader = reader_of(int((tmp_path / "waits").read_text(encoding="ascii")))
        os.kill(reader, signal.SIGKILL)
        (tmp_path / "go").touch()
        ended = climb.result(timeout=120)
    assert ended.rc == 2 and ended.not_well() == {"answered": "unknown"}
    assert "the process that worked for it ended with status -9 and no result of" in " ".join(ended.output.split())
    named = {one["host"] for one in ended.report["verdicts"] if one["check"] == "answered" and one["verdict"] == "unknown"}
    assert "gpu01" in named
