# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod of a run stays what its first task found: neither an edit of the programs that render it nor the pods of other runs take it away."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.connection import simulated_pod as connection

OTHER = "1-0"


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small inventory, with its pods and the programs that render them in directories of the test."""
    for name in ("pods", "programs", "inventory"):
        (tmp_path / name).mkdir()
    (tmp_path / "programs/model.py").write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "pods"))
    monkeypatch.setattr(connection, "HERE", tmp_path / "programs")
    return layout.write(tmp_path / "inventory", racks=1, hosts_per_rack=2, spines=1, expectations={"pod_name": "small"})


def edit(tmp_path: Path) -> None:
    """Change a program that renders pods."""
    (tmp_path / "programs/model.py").write_text("b = 22\n", encoding="utf-8")


def test_an_edit_during_a_run_leaves_it_its_pod(inventory: Path, tmp_path: Path) -> None:
    run = connection.process(os.getpid())
    first = connection.of_run(run, inventory, "", 1)
    edit(tmp_path)
    assert connection.of_run(run, inventory, "", 1) == first and (first / "unreachable").exists()
    assert connection.of_run(OTHER, inventory, "", 1) != first, "a later run has the pod of the edited programs"
    assert connection.of_run(run, inventory, "", 2) != first, "another seed is another pod"


def test_the_tools_of_a_pod_are_not_the_checkouts(inventory: Path, tmp_path: Path) -> None:
    place = connection.of_run(OTHER, inventory, "", 1)
    linked = {
        path.resolve() for node in place.iterdir() if (node / "bin").is_dir() for path in [*(node / "bin").iterdir(), node / "=change", node / "=stack.py"]
    }
    assert len(linked) == 4 and all(path.is_file() and path.is_relative_to(place.resolve()) for path in linked)


def test_other_pods_take_no_pod_of_a_run_under_way(inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "KEPT", 1)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        used = connection.of_run(connection.process(process.pid), inventory, "", 1)
        ended = connection.of_run(OTHER, inventory, "", 2)
        connection.of_run(OTHER, inventory, "", 3)
        assert used.is_dir() and not ended.is_dir()
        process.communicate(b"\n")
    connection.of_run(OTHER, inventory, "", 4)
    connection.of_run(OTHER, inventory, "", 5)
    assert not used.is_dir(), "the run has ended"
