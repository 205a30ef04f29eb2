# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a climb costs the controller, by layer: wall time, CPU and memory of Ansible with all its workers, for pods of several sizes.

The nodes answer from files and load nothing, so what is measured is the controller. Memory is the sum of proportional set sizes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess

from . import canned
from .judging import inventory

ROOT = Path(__file__).resolve().parents[1]
HOSTS_PER_RACK = 8
SIZES = (32, 128, 512, 2048)
EVERY_SECONDS = 0.5
TICKS = os.sysconf("SC_CLK_TCK")
# What the callback says at each gate.
GATE = re.compile(rf"({'|'.join(inprocess.LAYERS)}): .*groups continue\)")


@dataclass
class Part:
    """A part of a climb: what it took, and the most memory during it."""

    name: str
    seconds: float = 0.0
    cpu: float = 0.0
    megabytes: float = 0.0


@dataclass
class Climb:
    """A climb that is measured, part by part: opening, each layer, and the verdict with its page."""

    process: subprocess.Popen[str]
    began: float = field(default_factory=time.monotonic)
    parts: list[Part] = field(default_factory=lambda: [Part("preflight")])
    spent: float = 0.0

    def end_part(self, following: str) -> None:
        """Settle the part that ends now."""
        now, cpu, part = time.monotonic(), cpu_of(self.process.pid), self.parts[-1]
        part.seconds, self.began = now - self.began, now
        part.cpu, self.spent = cpu - self.spent, cpu
        self.parts.append(Part(following))

    def sample(self) -> None:
        """Look at the memory of all its processes."""
        self.parts[-1].megabytes = max(self.parts[-1].megabytes, sum(megabytes(pid) for pid in tree(self.process.pid)))


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and of its descendants that have ended; 0 where it has ended itself."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return sum(int(number) for number in fields[11:15]) / TICKS
    return 0.0


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


def climb(pod: Path, answers: Path, runs: str, arguments: t.Sequence[str]) -> list[Part]:
    """Climb once; it must end without a finding."""
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(pod), "-e", "ansible_connection=canned"]
    command += ["-e", f"canned_answers={answers}", "-e", f"pod_runs_dir={runs}", "-e", "pod_depth=quick", "-e", "pod_to_layer=congestion", *arguments]
    environment = {**os.environ, "ANSIBLE_CONNECTION_PLUGINS": str(canned.CONNECTION), "ANSIBLE_NOCOLOR": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        measured, output = Climb(process), []
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        line: str | None = ""
        while line is not None:
            with contextlib.suppress(queue.Empty):
                line = lines.get(timeout=EVERY_SECONDS)
                output.append(line or "")
                gate = GATE.match(line or "")
                if gate:
                    following = [*inprocess.LAYERS, "verdict"][inprocess.LAYERS.index(gate[1]) + 1]
                    measured.end_part(following)
            measured.sample()
        _pid, _status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(_status)
    last = measured.parts[-1]
    last.seconds, last.cpu = time.monotonic() - measured.began, usage.ru_utime + usage.ru_stime - measured.spent
    if process.returncode or "NO FAULT SEEN" not in "".join(output).upper():
        raise SystemExit("".join(output)[-3000:])
    return measured.parts


def _read(stream: t.Any, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def measure(hosts: int, arguments: t.Sequence[str]) -> None:
    """Climb a pod of a size, and print a line for each part and one for all."""
    with tempfile.TemporaryDirectory(prefix="large-runs-") as runs:
        pod = inventory(hosts // HOSTS_PER_RACK)
        try:
            canned.keep(inprocess.Pods(pod), inprocess.LAYERS, Path(runs) / "answers")
            parts = climb(pod, Path(runs) / "answers", f"{runs}/runs", arguments)
        finally:
            shutil.rmtree(pod)
    whole = Part("all", sum(one.seconds for one in parts), sum(one.cpu for one in parts), max(one.megabytes for one in parts))
    for part in (*parts, whole):
        each = f"{part.seconds / hosts * 1000:>8.0f} ms {part.cpu / hosts * 1000:>6.0f} ms CPU a host"
        print(f"{hosts:>5} hosts  {part.name:<11}{part.seconds:>8.1f} s {part.cpu:>8.1f} s CPU {part.megabytes:>6.0f} MB {each}", flush=True)


def main(sizes: t.Sequence[int], arguments: t.Sequence[str]) -> None:
    """Measure each size."""
    for hosts in sizes:
        measure(hosts, arguments)


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:] if one.isdigit()]
    main(given or SIZES, [one for one in sys.argv[1:] if not one.isdigit()])
