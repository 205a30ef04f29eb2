# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What befalls a node of the simulated pod between a request and its answer; the connection of the pod asks here.

A node's troubles are ``NODE.json``: from which request on (``at``), ``how``, ``once`` or for good, and a number that decides the rest.
What befell it is a line of ``NODE.befell`` each, so that a trouble that was never met is not taken for one that was withstood.
A boot is met where the node has reported an earlier one, which leaves ``NODE.reported``.
"""

from __future__ import annotations

import json
import random
import re
import time
import typing as t
import uuid
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure

Said = tuple[int, bytes, bytes]
Run = t.Callable[[str], Said]
# Fewer open files than one tool with its pipes needs, and more than Python does to start.
FILES = 8
BOOT_ID = re.compile(rb'"boot_id": "[^"]*"')
BOOTED_AT = re.compile(rb'"bootupTimestamp": [0-9.]+')


def befall(place: Path, node: str, command: str, run: Run) -> Said:
    """The answer to a node's next request, with what befalls it."""
    path = place / f"{node}.json"
    if not path.exists():
        return run(command)
    asked = place / f"{node}.asked"
    number = asked.stat().st_size if asked.exists() else 0
    with asked.open("ab") as file:
        file.write(b".")
    for trouble in json.loads(path.read_text(encoding="utf-8")):
        if number == trouble["at"] or (number > trouble["at"] and not trouble["once"]):
            if trouble["how"] == "boots":
                return _boots(place, node, number, run(command))
            with (place / f"{node}.befell").open("a", encoding="utf-8") as file:
                file.write(f"{trouble['how']} at {number}\n")
            return HOW[trouble["how"]](command, run, random.Random(trouble["number"] + number))
    output = run(command)
    if BOOT_ID.search(output[1]) or BOOTED_AT.search(output[1]):
        (place / f"{node}.reported").touch()
    return output


def _boots(place: Path, node: str, number: int, output: Said) -> Said:
    """A response of a node that has booted: with another boot id, or an uptime of some seconds."""
    rc, stdout, stderr = output
    fresh = str(uuid.uuid5(uuid.NAMESPACE_DNS, node)).encode()
    booted = BOOT_ID.sub(rb'"boot_id": "' + fresh + rb'"', stdout)
    booted = BOOTED_AT.sub(b'"bootupTimestamp": %d' % (time.time() - 5), booted)
    if booted != stdout and (place / f"{node}.reported").exists():
        with (place / f"{node}.befell").open("a", encoding="utf-8") as file:
            file.write(f"boots at {number}\n")
    return rc, booted, stderr


def _vanishes(_command: str, _run: Run, _noise: random.Random) -> Said:
    raise AnsibleConnectionFailure("Failed to connect to the host via ssh: No route to host")


def _drops(command: str, run: Run, _noise: random.Random) -> Said:
    run(command)
    raise AnsibleConnectionFailure("Shared connection closed.")


def _hangs(_command: str, run: Run, _noise: random.Random) -> Said:
    return run("exec /bin/sleep 600")


def _babbles(command: str, run: Run, noise: random.Random) -> Said:
    run(command)
    return 0, noise.randbytes(noise.randint(1, 5000)), b""


def _is_cut(command: str, run: Run, noise: random.Random) -> Said:
    rc, stdout, stderr = run(command)
    return rc, stdout[: int(len(stdout) * noise.uniform(0, 0.9))], stderr


def _is_killed(command: str, run: Run, noise: random.Random) -> Said:
    _rc, stdout, stderr = run(command)
    return 137, stdout[: int(len(stdout) * noise.uniform(0, 0.9))], stderr + b"Killed\n"


def _is_mute(command: str, run: Run, _noise: random.Random) -> Said:
    run(command)
    return 0, b"", b""


def _is_full(command: str, run: Run, _noise: random.Random) -> Said:
    """No file can grow: the same errors as on a full disk, at the first byte."""
    return run(f"ulimit -f 0; {command}")


def _runs_out(command: str, run: Run, _noise: random.Random) -> Said:
    """Open files run out, which ends in the same place as processes that do: the tool is there and cannot be started."""
    return run(f"ulimit -n {FILES}; {command}")


HOW: dict[str, t.Callable[[str, Run, random.Random], Said]] = {
    "vanishes": _vanishes, "drops": _drops, "hangs": _hangs, "babbles": _babbles, "is_cut": _is_cut, "is_killed": _is_killed, "is_mute": _is_mute,
    "is_full": _is_full, "runs_out": _runs_out,
}  # fmt: skip
# How a node may fail; one that boots has its own way of being met.
KINDS = (*HOW, "boots")
# What needs a shell of its own on the node.
OF_HOSTS = ("is_full", "runs_out")
