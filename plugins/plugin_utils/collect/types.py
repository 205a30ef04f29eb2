# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What travels between queries, transports, readings, and the directory of a run."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..readings import Reading, Source
from ..readings.rows import Row

# A row of any reading: its columns are those of the reading's definition.
Values = dict[str, t.Any]


@dataclass(frozen=True)
class Query:
    """One reading of one node: the sources that apply there, and the items that they are repeated for."""

    reading: Reading
    sources: tuple[Source, ...]
    items: tuple[Values, ...]


@dataclass
class CommandResult:
    """What one command printed, as ``side_by_side.answer`` returns it."""

    status: str
    source: Source
    argv: list[str]
    rc: int | None = 0
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    cut: bool = False


@dataclass
class ReadingResult:
    """One reading as a node reported it.

    status: ok, unknown or not_applicable; words: why not ok; rows; text: the evidence, in sections where there are items;
    lost: items of a partial reading that did not answer, with their words; unparsed: a tool answered with a text that cannot be accounted for;
    error: the line with which a command that failed says why, as it printed it.
    """

    status: str
    words: str = ""
    rows: list[Row] = field(default_factory=list)
    text: str = ""
    lost: dict[str, str] = field(default_factory=dict)
    unparsed: bool = False
    error: str = ""


class _MayHaveFailed(t.TypedDict, total=False):
    """What readings of an older version lack."""

    error: str


class KeptReading(_MayHaveFailed):
    """A ``ReadingResult`` as a run keeps it; evidence: where its text is, None where there is none."""

    status: str
    words: str
    rows: list[Row]
    lost: dict[str, str]
    evidence: str | None
    unparsed: bool


class SharedSource(t.TypedDict):
    """Which slice read a switch, in which run; read: when it began to, ISO 8601 in UTC; age_seconds: how old that was when it was taken."""

    slice: str
    run: str
    read: str
    age_seconds: float


class _Sampled(t.TypedDict, total=False):
    """seconds: since the loads began, of a sample under load; shared: where another slice read the switch."""

    seconds: float
    shared: SharedSource


class NodeStatus(_Sampled):
    """Whether a node answered, or the words why not, and what reports its last boot, as ``NodeResponse`` has them."""

    answered: bool
    words: str
    boot_id: str | None
    uptime_seconds: float | None
    asked_at: float | None
    contacted: bool


class Envelope(NodeStatus):
    """What a node reported in one phase of a layer, by reading."""

    readings: dict[str, KeptReading]


def reading_of(envelopes: t.Mapping[str, Envelope], node: str, name: str) -> KeptReading | None:
    """One reading of one node; None where it was not read."""
    envelope = envelopes.get(node)
    return None if envelope is None else envelope["readings"].get(name)


class KeptEnvelope(Envelope):
    """An ``Envelope`` in its file: time is when it was written, ISO 8601 in UTC."""

    node: str
    time: str


class KeptCommand(t.TypedDict, total=False):
    """One command as it ended, beside the evidence; reading, and also: what its output was read as."""

    reading: str
    also: list[str]
    argv: list[str]
    status: str
    rc: int | None
    stderr: str
    seconds: float
    cut: bool
