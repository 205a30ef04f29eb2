# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of the clients of a task, such as ssh: by its time limit, by an interrupt, or because their output is over its limit."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import typing as t
from pathlib import Path


@contextlib.contextmanager
def end_clients_on_exit() -> t.Iterator[None]:
    """End the clients of a task that its timeout, or an interrupt, ends: a node that hangs would keep each of them for good."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        end_clients(None if threading.current_thread() is threading.main_thread() else threading.get_native_id())
        raise


def end_clients(thread: int | None = None) -> None:
    """End the clients of this worker that still wait for a host or a switch, with all that they started: it has no other descendants.

    thread: the kernel's number of the thread whose clients alone are ended.
    """
    ended: set[int] = set()
    # Other threads may start clients meanwhile; one that has been ended is listed until its thread has noticed.
    while fresh := {*descendants(thread)} - ended:
        for pid in fresh:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended |= fresh


def descendants(thread: int | None = None) -> t.Iterator[int]:
    """The processes that this one, or one of its threads, has started, and what these have started."""
    found = _children(os.getpid(), thread)
    while found:
        pid = found.pop()
        found += _children(pid)
        yield pid


def _children(pid: int, thread: int | None = None) -> list[int]:
    found: list[int] = []
    # It may end while it is looked at.
    with contextlib.suppress(OSError):
        tasks = Path(f"/proc/{pid}/task")
        for one in [tasks / str(thread)] if thread else list(tasks.iterdir()):
            with contextlib.suppress(OSError):
                found += [int(child) for child in (one / "children").read_text(encoding="ascii").split()]
    return found
