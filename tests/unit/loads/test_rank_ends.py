# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks of a run ended it, and which ended for the sake of others."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.correctness import collectives_correct
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.training.steps import no_nccl_timeouts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.collective_runs import collective_runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_ends import ended_for_others

LOST = "ncclRemoteError: remote process exited or there was a network error"
OWN = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
Row = dict[str, t.Any]


def ended(rank: int, outcome: str, signal: int | None = None, at: float | None = None, error: str | None = None) -> Row:
    return {"item": "one", "rank": rank, "ranks": 4, "outcome": outcome, "signal": signal, "ended_at": at, "error": error, "error_at": at, "last": None}


def waited(rank: int, *absent: int, silent: tuple[int, ...] = ()) -> Row:
    asked = {"absent": list(absent), "silent": list(silent), "words": None, "ras": None}
    return {"item": "one", "rank": rank, "place": "all_reduce", "number": 5, "waited_seconds": 60.0, **asked}


CASES: dict[str, tuple[list[Row], list[Row], set[int]]] = {
    "killed by the kernel": ([ended(0, "hung", at=60.0), ended(1, "killed", 9, 1.0)], [waited(0, 1, silent=(1,))], set()),
    "two at once": ([ended(0, "hung", at=60.0), ended(1, "killed", 9, 1.0), ended(2, "killed", 9, 1.2)], [waited(0, 1, 2)], set()),
    "abort when a peer leaves": ([ended(0, "hung", at=63.0), ended(1, "ended"), ended(2, "killed", 6, 63.1)], [waited(0, 1)], {2}),
    "asked after it was gone": (
        [ended(0, "hung", at=63.0), ended(1, "ended"), ended(2, "killed", 6, 63.1), ended(3, "hung", at=66.0)], [waited(0, 1), waited(3, 1, silent=(2,))], {2},
    ),
    "killed when the others had given up": ([ended(0, "hung", at=63.0), ended(1, "ended"), ended(2, "killed", 9, 70.0)], [waited(0, 1)], {2}),
    "the same by times alone": ([ended(0, "hung", at=63.0), ended(1, "ended"), ended(2, "killed", 9, 70.0)], [], {2}),
    "an error of its own": ([ended(0, "error", at=1.0, error=OWN), ended(1, "killed", 6, 1.1), ended(2, "killed", 15, 1.1)], [], {1, 2}),
    "lost connections": ([ended(0, "killed", 9, 1.0), ended(1, "error", at=1.1, error=LOST), ended(2, "killed", 6, 1.1)], [], {1, 2}),
    "aborts with nobody before": ([ended(0, "killed", 6, 1.0), ended(1, "killed", 6, 9.0)], [], {1}),
    "aborts at one time": ([ended(0, "killed", 6, 1.0), ended(1, "killed", 6, 1.3)], [], set()),
    "a crash alone": ([ended(0, "killed", 11, 1.0), ended(1, "hung", at=61.0)], [waited(1, 0)], set()),
    "one abort, others wait": ([ended(0, "killed", 6, 1.0), ended(1, "hung", at=61.0)], [waited(1, 0)], set()),
    "two that never came, killed at the end": ([ended(0, "hung", at=63.0), ended(1, "killed", 9, 70.0), ended(2, "killed", 9, 70.0)], [waited(0, 1, 2)], set()),
    "waited itself, killed at the end": ([ended(0, "killed", 9, 70.0), ended(1, "killed", 9, 70.1)], [waited(0), waited(1)], {0, 1}),
    "without times": ([ended(0, "hung"), ended(1, "killed", 9)], [], set()),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_rank_that_ended_for_others_is_told_from_the_one_that_came_first(name: str) -> None:
    ranks, hangs, after = CASES[name]
    assert ended_for_others(ranks, hangs) == after


def job(host: str) -> Row:
    run = {"item": "one", "kind": "rung", "role": "rank", "hosts": ["a", "b"], "device": None, "probe": None}
    return {**run, "status": "ok", "words": "", "error": None, "host": host}


# Rank 1 of host a never comes; what its peers did then has killed rank 3 of host b, and rank 2 gave up last.
RANKS = {"a": [ended(0, "hung", at=63.0), ended(1, "ended")], "b": [ended(2, "hung", at=66.0), ended(3, "killed", 6, 63.2)]}
HANGS = {"a": [waited(0, 1)], "b": [waited(2, 1, silent=(3,))]}


def test_a_rank_that_is_aborted_when_a_peer_gives_up_does_not_accuse_its_host() -> None:
    jobs = {host: [job(host)] for host in RANKS}
    found = {host: list(collectives_correct([], RANKS[host], HANGS[host], "nccl", host, jobs[host], jobs, RANKS, HANGS)) for host in RANKS}
    failed = {(one.host or host, one.where.rank) for host, rows in found.items() for one in rows if one.severity != "unknown"}
    assert failed == {("a", 1)}
    (killed,) = [one for one in found["b"] if one.where.rank == 3]
    assert killed.later and killed.judged and "after another one" in (killed.cause or "") and "rank that failed first" in (killed.fix or "")
    (run,) = collective_runs(jobs, {}, RANKS)
    assert set(run.own_end) == {"a"}


def test_who_waited_for_a_killed_rank_of_another_host_says_that_it_was_killed() -> None:
    ranks, hangs = {"a": [ended(0, "hung", at=63.0)], "b": [ended(2, "killed", 9, 1.0)]}, {"a": [waited(0, 2)]}
    jobs = {host: [job(host)] for host in ranks}
    found = [
        *collectives_correct([], ranks["a"], hangs["a"], "nccl", "a", jobs["a"], jobs, ranks, hangs),
        *no_nccl_timeouts(jobs["a"], ranks["a"], hangs["a"], "a", 1, [], ranks, hangs),
    ]
    named = [one for one in found if one.where.rank == 2]
    assert len(named) == 2 and all(one.host == "b" and one.actual == "it never arrived (killed by signal 9 62 s before the others gave up)" for one in named)
    assert all("was killed" in (one.cause or "") for one in named)


def test_a_rank_that_is_aborted_alone_accuses_its_host_and_one_that_was_asked_to_end_does_not() -> None:
    ranks = {"a": [ended(0, "hung", at=63.0), ended(1, "hung", at=63.0)], "b": [ended(2, "hung", at=63.0), ended(3, "killed", 6, 1.0)]}
    hangs = {"a": [waited(0, 3), waited(1, 3)], "b": [waited(2, 3)]}
    jobs = {host: [job(host)] for host in ranks}
    found = list(collectives_correct([], ranks["b"], hangs["b"], "nccl", "b", jobs["b"], jobs, ranks, hangs))
    assert {one.where.rank for one in found if one.where.rank is not None and one.severity != "unknown"} == {3}
    (asked, *_unproved) = collectives_correct([], [ended(3, "killed", 15, 1.0)], [], "nccl", "b")
    assert asked.severity == "unknown" and "from outside" in (asked.cause or "") and "scheduler" in (asked.fix or "")


def test_training_names_the_rank_that_never_came_and_not_the_one_that_was_aborted_for_it() -> None:
    found = {host: list(no_nccl_timeouts([job(host)], RANKS[host], HANGS[host], host, 2, [], RANKS, HANGS)) for host in RANKS}
    assert {(one.host or host, one.where.rank) for host, rows in found.items() for one in rows if one.severity != "unknown"} == {("a", 1)}
    assert [one.later for one in found["b"] if one.where.rank == 3] == [True]


def judged_by_both(ranks: dict[str, list[Row]], hangs: dict[str, list[Row]]) -> list[set[tuple[str, t.Any, str | None, str]]]:
    """Host, rank, severity and words of each finding of a rank, by layer 5 and by layer 6."""
    jobs = {host: [job(host)] for host in ranks}
    of_5 = [(host, one) for host in ranks for one in collectives_correct([], ranks[host], hangs.get(host, []), "nccl", host, jobs[host], jobs, ranks, hangs)]
    of_6 = [(host, one) for host in ranks for one in no_nccl_timeouts([job(host)], ranks[host], hangs.get(host, []), host, len(ranks[host]), [], ranks, hangs)]
    return [{(one.host or host, one.where.rank, one.severity, one.actual) for host, one in found if one.where.rank is not None} for found in (of_5, of_6)]


CONSEQUENCE = "it never arrived, and was ended by signal 9 when the others had given up, in consequence of the hang"


def test_a_kill_at_the_end_of_a_hang_is_its_consequence_and_one_finding() -> None:
    ranks = {"a": [ended(0, "hung", at=63.0), ended(1, "hung", at=63.1)], "b": [ended(2, "hung", at=63.2), ended(3, "killed", 9, 66.0)]}
    for found in judged_by_both(ranks, {"a": [waited(0, 3), waited(1, 3)], "b": [waited(2, 3)]}):
        assert found == {("b", 3, None, CONSEQUENCE)}
    (run,) = collective_runs({host: [job(host)] for host in ranks}, {}, ranks)
    assert "never arrived" in run.own_end["b"].words


def test_a_kill_before_a_hang_is_its_cause_and_one_finding() -> None:
    ranks = {"a": [ended(0, "hung", at=63.0), ended(1, "hung", at=63.1)], "b": [ended(2, "hung", at=63.2), ended(3, "killed", 9, 2.0)]}
    for found in judged_by_both(ranks, {"a": [waited(0, 3, silent=(3,))], "b": [waited(2, 3, silent=(3,))]}):
        assert found == {("b", 3, None, "it never arrived (killed by signal 9 61 s before the others gave up)")}


def test_whoever_reported_that_it_waited_and_was_killed_then_is_not_accused() -> None:
    ranks = {"a": [ended(0, "killed", 9, 70.0), ended(1, "killed", 9, 70.0)], "b": [ended(2, "hung", at=66.0), ended(3, "ended")]}
    for found in judged_by_both(ranks, {"a": [waited(0, 3), waited(1, 3)], "b": [waited(2, 3)]}):
        assert {one for one in found if one[2] != "unknown"} == {("b", 3, None, "it never arrived, though its process gave signs of life (ended with the run)")}
        assert {one[:3] for one in found if one[2] == "unknown"} == {("a", 0, "unknown"), ("a", 1, "unknown")}


def test_ranks_of_several_hosts_that_are_killed_at_one_time_accuse_no_host() -> None:
    ranks = {host: [{**ended(rank, "killed", 9, 40.0 + rank / 10), "host": host}] for rank, host in enumerate(("a", "b"))}
    for found in judged_by_both(ranks, {}):
        assert {one[:3] for one in found} == {("a", 0, "unknown"), ("b", 1, "unknown")}
    apart = {host: [{**rows[0], "ended_at": 40.0 + 5 * place}] for place, (host, rows) in enumerate(ranks.items())}
    for found in judged_by_both(apart, {}):
        assert ("a", 0, "fail") in {one[:3] for one in found}


def test_a_missing_rank_that_ended_with_an_error_is_named_with_that_error_alone() -> None:
    ranks = {"a": [ended(0, "hung", at=63.0), ended(1, "hung", at=63.0)], "b": [ended(2, "hung", at=63.0), ended(3, "error", at=2.0, error=OWN)]}
    for found in judged_by_both(ranks, {"a": [waited(0, 3), waited(1, 3)], "b": [waited(2, 3)]}):
        assert found == {("b", 3, "fail", OWN)}
    for found in judged_by_both({**ranks, "b": [ended(2, "hung", at=63.0), ended(3, "killed", 15, 2.0)]}, {"a": [waited(0, 3)], "b": [waited(2, 3)]}):
        assert found == {("b", 3, "unknown", "it never arrived (killed by signal 15 61 s before the others gave up)")}


def test_a_rank_that_printed_why_it_aborts_is_named_with_that() -> None:
    line = "HW Exception by GPU node-9 (Agent handle: 0x631351bb5a20) reason :GPU Hang"
    aborted = {**ended(3, "killed", 6, 2.0), "text": f"step 3\n{line}\n"}
    ranks = {"a": [ended(0, "hung", at=63.0), ended(1, "hung", at=63.0)], "b": [ended(2, "hung", at=63.0), aborted]}
    for found in judged_by_both(ranks, {"a": [waited(0, 3), waited(1, 3)], "b": [waited(2, 3)]}):
        assert found == {("b", 3, None, f"it never arrived (killed by signal 6 61 s before the others gave up): {line}")}
    (run,) = collective_runs({host: [job(host)] for host in ranks}, {}, ranks)
    assert run.own_end["b"].words == line and "GPU hang" in run.own_end["b"].cause
    for found in judged_by_both({"a": [aborted]}, {}):
        assert ("a", 3, "fail", f"ended by signal 6: {line}") in found
