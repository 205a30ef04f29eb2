# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What planners of loads pass on, a test of an incast, and what is known of an error of ranks, of a launcher or of a class of errors."""

from __future__ import annotations

import typing as t

from ..pod.types import PodRail


class RankError(t.NamedTuple):
    """An error of a rank, or a warning of NCCL's log: a regular expression of its text, cause and fix.

    own: it arises within the rank's own host; one that does not (no answer of another rank, a path) does not show by itself at which end of the
    connection the fault is. follows: it only says that another error came before it. by_type: only the type of the exception is known, so that an error of
    the system in its line says more. worded: its pattern is a name that healthy lines have, too, so that only a line that is worded as an error is of it.
    """

    pattern: str
    own: bool
    cause: str
    fix: str
    follows: bool = False
    by_type: bool = False
    worded: bool = False


class LauncherError(t.NamedTuple):
    """A launcher's refusal: a regular expression of its text, cause and fix; speaker: it only shows which program speaks, so the fix begins with its line."""

    pattern: str
    cause: str
    fix: str
    speaker: bool = False


class ErrorClass(t.NamedTuple):
    """A class of errors: its name, a regular expression of the line that decides, what such an error comes from, and what to look at."""

    name: str
    pattern: str
    cause: str
    fix: str


class _AcrossGroups(t.TypedDict, total=False):
    """What a test across gate groups has beside what others have.

    share: the receiver's part of what its leaf's uplinks carry, in Gb/s; offered: what is sent to that leaf, as a multiple of what its
    uplinks carry; beside: all receivers at that leaf in this round, as host and device.
    """

    share: float
    offered: float
    beside: list[tuple[str, str]]


class _Measure(t.TypedDict, total=False):
    """How many seconds a test lasts, and its number of queue pairs; given once all rounds are known."""

    seconds: int
    qps: int


class Incast(_AcrossGroups, _Measure):
    """One test of an incast in its round, from 1; group: the receiver's; cross: whether spines carry it; across: between gate groups."""

    round: int
    group: str
    sender: PodRail
    receiver: PodRail
    cross: bool
    across: bool
