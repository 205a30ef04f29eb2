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

# What is kept of one response of a switch, as side_by_side keeps of a host's.
MOST_BYTES = 8 * 1024 * 1024
# Ansible's connections gather a response in memory and have no limit: the process that gathers it may grow by so much meanwhile,
# which is the response, its copies, and what belongs to neither.
MOST_GROWTH_BYTES = 8 * MOST_BYTES
LOOK_SECONDS = 0.05
# network_cli has a time limit of its own, whose words are better; this much later its process is ended.
SESSION_GRACE_SECONDS = 5


class TooLong(Exception):
    """A response of more than is kept, at which its reader was ended."""


def within_limits(read: t.Callable[[], t.Any], seconds: float, pid: int, end: t.Callable[[], None]) -> t.Any:
    """What a reader returns, within a time limit and a limit of memory.

    pid: the process that gathers the response; end: ends the reader, which may read for good.
    Raises TimeoutError or TooLong where it was ended, else what the reader raises.
    """
    results: list[t.Any] = []

    def run() -> None:
        try:
            results.append(read())
        except Exception as error:
            # It belongs to whoever waits for the answer, and is raised there.
            results.append(error)

    most, until = _resident_bytes(pid) + MOST_GROWTH_BYTES, time.monotonic() + seconds
    lane = threading.Thread(target=run, daemon=True)
    lane.start()
    while lane.is_alive() and (left := until - time.monotonic()) > 0 and _resident_bytes(pid) <= most:
        lane.join(min(LOOK_SECONDS, left))
    if not results:
        too_long = _resident_bytes(pid) > most
        end()
        # Its memory is free when it has seen that.
        lane.join(SESSION_GRACE_SECONDS)
        raise TooLong if too_long else TimeoutError
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


def _resident_bytes(pid: int) -> int:
    """The memory of a process; 0 where it is gone."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
