# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's own check costs on this host, with its own tools: wall, CPU, memory, and the share of one CPU at a check every five minutes.

The plan is that of a simulated host under this machine's id, so that all that a GPU host is asked for is asked for; what is not here is reported
as missing, and costs what finding that out costs.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.archive import archive
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.node_plan import node_plan_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.program import MACHINE_ID
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import made

EVERY_SECONDS = 300
HOST = "gpu01"
TOOLS = ("nvidia-smi", "lspci", "ethtool", "ibstat", "mlxconfig", "dmesg", "lldpcli")


class Cost(t.NamedTuple):
    """One check: seconds of wall, seconds of CPU with its tools, and the most memory that one of its processes held, in MB."""

    wall: float
    cpu: float
    memory: float


def installed(directory: Path) -> list[str]:
    """The command of a check that is installed in a directory."""
    program, plan_file = directory / "gpufabric-node-check", directory / "plan.json"
    program.write_bytes(archive(str(directory / "state")))
    plan = made(layout.write(directory / "inventory", racks=2, hosts_per_rack=3, spines=2, expectations={"pod_name": "bench"}), [], 1)[0]
    plan_file.write_text(node_plan_text(plan, HOST, MACHINE_ID.read_text(encoding="ascii").strip(), "0", [], ""), encoding="utf-8")
    return [sys.executable, str(program), "--plan", str(plan_file), "--state", str(directory / "state")]


def checked(command: list[str]) -> tuple[Cost, str]:
    """One check, and the line that it prints."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        running = subprocess.Popen(command, stdout=output, stderr=output)
        _pid, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        output.seek(0)
        line = output.read().decode("utf-8", "replace").strip()
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024), line


def main(runs: int) -> None:
    """Print the figures of so many checks one after another."""
    here = [tool for tool in TOOLS if shutil.which(tool)]
    with tempfile.TemporaryDirectory(prefix="node-check-") as directory:
        command = installed(Path(directory))
        costs, line = [], ""
        for _number in range(runs):
            cost, line = checked(command)
            costs.append(cost)
    print(f"{os.cpu_count()} CPUs; of the tools there are: {', '.join(here) or 'none'}")
    print(f"the last check printed: {line[:300]}")
    for name, unit, values in (
        ("wall", "s", [one.wall for one in costs]), ("CPU", "s", [one.cpu for one in costs]), ("memory", "MB", [one.memory for one in costs])
    ):  # fmt: skip
        print(f"{name:8}first {values[0]:6.2f} {unit}, median {statistics.median(values):6.2f} {unit}, worst {max(values):6.2f} {unit}")
    print(f"share of one CPU, a check every {EVERY_SECONDS} s: {100 * statistics.median(one.cpu for one in costs) / EVERY_SECONDS:.2f} %")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
