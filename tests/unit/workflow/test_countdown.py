# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wait takes one line of a terminal and few lines of a log; seen by a playbook on both."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.countdown import ERASE, Countdown

ROOT = Path(__file__).resolve().parents[3]


def command(tmp_path: Path, seconds: int) -> list[str]:
    """A playbook that waits, and then says that it has."""
    waits = [{"gpufabric.pyramid.soak": {"seconds": seconds}}, {"ansible.builtin.fail": {"msg": "it has waited"}}]
    (tmp_path / "wait.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": waits}]))
    return [str(Path(sys.executable).with_name("ansible-playbook")), str(tmp_path / "wait.yml"), "-i", "localhost,"]


def in_terminal(argv: list[str], **environment: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(argv, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", **environment}):
        os.close(theirs)
        result = b""
        try:
            while piece := os.read(ours, 65536):
                result += piece
        except OSError:
            # Linux ends a terminal that nobody writes to any more by an error.
            pass
    os.close(ours)
    return result.decode()


def test_a_terminal_counts_down_on_one_line(tmp_path: Path) -> None:
    result = in_terminal(command(tmp_path, 4))
    seen = [piece for piece in result.split("\r") if "soaking" in piece]
    assert len(seen) >= 4 and not any("\n" in piece for piece in seen), result
    assert "4 s left" in seen[0] and "1 s left" in seen[-1]
    # Whatever comes next begins on an empty line.
    assert "left" not in result.replace("\r\n", "\n").split("TASK [ansible.builtin.fail]")[0].rpartition(ERASE)[2]


@pytest.mark.parametrize("how", [{"TERM": "dumb"}, {"ANSIBLE_STDOUT_CALLBACK": "minimal"}], ids=str)
def test_a_terminal_that_a_program_reads_gets_a_line(how: dict[str, str], tmp_path: Path) -> None:
    result = in_terminal(command(tmp_path, 2), **how)
    assert result.count("s left") == 1 and ERASE not in result


def test_a_log_gets_few_lines(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path, 3), cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.count("s left") == 1 and "soaking, 3 s left\n" in done.stdout and "\r" not in done.stdout


@pytest.mark.parametrize(("seconds", "lines"), [(300, 4), (20, 1), (86400, 4), (60, 2)])
def test_a_long_wait_says_so_at_its_quarters(seconds: int, lines: int, capsys: pytest.CaptureFixture[str]) -> None:
    wait = Countdown("soaking", in_terminal=False)
    for gone in range(seconds):
        wait.update(seconds - gone)
    wait.end()
    result = capsys.readouterr().out.splitlines()
    assert len(result) == lines and result[0] == f"soaking, {seconds} s left"


def test_what_is_quiet_says_nothing_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    Countdown("under load", quiet=True, in_terminal=False).update(5)
    assert capsys.readouterr().out == ""
    Countdown("under load", quiet=True, in_terminal=True).update(5)
    assert capsys.readouterr().out == "\r\x1b[Kunder load, 5 s left"
