# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pod in slices costs: each slice, the seam, and the merge, one after another, so that each has the machine to itself as on its own controller.

Units of 512 hosts share eight leaves, and all leaves 32 spines. The nodes answer from files, as in ``benchmarks.controller``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path
from unittest import mock

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import FILE
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

from . import canned
from .controller import HOSTS_PER_RACK, ROOT, climb, megabytes, tree

HOSTS_PER_UNIT, SPINES = 512, 32
EVERY_SECONDS = 0.2
# What every playbook is told of the pod.
EXPECTED = ("-e", "pod_depth=quick", "-e", "pod_to_layer=congestion")


def inventory(into: Path, hosts: int) -> Path:
    """An inventory of units that share leaves."""
    rails = layout.rails_of_units(HOSTS_PER_UNIT)
    for rail in rails:
        network = rail["address"].partition(".0.")[0]
        rail["address"] = f"{network}.{{{{ host_number | int // 250 }}}}.{{{{ host_number | int % 250 + 1 }}}}/16"
    wide: dict[str, t.Any] = {"pod_name": "large", "pod_rails": rails, "pod_oversubscription_max": 1000, "pod_oversubscription_warn": 1000}
    racks, leaves = hosts // HOSTS_PER_RACK, len(rails) * -(-hosts // HOSTS_PER_UNIT)
    with mock.patch.object(layout, "FIRST_UPLINK", hosts + 1):
        layout.write(into, racks=racks, hosts_per_rack=HOSTS_PER_RACK, spines=SPINES, expectations=wide)
        (into / layout.PLACE).write_text(layout.cabling_csv(hosts, SPINES, hosts_per_unit=HOSTS_PER_UNIT), encoding="utf-8")
    (into / "hosts.yml").write_text(layout.hosts_yml(racks, HOSTS_PER_RACK, SPINES, leaves=leaves), encoding="utf-8")
    return into


def measured(playbook: str, *arguments: str) -> tuple[int, float, float, float]:
    """Run a playbook: its status, seconds, CPU seconds and the most memory in MB."""
    command = [str(Path(sys.executable).with_name("ansible-playbook")), f"playbooks/{playbook}.yml", *arguments]
    began, highest = time.monotonic(), 0.0
    with tempfile.TemporaryFile() as output, subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output) as process:
        ended = threading.Event()

        def watch() -> None:
            nonlocal highest
            while not ended.wait(EVERY_SECONDS):
                highest = max(highest, sum(megabytes(pid) for pid in tree(process.pid)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _pid, status, usage = os.wait4(process.pid, 0)
        ended.set()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    print(next((line for line in text.splitlines() if line.startswith(("GO", "NO FAULT SEEN", "NO-GO"))), text[-2000:] if process.returncode else ""))
    return process.returncode, time.monotonic() - began, usage.ru_utime + usage.ru_stime, highest


def show(name: str, hosts: int, seconds: float, cpu: float, memory: float) -> None:
    """A line of the table."""
    print(f"{name:<10}{hosts:>6} hosts {seconds:>8.1f} s {cpu:>8.1f} s CPU {cpu / hosts * 1000:>6.0f} ms CPU a host {memory:>6.0f} MB", flush=True)


def main(hosts: int, slices: int, most: int) -> None:
    """Measure the first ``most`` parts of a pod in slices, and the merge where all of them ran."""
    with tempfile.TemporaryDirectory(prefix="slices-") as directory:
        top = Path(directory)
        pod, runs, answers = inventory(top / "pod", hosts), top / "runs", top / "answers"
        runs.mkdir(mode=0o700)
        _status, *spent = measured("plan_slices", "-i", str(pod), "-e", f"slices={slices}", "-e", f"slices_dir={runs}", "-e", "sliced_whole=false", *EXPECTED)
        show("plan", hosts, *spent)
        pods, plan = inprocess.Pods(pod), read_json(runs / FILE)
        parts = {**plan["slices"], **plan["seams"]}
        for name, groups in list(parts.items())[:most]:
            members = [host for group in groups for host in pods.plan.groups[group]]
            canned.keep(pods, inprocess.LAYERS, answers, members)
            limit = ["--limit", ":".join((*groups, "leaves", "spines")), "-e", "pod_textfile_dir=", *sys.argv[4:]]
            each = climb(pod, answers, str(runs / name), limit)
            show(name, len(members), sum(one.seconds for one in each), sum(one.cpu for one in each), max(one.megabytes for one in each))
        if most >= len(parts):
            _status, *spent = measured("merge", "-e", f"merge_plan={runs / FILE}", "-e", f"merge_report_dir={top / 'merged'}")
            show("merge", hosts, *spent)
            for path in sorted((top / "merged").glob("large/*/*")):
                print(f"{path.name:<10}{path.stat().st_size / 1000:>10.0f} kB")


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:4]]
    main(given[0], given[1], given[2] if len(given) > 2 else 1000)
