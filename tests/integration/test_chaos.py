# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes and controllers that fail, inventories in another order, and files of runs that were edited: a few of many seeds.

``make chaos SEEDS=1000`` runs as many as it is given.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.chaos import befalling, climbing, in_process, processes, running
from ansible_collections.gpufabric.pyramid.tests.chaos.climbing import Seed, withstand
from ansible_collections.gpufabric.pyramid.tests.chaos.outcomes import Outcome, table
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess

from .conftest import alike

# Of a thousand, the first that need no processes; the tests below run playbooks.
SEEDS = 50


def test_the_seeds_have_every_trouble() -> None:
    made = [climbing.seed(number) for number in range(200)]
    assert {one["how"] for each in made for own in each.troubles.values() for one in own} == set(befalling.KINDS)
    assert {each.signal.name for each in made if each.killed_at is not None} == {"SIGKILL", "SIGTERM", "SIGINT"}
    assert {each.killed_in for each in made} == {"", *climbing.LOADED}
    assert {"loads of layers 3 to 6", "fault under load", "boot before resume (process)", "two roles (process)", "full disk", "shuffled inventory"} <= {
        kind for each in made for kind in each.drawn()
    }
    assert str(climbing.seed(7)) == str(climbing.seed(7))


def test_one_seed_in_so_many_runs_playbooks() -> None:
    assert sum(running.needs_processes(number) for number in range(1000)) == 1000 // running.PROCESS_EVERY


def test_a_go_that_is_not_allowed_is_bad_and_so_is_a_no_go_of_a_healthy_pod() -> None:
    """What the seeds are judged by, where the collection would be wrong."""
    outcome = Outcome("seed 0", ["tool"], met=["tool"])
    outcome.judge("no_go", allowed=False, expected=False)
    assert outcome.wrong == []
    outcome.judge("no_fault_seen", allowed=False, expected=False, what="a pod without ibstat")
    outcome.judge("refused", allowed=True, expected=True, what="a healthy pod")
    assert [words.partition(":")[0] for words in outcome.wrong] == ["FALSE GO", "FALSE NO-GO"]
    assert table([outcome])[1].split() == ["tool", "1", "1", "0", "0", "0", "1", "1"]


@pytest.mark.exhaustive
@pytest.mark.long
def test_seeds_without_processes() -> None:
    found = [running.run_number(number) for number in range(SEEDS) if not running.needs_processes(number)]
    print("\n".join(table(found)))
    assert [words for one in found for words in (one.words, *one.wrong) if one.wrong] == []
    assert {kind for one in found for kind in one.met} >= {*in_process.KINDS, "shuffled inventory", "load of congestion"}
    assert {verdict for one in found for verdict in one.verdicts} >= {"go", "no_go", "refused"}


def test_a_false_go_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed whose fault the collection does not see, here because it is put into no pod, is bad."""
    bench = in_process.Bench(tmp_path / "bench")
    healthy = inprocess.Pods.pod
    monkeypatch.setattr(inprocess.Pods, "pod", lambda pods, _names=(), seed=1: healthy(pods, (), seed))
    # Some faults of the catalogue close no gate.
    outcomes = (in_process.run_seed(one, bench, tmp_path) for one in range(1000) if in_process.kind_of(one) == "fault")
    outcome = next(one for one in outcomes if "fault" in one.met)
    assert [words.partition(":")[0] for words in outcome.wrong] == ["FALSE GO"]


def test_a_process_that_a_seed_leaves_is_bad_and_one_that_ran_before_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The labs that other tests share may be processes of the same worker."""
    started: list[subprocess.Popen[bytes]] = []

    def run_seed(_number: int, _bench: in_process.Bench, _into: Path) -> Outcome:
        started.append(subprocess.Popen(["sleep", "60"]))
        return Outcome("a seed", [])

    with subprocess.Popen(["sleep", "60"]) as before:
        try:
            assert running.run_number(43).wrong == []
            monkeypatch.setattr(in_process, "run_seed", run_seed)
            assert running.run_number(43).wrong == [f"PROCESS LEFT: {started[0].pid}"]
        finally:
            for process in (before, *started):
                process.kill()
                process.wait()


@pytest.mark.exhaustive
def test_nodes_that_fail_in_several_ways(tmp_path: Path) -> None:
    hows = {"gpu01": "runs_out", "gpu04": "is_full", "leaf03": "is_cut", "spine02": "drops"}
    # What two hosts met closes the gates below the third request of a spine.
    troubles = {node: [{"at": 1 if node == "spine02" else 2, "how": how, "once": False, "number": 1}] for node, how in hows.items()}
    outcome = withstand(Seed(0, troubles), tmp_path)
    assert outcome.wrong == [] and set(outcome.met) == {f"{how} (process)" for how in hows.values()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["boots between runs", alike("two roles")])
def test_a_seed_of_a_kind(kind: str, tmp_path: Path) -> None:
    made = climbing.seed(0, kind)
    outcome = withstand(made, tmp_path)
    assert outcome.wrong == [] and set(outcome.met) == set(made.drawn()), str(made)


@pytest.mark.exhaustive
def test_a_killed_run_and_the_one_that_takes_it_up(tmp_path: Path) -> None:
    outcome = withstand(Seed(0, killed_at=40), tmp_path)
    assert outcome.wrong == [] and outcome.met == ["killed by SIGKILL"]


@pytest.mark.exhaustive
def test_a_run_without_room_and_the_one_that_has_it_again(tmp_path: Path) -> None:
    if not processes.may_mount():
        leave_out("only root can make a small disk")
    outcome = withstand(Seed(0, megabytes=1.0), tmp_path)
    assert outcome.wrong == [] and outcome.met == ["full disk"]
