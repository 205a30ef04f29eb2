# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that a real Slurm and a real Open MPI start over two hosts, as the schedules ask for it, on real torch with gloo."""

from __future__ import annotations

import re
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.collective_runs import LAUNCHER, NODE, RANK, collective_runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS, not_loadable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import JOBS_READING, Rows, Schedule, StepInput
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import typed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan
from ansible_collections.gpufabric.pyramid.tests.labs.ranks import apart
from ansible_collections.gpufabric.pyramid.tests.labs.ranks.python import with_torch
from ansible_collections.gpufabric.pyramid.tests.labs.slurm import cluster
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out
from ansible_collections.gpufabric.pyramid.tests.ports import claimed
from ansible_collections.gpufabric.pyramid.tests.processes import carrying

pytestmark = pytest.mark.xdist_group("launchers")
HOSTS = ("node01", "node02")
AS_ROOT = "--allow-run-as-root"
LAUNCHERS = ("srun", "mpirun")


@pytest.fixture(scope="module")
def python() -> str:
    return with_torch()


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[apart.Apart]:
    """Two hosts of a Slurm, with an sshd each for mpirun."""
    missing = cluster.lacking() or next((f"{name} is missing" for name in ("mpirun", "ssh", "nsenter") if shutil.which(name) is None), None)
    if missing:
        leave_out(missing)
    place = tmp_path_factory.mktemp("launchers")
    (place / "slurm").mkdir()
    with apart.up(place / "hosts", HOSTS) as up, cluster.up(place / "slurm", HOSTS, {name: up.inside(name) for name in HOSTS}) as slurm:
        up.environment["SLURM_CONF"] = slurm.environment["SLURM_CONF"]
        up.doors([claimed() for _host in HOSTS])
        yield up


def plan_of(python: str, launcher: str, hosts: apart.Apart, **expectations: t.Any) -> Plan:
    """A pod of the two hosts."""
    arguments = [AS_ROOT, "--mca", "plm_rsh_agent", f"ssh -F {hosts.directory}/ssh_config"] if launcher == "mpirun" else []
    rails = [{"device": "mlx5_0", "netdev": "lo", "gpu": 0, "leaf": "leaf0", "address": "127.0.0.1/8"}]
    asked = {
        "pod_rails": rails, "pod_launcher": launcher, "pod_torch_python": python, "pod_gpus_per_host": 2, "pod_collective_backend": "gloo",
        "pod_collective_sizes": [65536], "pod_collective_iterations": 2, "pod_collective_port": claimed(), "pod_collective_run_seconds": 90,
        "pod_mpirun_arguments": arguments, "pod_training_size": "tiny", "pod_training_steps": 10, "pod_training_warmup_steps": 1,
        "pod_training_run_seconds": 120, **expectations,
    }  # fmt: skip
    values, wrong = typed(asked)
    assert not wrong
    return Plan({name: Node(name, "host", "linux", "rack_01", values) for name in HOSTS}, {"rack_01": list(HOSTS)}, [])


def alone() -> dict[str, dict[str, Rows]]:
    """What two hosts have told that came through their own runs."""
    jobs = {"item": "node", "kind": NODE, "role": RANK, "step": 0, "round": 1, "status": "ok", "words": None, "probe": None, "device": None, "error": None}
    rate = {"item": "node", "collective": "all_reduce", "size_bytes": 65536, "busbw_gbyte_s": 100.0, "wrong": 0}
    return {JOBS_READING: {name: [{**jobs, "hosts": [name]}] for name in HOSTS}, "collective_rates": {name: [rate] for name in HOSTS}}


def rung(plan: Plan) -> Schedule:
    """The all-reduce over both hosts."""
    table = PLANNERS["collectives"](StepInput(plan, list(HOSTS), 1, {}, alone()))
    assert table is not None and table.words == ["all-reduce over 2 hosts"]
    return table


def only_the_launcher(table: Schedule) -> Schedule:
    """A schedule of which the first host starts the others, and nobody waits."""
    return Schedule({HOSTS[0]: [job for job in table.jobs[HOSTS[0]] if job.columns["role"] == LAUNCHER]}, programs=table.programs)


def told_by(replies: dict[str, dict[str, t.Any]]) -> dict[str, dict[str, Rows]]:
    """Rows by reading and host."""
    names = {name for readings in replies.values() for name in readings}
    return {name: {host: readings[name].rows for host, readings in replies.items() if name in readings} for name in names}


def agents(hosts: apart.Apart) -> list[str]:
    """The processes that still are of a load here."""
    return list(carrying(f"GPUFABRIC_PYRAMID_LOAD={hosts.place}/").values())


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_rung_is_started_once_and_every_host_tells_its_own_ranks(hosts: apart.Apart, python: str, launcher: str) -> None:
    table = rung(plan_of(python, launcher, hosts))
    assert [(host, job.argv[0]) for host, jobs in table.jobs.items() for job in jobs if job.columns["role"] == LAUNCHER] == [(HOSTS[0], launcher)]
    hosts.load(table)
    output = told_by(hosts.replies(table))
    assert [row["words"] for rows in output[JOBS_READING].values() for row in rows if row["status"] != "ok"] == []
    ranks = {host: [(row["rank"], row["outcome"]) for row in rows] for host, rows in output["collective_ranks"].items()}
    assert ranks == {"node01": [(0, "done"), (1, "done")], "node02": [(2, "done"), (3, "done")]}
    (run,) = collective_runs(output[JOBS_READING], output["collective_rates"], output["collective_ranks"])
    assert run.hosts == HOSTS and not run.trouble and not run.wrong and run.top
    # What srun started for another host ends a moment after it has told its ranks.
    hosts.until(lambda: not agents(hosts))


def test_a_training_is_started_by_srun(hosts: apart.Apart, python: str) -> None:
    plan = plan_of(python, "srun", hosts)
    table = PLANNERS["training"](StepInput(plan, list(HOSTS), 0, {}, {}))
    assert table is not None
    hosts.load(table)
    output = told_by(hosts.replies(table, wait=150))
    assert [row["words"] for rows in output[JOBS_READING].values() for row in rows if row["status"] != "ok"] == []
    assert {host: {(row["outcome"], row["ranks"]) for row in rows} for host, rows in output["training_ranks"].items()} == {
        name: {("done", 4)} for name in HOSTS
    }
    assert {row["rank"] for rows in output["training_steps"].values() for row in rows} == {0, 1, 2, 3}


def failing(hosts: apart.Apart, table: Schedule) -> str:
    """What is told of a launcher that starts nothing."""
    hosts.load(only_the_launcher(table))
    (row,) = told_by(hosts.replies(only_the_launcher(table)))[JOBS_READING][HOSTS[0]]
    assert row["status"] == "unknown"
    return str(row["words"])


WORDS = {
    "srun missing": "srun: not found on PATH",
    "no Slurm here": "this host has no configuration of Slurm",
    "no such node": "Slurm knows no node of that name: set pod_scheduler_node",
    "node drained": "a node that was asked of Slurm is down, drained or reserved",
    "option refused": "srun: unrecognized option '--no-such-option'",
    "mpirun missing": "mpirun: not found on PATH",
    "root": "mpirun refuses root: give --allow-run-as-root in pod_mpirun_arguments",
    "key unknown": "the key of a host is not known to the one that starts the ranks",
    "program missing": "mpirun",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("ill", list(WORDS))
def test_a_launcher_that_starts_nothing_is_unknown_in_its_own_words(hosts: apart.Apart, python: str, ill: str, tmp_path: Path) -> None:
    launcher = "srun" if ill in list(WORDS)[:5] else "mpirun"
    own: dict[str, t.Any] = {}
    before = dict(hosts.environment)
    known = hosts.directory / "known_hosts"
    keys = known.read_text(encoding="utf-8")
    try:
        if ill.endswith("missing") and not ill.startswith("program"):
            hosts.environment["PATH"] = str(tmp_path)
            (tmp_path / "nsenter").symlink_to(str(shutil.which("nsenter")))
        elif ill == "no Slurm here":
            del hosts.environment["SLURM_CONF"]
        elif ill == "no such node":
            own["pod_scheduler_node"] = "elsewhere"
        elif ill == "node drained":
            subprocess.run(["scontrol", "update", "NodeName=node02", "State=DRAIN", "Reason=test"], env=before, check=True, timeout=20)
        elif ill == "option refused":
            own["pod_mpirun_arguments"] = ["--no-such-option"]
        elif ill == "root":
            own["pod_mpirun_arguments"] = []
        elif ill == "key unknown":
            known.write_text("", encoding="utf-8")
        elif ill == "program missing":
            own["pod_torch_python"] = "/nowhere/python3"
        assert WORDS[ill] in failing(hosts, rung(plan_of(python, launcher, hosts, **own)))
    finally:
        hosts.environment.update(before)
        known.write_text(keys, encoding="utf-8")
        if ill == "node drained":
            subprocess.run(["scontrol", "update", "NodeName=node02", "State=RESUME"], env=before, check=True, timeout=20)
    # What srun started for another host ends a moment after it has told its ranks.
    hosts.until(lambda: not agents(hosts))


@pytest.mark.exhaustive
def test_a_launcher_that_ends_early_takes_its_ranks_along_and_each_host_says_so(hosts: apart.Apart, python: str) -> None:
    table = rung(plan_of(python, "srun", hosts, pod_collective_iterations=100000, pod_collective_sizes=[1048576]))
    hosts.load(table)
    hosts.until(lambda: sum("--role rank" in line for line in agents(hosts)) == 4, 60)
    jobs = subprocess.run(["squeue", "--noheader", "--format=%i"], env=hosts.environment, text=True, capture_output=True, check=True, timeout=20).stdout.split()
    assert len(jobs) == 1
    subprocess.run(["scancel", *jobs], env=hosts.environment, check=True, timeout=20)
    output = told_by(hosts.replies(table))
    words = {row["role"]: str(row["words"]) for row in output[JOBS_READING][HOSTS[0]]}
    assert re.search("the launcher ended early", words["launcher"])
    (run,) = collective_runs(output[JOBS_READING], output["collective_rates"], output["collective_ranks"])
    assert {line.partition(":")[0].split()[-1] for line in run.trouble} == set(HOSTS)
    hosts.until(lambda: not agents(hosts))


def test_a_load_that_is_ended_ends_what_its_launcher_started(hosts: apart.Apart, python: str) -> None:
    table = rung(plan_of(python, "mpirun", hosts, pod_collective_iterations=100000, pod_collective_sizes=[1048576]))
    hosts.load(table)
    hosts.until(lambda: sum("--role rank" in line for line in agents(hosts)) == 4, 60)
    for name in HOSTS:
        hosts.say(name, "end")
    hosts.until(lambda: not agents(hosts))
    hosts.replies(table)


def test_hosts_that_a_launcher_cannot_start_as_they_should_be_are_refused(hosts: apart.Apart, python: str) -> None:
    plan = plan_of(python, "kubernetes", hosts)
    assert not_loadable("collectives", plan.nodes, HOSTS) == {}
    plan.nodes["node02"] = plan_of(python, "torchrun_ssh", hosts).nodes["node02"]
    assert not_loadable("collectives", plan.nodes, HOSTS) == {"node02": "pod_launcher is kubernetes on node01, not here"}
    assert not_loadable("congestion", plan.nodes, HOSTS) == {}
    for launcher in LAUNCHERS:
        plan = plan_of(python, launcher, hosts)
        assert not_loadable("training", plan.nodes, HOSTS) == {}
        plan.nodes["node02"] = Node("node02", "host", "linux", "rack_01", {**plan.nodes["node01"].values, "pod_gpus_per_host": 4})
        assert not_loadable("training", plan.nodes, HOSTS) == {"node02": f"{launcher} starts all ranks alike, and pod_gpus_per_host is not as on node01"}
