# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests between two rails as both of their hosts report them, and whose fault a failing one is."""

from __future__ import annotations

import statistics
import typing as t
from dataclasses import dataclass

from ..readings.rows import Peers, Row
from .perftest_errors import KNOWN, PARTNER, UNNAMED
from .schedule import NOT_INSTALLED

# What the jobs of both sides of one test have in common, besides its ends.
ONE_TEST = ("step", "kind", "round", "memory")
# Kinds of bandwidth tests: of a round, of two rails alone, and of a round that is repeated as it was.
ROUND, RETEST, REPEAT = "write_bw", "retest", "repeat"
TESTED = (ROUND, RETEST, REPEAT)
# How often a round is repeated; a failing test of it is a transient where all of them pass.
REPEATS = 2
HOST_MEMORY = "host"


class PairEnd(t.NamedTuple):
    """One end of a test."""

    host: str
    device: str

    def __str__(self) -> str:
        return f"{self.host} {self.device}"


@dataclass(frozen=True)
class PairTest:
    """One bandwidth test: what it was (``load_jobs``), its ends, and its rate in Gb/s, None with the words why there is none.

    unnamed: the error that no table knows with which a program of it ended; by: the host whose program says why there is no rate.
    """

    job: Row
    sender: PairEnd
    receiver: PairEnd
    gbit_s: float | None
    status: str
    words: str
    unnamed: str | None = None
    by: str | None = None

    @property
    def ends(self) -> tuple[PairEnd, PairEnd]:
        """Both ends, the sender first."""
        return self.sender, self.receiver

    @property
    def reported(self) -> str:
        """The rate, or why there is none."""
        return f"{self.gbit_s:.4g} Gb/s" if self.gbit_s is not None else self.words


def pair_tests(
    host: str, jobs: Peers, rates: Peers, kinds: t.Container[str] = (ROUND,), memory: str = HOST_MEMORY, sent: bool = False
) -> list[PairTest]:  # fmt: skip
    """The tests of some kinds that a host took part in, at either end, by the rows of ``load_jobs`` and ``write_bw`` of every host.

    sent: only those in which the host was the sender.
    """
    found = []
    for row in jobs.get(host, ()):
        if row["kind"] not in kinds or row["memory"] != memory:
            continue
        if row["role"] == "client":
            found.append(_test(host, row, jobs, rates))
        elif not sent:
            own = _other_side(host, row, jobs.get(row["peer"], ()))
            found.append(_test(row["peer"], own, jobs, rates) if own is not None else _not_reported(host, row))
    return found


def ends_of(host: str, job: Row) -> tuple[PairEnd, PairEnd]:
    """The sender and the receiver of the test that a host's job is one side of."""
    own, other = PairEnd(host, job["device"]), PairEnd(job["peer"], job["peer_device"])
    return (own, other) if job["role"] == "client" else (other, own)


def _other_side(host: str, job: Row, jobs: t.Iterable[Row]) -> Row | None:
    """The other end's job of the test that a host's job is one side of; a step has one test of a kind, round and memory between two ends."""
    ends = ends_of(host, job)
    mine = (one for one in jobs if all(one[key] == job[key] for key in ONE_TEST))
    return next((one for one in mine if ends_of(job["peer"], one) == ends), None)


def _told_by(sender: str, client: Row, jobs: Peers) -> tuple[str, Row]:
    """Whose job says why a test gave no rate, and that job: what a sender prints of a receiver that ended is only that no one answered."""
    server = _other_side(sender, client, jobs.get(client["peer"], ())) if client["status"] != "ok" else None
    if server is None or not (server["error"] == NOT_INSTALLED or (server["error"] in (KNOWN, UNNAMED) and client["error"] in (PARTNER, None))):
        return sender, client
    return client["peer"], server


def _test(sender: str, row: Row, jobs: Peers, rates: Peers) -> PairTest:
    rate = next((one["gbit_s"] for one in rates.get(sender, ()) if one["item"] == row["item"]), None) if row["status"] == "ok" else None
    by, job = _told_by(sender, row, jobs)
    status = job["status"] if rate is not None or row["status"] != "ok" else "unknown"
    words = (f"{by}: {job['words']}" if by != sender else job["words"]) or "no rate was reported"
    return PairTest(row, *ends_of(sender, row), rate, status, words, job["words"] if job["error"] == UNNAMED else None, by)


def _not_reported(receiver: str, row: Row) -> PairTest:
    return PairTest(row, *ends_of(receiver, row), None, "unknown", f"{row['peer']} did not report its side")


# What a test must reach, in Gb/s.
MinimumOf = t.Callable[[PairTest], float]


class HostMemoryRates:
    """What tests from host memory reached, in Gb/s, with which those from GPU memory are compared."""

    def __init__(self, tests: t.Iterable[PairTest]) -> None:
        self.pairs: dict[tuple[PairEnd, PairEnd], float] = {}
        self.sends: dict[PairEnd, float] = {}
        self.receives: dict[PairEnd, float] = {}
        for one in tests:
            rate = one.gbit_s or 0.0
            self.pairs[one.sender, one.receiver] = max(rate, self.pairs.get((one.sender, one.receiver), 0.0))
            self.sends[one.sender] = max(rate, self.sends.get(one.sender, 0.0))
            self.receives[one.receiver] = max(rate, self.receives.get(one.receiver, 0.0))

    def of(self, test: PairTest) -> float | None:
        """The rate of the same two ends, or of the slower of them with others; None where an end has none."""
        same = self.pairs.get((test.sender, test.receiver))
        slower = min(self.sends.get(test.sender, 0.0), self.receives.get(test.receiver, 0.0))
        return same or slower or None

    def best(self, test: PairTest) -> float | None:
        """The best rate that either end of a test has with anybody, in either direction, which is more than ``of`` may ask for; None without one."""
        return max(rates.get(end, 0.0) for rates in (self.sends, self.receives) for end in test.ends) or None


@dataclass(frozen=True)
class Blame:
    """What a failing test comes to for one of its ends: ``rail`` (this end, with any partner), ``path`` (both ends are well with
    others), ``host`` (well alone, not beside the host's other rails), ``transient`` (the same round passed when it was repeated), or None:
    it is the other end. why: in words; concurrent: the two ends carry their rate alone, and not beside others.
    """

    kind: str | None
    why: str
    concurrent: bool = False


def blame_end(end: PairEnd, test: PairTest, at_end: t.Sequence[PairTest], at_other: t.Sequence[PairTest], minimum: MinimumOf) -> Blame:
    """Whose fault a failing test is, as seen from one of its ends.

    at_end, at_other: all tests of the two hosts, retests and repeated rounds included; minimum: what each of them must reach. Only a test that
    reached as much as this one must shows that its ends are well: one with a slower partner shows nothing of a faster end.
    """
    sends, least = end == test.sender, minimum(test)
    other = test.receiver if sends else test.sender
    again = [one for one in at_end if one.job["kind"] == REPEAT and (one.sender, one.receiver) == (test.sender, test.receiver)]
    if len(again) >= REPEATS and all(_good(one, least) for one in again):
        return Blame("transient", f"{', '.join(one.reported for one in again)} when the same round was repeated under the same load")
    here, here_alone = _with_others(end, other, at_end, sends, least)
    there, there_alone = _with_others(other, end, at_other, not sends, least)
    pair = next((one for one in at_end if one.job["kind"] == RETEST and (one.sender, one.receiver) == (test.sender, test.receiver)), None)
    well, unwell = pair is not None and _good(pair, least), pair is not None and not _good(pair, least)
    if here is not None and there is None and not (there_alone is not None and unwell):
        return Blame(None, f"{end.device} reaches {here.reported} with {_far(here, end)}")
    failed_alone = here_alone is None and _failed_alone(end, other, at_end, sends, minimum)
    if there is None and not failed_alone and _fails_with_more(end.host, other.host, at_end, at_other, minimum):
        return Blame(None, f"{other.host} fails with other hosts too, {end.host} with fewer")
    beside_it = there is not None or (there_alone is not None and _fails_with_more(other.host, end.host, at_other, at_end, minimum))
    if here is None and (well or (pair is None and here_alone is not None and beside_it)):
        return Blame("host", f"{(pair or here_alone).reported} when tested alone, without the other rails", concurrent=True)  # type: ignore[union-attr]
    mine, its = here or here_alone, there or there_alone
    if mine is not None and its is not None:
        reach = f"{end.device} reaches {mine.reported} with {_far(mine, end)}, and {other} {its.reported} with {_far(its, other)}"
        return Blame("path", f"{reach}; {pair.reported} when tested alone" if pair is not None and well else reach, concurrent=well)
    if mine is not None:
        return Blame(None, f"{end.device} reaches {mine.reported} with {_far(mine, end)}")
    if its is not None:
        return Blame("rail", f"{other} reaches {its.reported} with {_far(its, other)}")
    tried = any({one.sender.host, one.receiver.host} != {end.host, other.host} for one in (*at_end, *at_other))
    return Blame("rail", f"{other} has not passed with anyone either" if tried else "neither end was tested with anyone else")


def _failed_alone(end: PairEnd, other: PairEnd, tests: t.Sequence[PairTest], sends: bool, minimum: MinimumOf) -> bool:
    """Whether an end failed alone with a partner other than ``other``."""
    return any(
        one.job["kind"] == RETEST and (one.sender if sends else one.receiver) == end and (one.receiver if sends else one.sender).host != other.host
        and not _good(one, minimum(one))
        for one in tests
    )  # fmt: skip


def _fails_with_more(host: str, other: str, tests: t.Sequence[PairTest], of_other: t.Sequence[PairTest], minimum: MinimumOf) -> bool:
    """Whether the other end's host fails with several hosts, and with more of them than this one."""
    mine, its = (
        {name for one in own if one.job["kind"] == ROUND and not _good(one, minimum(one)) for name in (one.sender.host, one.receiver.host)} - {of}
        for own, of in ((tests, host), (of_other, other))
    )
    return len(its) > max(len(mine), 1)


def _with_others(end: PairEnd, other: PairEnd, tests: t.Sequence[PairTest], sends: bool, least: float) -> tuple[PairTest | None, PairTest | None]:
    """The best good test of an end with hosts other than ``other``'s: of those beside its host's other rails, and of those alone."""
    its = [one for one in tests if (one.sender if sends else one.receiver) == end and {one.sender.host, one.receiver.host} != {end.host, other.host}]
    beside, alone = ([one for one in its if (one.job["kind"] == RETEST) == alone] for alone in (False, True))
    return _best(beside, least), _best(alone, least)


def _good(test: PairTest, least: float) -> bool:
    return test.gbit_s is not None and test.gbit_s >= least


def _best(given: t.Sequence[PairTest], least: float) -> PairTest | None:
    return max((one for one in given if _good(one, least)), key=lambda one: one.gbit_s or 0.0, default=None)


def _far(test: PairTest, end: PairEnd) -> PairEnd:
    return test.receiver if test.sender == end else test.sender


def median(numbers: t.Iterable[float | None]) -> float | None:
    """The median of what was reported."""
    reported = [number for number in numbers if number is not None]
    return statistics.median(reported) if reported else None
