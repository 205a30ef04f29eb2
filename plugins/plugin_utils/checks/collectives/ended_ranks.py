# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the ranks of a run, as findings: each rank once, with its host, its GPU and its run, by what came first."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass, field, replace

from ...loads.named_parts import named_nic
from ...loads.rank_ends import ended_for_others, given_up_at, killed_after, killed_together, last_enqueued, ranks_behind, shows_a_fault, waited_for
from ...loads.rank_errors import (
    ASKED_TO_END,
    ENDED_FOR_OTHERS,
    KILLED_TOGETHER,
    NEVER_ARRIVED,
    NEVER_ENQUEUED,
    NOBODY_BEHIND,
    SET_ON_ALL,
    crashed,
    explained,
    follows,
    is_own,
    known_error,
    why_never_finishes,
)
from ...loads.unknown_errors import NOT_SHOWN, Extent, alike, cut, extent_of, shown
from ...readings.rows import Peers, Row
from .. import Finding
from .._by_time import Order, order_of_error
from ..place import Place, at_rank
from ._settings import with_settings

ErrorOf = t.Callable[[Row, str], Finding]


@dataclass(frozen=True)
class RunEnds:
    """The ranks of one run from all of its hosts; item: its name, nothing where its layer has no other; device: of the rail, in a run
    of a single one.

    ranks, hangs: its rows of collective_ranks and collective_hangs, or of those of training; homes: the hosts of the ranks that are reported;
    never_finishes: its host with which no run over several hosts finishes, where there is one; not_reached: that with which every run ends for its partners
    alone, with errors that do not arise within their own hosts, or to which most others of the one run lost their connections, as not_reached_words says;
    unlike: what NCCL of never_finishes has otherwise than that of others, in words;
    variables: those that all hosts set and the pod does not list; odd: its hosts whose variables or release of NCCL differ from those of most hosts, in words.
    """

    item: str
    hosts: t.Sequence[str]
    ranks: t.Sequence[Row]
    hangs: t.Sequence[Row]
    device: str | None = None
    homes: t.Mapping[int, str] = field(default_factory=dict)
    never_finishes: str | None = None
    not_reached: str | None = None
    not_reached_words: str = ""
    unlike: t.Sequence[str] = ()
    variables: t.Sequence[str] = ()
    odd: t.Mapping[str, t.Sequence[str]] = field(default_factory=dict)

    @functools.cached_property
    def after_others(self) -> frozenset[int]:
        """The ranks that ended for the sake of others."""
        return ended_for_others(self.ranks, self.hangs)

    @functools.cached_property
    def missing(self) -> list[int]:
        """The ranks that others waited for in vain, without those that ended for the sake of others where any other is left.

        Where all arrived, those that PyTorch or else NCCL's RAS knows to be behind.
        """
        gone = waited_for(self.hangs) - {row["rank"] for row in self.ranks if row["outcome"] == "hung"}
        return sorted(gone - self.after_others or gone or (ranks_behind(self.ranks) if self.hangs else ()) or self._behind_by_ras)

    @functools.cached_property
    def _behind_by_ras(self) -> frozenset[int]:
        """The ranks that NCCL's RAS has fewer collectives of, or no answer; none where these are more than half of those that reported.

        A rank that waited may have ended before another one asked.
        """
        behind = {rank for row in self.hangs for rank in row.get("ras_behind") or ()}
        silent = {rank for row in self.hangs for rank in row.get("ras_missing") or ()} - self.waiting
        found = frozenset(behind | silent)
        return found if 2 * len(found) <= len(self.ranks) else frozenset()

    @functools.cached_property
    def _enqueued(self) -> dict[int, int]:
        return last_enqueued(self.ranks)

    @functools.cached_property
    def of_rank(self) -> dict[int, Row]:
        """What was reported of each rank."""
        return {row["rank"]: row for row in self.ranks}

    @functools.cached_property
    def began(self) -> bool:
        """Whether a rank was killed or ended with an error of its own: others that lost their connections ended for its sake."""
        return any(ended_first(row) for row in self.ranks)

    @functools.cached_property
    def together(self) -> bool:
        """Whether its ranks were killed together on several hosts."""
        return killed_together(self.ranks)

    @functools.cached_property
    def waiting(self) -> frozenset[int]:
        """The ranks that reported that they had waited in vain."""
        return frozenset(row["rank"] for row in self.hangs)

    def home(self, rank: int) -> str | None:
        """The host of a rank: runs number their ranks by their hosts in order, each with as many ranks."""
        by_order = self.hosts[rank // self._each] if self._each and rank // self._each < len(self.hosts) else None
        return self.homes.get(rank, by_order)

    def place(self, rank: int, nic: str | None = None) -> Place:
        """A rank with its run, and with its GPU, or the rail that it is on; nic: the RDMA device that its error names."""
        of_run = self._of_run
        if self.device is not None:
            return at_rank(rank, of_run, device=self.device)
        gpu = rank % self._each if self._each else None
        parts = [*([f"GPU {gpu}"] if gpu is not None else []), *([nic] if nic else [])]
        return at_rank(rank, f"({', '.join(parts)}) {of_run}".rstrip() if parts else of_run, gpu=gpu, device=nic)

    @property
    def _of_run(self) -> str:
        return f"of {self.item}" if self.item else ""

    @functools.cached_property
    def _each(self) -> int:
        world = next((row["ranks"] for row in self.ranks), None) if self.hosts else None
        return int(world or 0) // len(self.hosts) if self.hosts else 0

    def killed(self, row: Row) -> Finding:
        """What the signal says that ended a rank that nobody waited for."""
        where, words = self.place(row["rank"]), f"ended by signal {row['signal']}"
        if row["rank"] in self.after_others:
            cause, fix = ENDED_FOR_OTHERS
            return Finding(where, "a normal exit", f"{words}, after another rank", "unknown", cause=cause, fix=fix, judged=True, later=True)
        if self.together:
            cause, fix = KILLED_TOGETHER
            return Finding(where, "a normal exit", f"{words}, within a second of ranks of other hosts", "unknown", cause=cause, fix=fix, judged=True)
        printed, cause, fix = _of_signal(row)
        severity = "fail" if shows_a_fault(row["signal"]) else "unknown"
        return Finding(where, "a normal exit", words + printed, severity, cause=cause, fix=fix, judged=True)

    def hung(self, mine: t.Collection[int], waited: bool, error_of: ErrorOf) -> t.Iterator[Finding]:
        """A finding for each rank that others waited for, and one where no one was missing; the same on each host that it concerns.

        mine: the ranks of the host that is judged; waited: whether one of them waited; error_of: the finding of a rank of a host that ended with an error.
        """
        for rank in self.missing if waited else [rank for rank in self.missing if rank in mine]:
            row, host = self.of_rank.get(rank), self.home(rank)
            if row is not None and row["outcome"] == "killed" and rank in self.after_others:
                yield replace(self.killed(row), host=host)
            elif row is None or row["outcome"] != "error":
                yield self._never_came(rank, row, host)
            elif rank not in mine and not (self.began and follows(row["error"])):
                # On its own host the error is a finding already.
                yield replace(error_of(row, host or ""), host=host)
        if waited and not self.missing:
            yield self._all_there()

    def _never_came(self, rank: int, row: Row | None, host: str | None) -> Finding:
        """A rank that never arrived, with what ended it: a signal is the cause where it came first, and else a consequence."""
        came = rank in self.waiting
        words = "it arrived, and waits within the call" if came else "it never arrived"
        severity, (cause, fix) = None, NEVER_ENQUEUED if came else NEVER_ARRIVED
        if row is not None and row["signal"]:
            gave_up = given_up_at(self.ranks)
            if killed_after(row, gave_up):
                words += f", and was ended by signal {row['signal']} when the others had given up, in consequence of the hang"
            else:
                printed, cause, fix = _of_signal(row)
                words += f" (killed by signal {row['signal']}{_before(row, gave_up)}){printed}"
                severity = None if shows_a_fault(row["signal"]) else "unknown"
        else:
            signs = "" if came else self._signs_of_life(rank)
            words += (
                signs + (self._recorded(rank) if row is not None else "") + (" (ended with the run)" if row is not None and row["outcome"] == "ended" else "")
            )
        expected = f"to {'enqueue' if came else 'arrive at'} {self._waited_in}"
        return Finding(self.place(rank), expected, f"{words}{self._ras}", severity, host, cause=cause, fix=fix, judged=True)

    def _recorded(self, rank: int) -> str:
        """How far a rank had come by PyTorch's flight recorder; nothing where it knew that of no rank."""
        if not self._enqueued:
            return ""
        last, most = self._enqueued.get(rank), max(self._enqueued.values())
        if last is None:
            return "; PyTorch's flight recorder did not answer there, as where the process is stopped"
        return f"; by PyTorch's flight recorder it had enqueued collective {last}, others {most}" if last < most else ""

    def _all_there(self) -> Finding:
        """That nobody was missing: no host of the run is known to be the reason, and each is told that it is not proved."""
        reported = "; ".join(sorted({row["words"] for row in self.hangs if row["words"]}))
        where, expected = Place(f"all ranks {self._of_run}".rstrip()), f"to finish {self._waited_in}"
        if reported:
            return Finding(where, expected, f"{reported}{self._ras}", "unknown", judged=True)
        last = set(self._enqueued.values()) if self.waiting <= self._enqueued.keys() else set()
        by = f"every rank had enqueued it (collective {last.pop()} by PyTorch's flight recorder)" if len(last) == 1 else "every rank arrived"
        alike = "; NCCL's RAS reports that all are alike" if any(row.get("ras_behind") == [] == row.get("ras_missing") for row in self.hangs) else ""
        host, (cause, fix) = self.never_finishes, self._why_none_finishes()
        without = f"; no run over several hosts with {host} finishes, those of its partners without it do" if host else ""
        words = f"{by} and none finished{without}{self._ras or alike}"
        return Finding(where, expected, words, "unknown", host, cause=cause, fix=fix, judged=True)

    def _why_none_finishes(self) -> tuple[str, str]:
        """Cause and fix where nobody was missing, by how NCCL is set up where that may be why."""
        if self.never_finishes:
            return why_never_finishes(self.never_finishes, self.unlike)
        before = tuple(words.format(variables=", ".join(self.variables)) if self.variables else "" for words in SET_ON_ALL)
        return before[0] + NOBODY_BEHIND[0], before[1] + NOBODY_BEHIND[1]

    def _signs_of_life(self, rank: int) -> str:
        """Whether its process answered when the others asked for it; nothing where that is not known."""
        asked = [row["silent"] for row in self.hangs if row["silent"] is not None]
        if not asked:
            return ""
        return ", and gave no sign of life" if all(rank in silent for silent in asked) else ", though its process gave signs of life"

    @property
    def _waited_in(self) -> str:
        first = min(self.hangs, key=lambda row: (row["number"], row["rank"]))
        return f"{first['place']}, after {first['waited_seconds']:.0f} s"

    @property
    def _ras(self) -> str:
        return next((f"; NCCL's RAS reports {row['ras']}" for row in self.hangs if row["ras"]), "")


def _of_signal(row: Row) -> tuple[str, str, str]:
    """What a killed rank had printed, as the end of a sentence, with cause and fix."""
    if not shows_a_fault(row["signal"]):
        return ("", *ASKED_TO_END)
    end = crashed(row)
    return f": {cut(end.words)}" if end.words else "", end.cause, end.fix


def _before(row: Row, gave_up: float | None) -> str:
    ended = row.get("ended_at")
    return "" if ended is None or gave_up is None else f" {gave_up - ended:.0f} s before the others gave up"


def findings_of_run(
    ends: RunEnds, own: t.Sequence[Row], host: str, times: t.Mapping[str, float], extent: t.Callable[[str, str | None], Extent], one_host_fails: bool = True
) -> t.Iterator[Finding]:  # fmt: skip
    """What a host is told of a run in which a rank of it ended ill: each rank that others waited for, and those of its own that were killed or failed.

    own: the host's rows of the run; times: when the first error of each host of the run came; extent: which hosts have an error, by one that has it;
    one_host_fails: whether an error that no table knows is a fault of the one host that has it.
    """
    mine = {row["rank"] for row in own}

    def of_error(row: Row, of_host: str) -> Finding:
        """What fails within a rank's own host is that host's fault; of a connection the other end or the path may be at fault."""
        having = extent(of_host, row["error"])
        severity = "fail" if is_own(row["error"]) or (one_host_fails and having.one_host) else "unknown"
        cause, fix = explained(row["error"], having)
        order = order_of_error(of_host, times) if row["error"] else Order()
        where, words = ends.place(row["rank"], named_nic(row["error"])), shown(str(row["error"])) + order.words
        own_error = is_own(row["error"])
        began_at = (ends.not_reached, "") if ends.not_reached not in (None, of_host) and not own_error else None
        # What all hosts set explains no error that some of them do not have.
        of_all = ends.variables if having.all_hosts else ()
        cause, fix = with_settings(of_host, ends.not_reached, ends.odd, of_all, own_error, (cause, fix))
        cause = f"{ends.not_reached_words}{cause}" if ends.not_reached == of_host and not own_error else cause
        return Finding(where, "a normal exit", words, severity, cause=cause, fix=fix, judged=True, later=order.later, began_at=began_at)

    yield from ends.hung(mine, bool(ends.waiting & mine), of_error)
    yield from (ends.killed(row) for row in own if row["outcome"] == "killed" and row["rank"] not in ends.missing)
    yield from (of_error(row, host) for row in own if row["outcome"] == "error" and not (ends.began and follows(row["error"])))


def extent_of_error(host: str, error: str | None, jobs: Peers, ranks: Peers) -> Extent:
    """Which hosts have an error that no table knows; jobs, ranks: the rows of load_jobs and of a run's ranks by host."""
    if error is None or known_error(error):
        return NOT_SHOWN
    same = alike(error)
    having = {name for name, rows in ranks.items() if any(row["error"] and alike(row["error"]) == same for row in rows)}
    several = {(name, job["item"]): host in job["hosts"] for name, rows in jobs.items() for job in rows if len(job["hosts"] or ()) > 1}
    # Whether runs over several hosts ended well with this host in them, and without it.
    well = {several[name, row["item"]] for name, rows in ranks.items() for row in rows if row["outcome"] == "done" and (name, row["item"]) in several}
    return extent_of(host, having, ranks, well == {False})


def ended_first(rank: Row) -> bool:
    """Whether a rank was killed, or ended with an error that does not only follow from another one."""
    return rank["outcome"] == "killed" or (rank["outcome"] == "error" and not follows(rank["error"]))
