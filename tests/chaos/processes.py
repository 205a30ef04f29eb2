# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of a simulated pod, and disks that are too small."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.tests.processes import command_line, environments

LEFT_SECONDS = 90
QUIET_SECONDS = 5


def await_that(holds: t.Callable[[], bool], what: str, seconds: float) -> None:
    """Wait until something holds.

    Raises TimeoutError where it does not come to hold in time.
    """
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(f"in {seconds} s it did not come to this: {what}")
        time.sleep(0.05)


def left(answers: Path) -> list[str]:
    """The processes of a pod's nodes that are still there after a while, in words; they carry the pod's answers in their environment."""
    until, seen = time.monotonic() + LEFT_SECONDS, time.monotonic()
    # A worker of a killed run may be between two commands of its task: none is left where none is seen for some seconds.
    while time.monotonic() < min(until, seen + QUIET_SECONDS):
        seen = time.monotonic() if _of(answers) else seen
        time.sleep(0.05)
    return [f"PROCESS LEFT: {pid} {words}" for pid, words in _of(answers).items()]


def _of(answers: Path) -> dict[int, str]:
    return {pid: command_line(pid) for pid, words in environments() if f"SIMULATED_POD={answers}" in words}


@contextlib.contextmanager
def disk(place: Path, megabytes: float) -> t.Iterator[t.Callable[[], None]]:
    """A file system of that size at a directory; what is given makes it large."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={int(megabytes * 1024)}k", "tmpfs", str(place)], check=True)

    def grow() -> None:
        subprocess.run(["mount", "-o", "remount,size=512m", str(place)], check=True)

    try:
        yield grow
    finally:
        # What keeps the lock of a killed run ends a moment after it.
        await_that(lambda: subprocess.run(["umount", str(place)], capture_output=True, check=False).returncode == 0, f"{place} can be unmounted", 20)


def may_mount() -> bool:
    """Whether this user can make a small disk."""
    return os.geteuid() == 0
