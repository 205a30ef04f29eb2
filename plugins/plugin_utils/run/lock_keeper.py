# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that keeps a pod's lock for as long as its run lives.

Ansible runs every task in a process of its own, and only its main process lives as long as the run. This program is started beside
it with the lock file open and locked: it renews the file's time, and removes the file and ends when the main process has ended in
whatever way, or when no one reads its standard output any more, after which Ansible hangs for ever. Where this program is killed
together with the run, the kernel releases the lock and the file's time gets old.

This file is a whole program of the standard library, so that it starts fast and stays small.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import stat
import sys
import time
import typing as t
from pathlib import Path

BEAT_SECONDS = 10
LOOK_SECONDS = 0.25
# A reader that is gone does not come back; this is time enough for a run that is ending to end.
UNREAD_SECONDS = 5
# The device numbers that Linux has for the side of a pseudoterminal that programs print to.
PSEUDOTERMINALS = range(136, 144)


def started(pid: int) -> int | None:
    """When a process started, in ticks since boot; None where there is none, or it has ended and was not waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def unread(pid: int) -> bool:
    """Whether the standard output of a process is a pipe that no one reads any more, or a pseudoterminal whose other side is gone.

    The first process of a container is not ended by the signal of a terminal that is gone.
    """
    path = f"/proc/{pid}/fd/1"
    try:
        found = os.stat(path)  # noqa: PTH116
        terminal = stat.S_ISCHR(found.st_mode) and os.major(found.st_rdev) in PSEUDOTERMINALS
        if not (terminal or stat.S_ISFIFO(found.st_mode)):
            return False
        end = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        return error.errno in (errno.ENXIO, errno.EIO)
    poll = select.poll()
    poll.register(end, 0)
    try:
        return any(event & (select.POLLERR | select.POLLHUP) for _end, event in poll.poll(0))
    finally:
        os.close(end)


class Keeper:
    """Keeps the lock file ``path``, which is open and locked as ``lock``, while the process ``pid`` lives."""

    def __init__(self, path: Path, lock: int, pid: int, born: int) -> None:
        self.path, self.lock, self.pid, self.born = path, lock, pid, born
        self.unread_since: float | None = None

    def run(self) -> None:
        """Renew the lock until its run has ended, then release it; a lock that another run has replaced is left alone."""
        wait, beaten = self._waiter(), time.monotonic()
        while self._is_current() and not self._has_ended():
            if time.monotonic() - beaten > BEAT_SECONDS:
                beaten = time.monotonic()
                with contextlib.suppress(OSError):
                    os.utime(self.lock)
            wait(LOOK_SECONDS)
        # Whoever opens a run replaces the file only while this is locked.
        with (self.path.parent / ".lock").open("a", encoding="ascii") as mutex:
            fcntl.flock(mutex, fcntl.LOCK_EX)
            if self._is_current():
                self.path.unlink()

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self.lock))
        except FileNotFoundError:
            return False
        except OSError:
            # A file server that does not answer for a while has not given the lock to anybody.
            return True

    def _has_ended(self) -> bool:
        if started(self.pid) != self.born:
            return True
        if not unread(self.pid):
            self.unread_since = None
            return False
        self.unread_since = self.unread_since or time.monotonic()
        return time.monotonic() - self.unread_since > UNREAD_SECONDS

    def _waiter(self) -> t.Callable[[float], object]:
        """What waits for the end of the process, at most so many seconds."""
        poll = select.poll()
        with contextlib.suppress(OSError, AttributeError):
            poll.register(os.pidfd_open(self.pid), select.POLLIN)
        return lambda seconds: poll.poll(seconds * 1000)


if __name__ == "__main__":
    Keeper(Path(sys.argv[1]), *map(int, sys.argv[2:5])).run()
