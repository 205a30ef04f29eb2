# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests between two rails as both of their hosts tell them, and whose fault a failing one is."""

from __future__ import annotations

import statistics
import typing as t
from dataclasses import dataclass

Row = dict[str, t.Any]
Rows = list[Row]
Peers = t.Mapping[str, Rows]
RETEST = "retest"


@dataclass(frozen=True)
class End:
    """One end of a test."""

    host: str
    device: str

    def __str__(self) -> str:
        return f"{self.host} {self.device}"


@dataclass(frozen=True)
class Test:
    """One bandwidth test: what it was (``load_jobs``), its ends, and its rate in Gb/s, None with the words why there is none."""

    job: Row
    sender: End
    receiver: End
    gbit_s: float | None
    status: str
    words: str

    @property
    def told(self) -> str:
        """The rate, or why there is none."""
        return f"{self.gbit_s:.4g} Gb/s" if self.gbit_s is not None else self.words


def tests(host: str, jobs: Peers, rates: Peers, kinds: t.Container[str] = ("write_bw",), memory: str = "host") -> list[Test]:
    """The tests of some kinds that a host took part in, at either end, by the rows of ``load_jobs`` and ``write_bw`` of every host."""
    found = []
    for row in jobs.get(host, ()):
        if row["kind"] not in kinds or row["memory"] != memory:
            continue
        if row["role"] == "client":
            found.append(_test(host, row, rates))
        else:
            item = f"{_slot(row)}: {row['peer_device']} to {host} {row['device']}"
            own = next((one for one in jobs.get(row["peer"], ()) if one["item"] == item), None)
            found.append(_test(row["peer"], own, rates) if own is not None else _untold(host, row))
    return found


def _slot(row: Row) -> str:
    """The slot in an item's name: ``round 1: mlx5_0 from gpu02 mlx5_0`` is of ``round 1``."""
    return str(row["item"]).partition(": ")[0]


def _test(sender: str, row: Row, rates: Peers) -> Test:
    rate = next((one["gbit_s"] for one in rates.get(sender, ()) if one["item"] == row["item"]), None) if row["status"] == "ok" else None
    ends = End(sender, row["device"]), End(row["peer"], row["peer_device"])
    return Test(row, *ends, rate, row["status"] if rate is not None or row["status"] != "ok" else "unknown", row["words"] or "no rate was told")


def _untold(receiver: str, row: Row) -> Test:
    words = f"{row['peer']} told nothing of its side"
    return Test(row, End(row["peer"], row["peer_device"]), End(receiver, row["device"]), None, "unknown", words)


@dataclass(frozen=True)
class Blame:
    """What a failing test comes to for one of its ends: ``rail`` (this end, with any partner), ``path`` (both ends are well with
    others), ``host`` (well alone, not beside the host's other rails), or None: it is the other end. why: in words.
    """

    kind: str | None
    why: str


def blame(end: End, test: Test, at_end: t.Sequence[Test], at_other: t.Sequence[Test], minimum: float) -> Blame:
    """Whose fault a failing test is, as seen from one of its ends.

    at_end, at_other: all tests of the two ends, retests included.
    """
    sends = end == test.sender
    other = test.receiver if sends else test.sender
    here, here_alone = _with_others(end, other, at_end, sends, minimum)
    there, there_alone = _with_others(other, end, at_other, not sends, minimum)
    pair = next((one for one in at_end if one.job["kind"] == RETEST and (one.sender, one.receiver) == (test.sender, test.receiver)), None)
    well, unwell = pair is not None and _good(pair, minimum), pair is not None and not _good(pair, minimum)
    if here is not None and there is None and not (there_alone is not None and unwell):
        return Blame(None, f"{end.device} reaches {here.told} with {_far(here, end)}")
    if here is None and (well or (pair is None and here_alone is not None and there is not None)):
        return Blame("host", f"{(pair or here_alone).told} when tested alone, without the other rails")  # type: ignore[union-attr]
    mine, its = here or here_alone, there or there_alone
    if mine is not None and its is not None:
        return Blame("path", f"{end.device} reaches {mine.told} with {_far(mine, end)}, and {other} {its.told} with {_far(its, other)}")
    if mine is not None:
        return Blame(None, f"{end.device} reaches {mine.told} with {_far(mine, end)}")
    if its is not None:
        return Blame("rail", f"{other} reaches {its.told} with {_far(its, other)}")
    tried = any({one.sender.host, one.receiver.host} != {end.host, other.host} for one in (*at_end, *at_other))
    return Blame("rail", f"{other} has not passed with anyone either" if tried else "neither end was tested with anyone else")


def _with_others(end: End, other: End, tests: t.Sequence[Test], sends: bool, minimum: float) -> tuple[Test | None, Test | None]:
    """The best good test of an end with hosts other than ``other``'s: of those beside its host's other rails, and of those alone."""
    its = [one for one in tests if (one.sender if sends else one.receiver) == end and {one.sender.host, one.receiver.host} != {end.host, other.host}]
    beside, alone = ([one for one in its if (one.job["kind"] == RETEST) == alone] for alone in (False, True))
    return _best(beside, minimum), _best(alone, minimum)


def _good(test: Test, minimum: float) -> bool:
    return test.gbit_s is not None and test.gbit_s >= minimum


def _best(given: t.Sequence[Test], minimum: float) -> Test | None:
    return max((one for one in given if _good(one, minimum)), key=lambda one: one.gbit_s or 0.0, default=None)


def _far(test: Test, end: End) -> End:
    return test.receiver if test.sender == end else test.sender


def median(numbers: t.Iterable[float | None]) -> float | None:
    """The median of what was told."""
    told = [number for number in numbers if number is not None]
    return statistics.median(told) if told else None
