# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab of FRR routers leaves nothing behind: not after ``down``, not after a crash, not when its owner dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.labs.frr import life
from ansible_collections.gpufabric.pyramid.tests.labs.frr.keeper import interface
from ansible_collections.gpufabric.pyramid.tests.labs.frr.lab import Lab, directory_of
from ansible_collections.gpufabric.pyramid.tests.labs.frr.shape import Shape
from ansible_collections.gpufabric.pyramid.tests.labs.standing import LabError, alive, poll
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

SMALL = Shape(1, 1, 1)


@pytest.fixture
def name() -> t.Iterator[str]:
    """The name of a lab of the test's own."""
    words = life.lacking()
    if words is not None:
        leave_out(words)
    one = f"c{os.getpid()}"
    yield one
    life.down(one)


def recorded(name: str) -> dict[str, str]:
    """Every process of a lab, with its start; the keeper first."""
    return json.loads((directory_of(name) / "processes.json").read_text())


def remains(name: str, processes: dict[str, str]) -> str | None:
    """What is left of a lab besides its directory."""
    left = [str(process) for process in alive(processes)] + [one.name for one in Path("/sys/class/net").iterdir() if one.name == interface(name)]
    return ", ".join(left) or None


def test_down_leaves_nothing(name: str) -> None:
    lab = life.up(name, SMALL, owner=os.getpid())
    lab.wait()
    processes = recorded(name)
    # Keeper, and two processes each of the management bridge, the spine, the leaf and the host.
    assert len(processes) == 9 and len(alive(processes)) == 9
    assert life.status(lab) == {}
    with pytest.raises(LabError, match="is up already"):
        life.up(name, SMALL)
    life.down(name)
    assert remains(name, processes) is None and not directory_of(name).exists()
    with pytest.raises(LabError, match="no lab"):
        Lab(name)


@pytest.mark.exhaustive
def test_a_killed_keeper_takes_its_nodes_along(name: str) -> None:
    lab = life.up(name, SMALL, owner=os.getpid())
    processes = recorded(name)
    os.kill(int(next(iter(processes))), signal.SIGKILL)
    poll(10, lambda: remains(name, processes), "nothing of the lab lives")
    assert set(life.status(lab)) == {"management", "spine01", "leaf01", "gpu01"}
    life.down(name)
    assert not directory_of(name).exists()


@pytest.mark.exhaustive
def test_a_lab_ends_with_its_owner(name: str) -> None:
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    life.up(name, SMALL, owner=owner.pid)
    processes = recorded(name)
    owner.kill()
    owner.wait()
    poll(10, lambda: remains(name, processes) or (f"{directory_of(name)} exists" if directory_of(name).exists() else None), "nothing of the lab is left")


@pytest.mark.exhaustive
def test_a_lab_that_cannot_start_says_why_and_leaves_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = directory_of(name).parent / f"gpufabric-no-keygen-{os.getpid()}"
    empty.mkdir()
    (empty / "ssh-keygen").write_text("#!/bin/sh\necho no entropy >&2\nexit 3\n")
    (empty / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", f"{empty}:{os.environ['PATH']}")
    try:
        with pytest.raises(LabError, match=r"ssh-keygen .* ended with status 3"):
            life.up(name, SMALL)
    finally:
        (empty / "ssh-keygen").unlink()
        empty.rmdir()
    assert not directory_of(name).exists()
