# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that are interrupted at random moments: ``python -m tests.chaos.interrupts 50`` says of each what it left.

An interrupt may leave neither a process, of the controller or of a node, nor the pod's lock. The moments are drawn from the time that a whole run takes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock import LOCK
from ansible_collections.gpufabric.pyramid.tests.processes import command_line, environments
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout

from .processes import await_that

ROOT = Path(__file__).resolve().parents[2]
SIZE = {"racks": 2, "hosts_per_rack": 3, "spines": 2}
# So long may a run take on a machine that is busy, and so long may what it started take to end with it.
RUN_SECONDS, END_SECONDS = 600, 60


def command(inventory: Path, layer: str) -> list[str]:
    """A run up to a layer; the marks of its processes are the inventory's place and its environment."""
    return [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(inventory), "-e", f"pod_to_layer={layer}"]


def processes_of(mark: str) -> list[str]:
    """The processes that carry a mark in their environment, in words."""
    return [f"PROCESS LEFT: {pid} {command_line(pid)}" for pid, words in environments() if f"INTERRUPTED_RUN={mark}" in words]


def interrupted(directory: Path, layer: str, after: float | None) -> tuple[float, list[str]]:
    """Seconds that a run took, and what it left; after: when it is interrupted, in seconds, None for not at all."""
    inventory, mark = directory / "inventory", str(directory)
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "INTERRUPTED_RUN": mark}
    began = time.monotonic()
    running = subprocess.Popen(
        command(inventory, layer), cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    wrong: list[str] = []
    try:
        running.wait(RUN_SECONDS if after is None else after)
    except subprocess.TimeoutExpired:
        # As a terminal does: every process of the foreground group gets it.
        os.killpg(running.pid, signal.SIGINT)
        try:
            running.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            wrong.append(f"the run did not end within {END_SECONDS} s of its interrupt")
            running.kill()
            running.wait()
    took = time.monotonic() - began
    lock = directory / "runs" / "interrupted" / LOCK
    with contextlib.suppress(TimeoutError):
        await_that(lambda: not processes_of(mark) and not lock.exists(), "nothing is left", END_SECONDS)
    return took, [*wrong, *processes_of(mark), *([f"LOCK LEFT: {lock}"] if lock.exists() else [])]


def main(number: int, layer: str, seed: int) -> int:
    """Interrupt so many runs; the exit status says whether one of them left something."""
    # A shell that starts this in the background lets it, and all that it starts, ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    drawn, bad = random.Random(seed), 0
    with tempfile.TemporaryDirectory(prefix="interrupts-") as place:
        directory = Path(place)
        layout.write(
            directory / "inventory", **SIZE,
            expectations={"pod_name": "interrupted", "pod_runs_dir": str(directory / "runs"), "pod_depth": "quick"},
        )  # fmt: skip
        whole, left = interrupted(directory, layer, None)
        print(f"a whole run: {whole:.1f} s", *left, sep="\n  ", flush=True)
        for one in range(number):
            after = drawn.uniform(0.2, whole)
            took, left = interrupted(directory, layer, after)
            bad += bool(left)
            print(f"{one + 1}: {'BAD' if left else 'ok'}, interrupted after {after:.2f} s, ended after {took:.1f} s", *left, sep="\n  ", flush=True)
    print(f"{number} interrupts, {bad} of them left something")
    return int(bad > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.interrupts")
    parser.add_argument("number", nargs="?", type=int, default=50)
    parser.add_argument("--layer", default="links", help="up to where a run climbs")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    given = parser.parse_args()
    sys.exit(main(given.number, given.layer, given.seed))
