# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every lab stands on: waiting until something is so, processes by their id and start, private files."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class LabError(Exception):
    """The lab cannot be made, or is not as it must be; in whole words."""


def poll(seconds: float, look: t.Callable[[], str | None], what: str) -> None:
    """Look until there is nothing more to say.

    Raises LabError with the last words at the deadline.
    """
    until = time.monotonic() + seconds
    while (words := look()) is not None:
        if time.monotonic() > until:
            raise LabError(f"{what} is not so after {seconds:g} s: {words}")
        time.sleep(0.1)


def started(process: int) -> str | None:
    """When a process started, in the kernel's ticks, or None where it is gone: an id alone may be another's by now."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def alive(recorded: t.Mapping[str, str]) -> list[int]:
    """Which of the recorded processes (id to start) still live."""
    return [int(process) for process, start in recorded.items() if started(int(process)) == start]


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    new = path.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(text)
    new.replace(path)


def recorded(directory: Path) -> dict[str, str]:
    """The processes that a lab's keeper has written down, id to start; the keeper first."""
    try:
        return json.loads((directory / "processes.json").read_text())
    except FileNotFoundError:
        return {}


def record(directory: Path, processes: t.Iterable[int]) -> None:
    """Write the id and the start of processes down, for whoever has to end them without their keeper."""
    write_private(directory / "processes.json", json.dumps({str(one): start for one in processes if (start := started(one)) is not None}))


def end_recorded(directory: Path) -> None:
    """End what is written down, by id and start, but not the process that asks.

    Raises LabError where something lives on.
    """
    others = {process: start for process, start in recorded(directory).items() if int(process) != os.getpid()}
    for process in alive(others):
        os.kill(process, signal.SIGKILL)
    poll(60, lambda: ", ".join(str(process) for process in alive(others)) or None, "every process of the lab has ended")


def watch(owner: int | None, seconds: float) -> None:
    """Wait until a process is gone, or the time is over."""
    watched, until = select.poll(), time.monotonic() + seconds
    if owner is not None:
        watched.register(os.pidfd_open(owner), select.POLLIN)
    while not watched.poll(1000) and time.monotonic() < until:
        continue


def keeper_started(directory: Path, program: list[str], clean: t.Callable[[Path], None], owner: int | None, minutes: float) -> None:
    """Start a lab's keeper in the background, with its log in the lab's own directory, and wait for the ``lab.json`` that says it is done.

    program: the lab's command line, whose verb ``keep`` is its keeper; clean: removes what a crash has left.
    Raises LabError where the lab is up already, and with the log where the keeper ends before.
    """
    if directory.exists():
        if alive(recorded(directory)):
            raise LabError(f"the lab in {directory} is up already; end it first")
        clean(directory)
    directory.mkdir(mode=0o700)
    command = [sys.executable, *program, "--minutes", str(minutes), *(["--owner", str(owner)] if owner is not None else [])]
    with (directory / "log").open("w+") as log:
        keeper = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd="/")
        while not (directory / "lab.json").exists():
            if keeper.poll() is not None:
                log.seek(0)
                raise LabError(log.read().strip() or f"the keeper ended with status {keeper.returncode}")
            time.sleep(0.05)


def kept(start: t.Callable[[], None], end: t.Callable[[], None], owner: int | None, minutes: float) -> None:
    """Be a lab's keeper: start it, watch its owner and its time, and end it, whatever ends this process."""

    def stop(_number: int, _frame: t.Any) -> None:
        raise SystemExit(0)

    for number in STOPPING:
        signal.signal(number, stop)
    try:
        start()
        watch(owner, 60 * minutes)
    finally:
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        end()


def keeper_ended(directory: Path) -> None:
    """Ask a lab's keeper to end the lab, and wait until it is gone."""
    keeper = dict(list(recorded(directory).items())[:1])
    for process in alive(keeper):
        os.kill(process, signal.SIGTERM)
        with contextlib.suppress(LabError):
            poll(20, lambda: "it lives" if alive(keeper) else None, "the keeper has ended")
