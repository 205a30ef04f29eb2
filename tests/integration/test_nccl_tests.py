# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module nccl_tests by hand: under a real supervisor and a real mpirun, with a program that prints what the real one printed on H200s."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

from .conftest import ROOT

# Loads of one name on one host end each other.
pytestmark = pytest.mark.xdist_group("nccl_tests")

PRINTED = ROOT / "tests/recordings/linux/nccl_tests/h200_x4.txt"
# A process with MPI prints where it is the first; each one notes what it was given.
PROGRAM = """#!/bin/sh
echo "$* ${NCCL_ALGO-none} ${NCCL_DEBUG-none} ${NCCL_IB_HCA-none}" >> RECORD
[ "${OMPI_COMM_WORLD_RANK:-0}" = 0 ] && cat PRINTED
exit ${ENDS:-0}
"""
PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - gpufabric.pyramid.nccl_tests: OPTIONS
      register: measured
      ignore_errors: true
      environment: {NCCL_ALGO: Ring}
    - ansible.builtin.copy:
        content: "{{ measured | to_json }}"
        dest: RESULT
        mode: "0600"
      check_mode: false
"""


@pytest.fixture
def mpirun() -> None:
    """Leaves a test out where Open MPI is not installed, which in CI is a failure."""
    if shutil.which("mpirun") is None:
        leave_out("needs mpirun (Debian: openmpi-bin)")


@pytest.fixture
def run(tmp_path: Path) -> t.Callable[..., dict[str, t.Any]]:
    """Runs the module with some options, and tells its result."""
    directory, result, play = tmp_path / "build", tmp_path / "result.json", tmp_path / "play.yml"
    directory.mkdir()
    program = directory / "all_reduce_perf"
    program.write_text(PROGRAM.replace("RECORD", str(tmp_path / "record")).replace("PRINTED", str(PRINTED)), encoding="utf-8")
    program.chmod(0o755)

    def one(*arguments: str, **options: t.Any) -> dict[str, t.Any]:
        output = {"directory": str(directory), "gpus": 4, "deadline": 60, **options}
        play.write_text(PLAY.replace("OPTIONS", json.dumps(output)).replace("RESULT", str(result)), encoding="utf-8")
        command = [str(Path(sys.executable).with_name("ansible-playbook")), str(play), "-i", "localhost,", "-c", "local", *arguments]
        done = subprocess.run(
            [*command, "-e", f"ansible_python_interpreter={sys.executable}"], cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
            text=True, capture_output=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(result.read_text(encoding="utf-8"))

    return one


@pytest.mark.exhaustive
def test_a_host_alone_has_the_variables_that_it_is_given_and_no_others(run: t.Callable[..., dict[str, t.Any]], tmp_path: Path) -> None:
    results = run(environment={"NCCL_DEBUG": "WARN"}, last_bytes=1 << 30)
    assert not results["failed"] and not results["changed"], results["msg"]
    assert results["rows"][-1]["busbw_gbyte_s"] > 300 and {row["wrong"] for row in results["rows"]} == {0}
    given = "-b 1048576 -e 1073741824 -f 4 -g 4 -n 20 -c 1"
    assert results["command"][1:] == given.split()
    assert (tmp_path / "record").read_text(encoding="utf-8") == f"{given} none WARN none\n", "the login's NCCL_ALGO is not NCCL's"


@pytest.mark.usefixtures("mpirun")
def test_mpirun_starts_a_process_for_each_gpu(run: t.Callable[..., dict[str, t.Any]], tmp_path: Path) -> None:
    local = ["--allow-run-as-root", "--oversubscribe", "--mca", "plm_rsh_agent", "/bin/false"]
    results = run(launcher="mpirun", hosts=["localhost"], arguments=local, environment={"NCCL_IB_HCA": "=mlx5_0,mlx5_1"})
    assert not results["failed"], results["msg"]
    assert len(results["rows"]) > 3
    assert (tmp_path / "record").read_text(encoding="utf-8").splitlines() == ["-b 1048576 -e 4294967296 -f 4 -g 1 -n 20 -c 1 none none =mlx5_0,mlx5_1"] * 4


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"collective": "broadcast"}, "broadcast_perf: not found"),
        ({"environment": {"ENDS": "3"}}, "all_reduce_perf exited with status 3"),
        ({"hosts": ["gpu01"]}, "hosts and launcher go together"),
    ],
)
def test_what_does_not_run_fails_in_its_own_words(run: t.Callable[..., dict[str, t.Any]], options: dict[str, t.Any], words: str) -> None:
    results = run(**options)
    assert results["failed"] and words in results["msg"] and not results.get("rows")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("mpirun")
def test_an_mpirun_that_refuses_its_arguments_fails_in_its_own_words(run: t.Callable[..., dict[str, t.Any]]) -> None:
    results = run(launcher="mpirun", hosts=["localhost"], arguments=["--no-such-argument"])
    assert results["failed"] and 'unknown option "--no-such-argument"' in results["msg"] and not results.get("rows")


@pytest.mark.exhaustive
def test_check_mode_tells_the_command_and_runs_nothing(run: t.Callable[..., dict[str, t.Any]], tmp_path: Path) -> None:
    results = run("--check", "--diff")
    assert results["skipped"] and results["command"][-4:] == ["-n", "20", "-c", "1"] and not (tmp_path / "record").exists()
