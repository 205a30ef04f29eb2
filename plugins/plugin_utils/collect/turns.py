# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads of one process that work one at a time, and let others work while they wait for a node.

Neither Ansible's code nor the parsers are made for threads; what takes long is the waiting, which needs no thread-safe code.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import typing as t

_turn = threading.Lock()
_own = threading.local()
_worker: list[int] = []
# What a connection plugin does while it waits for its node.
WAITS = ("_connect", "exec_command", "put_file", "fetch_file", "reset", "close")


@contextlib.contextmanager
def working() -> t.Iterator[None]:
    """The thread's turn: no other one works until it waits, or has ended."""
    _begin()
    try:
        yield
    finally:
        _end()


@contextlib.contextmanager
def waiting() -> t.Iterator[None]:
    """Others work meanwhile; changes nothing for a thread that takes no turns."""
    if not getattr(_own, "has", False):
        yield
        return
    _end()
    try:
        yield
    finally:
        _begin()


def has_turn(thread: int) -> bool:
    """Whether the thread of this number, the kernel's, is the one that works."""
    return _worker[-1:] == [thread]


def _begin() -> None:
    _turn.acquire()
    _own.has = True
    _worker.append(threading.get_native_id())


def _end() -> None:
    _worker.clear()
    _own.has = False
    _turn.release()


def wait_outside_turn(connection: t.Any) -> None:
    """Let other threads work while this connection plugin waits for its node."""
    for name in WAITS:
        if (method := getattr(connection, name, None)) is not None:
            setattr(connection, name, outside_turn(method))


def outside_turn(method: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    """The same, and other threads work meanwhile."""

    @functools.wraps(method)
    def call(*given: t.Any, **named: t.Any) -> t.Any:
        with waiting():
            return method(*given, **named)

    return call
