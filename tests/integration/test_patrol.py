# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A patrol takes idle hosts from a real Slurm and gives way: in each of its steps a job starts in time, and nothing is left on the hosts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.patrolling import interrupted_hosts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import patrol_keeper
from ansible_collections.gpufabric.pyramid.tests.labs.slurm import cluster
from ansible_collections.gpufabric.pyramid.tests.processes import carrying
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout

from .conftest import alike

ROOT = Path(__file__).resolve().parents[2]
HOSTS = [f"gpu{number:02}" for number in range(1, 6)]
# What a patrol has to give way in, and what it may take to end a run of this test.
GIVES_WAY_SECONDS, END_SECONDS = 30, 120
pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("patrol")]


class Patrolled:
    """A pod whose hosts are nodes of a real Slurm, and the patrol that runs."""

    def __init__(self, place: Path, slurm: cluster.Cluster, inventory: Path) -> None:
        self.place, self.slurm, self.inventory = place, slurm, inventory
        self.running: subprocess.Popen[bytes] | None = None

    @property
    def patrols(self) -> Path:
        """Where runs of patrols are."""
        return self.place / "runs" / "small" / "patrol"

    def start(self, *arguments: str, **variables: t.Any) -> None:
        """Start a patrol."""
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/patrol.yml", "-i", str(self.inventory), *arguments]
        extra = ["-e", json.dumps({"pod_runs_dir": str(self.place / "runs"), "pod_history": str(self.place / "history.db"), **variables})]
        environment = {**self.slurm.environment, "ANSIBLE_NOCOLOR": "1", "TMPDIR": str(self.tmp())}
        with (self.place / "patrol.out").open("wb") as output:
            self.running = subprocess.Popen([*command, *extra], cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True)

    def tmp(self) -> Path:
        """The directory in which the simulated hosts have theirs, so that it is known what was loaded there."""
        return self.inventory.parent / "tmp"

    def output(self) -> str:
        return (self.place / "patrol.out").read_text(encoding="utf-8", errors="replace")

    def hosts(self) -> list[str]:
        """The hosts that the patrol said it holds."""
        found = re.search(r"^job \d+ of Slurm holds (.+)$", self.output(), re.MULTILINE)
        return found[1].split(", ") if found else []

    def ended(self) -> str:
        """What the patrol printed, once it has ended well."""
        assert self.running is not None and self.running.wait(END_SECONDS) == 0, self.output()
        return self.output()

    def until(self, holds: t.Callable[[], t.Any], what: str, seconds: float = END_SECONDS) -> None:
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, f"{what}: {self.output()}"
            time.sleep(0.1)

    def submit(self, *arguments: str) -> str:
        """A job that asks for nodes."""
        return self.slurm.say("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--exclusive", *arguments, "--wrap=sleep 600").strip()

    def state(self, job: str) -> str:
        return self.slurm.say("squeue", "--noheader", f"--jobs={job}", "--format=%T").strip()

    def held(self) -> bool:
        return "RUNNING" in self.slurm.say("squeue", "--noheader", "--name=gpufabric-patrol", "--format=%T")

    def loads(self) -> list[str]:
        """The processes of loads, by the mark that each has in its environment."""
        return list(carrying(f"GPUFABRIC_PYRAMID_LOAD={self.tmp()}").values())

    def left(self) -> list[str]:
        """What a patrol must not leave."""
        marked = [f"{node} is {state}" for node, state in self.slurm.state().items() if state not in ("idle", "allocated", "completing")]
        held = self.slurm.say("squeue", "--noheader", "--name=gpufabric-patrol")
        reserved = [str(path) for path in self.tmp().glob("simulated_pod-*/*/*/tmp/gpufabric.pyramid-*/reserved.json")]
        reservations = [line for line in self.slurm.say("scontrol", "show", "reservations").splitlines() if line.startswith("ReservationName")]
        return [*self.loads(), *marked, *([held] if held else []), *reserved, *reservations]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[tuple[cluster.Cluster, Path]]:
    place = tmp_path_factory.mktemp("pod")
    (place / "tmp").mkdir()
    expectations = {
        "pod_name": "small", "pod_to_layer": "training", "pod_scheduler": "slurm", "pod_patrol_hosts": 3, "pod_soak_seconds": 1, "pod_idle_seconds": 1,
        "pod_load_setup_seconds": 4, "pod_incast_seconds": 3,
    }  # fmt: skip
    inventory = layout.write(place / "inventory", racks=1, hosts_per_rack=5, spines=2, expectations=expectations)
    with cluster.up(tmp_path_factory.mktemp("slurm"), HOSTS) as slurm:
        yield slurm, inventory


@pytest.fixture
def patrol(lab: tuple[cluster.Cluster, Path], tmp_path: Path) -> t.Iterator[Patrolled]:
    slurm, inventory = lab
    one = Patrolled(tmp_path, slurm, inventory)
    yield one
    if one.running is not None and one.running.poll() is None:
        os.killpg(one.running.pid, signal.SIGKILL)
        one.running.wait()
    for job in slurm.say("squeue", "--noheader", "--format=%i").split():
        slurm.say("scancel", job)
    slurm.until(lambda: slurm.say("squeue", "--noheader") == "" and set(slurm.state().values()) == {"idle"}, "the idle cluster")


def reached(patrol: Patrolled, step: str) -> bool:
    """Whether a patrol is in a step; those that load are where a process of a load runs."""
    return "PLAY [Validate idle hosts]" in patrol.output() if step == "starting" else bool(patrol.loads())


@pytest.mark.parametrize("step", ["starting", alike("congestion"), "rdma", alike("collectives"), alike("training")])
def test_a_job_starts_in_time_whatever_a_patrol_does(step: str, patrol: Patrolled) -> None:
    patrol.start(**({"pod_from_layer": step} if step != "starting" else {}))
    patrol.until(lambda: reached(patrol, step), step)
    job, began = patrol.submit("--nodes=5"), time.monotonic()
    patrol.until(lambda: patrol.state(job) == "RUNNING", f"the job in step {step}", GIVES_WAY_SECONDS)
    took = time.monotonic() - began
    assert not patrol.loads(), "the job met a load"
    output = patrol.ended()
    print(f"{step}: the job ran after {took:.1f} s")
    assert patrol.left() == [], output
    if step == "training" and "no_fault_seen" in output:
        # Its last load ended before it was interrupted.
        assert interrupted_hosts(patrol.patrols) == []
    elif step != "starting":
        assert f"interrupted, as job {job} of Slurm asks for nodes: 3 hosts given back" in output, output
        assert interrupted_hosts(patrol.patrols) == patrol.hosts() and len(patrol.hosts()) == 3


def test_jobs_start_in_time_that_come_before_the_run_begins_and_while_hosts_are_given_back(patrol: Patrolled) -> None:
    patrol.start()
    patrol.until(lambda: patrol.held() and patrol.hosts(), "the hold")
    first, began = patrol.submit(f"--nodelist={patrol.hosts()[0]}"), time.monotonic()
    patrol.until((patrol.patrols / "result.json").exists, "the end of the run")
    second = patrol.submit(f"--nodelist={patrol.hosts()[1]}")
    patrol.until(lambda: patrol.state(first) == patrol.state(second) == "RUNNING", "both jobs", GIVES_WAY_SECONDS)
    assert time.monotonic() - began < GIVES_WAY_SECONDS
    patrol.ended()
    assert patrol.left() == []


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL])
def test_a_patrol_that_is_ended_leaves_nothing(number: int, patrol: Patrolled) -> None:
    patrol.start(pod_from_layer="rdma")
    patrol.until(patrol.loads, "a load")
    assert patrol.running is not None
    os.killpg(patrol.running.pid, number)
    began = time.monotonic()
    patrol.until(lambda: patrol.left() == [], "nothing left", GIVES_WAY_SECONDS + 5)
    print(f"signal {number}: nothing was left after {time.monotonic() - began:.1f} s")
    assert interrupted_hosts(patrol.patrols) == patrol.hosts()


# Of what is left it must end all within seconds, which a machine that is busy with other tests does not.
@pytest.mark.alone
def test_a_keeper_that_is_killed_alone_leaves_nothing(patrol: Patrolled) -> None:
    """The validation that it had started is in a session of its own, and would load hosts that are given back."""
    patrol.start(pod_from_layer="rdma")
    patrol.until(patrol.loads, "a load")
    running = json.loads((patrol.patrols / "running.json").read_text(encoding="ascii"))
    assert patrol_keeper.started(running["pid"]) == running["born"], "the validation runs"
    keeper = int(Path(f"/proc/{running['pid']}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
    assert Path(patrol_keeper.__file__).name in Path(f"/proc/{keeper}/cmdline").read_text(encoding="ascii")
    os.kill(keeper, signal.SIGKILL)
    output = patrol.ended()
    assert "interrupted, as the process that ran it was ended" in output and "WARNING" not in output, output
    assert patrol_keeper.started(running["pid"]) != running["born"] and patrol.left() == [], output
    assert interrupted_hosts(patrol.patrols) == patrol.hosts()


def test_a_patrol_that_nobody_interrupts_is_kept_in_the_history(patrol: Patrolled) -> None:
    """The next one takes other hosts, and none where a job waits."""
    patrol.start(pod_from_layer="rdma", pod_to_layer="rdma")
    output, hosts = patrol.ended(), patrol.hosts()
    assert f"{', '.join(hosts)}: no_fault_seen; " in output, output
    assert patrol.left() == [] and interrupted_hosts(patrol.patrols) == [] and set(patrol.slurm.state().values()) == {"idle"}
    with History(patrol.place / "history.db", create=False) as history:
        assert [row["source"] for row in history.rows("SELECT source FROM entry")] == ["patrol"]
        assert {row["node"] for row in history.rows("SELECT node FROM outcome WHERE layer = 'rdma'")} == set(hosts)
    patrol.start("--check")
    following = patrol.ended().partition("would be validated: ")[2].partition("\n")[0].split(", ")
    assert set(HOSTS) - set(hosts) < set(following) and len(following) == 3
    busy = patrol.submit("--nodes=4")
    waits = patrol.submit("--nodes=4")
    patrol.until(lambda: patrol.state(busy) == "RUNNING", "the job")
    patrol.until(lambda: "Resources" in patrol.slurm.say("squeue", "--noheader", f"--jobs={waits}", "--format=%r"), "the job that waits")
    patrol.start()
    assert f"no host is validated: job {waits} of Slurm waits for nodes" in patrol.ended()
    assert not patrol.held()
