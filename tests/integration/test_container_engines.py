# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads in containers of a real podman and a real docker: what a host can run is told, ranks of torch run, and whatever ends a load leaves no container."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import containers
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.host_commands import program_source
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.containers import in_container
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launchers import (
    PROGRAM_MODULES,
    Launch,
    agent_argv,
    agent_argv_by_launcher,
    agent_argv_on_host,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import parse

from ..labs.containers.engines import IMAGE, Docker, Engine, Podman, started
from ..labs.containers.loads import PYTHON, Load, of, row, values
from ..ports import claimed
from .conftest import more

# Stores of podman share the locks of their containers, whatever their directories: a new one frees those of its neighbour.
pytestmark = pytest.mark.xdist_group("container_engines")

# What the two say where nothing gives GPUs to a container.
WITHOUT_GPUS = {"podman": "nvidia.com/gpu=all", "docker": "could not select device driver"}


@pytest.fixture(scope="module", params=[Podman, more(Docker)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Engine]:
    """One of these tests alone."""
    yield from started(request.param, tmp_path_factory.mktemp(request.param.name))


def test_a_host_with_the_image_says_what_is_in_it(engine: Engine) -> None:
    found = of(engine)
    assert (found["state"], found["present"], found["start"], found["gpus"], found["nccl_tests"]) == ("ok", True, "ok", 0, False)
    assert found["id"].startswith("sha256:") and found["digests"] is not None and found["memlock"] and engine.containers() == []


def test_what_a_host_lacks_is_told_apart(engine: Engine) -> None:
    absent = of(engine, image="localhost/other:1")
    assert (absent["state"], absent["present"], absent["id"], absent["start"]) == ("ok", False, None, None)
    other_build = of(engine, image=f"{IMAGE}@sha256:{'0' * 64}")
    assert (other_build["present"], other_build["id"]) == (False, of(engine)["id"])
    assert of(engine, python="/opt/python")["start"] == "no_program"
    # No GPU is here, nor a specification that names one.
    without = of(engine, backend="nccl")
    assert without["start"] == "no_gpus" and WITHOUT_GPUS[engine.name] in without["words"]
    assert row({**engine.environment, "PATH": str(engine.place)}, engine.name, IMAGE)["state"] == "missing" and engine.containers() == []


def test_why_docker_does_not_answer_is_told_by_its_socket(tmp_path: Path) -> None:
    """The client is a stand-in that fails; what it would talk to is real."""
    client, place = tmp_path / "docker", tmp_path / "docker.sock"
    client.write_text("#!/bin/sh\necho no >&2\nexit 1\n", encoding="utf-8")
    client.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "DOCKER_HOST": f"unix://{place}"}
    assert row(environment, "docker", IMAGE)["state"] == "stopped"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        assert row(environment, "docker", IMAGE)["state"] == "stopped"
        server.listen()
        assert row(environment, "docker", IMAGE)["state"] == "failed"
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory() as open_to_all, socket.socket(socket.AF_UNIX) as server:
            Path(open_to_all).chmod(0o755)
            server.bind(f"{open_to_all}/docker.sock")
            server.listen()
            Path(f"{open_to_all}/docker.sock").chmod(0o600)
            assert socket_state_of_nobody(f"unix://{open_to_all}/docker.sock") == "denied"


def socket_state_of_nobody(host: str) -> str:
    """What the program makes of docker's socket as a user who may not use it."""
    text = Path(containers.__file__).read_text(encoding="utf-8").partition("def main")[0]
    command = [sys.executable, "-SE", "-c", f"{text}\nos.setuid(65534)\nprint(_socket_state())"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, env={"DOCKER_HOST": host}).stdout.strip()


@pytest.fixture
def load(engine: Engine, tmp_path: Path) -> Load:
    return Load(engine, tmp_path)


PROGRAM = "torch_collectives"
OPTIONS = {
    "backend": "gloo", "job": "node", "timeout": 30, "start-timeout": 40, "deadline": 60, "sizes": "1048576", "iterations": 3, "dtypes": "",
    "collectives": "all_reduce",
}  # fmt: skip
FOR_EVER = [PYTHON, "-c", "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"]


def test_ranks_of_torch_run_in_a_container_and_report_from_it(load: Load) -> None:
    if of(load.engine)["torch"] is None:
        pytest.skip("the Python of this machine has no torch, so the image has none")
    argv = agent_argv(PROGRAM, PYTHON, Launch(("here",), 2), 0, "127.0.0.1", claimed(), OPTIONS)
    load.start(argv, 80, [PROGRAM, *PROGRAM_MODULES[PROGRAM]])
    answer = load.say("collect", wait=80)["answers"]["a"]
    assert (answer["status"], answer["rc"]) == ("ran", 0), answer["stderr"]
    ranks = parse("collective_ranks", "linux", answer["stdout"])
    assert [(one["rank"], one["outcome"]) for one in ranks] == [(0, "done"), (1, "done")] and load.engine.containers() == []


@pytest.mark.exhaustive
def test_mpirun_starts_the_container_of_a_host_that_waits_for_it_in_another(engine: Engine, tmp_path: Path) -> None:
    if not shutil.which("mpirun") or of(engine)["torch"] is None:
        pytest.skip("needs mpirun and torch")
    for name in (PROGRAM, *PROGRAM_MODULES[PROGRAM]):
        (tmp_path / f"{name}.py").write_text(program_source(name), encoding="utf-8")
    launch, port = Launch(("localhost",), 2, {}, ("--allow-run-as-root",)), claimed()
    waits = in_container(values(engine), agent_argv_on_host(PROGRAM, PYTHON, launch, 0, "127.0.0.1", port, "{place}/document", OPTIONS))
    at = f"127.0.0.1:{port}"
    starts = agent_argv_by_launcher(
        "mpirun", PROGRAM, PYTHON, launch, at, "{place}/document", OPTIONS, lambda argv: in_container(values(engine), argv, launched=True)
    )
    commands = [[word.replace("{place}", str(tmp_path)).replace(f"{{{PROGRAM}}}", f"{tmp_path}/{PROGRAM}.py") for word in argv] for argv in (waits, starts)]
    host, launcher = [subprocess.Popen(argv, env=engine.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for argv in commands]
    printed, said = host.communicate(timeout=120)
    launcher.communicate(timeout=60)
    assert (host.returncode, launcher.returncode) == (0, 0), said
    assert [one["outcome"] for one in parse("collective_ranks", "linux", printed)] == ["done", "done"] and engine.containers() == []


@pytest.mark.exhaustive
def test_a_container_that_outlives_its_deadline_is_removed(load: Load) -> None:
    # Long enough for the slowest start: the container has to be there before.
    load.start(FOR_EVER, 15)
    load.running()
    reply = load.say("collect", wait=40)
    assert reply["answers"]["a"]["status"] == "timeout" and reply["ended"] == "done" and load.engine.containers() == []


def test_a_load_that_is_ended_leaves_no_container(load: Load) -> None:
    load.start(FOR_EVER)
    load.running()
    assert load.say("end")["ended"] == "ended on request" and load.engine.containers() == []


def test_what_a_killed_supervisor_left_is_removed_by_the_next_load(load: Load) -> None:
    """Its client is killed too, so that nothing but the container itself says that there is one."""
    load.start(FOR_EVER)
    (left,) = load.running()
    os.kill(load.record["supervisor"]["pid"], signal.SIGKILL)
    for running in (load.place / f"gpufabric.pyramid-{os.getuid()}" / "loads" / "one" / "running").iterdir():
        os.kill(json.loads(running.read_text(encoding="utf-8"))["pid"], signal.SIGKILL)
    assert load.engine.containers() == [left]
    load.start([PYTHON, "-c", ""])
    load.say("collect", wait=30)
    assert load.engine.containers() == []


@pytest.mark.exhaustive
def test_another_loads_container_is_left_alone(load: Load, engine: Engine) -> None:
    other = engine.run("run", "--detach", "--network=host", "--pid=host", IMAGE, "/usr/bin/sleep", "600").stdout.decode().strip()[:12]
    load.start([PYTHON, "-c", "print(1)"])
    assert load.say("collect", wait=30)["answers"]["a"]["stdout"] == "1\n" and engine.containers() == [other]
    engine.run("rm", "--force", other)
