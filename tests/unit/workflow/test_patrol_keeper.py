# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a patrol's validation: it ends with the playbook, or where that asks for it, and what it left is ended after it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import patrol_keeper

# As Ansible: it ends on an interrupt, with a status of its own.
RUN = "import sys, time; print('begun', flush=True)\ntry:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    sys.exit(99)\n"
# A process that ignores interrupts, as what is started by some shells.
DEAF = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('begun', flush=True); time.sleep(600)\n"


class Kept:
    """A keeper of a program, or of none where it only ends what is left; ``parent`` is a process that it takes for the playbook."""

    def __init__(self, place: Path, program: str) -> None:
        self.place = place
        self.parent = subprocess.Popen(["sleep", "600"])
        request = {
            "parent": self.parent.pid, "born": patrol_keeper.started(self.parent.pid), "directory": str(place),
            "run": [sys.executable, "-c", program] if program else [],
            "end": [sys.executable, "-c", "print('ended what was left')"], "output": str(place / "output.txt"),
            "running": str(place / "running.json"), "result": str(place / "result.json"),
        }  # fmt: skip
        argv = [sys.executable, "-ISE", str(Path(patrol_keeper.__file__))]
        # As the worker of an interrupted playbook would leave it to those it starts.
        ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
        self.keeper = subprocess.Popen([*ignoring, *argv], stdin=subprocess.PIPE, text=True, start_new_session=True)
        assert self.keeper.stdin is not None
        self.keeper.stdin.write(json.dumps(request))
        self.keeper.stdin.close()

    def begun(self) -> None:
        """Wait until the program runs."""
        until = time.monotonic() + 60
        while "begun" not in self.output():
            assert time.monotonic() < until and self.keeper.poll() is None
            time.sleep(0.05)

    def validation(self) -> dict[str, t.Any]:
        """The process that it runs: pid and start."""
        return t.cast(dict[str, t.Any], json.loads((self.place / "running.json").read_text(encoding="ascii")))

    def runs(self) -> bool:
        """Whether that process is there."""
        left = self.validation()
        return left["born"] is not None and patrol_keeper.started(left["pid"]) == left["born"]

    def killed(self) -> None:
        """Kill the keeper, and nothing else."""
        assert self.runs()
        self.keeper.kill()
        self.keeper.wait()

    def output(self) -> str:
        path = self.place / "output.txt"
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def result(self) -> dict[str, t.Any]:
        """What it wrote when it ended."""
        assert self.keeper.wait(60) == 0
        assert [path.name for path in self.place.iterdir() if path.name.startswith("result")] == ["result.json"]
        return t.cast(dict[str, t.Any], json.loads((self.place / "result.json").read_text(encoding="ascii")))


@pytest.fixture
def keep(tmp_path: Path) -> t.Iterator[t.Callable[[str], Kept]]:
    kept: list[Kept] = []

    def start(program: str) -> Kept:
        kept.append(Kept(tmp_path, program))
        return kept[-1]

    yield start
    for one in kept:
        one.parent.kill()
        one.parent.wait()
        one.keeper.terminate()
        one.keeper.wait(60)
        if (tmp_path / "running.json").is_file() and one.runs():
            os.killpg(one.validation()["pid"], signal.SIGKILL)


def test_a_validation_that_ends_well_leaves_nothing_to_end(keep: t.Callable[[str], Kept], tmp_path: Path) -> None:
    assert keep("pass").result() == {"rc": 0, "interrupted": False, "end_rc": None}
    assert (tmp_path / "output.txt").stat().st_mode & 0o777 == 0o600


def test_what_a_validation_without_a_verdict_left_is_ended(keep: t.Callable[[str], Kept]) -> None:
    one = keep("import sys; sys.exit(2)")
    assert one.result() == {"rc": 2, "interrupted": False, "end_rc": 0} and "ended what was left" in one.output()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_validation_is_interrupted_where_that_is_asked_for(number: int, keep: t.Callable[[str], Kept]) -> None:
    one = keep(RUN)
    one.begun()
    os.kill(one.keeper.pid, number)
    assert one.result() == {"rc": 99, "interrupted": True, "end_rc": 0} and one.output() == "begun\nended what was left\n"


def test_a_validation_ends_with_the_playbook_also_where_that_is_killed(keep: t.Callable[[str], Kept]) -> None:
    one = keep(RUN)
    one.begun()
    one.parent.kill()
    # It is a corpse from now on, which nobody has waited for.
    assert one.result() == {"rc": 99, "interrupted": True, "end_rc": 0}


def test_a_validation_that_does_not_heed_its_interrupt_is_killed(keep: t.Callable[[str], Kept]) -> None:
    one, began = keep(DEAF), time.monotonic()
    one.begun()
    one.keeper.terminate()
    assert one.result() == {"rc": -signal.SIGKILL, "interrupted": True, "end_rc": 0}
    assert time.monotonic() - began < 60


def test_a_validation_is_interrupted_where_its_keeper_is_killed(keep: t.Callable[[str], Kept]) -> None:
    kept = keep(RUN)
    kept.begun()
    kept.killed()
    until = time.monotonic() + 60
    while kept.runs():
        assert time.monotonic() < until, "the validation goes on without its keeper"
        time.sleep(0.05)
    assert not (kept.place / "result.json").exists()


def test_another_keeper_ends_what_a_killed_one_left(keep: t.Callable[[str], Kept]) -> None:
    kept = keep(DEAF)
    kept.begun()
    kept.killed()
    assert kept.runs(), "it ignores the interrupt"
    assert keep("").result() == {"rc": None, "interrupted": True, "end_rc": 0}
    assert not kept.runs() and kept.output().endswith("ended what was left\n") and "begun" in kept.output()


def test_another_keeper_ends_what_is_left_where_no_validation_is(keep: t.Callable[[str], Kept]) -> None:
    """Nor does it end a process that has the number of one that has ended."""
    first = keep("pass")
    assert first.result()["rc"] == 0
    other = subprocess.Popen(["sleep", "600"])
    (first.place / "running.json").write_text(json.dumps({"pid": other.pid, "born": 1}), encoding="ascii")
    (first.place / "result.json").unlink()
    assert keep("").result() == {"rc": None, "interrupted": True, "end_rc": 0} and other.poll() is None
    other.kill()
    other.wait()
