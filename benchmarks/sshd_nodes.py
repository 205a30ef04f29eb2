# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real sshd nodes on this machine, with the simulated pod's tools on their PATH; for benchmarks only."""

from __future__ import annotations

import contextlib
import os
import tempfile
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.tests.labs import sshd
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import made
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.rendering import render

FIRST_PORT = 22001
HOSTS = [f"gpu{number:02}" for number in range(1, 13)]
# What is kept of a switch has booted again in each response.
UPTIME = """s/"uptime": 0.0/"uptime": '$(cut -d" " -f1 /proc/uptime)'/"""


@contextlib.contextmanager
def nodes(names: t.Sequence[str] = HOSTS, **size: int) -> t.Iterator[Path]:
    """An inventory some of whose nodes are real sshd processes; everything ends with the context."""
    # A client of ssh that still ends takes its socket out of the directory by itself, which this removal does not mind.
    with tempfile.TemporaryDirectory(prefix="nodes-") as temporary:
        directory = Path(temporary)
        expectations = {"pod_name": "bench", "pod_runs_dir": str(directory / "runs")}
        inventory = layout.write(directory / "inventory", **{"racks": 2, "hosts_per_rack": 6, "spines": 2, **size}, expectations=expectations)
        render(*made(inventory, [], 1), directory / "answers")
        with sshd.nodes(directory, inventory, {name: FIRST_PORT + number for number, name in enumerate(names)}, settings=_settings):
            os.environ["BENCH_DIRECTORY"] = str(directory)
            yield inventory


def _settings(node: str) -> list[str]:
    """A switch takes `| json` as words of its own, not as a pipe, and counts its uptime."""
    return [] if node in HOSTS else [f"ForceCommand $SSH_ORIGINAL_COMMAND | sed '{UPTIME}'"]
