# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that reads the limits of running services, of this very process, with a systemctl of shell."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import service_limits


def asked(place: Path, answer: str, *units: str) -> subprocess.CompletedProcess[str]:
    tool = place / "systemctl"
    tool.write_text(f"#!/bin/sh\n{answer}\n")
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
    argv = [sys.executable, "-SE", str(service_limits.__file__), *units]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


def test_the_limit_of_a_running_process_and_none_of_one_that_does_not_run(tmp_path: Path) -> None:
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    answer = f'[ "$5" = a.service ] && echo MainPID={os.getpid()} || echo MainPID=0'
    done = asked(tmp_path, answer, "a.service", "b.service")
    assert done.returncode == 0, done.stderr
    limit = "unlimited" if soft == resource.RLIM_INFINITY else str(soft)
    assert json.loads(done.stdout)["rows"] == [
        {"unit": "a.service", "pid": os.getpid(), "memlock": limit},
        {"unit": "b.service", "pid": 0, "memlock": None},
    ]


def test_a_process_that_is_gone_has_no_limit_that_can_be_read(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    row = json.loads(asked(tmp_path, f"echo MainPID={gone.pid}", "a.service").stdout)["rows"][0]
    assert row == {"unit": "a.service", "pid": gone.pid, "memlock": None}


def test_a_manager_that_does_not_answer_ends_with_the_reason(tmp_path: Path) -> None:
    done = asked(tmp_path, "echo Failed to connect to bus >&2; exit 1", "a.service")
    assert (done.returncode, done.stdout) == (1, "") and "ended with status 1: Failed to connect to bus" in done.stderr
