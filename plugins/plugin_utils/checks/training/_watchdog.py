# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank the others waited for, by what PyTorch's watchdog logs of each rank, the collectives that it had enqueued or nothing at all, or Horovod of it."""

from __future__ import annotations

import statistics
import typing as t

from ...readings.rows import Rows
from ...text.times import day_and_clock_before

# What PyTorch calls the group of all ranks.
OF_ALL = "(default_pg)"
NOT_ENQUEUED = "{} was the last that it had enqueued when the others waited for it"


class Named(t.NamedTuple):
    """A rank that did not come where others waited, or that seems not to have come.

    host: the one that it is on, None where that is not known; expected, words: of its finding; certain: whether the logs show that it did not come, and not
    only that it is unlike the others; silent: whether that is because it logged nothing; stuck: whether its own watchdog stood still; unfinished: whether it
    came, and what it came to did not end in it.
    """

    rank: int
    host: str | None
    expected: str
    words: str
    certain: bool = False
    silent: bool = False
    stuck: bool = False
    unfinished: bool = False


def named_ranks(logs: t.Mapping[str, Rows], hosts: t.Collection[str], gpus: int) -> list[Named]:
    """The ranks that the others waited for: that had not enqueued the collective, that a monitored barrier or Horovod names, or that are unlike the others.

    logs: the rows of collective_timeouts by host; hosts: those that train; gpus: how many ranks each of them has.
    """
    behind = ranks_behind(logs, gpus) or _not_at_barrier(logs, hosts, gpus) or _not_submitted(logs, hosts, gpus) or _out_of_step(logs, hosts, gpus)
    return behind or _stuck(logs, hosts, gpus) or ranks_silent(logs, hosts, gpus) or _not_completed(logs, hosts, gpus)


def ranks_behind(logs: t.Mapping[str, Rows], gpus: int) -> list[Named]:
    """The ranks that had not enqueued what timed out for others, without those that waited in another group; none where all had enqueued it.

    logs: the rows of collective_timeouts by host; gpus: how many ranks a host has.
    """
    rows = [row for of_host in logs.values() for row in of_host if row["rank"] is not None and row["group"] is not None]
    found = [one for group in sorted({row["group"] for row in rows}) for one in _of_group(group, [row for row in rows if row["group"] == group])]
    waited = {(row["rank"], row["group"]) for row in rows if row["event"] == "timeout"}
    elsewhere = {rank for rank, _enqueued, _sequence, group in found if any(one == rank and other != group for one, other in waited)}
    return [
        Named(rank, home := _home(rank, logs, gpus), _to_enqueue(sequence, group), NOT_ENQUEUED.format(last), home is not None)
        for rank, last, sequence, group in found
        if rank not in elsewhere
    ]


def _to_enqueue(sequence: int, group: str) -> str:
    return f"to enqueue collective {sequence} of process group {group}"


def _not_at_barrier(logs: t.Mapping[str, Rows], hosts: t.Collection[str], gpus: int) -> list[Named]:
    """The ranks of which rank 0 logged that they did not come to a barrier that is monitored."""
    found = [row for rows in logs.values() for row in rows if row["missing"] and row["event"] != "not_submitted"]
    heard = _heard(logs)
    ranks = sorted({int(rank) for row in found for rank in row["missing"].split(",")})
    words = "rank 0 waited for it in monitoredBarrier in vain"
    return [Named(rank, _host_of(rank, heard, hosts, gpus), "to come to monitoredBarrier", words) for rank in ranks]


def _not_submitted(logs: t.Mapping[str, Rows], hosts: t.Collection[str], gpus: int) -> list[Named]:
    """The ranks of which Horovod's first rank logged that they had not submitted what others had; none where these are more than half of all.

    Horovod's launchers number the ranks by the hosts in order.
    """
    rows = {rank: row for of_host in logs.values() for row in of_host if row["event"] == "not_submitted" for rank in _missing(row)}
    if 2 * len(rows) > len(hosts) * gpus:
        return []
    by_order = dict(enumerate(hosts))
    expected = "to submit its part of the collectives, as the other ranks"
    return [Named(rank, by_order.get(rank // gpus), expected, f"Horovod's first rank waited for it: {row['text']}") for rank, row in sorted(rows.items())]


def _missing(row: t.Mapping[str, t.Any]) -> list[int]:
    """The ranks that one line of Horovod names: by itself, or in a list."""
    return [int(rank) for rank in row["missing"].split(",")] if row["missing"] else [row["rank"]]


def _out_of_step(logs: t.Mapping[str, Rows], hosts: t.Collection[str], gpus: int) -> list[Named]:
    """The few ranks that waited in an earlier collective than most, where no line says of which process group any of them is."""
    rows = [row for of_host in logs.values() for row in of_host if row["event"] == "timeout" and row["rank"] is not None and row["sequence"] is not None]
    if any(row["group"] is not None for of_host in logs.values() for row in of_host):
        return []
    first: dict[int, int] = {}
    for row in rows:
        first[row["rank"]] = min(row["sequence"], first.get(row["rank"], row["sequence"]))
    usual = statistics.mode(sorted(first.values(), reverse=True)) if first else 0
    early = {rank: sequence for rank, sequence in sorted(first.items()) if sequence < usual}
    heard = _heard(logs)
    expected = f"to wait in collective {usual}, as most ranks"
    several = 2 * len(early) < len(first)
    return [Named(rank, _host_of(rank, heard, hosts, gpus), expected, f"it waited in collective {one}") for rank, one in early.items() if several]


def _not_completed(logs: t.Mapping[str, Rows], hosts: t.Collection[str], gpus: int) -> list[Named]:
    """The few ranks in which a collective did not end that it had for the others of its group, all of which had enqueued it."""
    rows = [row for of_host in logs.values() for row in of_host if row["group"] is not None and row["completed"] is not None and row["rank"] is not None]
    heard, found = _heard(logs), []
    for group in sorted({row["group"] for row in rows}):
        last = {row["rank"]: max(row["completed"], 0) for row in rows if row["group"] == group}
        ended = statistics.mode(sorted(last.values(), reverse=True))
        few = {rank: done for rank, done in sorted(last.items()) if done < ended}
        if 2 * len(few) <= len(last):
            expected, words = f"to complete collective {ended} of process group {group}, as the others", "it hung in collective {}, which it had enqueued"
            found += [Named(rank, _host_of(rank, heard, hosts, gpus), expected, words.format(done + 1), unfinished=True) for rank, done in few.items()]
    return found


def _stuck(logs: t.Mapping[str, Rows], hosts: t.Collection[str], gpus: int) -> list[Named]:
    """The few ranks whose own watchdog stood still while most ranks waited in a collective; where most stood still that says nothing of one of them."""
    rows = [row for of_host in logs.values() for row in of_host if row["rank"] is not None]
    waits = [row for row in rows if row["event"] == "timeout" and row["sequence"] is not None]
    stuck = {row["rank"]: row for row in reversed(rows) if row["event"] == "stuck"}
    waiting = {row["rank"] for row in waits} - stuck.keys()
    if not waits or len(stuck) >= len(waiting):
        return []
    heard, first = _heard(logs), min(row["sequence"] for row in waits)
    expected = f"to come to collective {first}, as {len(waiting)} other ranks that waited in it"
    return [Named(rank, _host_of(rank, heard, hosts, gpus), expected, _in_short(row["text"]), certain=True, stuck=True) for rank, row in sorted(stuck.items())]


def stuck_together(logs: t.Mapping[str, Rows]) -> set[int]:
    """The ranks whose own watchdog stood still, where these are most of all that logged anything; none otherwise."""
    rows = [row for of_host in logs.values() for row in of_host if row["rank"] is not None]
    stuck = {row["rank"] for row in rows if row["event"] == "stuck"}
    return stuck if len(stuck) > 1 and 2 * len(stuck) > len({row["rank"] for row in rows}) else set()


def _in_short(text: str) -> str:
    """What a watchdog logged of itself without the head of its line and the advice after its first sentence."""
    return text[text.rfind("] ") + 2 if "] " in text else 0 :].partition(". ")[0]


def _heard(logs: t.Mapping[str, Rows]) -> dict[str, set[int]]:
    """The ranks of which each host's log has a line of their own."""
    return {host: {row["rank"] for row in rows if row["rank"] is not None and row["event"] != "not_submitted"} for host, rows in logs.items()}


def _of_group(group: str, rows: Rows) -> list[tuple[int, int, int, str]]:
    """Rank, what it had enqueued, and the collective that timed out first, of each rank of a group that had not enqueued it."""
    enqueued: dict[int, int] = {}
    for row in rows:
        if row["enqueued"] is not None:
            enqueued[row["rank"]] = max(row["enqueued"], enqueued.get(row["rank"], row["enqueued"]))
    sequences = [row["sequence"] for row in rows if row["sequence"] is not None]
    if not sequences:
        return []
    waited_in = min(sequences)
    return [(rank, last, waited_in, group) for rank, last in sorted(enqueued.items()) if last < waited_in]


def _home(rank: int, logs: t.Mapping[str, Rows], gpus: int) -> str | None:
    """The one host whose log has a rank, where that log has no more ranks than the host."""
    of_hosts = {host: {row["rank"] for row in rows if row["rank"] is not None and row["enqueued"] is not None} for host, rows in logs.items()}
    having = [host for host, ranks in of_hosts.items() if rank in ranks]
    return having[0] if len(having) == 1 and len(of_hosts[having[0]]) <= gpus else None


def ranks_silent(logs: t.Mapping[str, Rows], hosts: t.Collection[str], gpus: int) -> list[Named]:
    """The ranks without a line of the watchdog where others waited in the group of all ranks and most ranks have lines; none otherwise.

    Where few ranks have lines the logs are not of each rank, and of another group it is not known who is in it. hosts: those that train.
    """
    waits = [row for rows in logs.values() for row in rows if row["event"] == "timeout" and row["sequence"] is not None and row["rank"] is not None]
    groups = {(row["rank"], row["group"]) for rows in logs.values() for row in rows if row["group"] is not None}
    heard = _heard(logs)
    known = {rank for ranks in heard.values() for rank in ranks}
    world = range(len(hosts) * gpus)
    if groups or not _all_in_one(waits, len(world)):
        waits = [row for row in waits if str(row["group"] or next((group for rank, group in groups if rank == row["rank"]), "")).endswith(OF_ALL)]
    silent = [rank for rank in world if rank not in known]
    if not waits or not silent or 2 * len(silent) > len(world) or not known <= set(world):
        return []
    first = min(waits, key=lambda row: row["sequence"])
    began = min((when for row in waits if row["sequence"] == first["sequence"] and (when := _began(row))), default="")
    since = f" since {began}" if began else ""
    expected, words = _to_enqueue(first["sequence"], f"0{OF_ALL}"), f"its watchdog logged nothing, while other ranks waited in this collective{since}"
    return [Named(rank, _host_of(rank, heard, hosts, gpus), expected, words, silent=True) for rank in silent]


def _all_in_one(waits: Rows, world: int) -> bool:
    """Whether more than half of all ranks waited in one collective and no rank in another one: then it was of all, whatever its group is called."""
    return len({(row["sequence"], row["operation"]) for row in waits}) == 1 and 2 * len({row["rank"] for row in waits}) > world


def _host_of(rank: int, heard: t.Mapping[str, set[int]], hosts: t.Collection[str], gpus: int) -> str | None:
    """The host of a rank: torchrun gives a host's ranks numbers that follow each other, whatever the order of the hosts."""
    if any(len(ranks) > gpus or len({one // gpus for one in ranks}) > 1 for ranks in heard.values()):
        # A log of ranks of several hosts.
        return None
    blocks = {next(iter(ranks)) // gpus: host for host, ranks in heard.items() if ranks}
    without = [host for host in hosts if host not in blocks.values()]
    return blocks.get(rank // gpus, without[0] if len(without) == 1 else None)


def _began(row: t.Mapping[str, t.Any]) -> str | None:
    """When a rank began to wait in what timed out."""
    return None if row["logged"] is None or row["ran_ms"] is None else day_and_clock_before(row["logged"], row["ran_ms"])
