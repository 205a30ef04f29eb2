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
# What may end a process from outside: it says nothing of the program.
KILLED_FROM_OUTSIDE = OwnSignal(
    "It was killed (signal 9): by the kernel for want of memory, by a scheduler at a limit, or by its launcher since another process had ended.",
    "Look in the kernel's log of that time for oom-kill and Xid, and at the memory limit of the job or container.",
)
# How launchers and shells word the signal that ended a process: its number, its name, or the C library's words for it.
WORDED = re.compile(
    r"(?:exited on|ended by|[Tt]erminated by|killed by|[Ss]ignal:?) ?(?:signal )?(?P<number>\d+)\b|"
    r"(?:exit ?|return |exited with )code\s*[:=]? ?-(?P<exit>\d+)\b|\b(?P<name>SIG[A-Z]{3,4})\b|"
    # Of a shell, which says so of what it had started.
    r"line \d+: +\d+ (?P<shell>Killed|Aborted)\b|: (?P<alone>Killed|Aborted)$|"
    r"(?P<words>Segmentation fault|Bus error|Illegal instruction(?! was)|Floating point exception)"
)
OF_WORDS = {
    "Segmentation fault": signal.SIGSEGV, "Bus error": signal.SIGBUS, "Illegal instruction": signal.SIGILL, "Floating point exception": signal.SIGFPE,
    "Killed": signal.SIGKILL, "Aborted": signal.SIGABRT,
}  # fmt: skip
# What a shell returns of a process that a signal ended is this and the signal.
OF_A_SHELL = 128


def own_signal(rc: int | None) -> OwnSignal | None:
    """What the exit status of a process says where a signal of its own ended it; None where none did."""
    number = -rc if rc is not None and rc < 0 else (rc or 0) - OF_A_SHELL
    return OWN_SIGNALS.get(number)


def number_of_signal(text: str) -> int | None:
    """The signal that a line names as what ended a process; None where it names none that a process ends with."""
    found = WORDED.search(text)
    if found is None:
        return None
    name = getattr(signal, found["name"], None) if found["name"] else OF_WORDS.get(found["words"] or found["shell"] or found["alone"] or "")
    number = int(found["number"] or found["exit"] or name or 0)
    return number if number == signal.SIGKILL or number in OWN_SIGNALS else None


def named_signal(text: str) -> OwnSignal | None:
    """What the signal says that a line names as what ended a process; None where it names none."""
    number = number_of_signal(text)
    return KILLED_FROM_OUTSIDE if number == signal.SIGKILL else OWN_SIGNALS.get(number) if number is not None else None


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
