# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks of a run were killed or lost a connection only because another one had ended it, by signals, outcomes and times."""

from __future__ import annotations

import signal
import typing as t

from ..readings.rows import Row
from .rank_errors import follows

# The kernel ends a rank with these, or a fault of its own does, whatever other ranks do. With any other one a library ends it when a peer's
# connection closes (signal 6), or what has started it does (signal 15).
OWN_SIGNALS = frozenset({signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
# The clocks of hosts agree to less than that.
CLOCKS_SECONDS = 1.0


def shows_a_fault(number: int | None) -> bool:
    """Whether a rank that no other one had ended first was ended by this signal through a fault of its own host."""
    return number in OWN_SIGNALS or number == signal.SIGABRT


def waited_for(hangs: t.Iterable[Row]) -> set[int]:
    """The ranks of a run that others waited for in vain, without those that waited themselves; hangs: its rows of collective_hangs."""
    rows = list(hangs)
    named = {rank for row in rows for rank in (*(row["absent"] or ()), *(row["silent"] or ()))}
    return named - {row["rank"] for row in rows}


def last_enqueued(ranks: t.Iterable[Row]) -> dict[int, int]:
    """The last collective of each rank that PyTorch's flight recorder knew when its run hung, counted from 1; empty where it knew none of any rank.

    A rank without a number in a run of which others have one did not answer: its process was stopped or gone.
    """
    found = {row["rank"]: number for row in ranks if (number := row.get("enqueued")) is not None}
    return found if any(found.values()) else {}


def ranks_behind(ranks: t.Iterable[Row]) -> frozenset[int]:
    """The ranks that had enqueued fewer collectives than the others when their run hung; none where these are more than half of all: then they waited."""
    last = last_enqueued(ranks)
    behind = frozenset(rank for rank, number in last.items() if number < max(last.values()))
    return behind if 2 * len(behind) <= len(last) else frozenset()


def given_up_at(ranks: t.Iterable[Row]) -> float | None:
    """When the first rank of a run gave up waiting for another one, in seconds since the epoch; None where none did, or none has a time."""
    return min((at for row in ranks if row["outcome"] == "hung" and (at := row.get("ended_at")) is not None), default=None)


def killed_after(row: Row, gave_up: float | None) -> bool:
    """Whether a signal ended a rank when another one had given up: then that, or the limit of the run, is why it was killed."""
    ended = row.get("ended_at")
    return row["outcome"] == "killed" and gave_up is not None and ended is not None and ended - gave_up > -CLOCKS_SECONDS


def killed_together(ranks: t.Iterable[Row]) -> bool:
    """Whether all ranks of a run that ended ill were killed on several hosts within a second: no kernel or crash of one host does that."""
    ill = [row for row in ranks if row["outcome"] != "done"]
    times = [at for row in ill if row["outcome"] == "killed" and row["signal"] == signal.SIGKILL and (at := row.get("ended_at")) is not None]
    return bool(ill) and len(times) == len(ill) and max(times) - min(times) <= CLOCKS_SECONDS and len({row.get("host") for row in ill}) > 1


def ended_for_others(ranks: t.Sequence[Row], hangs: t.Sequence[Row] = ()) -> frozenset[int]:
    """The ranks of a run that lost a connection or were killed because another one had ended, had failed or had never come.

    ranks, hangs: the rows of collective_ranks and collective_hangs of one run, from all of its hosts.
    """
    missing, hung = waited_for(hangs), [row for row in ranks if row["outcome"] == "hung"]
    never_came = {rank for row in hangs for rank in row["absent"] or ()} & missing
    gave_up, waited = given_up_at(ranks), {row["rank"] for row in hangs}

    def later(row: Row) -> bool:
        """Whether a killed rank was alive when the first one gave up waiting for another: whoever is asked then gives signs of life."""
        if row["rank"] in waited or row["rank"] in never_came:
            # What ends one that had reported that it waited is the end of the run; one that never came is to blame whenever it was killed.
            return row["rank"] in waited
        ended, others = row.get("ended_at"), missing - {row["rank"]} or any(one["outcome"] == "ended" for one in ranks)
        by_time = gave_up is not None and ended is not None and ended - gave_up > CLOCKS_SECONDS and bool(others)
        return by_time or bool(missing and row["rank"] not in missing)

    def first(row: Row) -> bool:
        if row["outcome"] == "killed":
            return row["signal"] in OWN_SIGNALS and not later(row)
        return not follows(row["error"]) if row["outcome"] == "error" else row["outcome"] == "ended" and bool(hung)

    begun = any(first(row) for row in ranks)
    after = {row["rank"] for row in ranks if row["outcome"] == "killed" and (later(row) or (begun and row["signal"] not in OWN_SIGNALS))}
    lost = {row["rank"] for row in ranks if begun and row["outcome"] == "error" and follows(row["error"])}
    return frozenset(after | lost | (set() if begun else _after_the_earliest(ranks)))


def _after_the_earliest(ranks: t.Iterable[Row]) -> set[int]:
    """Of ranks that were all killed by signals that may follow from another rank those that came after the earliest of them."""
    times = {row["rank"]: at for row in ranks if row["outcome"] == "killed" and (at := row.get("ended_at")) is not None}
    return {rank for rank, at in times.items() if at - min(times.values()) > CLOCKS_SECONDS}
