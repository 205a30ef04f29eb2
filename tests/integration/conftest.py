# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Climbs of a small simulated pod: two racks of four hosts, eight leaves, four spines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.labs.softroce import keeper
from ansible_collections.gpufabric.pyramid.tests.labs.softroce.lab import Lab as Machines
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout

ROOT = Path(__file__).resolve().parents[2]
RACKS = ["rack_01", "rack_02"]
SMALLEST: dict[str, t.Any] = {"racks": 2, "hosts_per_rack": 3, "spines": 2}


def alike(*values: object) -> t.Any:
    """A case that another one of the same test stands for."""
    return pytest.param(*values, marks=[pytest.mark.exhaustive, pytest.mark.long])


def more(*values: object) -> t.Any:
    """A case beyond those of `make test`, for the exhaustive tests."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


@dataclass
class Climb:
    """How a climb ended: exit status, all it printed, its run directory and its report (None where it wrote none)."""

    rc: int
    output: str
    run: Path | None
    report: dict[str, t.Any] | None

    def gate(self, layer: str, group: str) -> str:
        """The gate of a group at a layer."""
        assert self.report is not None, self.output
        return next(one for one in self.report["layers"] if one["layer"] == layer)["groups"][group]["gate"]

    def not_well(self) -> dict[str, str]:
        """The checks that are neither pass nor skip, with their worst verdict."""
        assert self.report is not None, self.output
        return not_well(self.report)


def not_well(report: dict[str, t.Any]) -> dict[str, str]:
    """The checks of a report that are neither pass nor skip, with their worst verdict."""
    order = ["warn", "unknown", "fail"]
    found: dict[str, str] = {}
    for one in report["verdicts"]:
        if one["verdict"] in order:
            found[one["check"]] = max(found.get(one["check"], "warn"), one["verdict"], key=order.index)
    return found


class Pod:
    """A small pod's inventory, and its climbs."""

    def __init__(self, directory: Path, racks: int = 2, hosts_per_rack: int = 4, spines: int = 4, **expectations: t.Any) -> None:
        self.inventory, self.runs = directory / "inventory", directory / "runs"
        self.inventory.mkdir(parents=True)
        small = {"pod_name": "small", "pod_soak_seconds": 1, "pod_runs_dir": str(self.runs), **expectations}
        layout.write(self.inventory, racks=racks, hosts_per_rack=hosts_per_rack, spines=spines, expectations=small)

    def playbook(self, *arguments: str, playbook: str = "playbooks/validate.yml", **variables: t.Any) -> Climb:
        """Run a playbook with extra variables."""
        extra = ["-e", json.dumps(variables)] if variables else []
        command = [str(Path(sys.executable).with_name("ansible-playbook")), playbook, "-i", str(self.inventory), *extra, *arguments]
        before = self.latest()
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, text=True, capture_output=True, timeout=600, check=False)
        run = self.latest()
        fresh = run if run != before else None
        report = json.loads((fresh / "report.json").read_text()) if fresh and (fresh / "report.json").is_file() else None
        return Climb(done.returncode, done.stdout + done.stderr, fresh, report)

    def climb(self, *arguments: str, **variables: t.Any) -> Climb:
        """Run validate.yml."""
        return self.playbook(*arguments, **variables)

    def latest(self) -> Path | None:
        """The newest run."""
        link = self.runs / "small" / "latest"
        return link.resolve() if link.exists() else None


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    """A healthy pod of its own, the smallest in which no host and no spine is alone."""
    return Pod(tmp_path, **SMALLEST)


# Set-ups that take a climb or more: the tests that share one stay with one worker, which makes it once.
SHARED = {"healthy", "slices"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests of each shared set-up, as a mark in each of them would."""
    for item in items:
        for name in SHARED.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(name))


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pod, Climb]:
    """A pod that nobody changes, with a whole healthy climb."""
    one = Pod(tmp_path_factory.mktemp("healthy"), **SMALLEST)
    return one, one.climb()


@pytest.fixture(scope="session")
def machines() -> t.Iterator[Machines]:
    """Two machines with eight Soft-RoCE rails each, which end with this process whatever becomes of it; a test leaves them whole.

    SOFTROCE_LAB names a lab that is up already and stays so, to write tests by.
    """
    if name := os.environ.get("SOFTROCE_LAB"):
        yield Machines(name)
        return
    words = keeper.lacking()
    if words is not None:
        leave_out(words)
    name = f"t{os.getpid()}"
    lab = keeper.up(name, owner=os.getpid())
    try:
        lab.wait()
        yield lab
    finally:
        keeper.down(name)
