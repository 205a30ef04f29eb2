# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Idle nodes of a real Slurm are held by a job that gives way: to jobs that ask for them, to preemption, and to nobody who renews it."""

from __future__ import annotations

import json
import re
import typing as t

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufabric.pyramid.plugins.modules import slurm_hold
from ansible_collections.gpufabric.pyramid.tests.labs.slurm import cluster

NODES = ["gpu01", "gpu02", "gpu03"]
HELD = NODES[:2]
# A partition of what is not held, and one that preempts.
SETTINGS = [
    "PreemptType=preempt/partition_prio", "PreemptMode=CANCEL", "PartitionName=apart Nodes=gpu03 State=UP",
    "PartitionName=first Nodes=ALL PriorityTier=10 State=UP", "PartitionName=last Nodes=ALL PriorityTier=0 GraceTime=30 State=UP",
]  # fmt: skip
Hold = t.Callable[..., dict[str, t.Any]]
pytestmark = pytest.mark.xdist_group("slurm_hold")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[cluster.Cluster]:
    with cluster.up(tmp_path_factory.mktemp("slurm"), NODES, settings=SETTINGS) as slurm:
        yield slurm


@pytest.fixture
def slurm(lab: cluster.Cluster, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[cluster.Cluster]:
    """All of it idle, before and after."""
    monkeypatch.setenv("SLURM_CONF", lab.environment["SLURM_CONF"])
    yield lab
    for job in lab.say("squeue", "--noheader", "--format=%i").split():
        lab.say("scancel", job)
    lab.until(lambda: lab.say("squeue", "--noheader") == "" and set(lab.state().values()) == {"idle"}, "the idle cluster")


@pytest.fixture
def hold(capsys: pytest.CaptureFixture[str]) -> Hold:
    """Run the module."""

    def run(state: str, **arguments: t.Any) -> dict[str, t.Any]:
        with patch_module_args({"nodes": HELD, "state": state, **arguments}), pytest.raises(SystemExit):
            slurm_hold.main()
        return t.cast(dict[str, t.Any], json.loads(capsys.readouterr().out))

    return run


def submit(slurm: cluster.Cluster, *arguments: str) -> str:
    """Submit a job, and wait until Slurm has considered it."""
    job = slurm.say("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", *arguments, "--wrap=sleep 60").strip()
    slurm.until(lambda: shown(slurm, job, "%r") not in ("", "None") or shown(slurm, job, "%T") == "RUNNING", f"a reason of {job}")
    return job


def shown(slurm: cluster.Cluster, job: str, form: str) -> str:
    return slurm.say("squeue", "--noheader", f"--jobs={job}", f"--format={form}").strip()


def test_idle_nodes_are_held_until_a_job_asks_for_them(slurm: cluster.Cluster, hold: Hold) -> None:
    looked = hold("looked_at")
    assert set(looked["idle"]) == set(HELD) and looked["waiting"] == [] and looked["changed"] is False
    planned = hold("held", _ansible_check_mode=True)
    assert planned["changed"] and (planned["held"], planned["job"]) == (False, "") and slurm.say("squeue", "--noheader") == ""
    held = hold("held")
    assert held["held"] and held["waiting"] == [], held
    assert shown(slurm, held["job"], "%j %T %N") == "gpufabric-patrol RUNNING gpu[01-02]"
    assert hold("looked_at")["idle"] == {}
    elsewhere = [submit(slurm, "--partition=apart", "--exclusive") for _job in range(2)] + [submit(slurm, "--nodelist=gpu03", "--exclusive")]
    assert hold("renewed", job=held["job"])["waiting"] == []
    asking = submit(slurm, "--nodelist=gpu02")
    renewed = hold("renewed", job=held["job"])
    assert renewed["held"] and renewed["waiting"] == [asking], (renewed, elsewhere)
    assert hold("released", job=held["job"], _ansible_check_mode=True)["changed"] and hold("renewed", job=held["job"])["held"]
    assert hold("released", job=held["job"])["changed"]
    slurm.until(lambda: shown(slurm, asking, "%T") == "RUNNING", "the job that asked")
    assert hold("released", job=held["job"])["changed"] is False
    assert hold("renewed", job=held["job"])["held"] is False
    assert set(hold("looked_at")["idle"]) == {"gpu01"}


def test_nodes_that_someone_marked_are_not_idle(slurm: cluster.Cluster, hold: Hold) -> None:
    slurm.say("scontrol", "update", "nodename=gpu01", "state=drain", "reason=State=IDLE")
    slurm.say("scontrol", "create", "reservation", "reservationname=ours", "nodes=gpu02", "starttime=now", "duration=10", "users=root")
    try:
        slurm.until(lambda: slurm.state()["gpu02"] == "reserved", "the reservation")
        assert hold("looked_at")["idle"] == {}
    finally:
        slurm.say("scontrol", "delete", "reservationname=ours")
        slurm.say("scontrol", "update", "nodename=gpu01", "state=resume")
    assert "has no node gpu09" in hold("looked_at", nodes=["gpu01", "gpu09"])["msg"]


def test_a_job_that_is_preempted_does_not_hold_any_more(slurm: cluster.Cluster, hold: Hold) -> None:
    held = hold("held", partition="last")
    assert held["held"], held
    slurm.say("sbatch", "--parsable", "--output=/dev/null", "--partition=first", "--nodelist=gpu01", "--exclusive", "--wrap=sleep 60")
    slurm.until(lambda: not hold("renewed", job=held["job"])["held"], "the preemption")
    # For a moment it is shown as being signalled.
    assert shown(slurm, held["job"], "%T") in ("RUNNING", "SIGNALING"), "it is in its grace time"
    hold("released", job=held["job"])


@pytest.mark.exhaustive
def test_a_job_that_does_not_get_its_nodes_or_is_not_renewed_ends(slurm: cluster.Cluster, hold: Hold) -> None:
    busy = submit(slurm, "--nodelist=gpu01", "--exclusive")
    refused = hold("held")
    assert (refused["held"], refused["job"]) == (False, "") and shown(slurm, busy, "%T") == "RUNNING"
    slurm.say("scancel", busy)
    slurm.until(lambda: set(slurm.state().values()) == {"idle"}, "the idle cluster")
    held = hold("held")
    assert held["held"]
    slurm.until(lambda: slurm.say("squeue", "--noheader") == "", "the end of the job")
    # By Slurm's own clock: this test may come to look late.
    ran = re.search(r" RunTime=00:00:(\d+) ", slurm.say("scontrol", "show", "job", held["job"], "--oneliner"))
    assert ran and int(ran[1]) >= 20
