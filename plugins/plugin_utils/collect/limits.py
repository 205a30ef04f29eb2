# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of what is read from a switch: time, bytes and memory. Clients are ended by ``end_clients.py``."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import typing as t
from pathlib import Path

from .end_clients import descendants
from .turns import waiting

# What is kept of one response of a switch, as side_by_side keeps of a host's.
MOST_BYTES = 8 * 1024 * 1024
# Ansible's connections gather a response in memory and have no limit. A process that gathers those of one node alone may grow by so much
# meanwhile, which is the response, its copies, and what belongs to neither; a client may write so much, which is the response and its protocol.
MOST_GROWTH_BYTES = 8 * MOST_BYTES
MOST_WRITTEN_BYTES = MOST_BYTES + 1024 * 1024
LOOK_SECONDS = 0.05
# network_cli has a time limit of its own, whose words are better; this much later its process is ended.
SESSION_GRACE_SECONDS = 5


class TooLong(Exception):
    """A response of more than is kept, at which its reader was ended."""


def within_limits(read: t.Callable[[], t.Any], seconds: float, too_long: t.Callable[[int], bool], end: t.Callable[[int], None]) -> t.Any:
    """What a reader returns, within a time limit and a limit of size.

    too_long: whether it is over the limit; end: ends the reader, which may read for good. Both are given the kernel's number of its thread.
    Raises TimeoutError or TooLong where it was ended, else what the reader raises.
    """
    results: list[t.Any] = []

    def run() -> None:
        try:
            results.append(read())
        except Exception as error:
            # It belongs to whoever waits for the answer, and is raised there.
            results.append(error)

    until = time.monotonic() + seconds
    lane = threading.Thread(target=run, daemon=True)
    lane.start()
    with waiting():
        while lane.is_alive() and (left := until - time.monotonic()) > 0 and not too_long(_number(lane)):
            lane.join(min(LOOK_SECONDS, left))
        if not results:
            over = too_long(_number(lane))
            end(_number(lane))
            # Its memory is free when it has seen that.
            lane.join(SESSION_GRACE_SECONDS)
            raise TooLong if over else TimeoutError
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


def grows_too_much(pid: int) -> t.Callable[[int], bool]:
    """Whether a process that gathers one response has grown by too much since now."""
    most = _resident_bytes(pid) + MOST_GROWTH_BYTES
    return lambda _thread: _resident_bytes(pid) > most


def clients_write_too_much(thread: int) -> bool:
    """Whether the clients that a thread of this process has started have written too much."""
    return any(_written_bytes(pid) > MOST_WRITTEN_BYTES for pid in descendants(thread))


def _number(lane: threading.Thread) -> int:
    return t.cast(int, lane.native_id)


def _written_bytes(pid: int) -> int:
    """What a process has written, to its network too; 0 where it is gone or another user's."""
    with contextlib.suppress(OSError):
        return int(next(line for line in Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines() if line.startswith("wchar:")).split()[1])
    return 0


def _resident_bytes(pid: int) -> int:
    """The memory of a process; 0 where it is gone."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
