# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads in containers of enroot, the real one where it is installed: what a host can run is told, ranks of torch run, and whatever ends a load ends them."""

from __future__ import annotations

import os
import signal
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.launchers import PROGRAM_MODULES, Launch, agent_argv
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import parse

from ..labs.containers.enroot import Enroot
from ..labs.containers.loads import PYTHON, Load, of
from ..ports import claimed

FOR_EVER = [PYTHON, "-c", "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"]
PROGRAM = "torch_collectives"
OPTIONS: dict[str, t.Any] = {
    "backend": "gloo", "job": "node", "timeout": 30, "start-timeout": 40, "deadline": 60, "sizes": "1048576", "iterations": 3, "dtypes": "",
    "collectives": "all_reduce",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Enroot:
    return Enroot(tmp_path_factory.mktemp("enroot"))


@pytest.fixture
def load(engine: Enroot, tmp_path: Path) -> Load:
    return Load(engine, tmp_path)


def test_a_host_with_the_image_says_what_is_in_it(engine: Enroot) -> None:
    found = of(engine)
    assert (found["state"], found["present"], found["start"], found["gpus"], found["nccl_tests"]) == ("ok", True, "ok", 0, False)
    assert found["id"].startswith("squashfs of ") and found["variables"] == ["NCCL_P2P_DISABLE=1"] and engine.containers() == []


def test_what_a_host_lacks_is_told_apart(engine: Enroot, tmp_path: Path) -> None:
    absent = of(engine, image="/nowhere/image.sqsh")
    assert (absent["state"], absent["present"], absent["id"], absent["start"]) == ("ok", False, None, None)
    (tmp_path / "cut.sqsh").write_bytes(b"hs")
    cut = of(engine, image=str(tmp_path / "cut.sqsh"))
    assert (cut["present"], cut["words"]) == (None, f"{tmp_path}/cut.sqsh is no squashfs image")
    assert of(engine, python="/opt/python")["start"] == "no_program"
    # No GPU is here, nor the tool with which enroot's hook shows one.
    without = of(engine, backend="nccl")
    assert without["start"] == "no_gpus" and "nvidia-container-cli" in without["words"] and engine.containers() == []


def test_a_command_runs_in_the_directory_of_its_load_and_not_by_the_script_of_the_image(load: Load) -> None:
    load.start([PYTHON, "-c", "import os; print(os.getcwd(), os.environ['GPUFABRIC_PYRAMID_JOB'])"])
    answer = load.say("collect", wait=30)["answers"]["a"]
    assert (answer["rc"], answer["stdout"]) == (0, f"{load.place}/gpufabric.pyramid-{os.getuid()}/loads/one 0\n"), answer


@pytest.mark.exhaustive
def test_ranks_of_torch_run_in_a_container_and_report_from_it(load: Load) -> None:
    if of(load.engine)["torch"] is None:
        pytest.skip("the Python of this machine has no torch, so the image has none")
    argv = agent_argv(PROGRAM, PYTHON, Launch(("here",), 2), 0, "127.0.0.1", claimed(), OPTIONS)
    load.start(argv, 80, [PROGRAM, *PROGRAM_MODULES[PROGRAM]])
    answer = load.say("collect", wait=80)["answers"]["a"]
    assert (answer["status"], answer["rc"]) == ("ran", 0), answer["stderr"]
    ranks = parse("collective_ranks", "linux", answer["stdout"])
    assert [(one["rank"], one["outcome"]) for one in ranks] == [(0, "done"), (1, "done")] and load.engine.containers() == []


def test_a_load_that_is_ended_leaves_no_process(load: Load) -> None:
    load.start(FOR_EVER)
    load.running()
    assert load.say("end")["ended"] == "ended on request" and load.engine.containers() == []


def test_what_a_killed_supervisor_left_is_ended_by_the_next_load(load: Load) -> None:
    load.start(FOR_EVER)
    load.running()
    os.kill(load.record["supervisor"]["pid"], signal.SIGKILL)
    load.start([PYTHON, "-c", ""])
    load.say("collect", wait=30)
    assert load.engine.containers() == []
