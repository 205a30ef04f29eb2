# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""However many hosts of a real Slurm break at once, no more of them are drained at any time than may be."""

from __future__ import annotations

import concurrent.futures
import threading
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check import slurm
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.outcome import BROKEN, NOT_KNOWN, WELL, Outcome
from ansible_collections.gpufabric.pyramid.tests.labs.slurm import cluster

NODES = [f"gpu{number:02}" for number in range(1, 9)]
LIMIT = 2
# gpu08 is in no partition that is shown to everyone.
SETTINGS = ["PartitionName=shown Nodes=gpu[01-07] State=UP", "PartitionName=hidden Nodes=gpu08 Hidden=YES State=UP"]
VERDICTS = {"verdicts": [{"verdict": "fail"}]}
FAIL = Outcome(BROKEN, "FAIL: gpus_present: all: expected 8 GPUs, got 7", VERDICTS)
pytestmark = pytest.mark.xdist_group("slurm_hold")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[cluster.Cluster]:
    with cluster.up(tmp_path_factory.mktemp("slurm"), NODES, settings=SETTINGS) as lab:
        yield lab


@pytest.fixture
def lab(up: cluster.Cluster, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[cluster.Cluster]:
    """All of it idle and without reservations, before and after; its clients may take their time."""
    monkeypatch.setenv("SLURM_CONF", up.environment["SLURM_CONF"])
    monkeypatch.setenv("SLURM_SCRIPT_CONTEXT", slurm.PROLOG)
    monkeypatch.setattr(slurm, "SECONDS", 60)
    monkeypatch.setattr(slurm, "LOCK_HOLD_SECONDS", 600.0)
    monkeypatch.setattr(slurm, "LOCK_WAIT_SECONDS", 60.0)
    yield up
    up.say("scontrol", "delete", f"reservationname={slurm.LOCK}")
    for node, state in up.state().items():
        up.say("scontrol", "update", f"nodename={node}", "comment=", *(["state=resume"] if state != "idle" else []))
    up.until(lambda: set(up.state().values()) == {"idle"}, "the idle cluster")


def drained(lab: cluster.Cluster) -> set[str]:
    return {node for node, state in lab.state().items() if state == "drained"}


def drains(lab: cluster.Cluster) -> int:
    """How often the controller was told to drain a node, by its own log: also where that was taken back."""
    text = (lab.directory / "log" / "slurmctld.log").read_text(encoding="utf-8", errors="replace")
    return text.count(f"reason set to: {slurm.OURS_HERE}")


def reserved(lab: cluster.Cluster) -> bool:
    return slurm.LOCK in lab.say("scontrol", "show", "reservations")


def test_of_eight_hosts_that_break_at_once_two_are_drained_and_no_third_for_a_moment(lab: cluster.Cluster) -> None:
    """All of them have read that none is drained before the first one goes on."""
    before, together = drains(lab), threading.Barrier(len(NODES))

    def told(node: str) -> slurm.Told:
        waited = False

        def run(*argv: str) -> str:
            nonlocal waited
            said = slurm.slurm(*argv)
            if argv[0] == "sinfo" and not waited:
                waited = True
                together.wait(60)
            return said

        return slurm.tell_slurm(node, LIMIT, FAIL, slurm.DRAIN, run)

    with concurrent.futures.ThreadPoolExecutor(len(NODES)) as pool:
        said = dict(zip(NODES, pool.map(told, NODES)))
    away = {node for node, one in said.items() if one == ("drained", slurm.KEEP_AWAY)}
    assert len(away) == LIMIT and drained(lab) == away, said
    assert {one for node, one in said.items() if node not in away} == {("not drained, because 2 of at most 2 hosts are", WELL)}
    assert drains(lab) - before == LIMIT and not reserved(lab)


def test_a_drained_host_of_a_hidden_partition_or_that_is_down_counts(lab: cluster.Cluster) -> None:
    for node in ("gpu07", "gpu08"):
        assert slurm.tell_slurm(node, LIMIT, FAIL, slurm.DRAIN).words == "drained"
    lab.say("scontrol", "update", "nodename=gpu07", "state=down", f"reason={slurm.OURS_HERE}{FAIL.line}")
    assert slurm.tell_slurm("gpu01", LIMIT, FAIL, slurm.DRAIN) == ("not drained, because 2 of at most 2 hosts are", WELL)
    # Of a host that is out already, its own prolog keeps the job away.
    assert slurm.tell_slurm("gpu08", LIMIT, FAIL, slurm.DRAIN).status == slurm.KEEP_AWAY


def test_a_host_that_was_killed_while_it_decided_lets_none_be_drained(lab: cluster.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.say("scontrol", "create", "reservation", f"reservationname={slurm.LOCK}", "nodes=gpu05", "users=root", "starttime=now", "duration=1")
    monkeypatch.setattr(slurm, "LOCK_WAIT_SECONDS", 0.5)
    told = slurm.tell_slurm("gpu01", LIMIT, FAIL, slurm.DRAIN)
    assert told.status == WELL and told.words.startswith("not drained, because Slurm does not let this host decide alone: "), told
    assert drained(lab) == set() and told.words in lab.say("scontrol", "show", "node", "gpu01")
    lab.say("scontrol", "delete", f"reservationname={slurm.LOCK}")
    assert slurm.tell_slurm("gpu01", LIMIT, FAIL, slurm.DRAIN).words == "drained" and drained(lab) == {"gpu01"}


def test_a_host_that_was_stopped_for_long_does_not_drain_and_leaves_the_lock_of_others(lab: cluster.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm, "LOCK_HOLD_SECONDS", 0.0)
    assert slurm.tell_slurm("gpu01", LIMIT, FAIL, slurm.DRAIN) == ("not drained, because Slurm took too long", WELL)
    assert drained(lab) == set() and reserved(lab)


def test_a_host_that_is_not_known_asks_for_no_lock_and_no_drain(lab: cluster.Cluster) -> None:
    asked: list[str] = []

    def run(*argv: str) -> str:
        asked.append(" ".join(argv))
        return slurm.slurm(*argv)

    told = slurm.tell_slurm("gpu01", LIMIT, Outcome(NOT_KNOWN, "UNKNOWN gpu01: ibstat is missing", {"verdicts": [{"verdict": "unknown"}]}), slurm.DRAIN, run)
    assert told == ("", WELL) and drained(lab) == set()
    assert asked[0] == "scontrol show node gpu01" and len(asked) == 2 and asked[1].startswith("scontrol update nodename=gpu01 comment="), asked


def test_a_lock_that_cannot_be_taken_back_costs_no_drain(lab: cluster.Cluster) -> None:
    def run(*argv: str) -> str:
        if argv[:2] == ("scontrol", "delete"):
            raise slurm.NoAnswer("scontrol did not end within 5 s")
        return slurm.slurm(*argv)

    assert slurm.tell_slurm("gpu01", LIMIT, FAIL, slurm.DRAIN, run) == ("drained", slurm.KEEP_AWAY)
    assert drained(lab) == {"gpu01"} and reserved(lab)
