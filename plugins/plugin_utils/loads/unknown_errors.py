# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be done about an error that no table knows: by the system's error in it, by who quotes it, and by which hosts have it."""

from __future__ import annotations

import functools
import os
import re
import typing as t

from ..text.control_characters import printable
from ..text.shortened import shortened
from ..text.sorting import NUMBERS
from .crashes import named_signal
from .error_classes import BOILERPLATE, decisive_part, error_class
from .named_parts import named_parts
from .result_numbers import in_words

LONGEST = 400
# Less of an error beside the line that decides says nothing.
SHORTEST = 40
# A program that quotes what another one printed indents it behind its own name: the innermost speaker saw the error itself.
QUOTED = re.compile(r"^(?:[\w.\[\]-]+: ?)+(?: {2,}|\t)(?P<inner>\S.*)$")
# From this length on a line that the next one goes on with in lower case is taken for one that a program wrapped.
WRAPPED_FROM = 60
# The level with which a program marks a line that is no error, and what the loader goes on without.
NO_ERROR = re.compile(r"^\[?(?:INFO|DEBUG|NOTICE|TRACE)\b|^ERROR: ld\.so: .*: ignored\.$", re.IGNORECASE)
# How programs word an error, whatever it is of.
ERROR_FORM = re.compile(
    r"\b\w*(?:Error|Exception)\b|\b(?i:error|fatal|failed|failure|cannot|can't|could(?: not|n't)|unable|abort(?:ed|ing)?|refused?|denied|invalid|"
    r"unrecognized|timed out|not found|killed|core dumped|exited on signal|noticed that process rank|lost|exceeded|is dead because|segmentation fault|"
    r"bus error|illegal instruction|"
    r"floating point exception|fault by GPU|caught signal|connect to host|closed by remote host|was low on resource|unexpected result|"
    # Of mlx5 as UCX prints it, of numactl, of kubectl, and of the kernels of DeepEP.
    r"setting membind|terminated with exit code [1-9]\d*)\b|\(synd 0x[0-9a-f]+ vend 0x|\bDeepEP \w+ .*\btimeout\b"
)

# How programs print the number of an error of the system without its text.
NUMBERED = re.compile(
    r"\b(?i:errno)[ :=]+-?(?P<errno>\d{1,3})\b|\bMR with error=(?P<verbs>\d{1,3})\b|\b(?i:error|returned|ret|rc)[ :=]+-(?P<negative>\d{2,3})\b"
)
# Programs in Go print the texts in small letters, which are also those of results of CUDA and HIP.
SMALL = re.compile(r": (?P<text>[a-z][a-z ]+)$")
OF_GPUS = re.compile(r"(?i)\b(?:cuda|hip)")
# Of PCI, of a network card or of IPv6, or a number as hexadecimal: some of these are letters alone.
ADDRESS = re.compile(r"\b(?:0x[0-9a-f]+|[0-9a-f]{1,8}(?::+[0-9a-f]{1,4})+(?:\.[0-9a-f])?)\b", re.IGNORECASE)


class ErrorNumber(t.NamedTuple):
    """An error number of the system (errno(3)): the C library's text of it, what it means and what to look at."""

    text: str
    cause: str
    fix: str


class Extent(t.NamedTuple):
    """Which hosts have an error: in words for the cause, whether one host alone has it while runs without it end well, and whether all have it."""

    words: str = ""
    one_host: bool = False
    all_hosts: bool = False


class ExtentWords(t.NamedTuple):
    """What the extent of an error is in words: of one host alone, of some of all, of all."""

    alone: str
    some: str
    all_of_them: str


# Nothing shows which hosts have it.
NOT_SHOWN = Extent()
_PATH = "The host does not reach the address that the line names, or is refused there: {0}."
_PATH_FIX = "From this host connect to that address and port by hand; compare routes, firewalls and the service there with those of a pair that works."
_FILE_FIX = "On the host that printed it look at what the line names as the jobs' user (ls -ld, findmnt -T), and compare it with a host without the error."
_CALL_FIX = "Compare kernel, driver, firmware and libraries of the host that printed it with those of a host without the error, and read its kernel's log."
_MEMORY_FIX = (
    "Compare the limits inside the job on that host (ulimit -a, memory.max and pids.max of its cgroup) and free -g with those of a host without the error, and "
    "look for oom-kill in its kernel's log."
)
# The texts are glibc's, which tools print word for word: a field of the line.
SYSTEM_ERRORS: tuple[ErrorNumber, ...] = (
    ErrorNumber("Permission denied", "The system refuses the jobs' user what the line names (EACCES): owner, mode, mount options or a policy.", _FILE_FIX),
    ErrorNumber("Operation not permitted", "The process lacks a privilege for what the line names (EPERM): user, capability or container.", _FILE_FIX),
    ErrorNumber("No such file or directory", "What the line names is missing where the process ran (ENOENT): its image, mount or path.", _FILE_FIX),
    ErrorNumber("No such device or address", "What the line names has nothing behind it (ENXIO): its device or service does not run.", _FILE_FIX),
    ErrorNumber("No such device", "The device that the line names is not there for the process (ENODEV).", _FILE_FIX),
    ErrorNumber("Read-only file system", "What the line names is mounted read-only (EROFS): by intention, or after errors of the disk.", _FILE_FIX),
    ErrorNumber("Input/output error", "The device or file system that the line names failed to read or write (EIO).", _CALL_FIX),
    ErrorNumber("Stale file handle", "The server no longer knows what the line names (ESTALE): the export or file system was made again.", _FILE_FIX),
    ErrorNumber("Operation not supported", "Kernel or driver of the host do not have the call that the line names (EOPNOTSUPP).", _CALL_FIX),
    ErrorNumber(
        "Bad address",
        "Kernel or driver of the host do not accept the memory that the call in the line was given (EFAULT); where it reads or writes a file it is the client "
        "of that file system (NFS, FUSE).",
        _CALL_FIX,
    ),
    ErrorNumber(
        "Function not implemented", "The kernel of the host, or what filters its calls, does not have the call that the line names (ENOSYS).", _CALL_FIX
    ),
    ErrorNumber(
        "Bad file descriptor", "The process used a file or connection that it had closed already (EBADF): an error of the program or a library.", _CALL_FIX
    ),
    ErrorNumber(
        "Resource temporarily unavailable",
        "What the call in the line needs is used up or not ready for now (EAGAIN): processes or threads, locked memory, a lock that another process holds, or "
        "a connection that has nothing yet. The line does not say which.",
        "See which call failed (the traceback above the line, strace -f); compare ulimit -u and ulimit -l, pids.max of the job's cgroup and lslocks with "
        "those of a host without the error.",
    ),
    ErrorNumber("Cannot allocate memory", "The host gave the call in the line no memory (ENOMEM): a limit, or too little is left.", _MEMORY_FIX),
    ErrorNumber("No route to host", _PATH.format("no route, no answer to ARP, or a firewall that rejects (EHOSTUNREACH)"), _PATH_FIX),
    ErrorNumber("Network is unreachable", _PATH.format("it has no route to that network (ENETUNREACH)"), _PATH_FIX),
    ErrorNumber("Connection refused", _PATH.format("nothing listens on that port, or a firewall rejects it (ECONNREFUSED)"), _PATH_FIX),
    ErrorNumber("Software caused connection abort", _PATH.format("its own system ended the connection (ECONNABORTED)"), _PATH_FIX),
    ErrorNumber("Connection timed out", _PATH.format("nothing came back in time (ETIMEDOUT)"), _PATH_FIX),
    ErrorNumber("Host is down", _PATH.format("it does not respond any more (EHOSTDOWN)"), _PATH_FIX),
    ErrorNumber("Network is down", _PATH.format("the interface towards it is down (ENETDOWN)"), _PATH_FIX),
    ErrorNumber("Cannot assign requested address", "The host has not the address that the line names, or has no free port of it (EADDRNOTAVAIL).", _CALL_FIX),
    ErrorNumber("Message too long", "What was sent is larger than the path or the interface takes (EMSGSIZE): the MTU differs.", _PATH_FIX),
    ErrorNumber("Transport endpoint is not connected", "What the line names is a mount whose client has ended (ENOTCONN), such as one of FUSE.", _FILE_FIX),
    ErrorNumber(
        "Cannot send after transport endpoint shutdown", "The client of what the line names was evicted or shut down (ESHUTDOWN), as of Lustre.", _FILE_FIX
    ),
    ErrorNumber("Required key not available", "The key or ticket for what the line names is missing or has expired (ENOKEY).", _FILE_FIX),
    ErrorNumber("Key has expired", "The key or ticket for what the line names has expired (EKEYEXPIRED).", _FILE_FIX),
    ErrorNumber("No space left on device", "What the line names has no space or no inodes left (ENOSPC): a disk, /tmp, /dev/shm, or a table.", _FILE_FIX),
    ErrorNumber("Disk quota exceeded", "The quota of the jobs' user for what the line names is used up (EDQUOT).", _FILE_FIX),
    ErrorNumber("Structure needs cleaning", "The file system that the line names is damaged (EUCLEAN).", _CALL_FIX),
    ErrorNumber("Remote I/O error", "The device that the line names refused the command that it was given (EREMOTEIO).", _CALL_FIX),
    ErrorNumber("Device or resource busy", "Something else uses what the line names (EBUSY), such as a process of an earlier job.", _CALL_FIX),
    ErrorNumber("Text file busy", "The program that the line names is written while it runs, or run while it is written (ETXTBSY).", _FILE_FIX),
    ErrorNumber("Exec format error", "The program that the line names is of another architecture than this host, or is damaged (ENOEXEC).", _FILE_FIX),
    ErrorNumber("Not a directory", "A part of the path that the line names is a file here (ENOTDIR).", _FILE_FIX),
    ErrorNumber("Protocol not available", "The library or kernel of this host does not have the option that the line names (ENOPROTOOPT).", _CALL_FIX),
    ErrorNumber("Protocol not supported", "Kernel or driver of this host are older than the call that the line names (EPROTONOSUPPORT).", _CALL_FIX),
    ErrorNumber("Invalid argument", "Kernel, driver or library of this host refuse what the call in the line was given (EINVAL).", _CALL_FIX),
)
UNNAMED = "The program ended with the line that is printed, which no table of this collection knows."
UNNAMED_FIX = "Look in its documentation and in the log of its host at that time."
OF_RUNS = ExtentWords(
    "{host} alone has this error, and runs without it end well: its own image, driver, device or settings differ. ",
    "{number} of {all} hosts have this error and the others do not: look for what these have in common. ",
    "All hosts alike have this error, so it is what they share (the image, the launcher, or a service or storage that all of them use), and no single host. ",
)
ALL = Extent(OF_RUNS.all_of_them, all_hosts=True)
# Of a training that ended on all hosts.
OF_TRAINING = ExtentWords(
    "{host} alone ended with this error, and the other hosts all with another one, in consequence of it. ", "{number} of {all} hosts ended with this error. ",
    "All {all} hosts ended with this error. ",
)  # fmt: skip
# Of a command that every node of a platform is asked.
OF_COMMANDS = ExtentWords(
    "{host} alone has this error, and of the {all} nodes that are asked alike others answer: its own image, driver, device, privileges or settings differ. ",
    "{number} of {all} nodes that are asked alike have this error and the others do not: look for what these have in common. ",
    "All {all} nodes that are asked alike have this error, so it is what they share (the login's privileges, the image, the tool's or driver's version), and "
    "no single node. ",
)
# Of tests of pairs of hosts.
OF_TESTS = ExtentWords(
    "{host} alone prints this error, and tests between other hosts end well: its own driver, device, limits or settings differ. ",
    "{number} of {all} hosts print this error and the others do not: look for what these have in common. ",
    "All {all} hosts alike print this error, so it is what they share (the image, perftest's build, the driver's version), and no single host. ",
)


def decisive_line(*texts: str) -> str:
    """The line of a program's output that says most: the first that it quotes of another program, else its first; nothing of no lines.

    Where its first line is not worded as an error, the first that is follows it.

    Lines that are marked as no error are passed over, and those that only separate others.
    """
    lines = [line for text in texts for line in _sentences(text) if not NO_ERROR.match(line.strip())]
    inner = [line for line in lines if (found := QUOTED.match(line)) and not NO_ERROR.match(found["inner"])]
    first = (inner or lines or [""])[0]
    error = "" if inner else next((line for line in lines if ERROR_FORM.search(line)), "")
    return cut(f"{first}; {error.strip()}" if error and error != first else first)


def _sentences(text: str) -> list[str]:
    """The lines of a text that say something, each with what it announces by a colon, or is wrapped in, before the next one."""
    found: list[str] = []
    wrapped = False
    for line in text.splitlines():
        if not re.search(r"\w", line):
            wrapped = False
            continue
        continues = bool(found) and not QUOTED.match(line) and (found[-1].endswith(":") or (wrapped and line[0].islower()))
        found[-1:] = [f"{found[-1]} {line.strip()}"] if continues else [*found[-1:], line.rstrip()]
        wrapped = len(line) >= WRAPPED_FROM
    return found


def is_bare(line: str) -> bool:
    """Whether a line has an error of the system and nothing of what met it: the number may be left over from another call."""
    one = system_error(line)
    return one is not None and re.sub(r"(?i)errno|error|\W", "", line.replace(one.text, "")) == ""


def is_quoted(line: str) -> bool:
    """Whether a line is what a program quotes of another one."""
    return QUOTED.match(line) is not None


def cut(text: str) -> str:
    """An error on one line, as long as a finding may show it."""
    return shortened(" ".join(printable(text).split()), LONGEST)


def explain_unknown(text: str, known: str = "", of_ranks: bool = True) -> tuple[str, str]:
    """Cause and fix of an error that no table knows; the fix begins with its line.

    known: what is known of it besides, to begin the cause with: which hosts have it, or who refused; of_ranks: whether it is of a program with the
    vocabulary of ``ERROR_CLASSES``, and not of what only starts one, or of a tool of the system.
    """
    found: list[t.Any] = [one for one in (named_signal(text), error_class(text) if of_ranks else None, system_error(text)) if one is not None][:2]
    cause, fix = (" ".join(one.cause for one in found), " ".join(one.fix for one in found)) if found else (UNNAMED, UNNAMED_FIX)
    line = decisive_part(text)
    return f"{known}{named_parts(line)}{in_words(line)}{cause}", f"Begin with this line: {cut(line)}. {fix}"


def names_system_error(text: str) -> bool:
    """Whether an error has one of the system in it."""
    return system_error(text) is not None


def has_a_class(text: str) -> bool:
    """Whether an error that no table names shows at least what part of a host it is of, by an error of the system or by its vocabulary."""
    return names_system_error(text) or error_class(text) is not None


def is_error(text: str) -> bool:
    """Whether a text has an error in it, whether or not anything is known of it."""
    return ERROR_FORM.search(text) is not None or has_a_class(text)


def shown(text: str) -> str:
    """An error as a finding shows it, without PyTorch's boilerplate: as it is where it is short, else the line that decides, and of the rest what has room."""
    said = [line for line in text.splitlines() if not BOILERPLATE.match(line)]
    line = " ".join(printable("\n".join(said) or text).split())
    if len(line) <= LONGEST:
        return line
    first = cut(decisive_part(text))
    room = LONGEST - len(f"{first} ()")
    return first if room < SHORTEST else f"{first} ({shortened(line, room)})"


def extent_of(host: str, having: t.Collection[str], taking_part: t.Collection[str], only_without: bool, words: ExtentWords = OF_RUNS) -> Extent:
    """Which hosts have an error: one alone while others end well, some, or all of several; nothing where that shows nothing.

    having: the hosts with this error; taking_part: those that could have it; only_without: whether runs end well without this host and none with it, which
    shows that the fault is not a partner's that the error is about.
    """
    if len(taking_part) < 2 or host not in having:
        return NOT_SHOWN
    if len(having) == len(taking_part):
        return Extent(words.all_of_them.format(all=len(taking_part)), all_hosts=True)
    if len(having) == 1:
        return Extent(words.alone.format(host=host, all=len(taking_part)), one_host=True) if only_without else NOT_SHOWN
    return Extent(words.some.format(number=len(having), all=len(taking_part)))


# Every failed rank is compared with those of all hosts, whose texts are few.
@functools.lru_cache(maxsize=4096)
def alike(text: str) -> str:
    """What errors of several hosts have in common: their text without numbers and addresses."""
    return NUMBERS.sub("#", ADDRESS.sub("#", cut(text)))


def system_error(text: str) -> ErrorNumber | None:
    """The error of the system in a line, by its text or its number; None where it has none."""
    part = decisive_part(text)
    by_text = next((one for one in SYSTEM_ERRORS if one.text in part), None)
    if by_text is None and (small := SMALL.search(part)) and not OF_GPUS.search(part):
        by_text = next((one for one in SYSTEM_ERRORS if one.text.lower() == small["text"]), None)
    if by_text or (found := NUMBERED.search(part)) is None:
        return by_text
    text = os.strerror(int(next(number for number in found.groups() if number)))
    one = next((one for one in SYSTEM_ERRORS if one.text == text), None)
    return one._replace(cause=f"{text}. {one.cause}") if one else None
