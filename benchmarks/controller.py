# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a climb of a large simulated pod costs the controller: wall time, and the most memory of Ansible with all its workers.

Memory is the sum of the proportional set sizes of ansible-playbook and its descendants, tools of the simulated nodes included.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from judging import inventory

EVERY_SECONDS = 0.5


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for one in found:
        # A worker may end while it is looked at.
        with contextlib.suppress(OSError):
            for path in Path(f"/proc/{one}/task").glob("*/children"):
                found += [int(child) for child in path.read_text(encoding="ascii").split()]
    return found


def megabytes(pid: int) -> float:
    """The proportional set size of a process; 0 where it has ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(next(line for line in rollup.splitlines() if line.startswith("Pss:")).split()[1]) / 1024


def main(racks: int, *arguments: str) -> int:
    """Climb, and print the figures; further arguments go to ansible-playbook."""
    with tempfile.TemporaryDirectory(prefix="large-runs-") as runs, tempfile.TemporaryFile("w+") as said:
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(inventory(racks))]
        command += ["-e", f"pod_runs_dir={runs}", "-e", "pod_soak_seconds=1", *arguments]
        began, most, main_most = time.monotonic(), 0.0, 0.0
        playbook = subprocess.Popen(command, cwd=layout.SIMULATED.parents[1], stdout=said, stderr=subprocess.STDOUT)
        while playbook.poll() is None:
            sizes = {pid: megabytes(pid) for pid in tree(playbook.pid)}
            most, main_most = max(most, sum(sizes.values())), max(main_most, sizes[playbook.pid])
            try:
                playbook.wait(EVERY_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        said.seek(0)
        print(said.read()[-1500:])
        print(f"{racks * 8} hosts: {time.monotonic() - began:.0f} s, {most:.0f} MB at most with all workers, {main_most:.0f} MB of it the main process")
    return playbook.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 64, *sys.argv[2:]))
