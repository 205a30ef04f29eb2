# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that a signal of their own ended: what the signal says, and in which library it happened by the frames that the process printed."""

from __future__ import annotations

import re
import signal
import typing as t

# How tools print a frame of a stack: Open MPI and glibc, C++ of PyTorch, Python's faulthandler, gdb.
FRAMES = (
    re.compile(r"(?P<object>[^\s(]+\.so[\w.]*)\((?P<symbol>\w*)\+0x"),
    re.compile(r"frame #\d+: (?P<symbol>.+?) \+ 0x\w+ \(.* in (?P<object>[^\s)]+)\)"),
    re.compile(r'File "(?P<object>[^"]+)", line \d+ in (?P<symbol>\w+)'),
    re.compile(r"^#\d+\s+0x\w+ in (?P<symbol>\w[\w:~<>]*).*?(?:(?: from| at) (?P<object>\S+))?$"),
)
# What passes a signal on, and nothing of where it came from.
PASSES_ON = re.compile(r"(?:^|/)(?:libc|libpthread|libgcc_s|ld-linux[\w-]*|linux-vdso)[.-]")
MOST_FRAMES = 3


class OwnSignal(t.NamedTuple):
    """A signal with which a fault of a process's own ends it: what it says of the process, and what to look at."""

    cause: str
    fix: str


_LOOK = (
    "Look in the kernel's log of that time for segfault, trap and Xid, which name the library or GPU; compare driver, libraries and image with a good host's; "
    "coredumpctl or gdb shows the call."
)
OWN_SIGNALS: dict[int, OwnSignal] = {
    signal.SIGSEGV: OwnSignal("It crashed: a library or driver in it accessed memory that is not its own (signal 11).", _LOOK),
    signal.SIGBUS: OwnSignal(
        "It crashed: mapped memory of a file could not be read or written (signal 7): /dev/shm is full, the file was cut, its storage failed, or "
        "memory of the host is faulty.",
        "Look at df of /dev/shm inside the job and at the storage of what it had open; look in the kernel's log of that time for memory errors (EDAC, MCE).",
    ),
    signal.SIGILL: OwnSignal(
        "It crashed: its program has an instruction that this CPU does not know (signal 4), so it was built for another one.",
        "Compare the CPU (lscpu) with that of a host on which it runs, and use a build for the older one.",
    ),
    signal.SIGFPE: OwnSignal("It crashed: a division by zero within a library or the program (signal 8).", _LOOK),
    signal.SIGABRT: OwnSignal("It aborted (signal 6): a library in it met an error after which it cannot continue, and printed it in the lines before.", _LOOK),
}
# What a shell returns of a process that a signal ended is this and the signal.
OF_A_SHELL = 128


def own_signal(rc: int | None) -> OwnSignal | None:
    """What the exit status of a process says where a signal of its own ended it; None where none did."""
    number = -rc if rc is not None and rc < 0 else (rc or 0) - OF_A_SHELL
    return OWN_SIGNALS.get(number)


def where_crashed(text: str | None) -> str:
    """The innermost frames that a process printed, in words; nothing where it printed none."""
    frames = [frame for line in (text or "").splitlines() if (frame := _frame(line.strip()))]
    return f"in {', called by '.join(frames[:MOST_FRAMES])}" if frames else ""


def _frame(line: str) -> str | None:
    found = next((match for pattern in FRAMES if (match := pattern.search(line))), None)
    if found is None or PASSES_ON.search(found["object"] or ""):
        return None
    name = (found["object"] or "").rpartition("/")[2]
    return f"{found['symbol']} of {name}" if found["symbol"] and name else found["symbol"] or name
