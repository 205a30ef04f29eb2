# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the errors mean with which ranks of collectives and training end: CUDA's, NCCL's and PyTorch's."""

from __future__ import annotations

import functools
import re
import signal
import typing as t

from .connection_errors import CONNECTION_ERRORS
from .crashes import named_signal, number_of_signal, own_signal, where_crashed
from .error_classes import SOCKETS, decisive_part, error_class, without_boilerplate
from .gpu_memory import of_gpu_memory
from .host_errors import HOST_ERRORS
from .remarks import without_settings
from .result_numbers import in_words, with_words
from .types import RankError
from .unknown_errors import ERROR_FORM, NOT_SHOWN, Extent, explain_unknown, names_system_error

# A log has thousands of lines.
KNOWN = tuple((re.compile(one.pattern), one) for one in (*HOST_ERRORS, *CONNECTION_ERRORS))
# What a library marks as a warning or error is one, whatever its words.
WORDED = re.compile(r"\bWARN\b|\bERROR\b|\bfailure\b")
# A process is ended by these through a fault of its own or of its host; by SIGABRT and SIGKILL also where another rank ended first.
OF_THE_HOST = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


class HostEnd(t.NamedTuple):
    """How a run ended on a host: what is reported of it, with cause and fix."""

    words: str
    cause: str
    fix: str


KILLED = (
    "A rank of this host was killed: by the kernel for want of memory, by a crash of its own (signal 6, 7 or 11), or with its GPU.",
    "Look in the kernel's log of that time for oom-kill, Xid and segfault, at the memory limit of the job or container, and at the rank's own output.",
)
ASKED_TO_END = (
    "A rank of this host was ended from outside (signal 1, 2, 13 or 15): by an operator, a scheduler or a launcher, and not by the kernel or by a crash.",
    "See in the log of the scheduler or launcher of that time who ended it: a time limit, a preemption, a node that was drained; then run the layer again.",
)
KILLED_TOGETHER = (
    "Ranks of several hosts were killed within one second (signal 9): a launcher at its limit, a scheduler or an operator did that, and not the kernels of "
    "all of these hosts. Why they had not ended by then was not reported.",
    "See in the log of the scheduler or launcher of that time who ended them, and which host it names first; then run the layer again.",
)
ENDED_FOR_OTHERS = (
    "This rank was killed after another one of its run had failed or had not come: a library aborts it when a peer's connection closes (signal 6), or what "
    "started it ends it (signal 15 or 9).",
    "Begin with the rank that failed first or never arrived; this one says nothing about its own host.",
)
NEVER_ARRIVED = (
    "A rank of this host did not come to the collective in which all others waited: its process is stuck, or its GPU or driver hangs.",
    "Take the host out; look at its kernel's log (Xid), at what the rank's process does (py-spy, the flight recorder) and at its storage at that time.",
)

NEVER_ENQUEUED = (
    "A rank of this host had arrived and did not enqueue the collective that the others had: its process waits within the call, for its GPU, its driver or "
    "the set-up of NCCL.",
    "Take the host out; look at its kernel's log (Xid), at nvidia-smi of that GPU and at where the rank's process waits (py-spy dump --native).",
)
NEVER_FINISHES = (
    "No run over several hosts finishes with this host, and its partners finish runs without it: one of its GPUs stopped the work that it was given, or its "
    "NICs or the path from them no longer carry data. Neither has to log an error.",
    "Take the host out; look at its kernel's log (Xid), at each GPU in nvidia-smi (one with 100 % utilisation at little power waits or spins), and at its NICs "
    "and links at that time; run the vendor's GPU diagnostics, and layer 4 for each of its rails.",
)
NOBODY_BEHIND = (
    "Every rank had come and none is behind, so no process of a host stands out: what carries the data stopped (a GPU, a NIC, a path), or the ranks called "
    "different collectives or run different software.",
    "Begin with what is found of a GPU, a NIC or a switch in the same run (Xid, retransmissions, drops, a link that went down); compare NCCL, drivers and "
    "variables of the hosts; then run smaller groups of them, read ncclras -v of a run that hangs, and try another release of NCCL, since some stop in large "
    "runs by themselves.",
)

NOT_SET_UP_ALIKE = (
    "NCCL of {host} is not set up as that of the other hosts: {unlike}. Ranks whose network plugin, version or variables differ connect and may then wait "
    "for each other without an end; no run over several hosts finishes with it, and its partners finish runs without it.",
    "Give this host the image, plugin (LD_LIBRARY_PATH, NCCL_NET_PLUGIN), release of NCCL and variables of the others, and run the layer again; where it hangs "
    "then too, look at its GPUs, NICs and path (the kernel's log, nvidia-smi, layer 4 for each of its rails).",
)
SET_ON_ALL = (
    "All hosts set {variables} (environment, image or nccl.conf), which the pod does not list and which may stop every run. ",
    "First remove it from the environment, the image and nccl.conf (/etc/nccl.conf, ~/.nccl.conf), and run the layer again. ",
)
SET_OTHERWISE = "{host} is set up otherwise than the other hosts: {unlike}."
ALIKE_FIRST = "Give all hosts the same variables and release of NCCL (the environment, the image, /etc/nccl.conf, ~/.nccl.conf), and run the layer again."


def why_never_finishes(host: str, unlike: t.Sequence[str]) -> tuple[str, str]:
    """Cause and fix where no run over several hosts finishes with a host; unlike: what NCCL of it has otherwise than that of the others, in words."""
    cause, fix = NOT_SET_UP_ALIKE if unlike else NEVER_FINISHES
    return (cause.format(host=host, unlike="; ".join(unlike)) if unlike else cause), fix


# A line is asked for several times, by what it means and whether it follows from another one.
@functools.lru_cache(maxsize=4096)
def known_error(text: str | None) -> RankError | None:
    """What is known of an error's text; None where nothing is."""
    said = with_words(without_boilerplate(text or ""))
    found = (one for pattern, one in KNOWN if pattern.search(said))
    return next((one for one in found if not one.worded or WORDED.search(said) or ERROR_FORM.search(without_settings(said))), None)


def explained(text: str | None, extent: Extent = NOT_SHOWN) -> tuple[str, str]:
    """Cause and fix of an error; extent: which hosts have one that is not known (``extent_of``)."""
    if of_memory := of_gpu_memory(text or ""):
        return of_memory
    known = known_error(text)
    if known and not (known.by_type and names_system_error(text or "")):
        return f"{in_words(decisive_part(text or ''))}{known.cause}", known.fix
    cause, fix = explain_unknown(text or "", extent.words)
    return (f"{cause} {known.cause}", f"{fix} {known.fix}") if known else (cause, fix)


def end_by_error(text: str) -> HostEnd:
    """The end of a run on a host by an error."""
    return HostEnd(text, *explained(text))


def is_own(text: str | None) -> bool:
    """Whether an error arises within the rank's own host."""
    known = known_error(text)
    return known.own if known is not None else number_of_signal(text or "") in OF_THE_HOST


def is_of_a_connection(text: str | None) -> bool:
    """Whether an error is one of the connections between ranks, whose other end or path may be at fault, as where the other rank had ended."""
    known = known_error(text)
    if known is not None:
        return not known.own
    of_class = error_class(text or "")
    return of_class is not None and of_class.name == SOCKETS


def follows(text: str | None) -> bool:
    """Whether an error only says that another one came before it, of another rank or of the same connection."""
    known = known_error(text)
    return known is not None and known.follows


def printed_error(row: t.Mapping[str, t.Any]) -> str | None:
    """The line with which a rank that was killed had said why, where it is known as an error of its own host; row: of collective_ranks."""
    lines = (row.get("text") or "").splitlines() if row["outcome"] == "killed" else ()
    # That a signal ended it is known already.
    return next((line.strip() for line in lines if (known := known_error(line)) is not None and known.own), None)


def crashed(row: t.Mapping[str, t.Any]) -> HostEnd:
    """How a rank ended that a signal of its own ended, which no other one had caused; row: of collective_ranks.

    The words are what it had printed of that: an error that is known, or the frames of its stack.
    """
    printed, place, sign = printed_error(row), where_crashed(row.get("text")), own_signal(-row["signal"])
    if printed:
        return HostEnd(printed, *explained(printed))
    if sign and (line := _classed_line(row.get("text") or "")):
        cause, fix = explained(line)
        return HostEnd(f"{line}{f'; {place}' if place else ''}", f"{sign.cause} {cause}", fix)
    cause, fix = (f"A rank of this host was killed. {sign.cause}", sign.fix) if sign else KILLED
    return HostEnd(place, cause, fix)


def first_errors(errors: t.Mapping[str, str]) -> dict[str, str]:
    """Of a run's errors by host those that came first: without those that only follow from another one, where there is any other."""
    first = {host: text for host, text in errors.items() if not follows(text)}
    return first or dict(errors)


def _classed_line(text: str) -> str:
    """The first line of what a rank had printed that is worded as an error and shows what part of a host it is of, beyond that the rank ended."""
    lines = (line.strip() for line in text.splitlines())
    said = (line for line in lines if ERROR_FORM.search(line) and not where_crashed(line) and named_signal(line) is None)
    return next((line for line in said if (one := error_class(line)) is not None and one.name != "crash"), "")
