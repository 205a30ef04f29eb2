# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod that keeps its state: tools and files change the model of a host, and its answers are rendered again.

Each host has a directory ``=root`` with the part of its file system that repairs read and write. What is written there
is taken up after each command (``absorb``), as a kernel takes up what is written to sysfs.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import pickle
import sys
import typing as t
from pathlib import Path

from ...plugins.plugin_utils.pod.plan import Plan
from . import acting, files, rendering
from .model import Host, Pod

HOST, WHOLE, SEEN = "=host.pickle", "=whole.pickle", "=seen.json"


def begin(plan: Plan, pod: Pod, into: Path) -> None:
    """Write a pod as one that keeps its state."""
    rendering.render(plan, pod, into)
    keep(plan, pod, pod.hosts.values(), into)


def keep(plan: Plan, pod: Pod, hosts: t.Iterable[Host], into: Path) -> None:
    """Keep the state of some hosts of a pod, whose answers are rendered there."""
    pod.moved = None
    (into / WHOLE).write_bytes(pickle.dumps((plan, pod)))
    for host in hosts:
        _keep(into / host.name, host)


@contextlib.contextmanager
def host_of(place: Path, name: str) -> t.Iterator[Host]:
    """A host of a pod that keeps its state; what becomes of it is kept, and its answers are rendered again."""
    with (place / name / "=lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        host: Host = pickle.loads((place / name / HOST).read_bytes())
        files.take_up(host, place / name / "=root")
        yield host
        _keep(place / name, host)
        plan, pod = pickle.loads((place / WHOLE).read_bytes())
        # What others do to the host's counters is what they began with.
        pod.hosts[name] = host
        rendering.render_node(plan, pod, name, place)


def _keep(place: Path, host: Host) -> None:
    files.write(host, place / "=root")
    (place / HOST).write_bytes(pickle.dumps(host))
    (place / SEEN).write_text(json.dumps(files.stamps(place / "=root")), encoding="utf-8")


def absorb(place: Path, name: str) -> None:
    """Take up what was written to a host's files since they were last looked at."""
    if (place / name / SEEN).is_file() and json.loads((place / name / SEEN).read_text(encoding="utf-8")) != files.stamps(place / name / "=root"):
        with host_of(place, name):
            pass


def act(place: Path, name: str, tool: str, arguments: list[str]) -> int:
    """Do what a tool does; returns its exit status."""
    if not (place / name / HOST).is_file():
        print(f"simulated pod: {name} keeps no state, so that {tool} {' '.join(arguments)} changes nothing (simulated_state)", file=sys.stderr)
        return 1
    with host_of(place, name) as host:
        output = acting.TOOLS[tool](host, arguments, place / name / "=root")
    print(output.stdout, end="")
    print(output.stderr, end="", file=sys.stderr)
    return output.rc


def boot(place: Path, name: str) -> None:
    """Boot a host: the running settings are lost, and what the files say of the next boot is done."""
    with host_of(place, name) as host:
        acting.boot(host, place / name / "=root")
