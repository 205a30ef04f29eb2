# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gates of a large pod cost: CPU and memory of reading what the nodes said, judging it, and writing the report.

The answers are rendered and parsed outside of what is measured; each gate is held in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path
from unittest import mock

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.evaluate_layer import evaluate_layer
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

# Leaves of any number of ports, so that 40 switches serve any number of hosts.
LEAVES, SPINES = 8, 32


def inventory(racks: int) -> Path:
    """An inventory of racks of eight hosts."""
    rails = yaml.safe_load((layout.SIMULATED / "group_vars" / "gpu_hosts.yml").read_text(encoding="utf-8"))["pod_rails"]
    for number, rail in enumerate(rails):
        rail["address"] = f"10.{51 + number}.{{{{ host_number | int // 250 }}}}.{{{{ host_number | int % 250 + 1 }}}}/16"
    wide: dict[str, t.Any] = {"pod_name": "large", "pod_rails": rails, "pod_oversubscription_max": 1000, "pod_oversubscription_warn": 1000}
    with mock.patch.object(layout, "FIRST_UPLINK", racks * 8 + 1):
        return layout.write(Path(tempfile.mkdtemp(prefix="large-")), racks=racks, hosts_per_rack=8, spines=SPINES, expectations=wide)


def highest() -> float:
    """The most memory that this process has held, in MB; getrusage counts the parent's too."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def hold(run: Path, layer: str) -> None:
    """Hold one gate in this process, and print CPU seconds, and the memory in MB at its highest and before."""
    before, began = highest(), time.process_time()
    evaluate_layer(run, layer, lambda _node: None)
    print(time.process_time() - began, highest(), before)


def main(racks: int) -> None:
    """Print CPU seconds and memory of each gate."""
    total = 0.0

    def measured(run: Path, layer: str, _silent: object) -> None:
        nonlocal total
        done = subprocess.run([sys.executable, __file__, str(run), layer], check=True, capture_output=True, text=True)
        seconds, highest, before = map(float, done.stdout.split())
        total += seconds
        print(f"{layer:<12}{seconds:>7.2f} s CPU  {highest:>6.0f} MB at most, {before:.0f} MB of it before")

    pods = inprocess.Pods(inventory(racks))
    pod = pods.pod()
    print(f"{len(pod.hosts)} hosts and {len(pod.switches)} switches")
    with tempfile.TemporaryDirectory(prefix="large-run-") as run:
        report = pods.climb(pod, Path(run), measured)
    print(f"{'all':<12}{total:>7.2f} s CPU  {len(report['verdicts']):>6} verdicts, {report['verdict']} up to {report['up_to_layer']}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        hold(Path(sys.argv[1]), sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
