# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is named of a run that hangs, by what PyTorch's flight recorder and NCCL's RAS know of each rank, and where nobody is."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives._nccl_transport import unlike_others
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives._runs import ends_of_runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.correctness import _with_set_up
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives.ended_ranks import RunEnds, findings_of_run
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.collective_runs import collective_runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import NEVER_ENQUEUED, NEVER_FINISHES
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.unknown_errors import NOT_SHOWN
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse

# PyTorch 2.11 on two H100 of one host.
RECORDED = Path(__file__).parents[2] / "recordings/linux/collective_ranks"


def never(row: t.Any, host: str) -> Finding:
    raise AssertionError((row, host))


def of_ranks(*enqueued: int | None, absent: tuple[int, ...] = (), ras: t.Any = None) -> RunEnds:
    """A run of one rank a host in which whoever is not absent waits; enqueued: of each rank; ras: the ranks that are missing and behind by NCCL's RAS."""
    hosts = [f"gpu{number:02}" for number in range(len(enqueued))]
    rows = [
        {"rank": rank, "ranks": len(enqueued), "outcome": "ended" if rank in absent else "hung", "signal": None, "error": None,
         "enqueued": number, "completed": None}
        for rank, number in enumerate(enqueued)
    ]  # fmt: skip
    waits = {"place": "all_reduce", "number": 5, "waited_seconds": 60.0, "absent": list(absent), "silent": [], "words": None, "ras": None}
    waits |= {"ras_missing": ras[0], "ras_behind": ras[1]} if ras else {}
    return RunEnds("one", hosts, rows, [{**waits, "rank": row["rank"]} for row in rows if row["outcome"] == "hung"])


def told(ends: RunEnds) -> list[tuple[str | None, str, str | None, str]]:
    return [(one.host, str(one.where), one.severity, one.actual) for one in ends.hung({0}, True, never)]


def test_a_rank_that_is_behind_by_the_flight_recorder_is_named() -> None:
    behind = "; by PyTorch's flight recorder it had enqueued collective 3, others 4"
    arrived = [("gpu02", "rank 2 (GPU 0) of one", None, "it arrived, and waits within the call" + behind)]
    assert told(of_ranks(4, 4, 3, 4)) == arrived
    assert told(of_ranks(4, 4, 3, 4, absent=(2,))) == [
        ("gpu02", "rank 2 (GPU 0) of one", None, f"it never arrived, though its process gave signs of life{behind} (ended with the run)")
    ]
    # One of two is behind: the other has called it.
    assert [where for _host, where, _severity, _actual in told(of_ranks(4, 3))] == ["rank 1 (GPU 0) of one"]
    (found,) = of_ranks(4, 4, 3, 4).hung({0}, True, never)
    assert (found.cause, found.fix) == NEVER_ENQUEUED


def test_a_rank_whose_recorder_does_not_answer_is_named_with_that() -> None:
    ((host, _where, severity, actual),) = told(of_ranks(4, 4, None, 4, absent=(2,)))
    assert (host, severity) == ("gpu02", None) and "PyTorch's flight recorder did not answer there" in actual
    # An older torch, or gloo, has none at all.
    assert "recorder" not in str(told(of_ranks(None, None, None, absent=(2,))))


def test_nobody_is_accused_of_a_collective_that_all_had_enqueued() -> None:
    by_recorder = "every rank had enqueued it (collective 4 by PyTorch's flight recorder) and none finished"
    assert told(of_ranks(4, 4, 4)) == [(None, "all ranks of one", "unknown", by_recorder)]
    assert told(of_ranks(4, 4, 4, ras=([], []))) == [(None, "all ranks of one", "unknown", f"{by_recorder}; NCCL's RAS reports that all are alike")]
    assert told(of_ranks(None, None)) == [(None, "all ranks of one", "unknown", "every rank arrived and none finished")]
    # What most ranks had not enqueued, the few wait for.
    assert told(of_ranks(4, 3, 3)) == [(None, "all ranks of one", "unknown", "every rank arrived and none finished")]


def test_a_rank_that_only_the_ras_knows_to_be_behind_is_named() -> None:
    assert [where for _host, where, _severity, _actual in told(of_ranks(None, None, None, ras=([], [1])))] == ["rank 1 (GPU 0) of one"]
    # Whoever reported that it waited may have ended before another one asked; and of most ranks it says nothing.
    assert [where for _host, where, _severity, _actual in told(of_ranks(None, None, None, ras=([1], [])))] == ["all ranks of one"]
    assert [where for _host, where, _severity, _actual in told(of_ranks(None, None, None, ras=([], [1, 2])))] == ["all ranks of one"]


def test_a_host_of_a_rank_that_waits_within_the_call_ended_the_run() -> None:
    hosts = ["gpu00", "gpu01"]
    job = {"kind": "rung", "item": "one", "role": "rank", "status": "ok", "words": None, "error": None, "hosts": hosts, "device": None, "probe": None}
    ranks = {f"gpu0{row['rank']}": [{**row, "item": "one", "last": "all_reduce"}] for row in of_ranks(4, 3).ranks}
    (run,) = collective_runs({host: [job] for host in hosts}, {}, ranks)
    assert {host: (end.cause, end.fix) for host, end in run.own_end.items()} == {"gpu01": NEVER_ENQUEUED}


def runs(*groups: str) -> dict[str, str | None]:
    """The host with which no run finishes, by run; groups: the hosts of each run, after ``!`` of one that hangs with nobody behind."""
    jobs: dict[str, list[t.Any]] = {}
    ranks: dict[str, list[t.Any]] = {}
    hangs: dict[str, list[t.Any]] = {}
    for name in groups:
        ends, hosts = of_ranks(*(4 for _host in name.strip("!"))), list(name.strip("!"))
        job = {"kind": "search", "item": name, "device": None, "probe": None, "hosts": hosts}
        for host, row in zip(hosts, ends.ranks, strict=True):
            jobs.setdefault(host, []).append(job)
            ranks.setdefault(host, []).append({**row, "item": name, "outcome": "hung" if "!" in name else "done"})
            hangs.setdefault(host, []).extend([{**ends.hangs[0], "rank": row["rank"], "item": name}] if "!" in name else [])
    return {key[-1]: one.never_finishes for key, one in ends_of_runs(jobs, ranks, hangs).items() if one.hangs}


def test_the_host_with_which_no_run_finishes_is_named_where_two_partners_finish_without_it() -> None:
    assert runs("!ad", "!bd", "ac", "bc") == {"!ad": "d", "!bd": "d"}
    assert runs("!abcd", "!ad", "!bd", "ac", "bc") == {"!abcd": "d", "!ad": "d", "!bd": "d"}
    # One partner is not enough, and hosts that finish with others are not named however many hang together.
    assert set(runs("!ad", "ac", "bc").values()) == {None} == set(runs("!abcd", "ab", "cd").values())
    told = replace(of_ranks(4, 4), never_finishes="gpu01")
    (found,) = told.hung({0}, True, never)
    assert (found.host, found.severity, found.cause, found.fix) == ("gpu01", "unknown", *NEVER_FINISHES)


def test_a_run_that_no_rank_finishes_has_how_nccl_is_set_up_where_that_may_be_why() -> None:
    def log(plugin: str | None, **variables: str) -> list[dict[str, t.Any]]:
        rows = [{"event": "network", "name": None, "value": "IB"}, *([{"event": "plugin", "name": None, "value": plugin}] if plugin else [])]
        return [{**row, "item": "r"} for row in (*rows, *({"event": "variable", "name": name, "value": value} for name, value in variables.items()))]

    logs = {"a": log("/opt/x.so"), "b": log("/opt/x.so"), "c": log("/opt/x.so"), "d": log(None, NCCL_ALGO="Tree", NCCL_SOCKET_IFNAME="bond0")}
    assert unlike_others("d", logs) == ["NCCL_ALGO Tree, of the others none", "the network's plugin none, of the others /opt/x.so"]
    # A host is unlike others only where most of these are alike, and one without a log is not known.
    assert unlike_others("a", logs) == [] == unlike_others("d", {"d": logs["d"]}) == unlike_others("e", logs)
    told = replace(of_ranks(4, 4), never_finishes="gpu01", unlike=["the network's plugin none, of the others /opt/x.so"])
    (found,) = told.hung({0}, True, never)
    assert (found.host, found.severity) == ("gpu01", "unknown") and "plugin none, of the others /opt/x.so" in str(found.cause)
    (found,) = replace(of_ranks(4, 4), variables=["NCCL_ALGO=Tree"]).hung({0}, True, never)
    assert found.host is None and str(found.cause).startswith("All hosts set NCCL_ALGO=Tree ") and str(found.fix).startswith("First remove it")


def test_the_settings_of_a_run_are_those_that_all_of_its_hosts_have_and_the_pod_does_not_list() -> None:
    ends = replace(of_ranks(4, 4), hosts=["a", "b"])
    row = {"event": "variable", "item": "r", "name": "NCCL_ALGO", "value": "Tree"}
    logs = {"a": [row, {**row, "name": "NCCL_PROTO", "value": "LL"}], "b": [row]}
    assert _with_set_up(ends, logs, {}, {}).variables == ["NCCL_ALGO=Tree"]
    assert _with_set_up(ends, logs, {}, {"NCCL_ALGO": "Tree"}).variables == []
    behind = of_ranks(4, 3)
    assert _with_set_up(behind, logs, {}, {}) is behind


CLOSED = "socketProgress: Connection closed by remote peer"
TIMED_OUT = "Gloo connectFullMesh failed with no error; connect timeout, remote=[10.51.0.3]:29817"


def not_reached(error: str, *groups: str) -> dict[str, str | None]:
    """The host that is not reached, by run; groups: the hosts of each run, those with the error as capital letters; the others' ranks end with the run."""
    jobs: dict[str, list[t.Any]] = {}
    ranks: dict[str, list[t.Any]] = {}
    for name in groups:
        hosts = list(name.lower())
        job = {"kind": "search", "item": name, "device": None, "probe": None, "hosts": hosts}
        for host, letter, row in zip(hosts, name, of_ranks(*(4 for _host in name)).ranks, strict=True):
            ended = ("error", error) if letter.isupper() else ("done" if name.islower() else "ended", None)
            jobs.setdefault(host, []).append(job)
            ranks.setdefault(host, []).append({**row, "item": name, "outcome": ended[0], "error": ended[1]})
    return {key[-1]: one.not_reached for key, one in ends_of_runs(jobs, ranks, {}).items() if not key[-1].islower()}


def test_a_host_with_which_all_others_end_with_an_error_is_where_that_began() -> None:
    for error in (CLOSED, TIMED_OUT):
        assert not_reached(error, "Ad", "Bd", "ac", "bc") == {"Ad": "d", "Bd": "d"}
        assert not_reached(error, "ABCd", "Ad", "Bd", "ac", "bc") == {"ABCd": "d", "Ad": "d", "Bd": "d"}
    # One partner is not enough; nor one that no run finishes with, or an error of the host that has it.
    assert set(not_reached(TIMED_OUT, "Ad", "ac", "bc").values()) == {None} == set(not_reached(TIMED_OUT, "Ad", "Ae", "bc").values())
    # Where it has the error, too, it is the one of them that finishes no run; of two such ones neither is known to be it.
    assert set(not_reached(TIMED_OUT, "AD", "BD", "ac", "bc").values()) == {"d"}
    assert set(not_reached(TIMED_OUT, "AD", "bc").values()) == {None} == set(not_reached(TIMED_OUT, "AD", "ac", "bc").values())
    assert set(not_reached("CUDA error: an illegal memory access was encountered", "Ad", "Bd", "ac", "bc").values()) == {None}


def test_what_began_at_a_host_that_is_not_reached_is_no_finding_of_its_partners_own() -> None:
    ends = replace(of_ranks(4, 4), not_reached="gpu01", hangs=[])
    rows = [{**ends.ranks[0], "outcome": "error", "error": TIMED_OUT, "signal": None}]
    (found,) = findings_of_run(ends, rows, "gpu00", {}, lambda _host, _error: NOT_SHOWN)
    assert (found.began_at, found.severity) == (("gpu01", ""), "unknown")
    (own,) = findings_of_run(ends, rows, "gpu01", {}, lambda _host, _error: NOT_SHOWN)
    assert own.began_at is None
    rows = [{**rows[0], "error": "CUDA error: an illegal memory access was encountered"}]
    (own,) = findings_of_run(ends, rows, "gpu00", {}, lambda _host, _error: NOT_SHOWN)
    assert (own.began_at, own.severity) == (None, "fail")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "it never arrived, though its process gave signs of life; by PyTorch's flight recorder it had enqueued collective 4, others 5"),
        ("stopped", "it never arrived, and gave no sign of life; PyTorch's flight recorder did not answer there"),
        ("blocked", "it arrived, and waits within the call; by PyTorch's flight recorder it had enqueued collective 3, others 4"),
    ],
)
def test_the_rank_of_a_recorded_hang_is_named(name: str, words: str) -> None:
    text = (RECORDED / f"h100_x2_recorder_{name}.txt").read_text(encoding="utf-8")
    ends = RunEnds("", ["gpu-h01"], parse("collective_ranks", "linux", text), parse("collective_hangs", "linux", text))
    ((host, where, severity, actual),) = told(ends)
    assert (host, where, severity) == ("gpu-h01", "rank 1 (GPU 1)", None) and actual.startswith(words)
