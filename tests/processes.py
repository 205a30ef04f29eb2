# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of this machine that carry a mark in their environment, so that a test sees what a run has left.

A process may end while it is looked at, at every step of it: ``Path.glob`` raises then.
"""

from __future__ import annotations

import contextlib
import os
import typing as t
from pathlib import Path

PROC = Path("/proc")


def _files(name: str) -> t.Iterator[tuple[int, str]]:
    """A file of each process that can be read, by the process's id."""
    for process in PROC.iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdecimal():
                yield int(process.name), os.fsdecode((process / name).read_bytes())


def environments() -> t.Iterator[tuple[int, list[str]]]:
    """Each process that can be read, with the ``NAME=value`` of its environment; one that has ended and was not waited for has none."""
    return ((pid, text.split("\0")) for pid, text in _files("environ"))


def command_line(pid: int) -> str:
    """The command line of a process, empty once it has ended."""
    with contextlib.suppress(OSError):
        return os.fsdecode((PROC / str(pid) / "cmdline").read_bytes()).replace("\0", " ").strip()
    return ""


def carrying(prefix: str) -> dict[int, str]:
    """The command lines of the processes with a ``NAME=value`` that begins so."""
    return {pid: command_line(pid) for pid, words in environments() if any(word.startswith(prefix) for word in words)}


def started_with(argument: str) -> list[int]:
    """The processes that were started with an argument."""
    return [pid for pid, text in _files("cmdline") if argument in text.split("\0")]


def states_of_group(group: int) -> list[str]:
    """The states of a group's processes, as letters: ``Z`` is one that has ended and was not waited for."""
    fields = (text.rpartition(")")[2].split()[:3] for _pid, text in _files("stat"))
    return [state for state, _parent, of_group in fields if int(of_group) == group]
