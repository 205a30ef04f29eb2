# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's own check, installed by its playbook and run by itself and by a real Slurm, on the tools of simulated hosts."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.tests.labs.slurm import cluster
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import made
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.rendering import render
from ansible_collections.gpufabric.pyramid.tests.unit.test_old_python import OLDEST, oldest_python, version_of

# Its first fixture installs the check on every host, which takes a minute.
pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("node_check")]
ROOT = Path(__file__).resolve().parents[2]
HOSTS = ("gpu02", "gpu03")
# Of gpu03.
FAULT, CHECK = "gpu_lost", "gpus_present"


class Installed(t.NamedTuple):
    """A pod whose hosts check themselves: its directory, and how the playbook that installed the check ended."""

    place: Path
    done: subprocess.CompletedProcess[str]

    def of(self, host: str) -> Path:
        """Where a host's program, plan and state are."""
        return self.place / "hosts" / host

    def program(self, host: str, *arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
        """Run a host's check as the host would."""
        home = self.of(host)
        command = [python, str(home / "gpufabric-node-check"), "--plan", str(home / "etc/plan.json"), "--state", str(home / "state"), *arguments]
        return subprocess.run(command, env=environment(self.place, host), text=True, capture_output=True, timeout=60, check=False)


def environment(place: Path, host: str) -> dict[str, str]:
    """With the tools of a simulated host first."""
    answers = place / "answers"
    names = {"SIMULATED_POD": str(answers), "SIMULATED_NODE": host, "SIMULATED_RUN": "check", "SIMULATED_PYTHON": sys.executable, "ANSIBLE_NOCOLOR": "1"}
    return {**os.environ, **names, "PATH": f"{answers}/{host}/bin:{os.environ['PATH']}"}


def pod(place: Path, **variables: t.Any) -> None:
    """The inventory of a small pod whose hosts are this machine, with the tools of simulated ones."""
    if not Path("/etc/machine-id").exists():
        leave_out("a host is known by its /etc/machine-id, which this machine lacks (systemd-machine-id-setup makes it)")
    expectations = {"pod_name": "small", "pod_scheduler": "slurm", "pod_scheduler_host": "localhost", **variables}
    inventory = layout.write(place / "inventory", racks=2, hosts_per_rack=3, spines=2, expectations=expectations)
    render(*made(inventory, [], 1), place / "answers")
    for host in HOSTS:
        home = place / "hosts" / host
        home.mkdir(parents=True)
        path = inventory / "host_vars" / f"{host}.yml"
        path.parent.mkdir(exist_ok=True)
        values = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "node_check_timer": False}
        values |= {"node_check_program": str(home / "gpufabric-node-check"), "node_check_directory": str(home / "etc")}
        values |= {"node_check_state_directory": str(home / "state")}
        path.write_text(yaml.safe_dump(values), encoding="utf-8")


def playbook(place: Path, host: str, *arguments: str, name: str = "node_check", **variables: t.Any) -> subprocess.CompletedProcess[str]:
    """Run the playbook that installs the check on one host, or another one."""
    command = [str(Path(sys.executable).with_name("ansible-playbook")), f"playbooks/{name}.yml", "-i", str(place / "inventory"), "--limit", host]
    extra = ["-e", json.dumps(variables)] if variables else []
    return subprocess.run(
        [*command, *extra, *arguments], cwd=ROOT, env=environment(place, host), text=True, capture_output=True, timeout=120, check=False
    )  # fmt: skip


def break_host(place: Path, *faults: str) -> None:
    """Let the hosts answer as with some faults, for the first time."""
    shutil.rmtree(place / "answers")
    render(*made(place / "inventory", faults, 1), place / "answers")
    for host in HOSTS:
        shutil.rmtree(place / "hosts" / host / "state", ignore_errors=True)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Hosts of which one of six may be drained."""
    place = tmp_path_factory.mktemp("installed")
    pod(place, pod_drain_max_percent=1)
    done = [playbook(place, host, node_check_slurm="drain") for host in HOSTS]
    assert [one.returncode for one in done] == [0, 0], done[0].stdout + done[0].stderr
    return Installed(place, done[0])


@pytest.fixture
def installed(shared: Installed) -> Installed:
    """Healthy hosts."""
    break_host(shared.place)
    return shared


def test_the_playbook_installs_the_check_and_prints_what_the_host_says(installed: Installed) -> None:
    assert installed.program("gpu02").returncode == 0
    assert "1 host of 1 passed their own check" in installed.done.stdout
    home = installed.of("gpu02")
    modes = {
        name: stat.S_IMODE((home / name).stat().st_mode) for name in ("gpufabric-node-check", "gpufabric-node-check-slurm", "etc", "etc/plan.json", "state")
    }
    assert modes == {"gpufabric-node-check": 0o755, "gpufabric-node-check-slurm": 0o755, "etc": 0o700, "etc/plan.json": 0o600, "state": 0o700}


@pytest.mark.exhaustive
def test_the_playbook_changes_nothing_when_it_is_run_again(installed: Installed) -> None:
    done = playbook(installed.place, "gpu02", node_check_slurm="drain")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing changed" in done.stdout


@pytest.mark.exhaustive
def test_check_mode_installs_nothing(tmp_path: Path) -> None:
    pod(tmp_path)
    done = playbook(tmp_path, "gpu02", "--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "plan.json" in done.stdout
    assert not list((tmp_path / "hosts/gpu02").iterdir())


@pytest.mark.exhaustive
def test_the_check_is_taken_away_whole(tmp_path: Path) -> None:
    pod(tmp_path)
    assert playbook(tmp_path, "gpu02").returncode == 0
    assert list((tmp_path / "hosts/gpu02").iterdir())
    done = playbook(tmp_path, "gpu02", node_check_state="absent")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list((tmp_path / "hosts/gpu02").iterdir())


def test_a_healthy_host_is_well_on_the_oldest_python(installed: Installed) -> None:
    python = oldest_python()
    if os.environ.get("CI") == "true":
        assert version_of(python) == OLDEST
    done = installed.program("gpu02", python=python)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("OK gpu02: ") and done.stdout.endswith(" checks passed\n")


def test_a_broken_host_says_what_is_broken(installed: Installed, tmp_path: Path) -> None:
    one = installed
    break_host(one.place, FAULT)
    textfile = tmp_path / "check.prom"
    done = one.program("gpu03", "--textfile", str(textfile))
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith(f"FAIL gpu03: {CHECK}: "), done.stdout
    assert 'gpufabric_node_check_status{pod="small",node="gpu03"} 1' in textfile.read_text(encoding="utf-8")
    document = json.loads(one.program("gpu03", "--json").stdout)
    assert document["status"] == "FAIL" and document["line"] == done.stdout.strip()
    assert one.program("gpu03", "--comment").returncode == 0
    again = playbook(one.place, "gpu03", node_check_slurm="drain")
    assert again.returncode == 0
    assert done.stdout.strip() in again.stdout and "0 hosts of 1 passed their own check" in again.stdout


@pytest.mark.exhaustive
def test_what_a_host_noted_of_itself_is_taken_into_the_history(installed: Installed, tmp_path: Path) -> None:
    assert installed.program("gpu03").returncode == 0
    kept = {"pod_history": str(tmp_path / "history.db"), "pod_runs_dir": str(tmp_path / "runs")}
    done = playbook(installed.place, "gpu03", name="history", **kept)
    assert done.returncode == 0, done.stdout + done.stderr
    with History(tmp_path / "history.db", create=False) as history:
        assert {(row["node"], row["layer"], row["verdict"]) for row in history.rows("SELECT node, layer, verdict FROM outcome")} >= {("gpu03", "links", "pass")}
        assert [row["source"] for row in history.rows("SELECT source FROM entry")] == ["node_check"]
        assert list(history.rows("SELECT * FROM number WHERE metric = 'symbol_errors'"))


def test_a_plan_that_was_edited_is_refused(installed: Installed, tmp_path: Path) -> None:
    plan = json.loads((installed.of("gpu02") / "etc/plan.json").read_text(encoding="utf-8"))
    other = tmp_path / "plan.json"
    other.write_text(json.dumps({**plan, "node": "gpu01"}), encoding="utf-8")
    done = installed.program("gpu02", "--plan", str(other))
    assert done.returncode == 2, done.stdout
    assert done.stdout == "UNKNOWN: the plan was changed since it was written: its digest does not fit; install it again\n"


def test_what_goes_wrong_in_the_program_is_no_fault_of_the_host(installed: Installed, tmp_path: Path) -> None:
    assert installed.program("gpu02").returncode == 0
    broken = next((installed.of("gpu02") / "state").glob("lib-*/**/node_check/judging.py"))
    broken.write_text("raise RuntimeError('half written')\n", encoding="ascii")
    done = installed.program("gpu02")
    assert (done.returncode, done.stdout) == (2, "UNKNOWN: the node check itself failed: RuntimeError: half written\n")
    assert installed.program("gpu02", "--slurm", "drain").returncode == 0
    (tmp_path / "state").write_text("a file where the directory belongs", encoding="ascii")
    done = installed.program("gpu02", "--state", str(tmp_path / "state"))
    assert done.returncode == 2 and done.stdout.startswith("UNKNOWN: "), done.stdout


def test_a_tool_that_hangs_is_ended_and_named(installed: Installed) -> None:
    break_host(installed.place, "ibstat_hangs")
    done = installed.program("gpu03", "--tool-seconds", "1", "--json")
    assert done.returncode == 2, done.stdout + done.stderr
    unknown = {one["check"]: one["words"] for one in json.loads(done.stdout)["verdicts"] if one["verdict"] == "unknown"}
    assert unknown and all(words == "ibstat did not end in time" for words in unknown.values()), unknown
    assert all(one["verdict"] != "fail" for one in json.loads(done.stdout)["verdicts"])


class Scheduled(t.NamedTuple):
    """Hosts of a real Slurm, which runs their checks before each job."""

    installed: Installed
    slurm: cluster.Cluster

    def check(self, host: str, context: str = "") -> subprocess.CompletedProcess[str]:
        """Run a host's check as slurmd does; context: ``SLURM_SCRIPT_CONTEXT``."""
        extra = {"SLURMD_NODENAME": host, "SLURM_CONF": self.slurm.environment["SLURM_CONF"], "SLURM_SCRIPT_CONTEXT": context}
        return subprocess.run(
            [str(self.installed.of(host) / "gpufabric-node-check-slurm")], env={**environment(self.installed.place, host), **extra},
            text=True, capture_output=True, timeout=60, check=False,
        )  # fmt: skip

    def comment(self, host: str) -> str:
        """The comment of a node."""
        shown = self.slurm.say("scontrol", "show", "node", host)
        return next((line.partition("=")[2] for line in map(str.strip, shown.splitlines()) if line.startswith("Comment=")), "")


@pytest.fixture
def scheduled(installed: Installed, tmp_path: Path, request: pytest.FixtureRequest) -> t.Iterator[Scheduled]:
    """The hosts as nodes of Slurm; the parameter is what their prolog runs besides the program."""
    # slurmd starts it with an environment of its own.
    prolog, place = tmp_path / "prolog", installed.place
    lines = ["#!/bin/bash", "host=$SLURMD_NODENAME", f"export SIMULATED_POD={place}/answers SIMULATED_NODE=$host SIMULATED_RUN=check"]
    lines += [f"export SIMULATED_PYTHON={sys.executable} PATH={place}/answers/$host/bin:{os.environ['PATH']}:/usr/bin:/bin", f"cd {place}/hosts/$host"]
    prolog.write_text("\n".join([*lines, f"exec {request.param} >> {tmp_path}/prolog.out 2>&1", ""]), encoding="utf-8")
    prolog.chmod(0o755)
    (tmp_path / "slurm").mkdir()
    with cluster.up(tmp_path / "slurm", HOSTS, settings=[f"Prolog={prolog}", "PrologFlags=Alloc"]) as slurm:
        yield Scheduled(installed, slurm)


@pytest.mark.parametrize("scheduled", ["./gpufabric-node-check --plan etc/plan.json --state state --slurm comment"], indirect=True)
def test_slurm_is_told_by_a_comment_and_runs_the_job(scheduled: Scheduled) -> None:
    break_host(scheduled.installed.place, FAULT)
    assert scheduled.slurm.say("srun", "--nodelist=gpu03", "--immediate=30", "echo", "ran").strip() == "ran"
    assert scheduled.comment("gpu03").startswith("gpufabric.pyramid: node check: FAIL gpu03: ")
    scheduled.slurm.until(lambda: scheduled.slurm.state()["gpu03"] == "idle", "gpu03 being idle again")
    break_host(scheduled.installed.place)
    assert scheduled.check("gpu03").stdout.startswith("OK gpu03: ")
    assert scheduled.comment("gpu03") == ""


@pytest.mark.parametrize("scheduled", ["./gpufabric-node-check-slurm"], indirect=True)
def test_a_broken_host_is_drained_before_the_job_and_a_healthy_one_runs_it(scheduled: Scheduled) -> None:
    break_host(scheduled.installed.place, FAULT)
    place = scheduled.installed.place
    job = scheduled.slurm.say("sbatch", "--parsable", "--nodelist=gpu03", f"--output={place}/job.out", "--wrap=echo ran").strip()
    scheduled.slurm.until(lambda: scheduled.slurm.state()["gpu03"] == "drained", "the drain of gpu03")
    assert scheduled.slurm.reason("gpu03").startswith("gpufabric.pyramid: node check: FAIL gpu03: "), scheduled.slurm.reason("gpu03")
    assert job in scheduled.slurm.say("squeue", "--noheader", "--format=%i")
    assert not (place / "job.out").exists()
    assert scheduled.slurm.say("srun", "--nodelist=gpu02", "--immediate=30", "echo", "ran").strip() == "ran"
    scheduled.slurm.until(lambda: scheduled.slurm.state()["gpu02"] == "idle", "gpu02 being idle again")


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheduled", ["./gpufabric-node-check-slurm"], indirect=True)
def test_no_more_hosts_are_drained_than_may_be(scheduled: Scheduled) -> None:
    """Of six hosts one may be, and another one is."""
    break_host(scheduled.installed.place, FAULT)
    scheduled.slurm.say("scontrol", "update", "nodename=gpu02", "state=drain", "reason=gpufabric.pyramid: node check: FAIL gpu02: gid_index")
    assert scheduled.slurm.state()["gpu02"] == "drained"
    done = scheduled.check("gpu03", "prolog_slurmd")
    assert done.returncode == 0, done.stdout + done.stderr
    assert scheduled.slurm.state()["gpu03"] == "idle"
    assert scheduled.comment("gpu03").endswith("(not drained, because 1 of at most 1 hosts are)")


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheduled", ["./gpufabric-node-check-slurm"], indirect=True)
def test_of_two_hosts_that_break_at_once_one_is_drained(scheduled: Scheduled) -> None:
    place = scheduled.installed.place
    break_host(place, FAULT)
    home = scheduled.installed.of("gpu03")
    started = []
    for node in ("gpu02", "gpu03"):
        extra = {"SLURMD_NODENAME": node, "SLURM_CONF": scheduled.slurm.environment["SLURM_CONF"]}
        command = [str(home / "gpufabric-node-check"), "--plan", str(home / "etc/plan.json"), "--state", str(place / node), "--slurm", "drain"]
        started.append(subprocess.Popen(command, env={**environment(place, "gpu03"), **extra}, stdout=subprocess.PIPE, text=True))
    said = [process.communicate(timeout=60)[0] for process in started]
    assert all(words.startswith("FAIL gpu03: ") for words in said), said
    states = scheduled.slurm.state()
    assert sorted((states["gpu02"], states["gpu03"])) == ["drained", "idle"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheduled", ["./gpufabric-node-check-slurm"], indirect=True)
def test_a_host_that_is_not_known_is_never_drained(scheduled: Scheduled) -> None:
    break_host(scheduled.installed.place, "ibstat_missing")
    done = scheduled.check("gpu03", "prolog_slurmd")
    assert done.returncode == 0
    assert done.stdout.startswith("UNKNOWN gpu03: "), done.stdout
    assert scheduled.slurm.state()["gpu03"] == "idle"
    assert scheduled.comment("gpu03").startswith("gpufabric.pyramid: node check: UNKNOWN gpu03: ")


def test_slurmd_drains_one_of_two_broken_hosts_by_their_health_check(installed: Installed, tmp_path: Path) -> None:
    """Both nodes are gpu03 to their program, which slurmd starts every second and which runs once."""
    home, answers, health = installed.of("gpu03"), installed.place / "answers", tmp_path / "health"
    lines = ["#!/bin/bash", f"rm {tmp_path}/ask-$SLURMD_NODENAME 2> /dev/null || exit 0", f"export SIMULATED_POD={answers} SIMULATED_NODE=gpu03"]
    lines += [f"export SIMULATED_RUN=check SIMULATED_PYTHON={sys.executable} PATH={answers}/gpu03/bin:{os.environ['PATH']}:/usr/bin:/bin"]
    lines += [f"exec {home}/gpufabric-node-check --plan {home}/etc/plan.json --state {tmp_path}/state-$SLURMD_NODENAME --slurm drain", ""]
    # slurmd gives it no other variable than the node's name.
    lines[2:2] = [f"export SLURM_CONF={tmp_path}/slurm/slurm.conf"]
    health.write_text("\n".join(lines), encoding="utf-8")
    health.chmod(0o755)
    (tmp_path / "slurm").mkdir()
    settings = [f"HealthCheckProgram={health}", "HealthCheckInterval=1", "HealthCheckNodeState=ANY"]
    with cluster.up(tmp_path / "slurm", HOSTS, settings=settings) as slurm:
        one = Scheduled(installed, slurm)
        break_host(installed.place, FAULT)
        for node in HOSTS:
            (tmp_path / f"ask-{node}").touch()
        slurm.until(lambda: all(map(one.comment, HOSTS)), "the comment of both")
        drained, other = sorted(HOSTS, key=lambda node: slurm.state()[node])
        assert (slurm.state()[drained], slurm.state()[other]) == ("drained", "idle")
        assert slurm.reason(drained).startswith(f"gpufabric.pyramid: node check: FAIL gpu03: {CHECK}: ") and one.comment(drained).endswith(" (drained)")
        assert one.comment(other).endswith(" (not drained, because 1 of at most 1 hosts are)")


@pytest.mark.parametrize("lacks", ["the program", "its Python"])
def test_what_slurm_runs_fails_no_prolog_where_the_program_cannot_start(lacks: str, installed: Installed, tmp_path: Path) -> None:
    """Slurm drains each node whose prolog fails: a pod would be drained by an image without a Python."""
    home = installed.of("gpu03")
    script = (home / "gpufabric-node-check-slurm").read_text(encoding="utf-8")
    program = tmp_path / "program"
    if lacks == "its Python":
        program.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
        program.chmod(0o755)
    (tmp_path / "slurm.sh").write_text(script.replace(str(home / "gpufabric-node-check"), str(program)), encoding="utf-8")
    environment_of_slurm = {"SLURM_SCRIPT_CONTEXT": "prolog_slurmd", "PATH": os.environ["PATH"]}
    done = subprocess.run(["sh", str(tmp_path / "slurm.sh")], env=environment_of_slurm, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0 and str(program) in (tmp_path / "slurm.sh").read_text(encoding="utf-8")


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheduled", ["./gpufabric-node-check-slurm"], indirect=True)
def test_what_another_owner_wrote_stays(scheduled: Scheduled) -> None:
    break_host(scheduled.installed.place, FAULT)
    scheduled.slurm.say("scontrol", "update", "nodename=gpu03", "state=drain", "reason=bad fan", "comment=spare")
    scheduled.check("gpu03")
    assert (scheduled.slurm.reason("gpu03"), scheduled.comment("gpu03")) == ("bad fan", "spare")
    assert scheduled.check("gpu03", "prolog_slurmd").returncode == 1
