# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every benchmark runs, at its smallest, and prints its figures; what they are is nothing that a test asserts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out

from .conftest import ROOT

# Those with sshd nodes use the same ports.
pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("benchmarks")]

TIMEOUT_SECONDS = 900
LAYERS = ("preflight", "links", "routing", "congestion")
# Of each benchmark: its arguments, the programs that it needs, and what its figures are called.
SMALLEST: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "bisection": (("232",), (), ("232 hosts, 40 bad",)),
    "controller": (("8",), (), (*LAYERS, "verdict", "all")),
    "fleet": (("50", "RSC-1"), (), ("by risk", "RSC-1: 6.50 failures")),
    "judging": (("1",), (), (*LAYERS[:3], "all")),
    "node_check": (("2",), (), ("wall", "CPU", "memory", "share of one CPU")),
    "parsing": ((), (), ("interface_status on eos", "interface_errors on sonic", "loading every reading")),
    "reading": (("1", "2", "5"), ("sshd", "pdsh"), ("this collection", "a task a command", "pdsh")),
    "slices": (("16", "2", "1"), (), ("plan", "slice_1")),
    "switches": (("1", "2"), ("sshd", "openssl"), ("this collection", "over eAPI")),
}
# What the others are run by.
PARTS = {"canned", "eapi", "sshd_nodes"}


def test_every_benchmark_is_run() -> None:
    assert {path.stem for path in (ROOT / "benchmarks").glob("*.py")} == SMALLEST.keys() | PARTS


@pytest.mark.parametrize("name", SMALLEST)
def test_a_benchmark_prints_its_figures(name: str) -> None:
    arguments, programs, figures = SMALLEST[name]
    missing = [program for program in programs if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    missing += ["root"] if "sshd" in programs and os.geteuid() != 0 else []
    if missing:
        leave_out(f"benchmarks.{name} needs {', '.join(missing)}")
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [figure for figure in figures if figure not in done.stdout] == [], done.stdout
