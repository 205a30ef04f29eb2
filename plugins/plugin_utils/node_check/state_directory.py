# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state directory of a host: what the last check read, for the growth of counters, and the lock that lets one check run at a time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
import typing as t
from pathlib import Path

from ..collect.types import Envelope
from .node_plan import NodePlan

NAME = "readings.json"
# Counters of an earlier reading say how much they grew in about the time of a soak; of a much older one they say nothing about now.
LEAST_SECONDS, MOST_SECONDS = 30.0, 3600.0
LOCK_PAUSE_SECONDS = 0.05


class Busy(Exception):
    """Another check of this host is running."""


@contextlib.contextmanager
def alone(directory: Path, seconds: float = 0.0) -> t.Iterator[None]:
    """Hold the lock of a state directory, which is made where it is missing, private.

    seconds: how long another process is awaited. Raises Busy where it still holds the lock; a lock ends with its process, however that ends.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + seconds
        while not _locked(handle):
            if time.monotonic() >= until:
                raise Busy("another node check is running on this host")
            time.sleep(LOCK_PAUSE_SECONDS)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def earlier(directory: Path, mine: NodePlan, now: Envelope) -> Envelope | None:
    """The last reading of this host under the same plan and boot, if it is neither too young nor too old; otherwise None."""
    try:
        kept = json.loads((directory / NAME).read_text(encoding="utf-8"))
        then: Envelope = kept["envelope"]
        age = float(now["asked_at"] or 0) - float(then["asked_at"] or 0)
        alike = kept["digest"] == mine.digest and then["boot_id"] == now["boot_id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return then if alike and LEAST_SECONDS <= age <= MOST_SECONDS else None


def keep(directory: Path, mine: NodePlan, now: Envelope) -> None:
    """Keep a reading for the next check; where the last one is young it stays, so that frequent checks still see growth."""
    last = _age(directory, now)
    if last is None or not 0 <= last < LEAST_SECONDS:
        write_whole(directory / NAME, json.dumps({"digest": mine.digest, "envelope": now}))


def _age(directory: Path, now: Envelope) -> float | None:
    try:
        kept = json.loads((directory / NAME).read_text(encoding="utf-8"))
        return float(now["asked_at"] or 0) - float(kept["envelope"]["asked_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_whole(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file whole or not at all; its directory exists, mode: of the file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
