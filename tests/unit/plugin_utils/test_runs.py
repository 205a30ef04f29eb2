# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a pod at a time, held by a process; files that are private and whole."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import runs


@pytest.fixture
def other() -> subprocess.Popen:
    """Another living process."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


def test_a_living_run_holds_its_pod(tmp_path: Path, other) -> None:
    run = runs.open_run(tmp_path / "pod", other.pid)
    runs.held(run, other.pid)
    with pytest.raises(runs.RunError, match=f"run {run.name} of this pod is under way: process {other.pid} on"):
        runs.open_run(tmp_path / "pod", os.getpid())
    with pytest.raises(runs.RunError, match="does not hold its pod any more"):
        runs.held(run, os.getpid())


def test_a_dead_runs_place_is_taken_over(tmp_path: Path, other) -> None:
    first = runs.open_run(tmp_path / "pod", other.pid)
    other.kill()
    other.wait()
    second = runs.open_run(tmp_path / "pod", os.getpid())
    assert second != first and (tmp_path / "pod" / "latest").resolve() == second
    with pytest.raises(runs.RunError):
        runs.held(first, os.getpid())


def test_a_process_may_open_another_run_which_ends_its_first(tmp_path: Path, other) -> None:
    first = runs.open_run(tmp_path / "pod", other.pid)
    second = runs.open_run(tmp_path / "pod", other.pid)
    runs.held(second, other.pid)
    with pytest.raises(runs.RunError, match="does not hold its pod any more"):
        runs.held(first, other.pid)
    with pytest.raises(runs.RunError, match="is under way"):
        runs.open_run(tmp_path / "pod", os.getpid())


@pytest.mark.parametrize(
    ("change", "taken"),
    [({"boot_id": "another"}, True), ({"started": 1}, True), ({"host": "elsewhere", "boot_id": "another"}, False), ({"pid_namespace": "pid:[1]"}, False)],
)
def test_whose_place_is_taken_over(tmp_path: Path, change, taken) -> None:
    run = runs.open_run(tmp_path / "pod", os.getpid())
    record = tmp_path / "pod" / runs.HOLDER
    record.write_text(json.dumps({**json.loads(record.read_text()), **change}))
    if taken:
        assert runs.open_run(tmp_path / "pod", os.getpid()) != run
        return
    with pytest.raises(runs.RunError, match="is under way"):
        runs.open_run(tmp_path / "pod", os.getpid())
    os.utime(record, (0, 0))
    assert runs.open_run(tmp_path / "pod", os.getpid()) != run


def test_an_abandoned_run_leaves_nothing(tmp_path: Path, other) -> None:
    kept = runs.open_run(tmp_path / "pod", other.pid)
    other.kill()
    other.wait()
    runs.abandon(runs.open_run(tmp_path / "pod", os.getpid()))
    assert (tmp_path / "pod" / "latest").resolve() == kept and not (tmp_path / "pod" / runs.HOLDER).exists()


def test_files_are_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.json"
    runs.write_json(path, {"text": "\udcff \x00 é"})
    assert runs.read_json(path) == {"text": "\udcff \x00 é"}
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [one.name for one in path.parent.iterdir()] == ["report.json"]


def test_files_that_say_the_same_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    """A report that says go beside a page that never came would be believed."""
    runs.write_all({tmp_path / "report.json": "no_go", tmp_path / "report.md": "no_go"})
    _soft, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            runs.write_all({tmp_path / "report.json": "go", tmp_path / "report.md": "go" * 4096})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"report.json": "no_go", "report.md": "no_go"}


def test_the_latest_run_is_one_that_reported(tmp_path: Path, other) -> None:
    first = runs.open_run(tmp_path / "pod", other.pid)
    runs.write_json(first / "report.json", {})
    assert runs.latest(tmp_path / "pod") == first and runs.latest(tmp_path / "pod", other_than=first.name) is None
