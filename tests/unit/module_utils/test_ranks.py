# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of ranks on real torch with gloo: healthy, and with one rank made ill for real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import ranks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_ends import ended_for_others, waited_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse
from ansible_collections.gpufabric.pyramid.tests.labs.ranks.python import with_torch
from ansible_collections.gpufabric.pyramid.tests.ports import claimed

pytestmark = pytest.mark.xdist_group("ranks")

PROGRAMS = Path(ranks.__file__).parent
FAULTS = Path(__file__).resolve().parents[2] / "labs" / "ranks" / "faults"
RANKS = 4
# A rank that waits this long for the others says so: with a fault, and where none is, so long that a busy machine is not taken for a hang.
TIMEOUT, PATIENCE = 6, 60
LIMIT_SECONDS = 150


@pytest.fixture(scope="session")
def python() -> str:
    return with_torch()


@dataclass
class Told:
    """How a job ended: exit status, its document, and what its fault says that it did."""

    rc: int
    text: str
    mark: str

    @property
    def document(self) -> dict[str, t.Any]:
        """The one document on standard output."""
        return json.loads(self.text)

    def rows(self, reading: str) -> list[dict[str, t.Any]]:
        """The document as a reading."""
        return parse(reading, "linux", self.text)

    def outcomes(self) -> dict[int, str]:
        """What became of each rank."""
        return {row["rank"]: row["outcome"] for row in self.document["ranks"]}


def argv(python: str, program: str, port: int, *options: str) -> list[str]:
    """One host's command."""
    common = ["--backend", "gloo", "--ranks-per-host", str(RANKS), "--master", f"127.0.0.1:{port}", "--timeout", str(PATIENCE), "--deadline", "120"]
    return [python, "-W", "ignore", str(PROGRAMS / f"{program}.py"), *common, *options]


def environment(fault: dict[str, t.Any] | None, mark: Path) -> dict[str, str]:
    """A job's environment, with a fault where there is one."""
    clean = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "PYTHONPATH")}
    ill = {"PYTHONPATH": str(FAULTS), "RANK_FAULT": json.dumps(fault), "RANK_FAULT_MARK": str(mark)} if fault else {}
    return {**clean, "OMP_NUM_THREADS": "1", **ill}


def run(python: str, tmp_path: Path, program: str, *options: str, fault: dict[str, t.Any] | None = None) -> Told:
    """Run a job of one host to its end."""
    mark = tmp_path / "mark"
    command = argv(python, program, claimed(), "--timeout", str(TIMEOUT if fault else PATIENCE), *options)
    response = subprocess.run(
        command, env=environment(fault, mark), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, stdin=subprocess.DEVNULL
    )
    result = mark.read_text(encoding="utf-8") if mark.exists() else ""
    assert bool(result) == bool(fault), "the fault was not in force"
    return Told(response.returncode, response.stdout, result)


FAILS = """
import argparse, atexit, one_rank

class Alone(one_rank.Rank):
    def _meet(self):
        raise RuntimeError("no response")

atexit.register(print, "the interpreter ends")
Alone(argparse.Namespace(timeout=60.0, start_timeout=60.0)).run(None)
"""


def test_a_variable_of_a_launcher_that_a_container_has_empty_is_not_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enroot passes on what it is told to, and sets it to nothing where it is not set."""
    for names in ranks.PLACES:
        for name in names:
            monkeypatch.setenv(name, "")
    assert ranks._place() == ("0", "1")
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert ranks._place() == ("3", "4")


def test_a_rank_with_an_error_leaves_before_its_interpreter_ends() -> None:
    """There a thread of its own that is in torch would abort it."""
    place = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "PYTHONPATH": str(PROGRAMS)}
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", FAILS], env={**os.environ, **place, "RANKS_EVENTS": str(writing)}, pass_fds=[writing], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(writing)
    # Its standard input stays open, as its agent's does: a rank without an agent ends as well.
    status = process.wait(timeout=LIMIT_SECONDS)
    printed = (process.stdout.read(), process.stderr.read()) if process.stdout and process.stderr else ("", "")
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
    with os.fdopen(reading, encoding="utf-8") as events:
        (event,) = map(json.loads, events)
    assert (status, printed[0]) == (1, "") and "RuntimeError: no response" in printed[1]
    assert (event["kind"], event["error"]) == ("about", "RuntimeError: no response")


@pytest.mark.parametrize(("reported", "outcome"), [({"error": "RuntimeError: no response"}, "error"), ({}, "killed")])
def test_a_rank_that_reported_why_it_ends_was_not_ended_by_a_signal(reported: dict[str, str], outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent: t.Any = SimpleNamespace(options=SimpleNamespace(host_index=0, hosts=1, ranks_per_host=1, variable=[], backend="nccl"), path="")
    monkeypatch.setattr(ranks, "_argv", lambda _path, _role: [sys.executable, "-c", "import os; os.abort()"])
    rank = ranks._Process(agent, 0)
    rank.about.update(reported)
    rank.process.wait(timeout=LIMIT_SECONDS)
    before = time.time()
    assert rank.has_ended() and rank.has_ended()
    rank.end()
    row = rank.row()
    assert (row["outcome"], row["signal"]) == (outcome, signal.SIGABRT) and row["ended_at"] >= before - 1
    for stream in (rank.process.stdin, rank.process.stdout):
        if stream:
            stream.close()


SMALL = ("--counts", "0,1,1021", "--dtypes", "float32,int64")


def test_every_collective_is_exactly_right(python: str, tmp_path: Path) -> None:
    result = run(python, tmp_path, "torch_collectives", *SMALL, "--sizes", "65536", "--iterations", "3")
    assert (result.rc, result.document["outcome"], set(result.outcomes().values())) == (0, "complete", {"done"})
    results = result.rows("collective_results")
    assert len(results) == RANKS * 5 * 3 * 2
    assert {row["wrong"] for row in results if row["unsupported"] is None} == {0}
    # gloo of old torch has no reduce-scatter and gathers nothing of nothing, and says so; everything else it has.
    lacking = {(row["collective"], row["count"]) for row in results if row["unsupported"]}
    assert {name for name, count in lacking if count} <= {"reduce_scatter"} and lacking <= {("all_gather", 0), *(("reduce_scatter", n) for n in (0, 1, 1021))}
    rates = result.rows("collective_rates")
    assert {row["wrong"] for row in rates} == {0}
    factor = {"all_reduce": 2 * (RANKS - 1) / RANKS, "broadcast": 1.0}
    assert all(row["busbw_gbyte_s"] == pytest.approx(row["algbw_gbyte_s"] * factor.get(row["collective"], (RANKS - 1) / RANKS)) for row in rates)
    assert all(row["algbw_gbyte_s"] == pytest.approx(row["size_bytes"] / row["time_us"] / 1e3) for row in rates)


@pytest.mark.exhaustive
def test_slow_calls_are_timed_less_often_and_are_no_hang(python: str, tmp_path: Path) -> None:
    slow = {"rank": 1, "kind": "late", "seconds": 0.5, "call": "all_reduce", "after": 1}
    result = run(python, tmp_path, "torch_collectives", "--dtypes", "", "--sizes", "65536", "--collectives", "all_reduce", "--iterations", "60", fault=slow)
    assert result.mark.count("late at call") < 60, "all of them would take five times as long as a rank waits"
    assert (result.document["outcome"], set(result.outcomes().values())) == ("complete", {"done"}), result.text
    assert {row["rank"] for row in result.rows("collective_rates")} == set(range(RANKS))
    assert all(row["time_us"] > 0.4e6 for row in result.rows("collective_rates"))


@pytest.mark.exhaustive
def test_a_rank_that_is_late_is_named(python: str, tmp_path: Path) -> None:
    late = {"rank": 2, "kind": "late", "seconds": 0.5, "call": "Rank", "after": 4}
    sizes = "65536,65540,65544"
    result = run(python, tmp_path, "torch_collectives", "--dtypes", "", "--sizes", sizes, "--collectives", "all_reduce", "--iterations", "3", fault=late)
    # What comes before the last size has its own lateness in it.
    last = {row["rank"]: row["late_ms"] for row in result.rows("collective_rates") if row["size_bytes"] == 65544}
    assert last[2] > 400
    assert all(last[2] > other + 300 for rank, other in last.items() if rank != 2)


@pytest.mark.exhaustive
def test_a_rank_that_never_comes_is_named_within_the_timeout(python: str, tmp_path: Path) -> None:
    absent = {"rank": 1, "kind": "absent", "call": "Rank", "after": 3}
    result = run(python, tmp_path, "torch_collectives", *SMALL, "--collectives", "all_reduce", fault=absent)
    assert result.rc != 0
    outcomes = result.outcomes()
    assert outcomes.pop(1) == "ended"
    # The first to give up closes its connections, which another may see before its own time is up; gloo may then abort it.
    assert "hung" in outcomes.values() and set(outcomes.values()) <= {"hung", "error", "killed"}
    hangs = result.rows("collective_hangs")
    assert {(row["place"], *row["absent"]) for row in hangs} == {("all_reduce of 1 float32", 1)}
    assert all(row["waited_seconds"] >= TIMEOUT for row in hangs)
    ranks = result.rows("collective_ranks")
    # Whatever signal a rank got that had arrived, only the one that never came is to blame.
    assert {row["rank"] for row in ranks if row["outcome"] == "killed"} <= ended_for_others(ranks, hangs)
    assert waited_for(hangs) - ended_for_others(ranks, hangs) == {1}
    assert {(row["enqueued"], row["completed"]) for row in ranks} == {(None, None)}, "gloo has no flight recorder"


@pytest.mark.exhaustive
def test_ranks_that_call_different_collectives_hang_with_nobody_absent(python: str, tmp_path: Path) -> None:
    other = {"rank": 1, "kind": "other", "call": "all_reduce", "after": 3}
    result = run(python, tmp_path, "torch_collectives", "--counts", "1021", "--collectives", "all_reduce", fault=other)
    assert "done" not in result.outcomes().values()
    hangs = result.rows("collective_hangs")
    assert hangs == [] or {tuple(row["absent"]) for row in hangs} == {()}
    # gloo may see that the sizes differ, or wait; both end it.
    assert hangs or {"error"} <= set(result.outcomes().values())


def test_a_value_that_flips_is_caught(python: str, tmp_path: Path) -> None:
    flip = {"rank": 3, "kind": "flip", "call": "all_reduce", "after": 3}
    result = run(python, tmp_path, "torch_collectives", "--counts", "1,1021", "--collectives", "all_reduce", fault=flip)
    wrong = {row["rank"]: row["wrong"] for row in result.rows("collective_results") if row["wrong"]}
    assert wrong == {3: 1}


@pytest.mark.parametrize("victim", [0, pytest.param(3, marks=pytest.mark.exhaustive)])
def test_a_rank_that_is_killed_is_named_whichever_it_is(python: str, tmp_path: Path, victim: int) -> None:
    dead = {"rank": victim, "kind": "dead", "call": "Rank", "after": 4}
    result = run(python, tmp_path, "torch_collectives", *SMALL, "--collectives", "all_reduce", fault=dead)
    outcomes = result.outcomes()
    assert outcomes.pop(victim) == "killed"
    assert set(outcomes.values()) <= {"hung", "error"}
    killed = next(row for row in result.rows("collective_ranks") if row["rank"] == victim)
    assert (killed["signal"], killed["ranks"]) == (signal.SIGKILL, RANKS)


@pytest.mark.exhaustive
def test_hosts_that_disagree_on_the_number_of_ranks_are_reported(python: str, tmp_path: Path) -> None:
    port = claimed()
    hosts = [
        subprocess.Popen(
            argv(python, "torch_collectives", port, *SMALL, "--host-index", str(index), "--hosts", str(of), "--start-timeout", "12", "--ranks-per-host", "2"),
            env=environment(None, tmp_path / "mark"),
            stdout=subprocess.PIPE,
            text=True,
        )
        for index, of in ((0, 2), (1, 3))
    ]
    texts = [host.communicate(timeout=LIMIT_SECONDS)[0] for host in hosts]
    errors = [row["error"] for text in texts for row in json.loads(text)["ranks"] if row.get("error")]
    assert any("in its job, another one has" in error for error in errors), errors
    assert all(host.returncode for host in hosts)


def test_two_hosts_train_and_agree_to_the_last_bit(python: str, tmp_path: Path) -> None:
    port = claimed()
    two = [
        subprocess.Popen(
            argv(python, "training_step", port, "--host-index", str(index), "--hosts", "2", "--ranks-per-host", "2", "--steps", "12", "--warmup", "2"),
            env=environment(None, tmp_path / "mark"),
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    result = [Told(host.returncode or 0, host.communicate(timeout=LIMIT_SECONDS)[0], "") for host in two]
    assert [one.document["outcome"] for one in result] == ["complete", "complete"]
    assert [sorted(one.outcomes()) for one in result] == [[0, 1], [2, 3]]
    agreement = [row for one in result for row in one.rows("training_agreement")]
    for what in ("parameters", "gradients", "optimizer"):
        assert len({row["checksum"] for row in agreement if row["what"] == what}) == 1, what
    assert max(row["difference"] for row in agreement if row["what"] == "one process") < 1e-9
    steps = [row for one in result for row in one.rows("training_steps")]
    assert len(steps) == 4 * 12
    assert all(row["step_ms"] >= row["compute_ms"] > 0 for row in steps)
    losses = [row["loss"] for row in steps if row["rank"] == 0]
    assert losses[-1] < losses[0]


@pytest.mark.exhaustive
def test_a_loss_that_is_no_number_stops_all_ranks_at_its_step(python: str, tmp_path: Path) -> None:
    nan = {"rank": 2, "kind": "nan", "call": "cross_entropy", "after": 12}
    result = run(python, tmp_path, "training_step", "--steps", "20", "--warmup", "2", fault=nan)
    steps = result.rows("training_steps")
    last = max(row["step"] for row in steps)
    assert last < 21
    assert [row["rank"] for row in steps if row["loss"] is None] == [2]
    assert {row["rank"] for row in steps if row["step"] == last} == {0, 1, 2, 3}


@pytest.mark.exhaustive
def test_a_rank_that_drifts_has_another_checksum(python: str, tmp_path: Path) -> None:
    drift = {"rank": 2, "kind": "drift", "call": "AdamW", "after": 5}
    result = run(python, tmp_path, "training_step", "--steps", "8", "--warmup", "1", fault=drift)
    sums = {row["rank"]: row["checksum"] for row in result.rows("training_agreement") if row["what"] == "parameters"}
    assert sums[0] == sums[1] == sums[3] != sums[2]


@pytest.mark.exhaustive
def test_a_rank_that_computes_slowly_is_seen_in_its_own_time(python: str, tmp_path: Path) -> None:
    slow = {"rank": 1, "kind": "late", "seconds": 0.4, "call": "cross_entropy", "after": 6}
    result = run(python, tmp_path, "training_step", "--steps", "6", "--warmup", "1", fault=slow)
    compute = {rank: sorted(row["compute_ms"] for row in result.rows("training_steps") if row["rank"] == rank)[3] for rank in range(RANKS)}
    assert all(compute[1] > other + 200 for rank, other in compute.items() if rank != 1)


@pytest.mark.exhaustive
def test_an_agent_that_is_ended_tells_what_it_has_and_leaves_nobody_behind(python: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    absent = {"rank": 1, "kind": "absent", "call": "Rank", "after": 2}
    agent = subprocess.Popen(
        argv(python, "torch_collectives", claimed(), *SMALL, "--timeout", "100"), env=environment(absent, mark), stdout=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 60
    while not mark.exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert mark.exists()
    agent.send_signal(signal.SIGTERM)
    document = json.loads(agent.communicate(timeout=60)[0])
    assert document["outcome"] == "ended by signal 15"
    assert all(not Path(f"/proc/{row['pid']}").exists() for row in document["ranks"])
