# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that runs a patrol's validation, and ends it with all that it loaded.

Ansible ends the process of a task at once where the playbook is interrupted. This program is started beside it: it starts the validation, and
where it is asked to (by a signal) or the playbook has ended in whatever way, it interrupts the validation and ends what that left on the hosts.
Where this program itself was killed, the kernel interrupts the validation, and a second one, asked to run nothing, ends what is left.

This file is a whole program of the standard library; its request is the JSON document on its standard input, see ``Keeper``.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

LOOK_SECONDS = 0.2
PR_SET_PDEATHSIG = 1
# How long a validation may take to end once it is interrupted, and how long that and the end of what it loaded together: nodes are given back in 30 s.
INTERRUPT_SECONDS, END_SECONDS = 8, 20


def started(pid: int) -> int | None:
    """When a process started, in ticks since boot; None where there is none, or it has ended and was not waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


class Keeper:
    """Runs one validation.

    request: ``parent`` and ``born`` (the playbook's process and its start), ``run`` and ``end`` (the argument lists of the validation and of what ends its
    loads; an empty ``run`` ends the validation that ``running`` names), ``directory``, ``output`` (a file to which what both print is appended), ``running``
    (a file that gets ``pid`` and ``born`` of the validation) and ``result`` (a file that gets ``rc``, ``interrupted`` and ``end_rc``, None where nothing had
    to be ended).
    """

    def __init__(self, request: dict[str, t.Any]) -> None:
        self.request = request
        self.asked = False
        # When all must have ended.
        self.until = 0.0

    def run(self) -> None:
        """Run it, end it where that is asked for, and write what came of it."""
        # A handler of our own, so that what is started here is no heir of a shell that ignores interrupts.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask)
        with open(os.open(self.request["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:  # noqa: PTH123
            rc, interrupted = self._validated(output) if self.request["run"] else self._left()
            # What ended with a go, or with no fault seen, has ended its loads.
            end_rc = None
            if rc or interrupted:
                ending = self._start(self.request["end"], output)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    ending.wait(self.until - time.monotonic())
                end_rc = self._ended(ending, signal.SIGKILL, 0)
        self._write("result", {"rc": rc, "interrupted": interrupted, "end_rc": end_rc})

    def _validated(self, output: t.IO[bytes]) -> tuple[int, bool]:
        """Run the validation to its end, or until it has to be interrupted; its status, and whether it was."""
        running = self._start(self.request["run"], output, _interrupted_with_its_parent)
        self._write("running", {"pid": running.pid, "born": started(running.pid)})
        while running.poll() is None and not self.asked and started(self.request["parent"]) == self.request["born"]:
            time.sleep(LOOK_SECONDS)
        interrupted, self.until = running.poll() is None, time.monotonic() + END_SECONDS
        return self._ended(running, signal.SIGINT, INTERRUPT_SECONDS) if interrupted else running.returncode, interrupted

    def _left(self) -> tuple[None, bool]:
        """End the validation that another process started and left, with all of its session."""
        self.until = time.monotonic() + END_SECONDS
        with contextlib.suppress(OSError, ValueError):
            left = json.loads(Path(self.request["running"]).read_text(encoding="ascii"))
            for number, seconds in ((signal.SIGINT, INTERRUPT_SECONDS), (signal.SIGKILL, 1)):
                until = time.monotonic() + seconds
                if _runs(left):
                    os.killpg(left["pid"], number)
                while _runs(left) and time.monotonic() < until:
                    time.sleep(LOOK_SECONDS)
        return None, True

    def _write(self, what: str, values: dict[str, t.Any]) -> None:
        fresh = Path(f"{self.request[what]}.{os.getpid()}")
        fresh.write_text(json.dumps(values), encoding="ascii")
        fresh.replace(self.request[what])

    def _ask(self, *_signal: object) -> None:
        self.asked = True

    def _start(self, argv: list[str], output: t.IO[bytes], first: t.Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
        """Start a program in a session of its own; ``first`` runs in its process before it."""
        nothing, place = subprocess.DEVNULL, self.request["directory"]
        return subprocess.Popen(argv, cwd=place, stdin=nothing, stdout=output, stderr=output, start_new_session=True, preexec_fn=first)

    def _ended(self, process: subprocess.Popen[bytes], number: int, seconds: float) -> int:
        """End a process that still runs, with all of its session, at the latest after so many seconds; its status."""
        for one, wait in ((number, seconds), (signal.SIGKILL, None)):
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, one)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(wait)
        return process.returncode


def _runs(left: dict[str, t.Any]) -> bool:
    """Whether the process that ``running`` names is there still."""
    return left["born"] is not None and started(left["pid"]) == left["born"]


def _interrupted_with_its_parent() -> None:
    """Have the kernel interrupt this process where the one that started it ends, also by SIGKILL."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


if __name__ == "__main__":
    os.umask(0o077)
    Keeper(json.load(sys.stdin)).run()
