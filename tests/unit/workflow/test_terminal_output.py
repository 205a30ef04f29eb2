# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person sees of a run in a terminal: as wide as it is, in colour, and nothing that a device wrote acts on it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ansible import context
from ansible.executor.stats import AggregateStats
from ansible_collections.gpufabric.pyramid.plugins.callback.pyramid import CallbackModule as Progress
from ansible_collections.gpufabric.pyramid.plugins.callback.terminal import CallbackModule as Terminal
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import console

from tests import made_run

SGR = re.compile(r"\x1b\[\d+m")


def shown_at_end(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    progress = Progress()
    progress._report = str(run / "report.json")
    progress.v2_playbook_on_stats(AggregateStats())
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_terminal_gets_colours_and_lines_of_its_width(
    columns: int, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    bad = made_run.verdict(plan, "links", "port_speed", "leaf01", Finding(at_port("Ethernet1"), "connected at 400 Gb/s", "\x1b[2Jat 100 Gb/s " * 9))
    run = made_run.make(tmp_path / "run", plan, [bad]).run
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = shown_at_end(run, capsys)
    assert "\x1b[31mNO-GO\x1b[0m" in text and "\ufffd[2Jat 100 Gb/s" in text and "\x1b[2J" not in text
    lines = [line for line in SGR.sub("", text).splitlines() if not line.startswith("report: ")]
    assert max(map(len, lines)) <= columns
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown_at_end(run, capsys)


def test_what_a_device_wrote_reaches_no_terminal_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    console.show("leaf01: \x1b[2Jnothing to see")
    assert capsys.readouterr().out == "leaf01: \ufffd[2Jnothing to see\n"


@pytest.mark.parametrize(("follows", "counted"), [(False, "1 node: nothing changed, failed or was unreachable"), (True, "")])
def test_the_recap_counts_nodes_only_where_no_table_follows(
    follows: bool, counted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    """One task reads all nodes of a run, so that a recap would speak of one node of many."""
    monkeypatch.setattr(console, "table_follows", follows)
    monkeypatch.setattr(context, "CLIARGS", {"check": False})
    stats = AggregateStats()
    stats.increment("ok", "gpu01")
    terminal = Terminal()
    terminal.set_options()
    terminal.v2_playbook_on_stats(stats)
    assert capsys.readouterr().out.partition("PLAY RECAP")[2].strip("* \n") == counted


def played(directory: Path, *arguments: str, words: str = "NO-GO: links/port_speed at {{ inventory_hostname }}") -> str:
    """What a playbook prints in which a task fails on every GPU host with the playbook's words, one on leaf01 with a module's, one on spine01 with ours."""
    tasks = [
        {"ansible.builtin.fail": {"msg": words}, "when": "inventory_hostname in groups.gpu"},
        {"ansible.builtin.copy": {"src": "/nowhere/at/all", "dest": "/nowhere"}, "when": "inventory_hostname == 'leaf01'"},
        {"gpufabric.pyramid.compare": {"old": "/nowhere"}, "when": "inventory_hostname == 'spine01'"},
    ]
    (directory / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
    nodes = {"gpu": {"hosts": {f"gpu{number:02}": None for number in (*range(1, 11), 12)}}, "switches": {"hosts": {"leaf01": None, "spine01": None}}}
    (directory / "hosts.json").write_text(json.dumps({"all": {"children": nodes}}), encoding="utf-8")
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_STDOUT_CALLBACK": "gpufabric.pyramid.terminal", "ANSIBLE_LOCALHOST_WARNING": "false"}
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "play.yml", "-i", "hosts.json", "-c", "local", *arguments]
    done = subprocess.run(command, cwd=directory, env=environment, text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_what_a_playbook_says_of_many_nodes_is_a_line_for_each(tmp_path: Path) -> None:
    text = played(tmp_path)
    lines = [line for line in text.splitlines() if "port_speed" in line]
    assert sorted(lines) == [f"fatal: [gpu{number:02}]: NO-GO: links/port_speed at gpu{number:02}" for number in (*range(1, 11), 12)], text
    (refused,) = [line for line in text.splitlines() if "missing required arguments" in line]
    assert refused.startswith("fatal: [spine01]: ") and "FAILED" not in refused, text
    # What a module says of a failure is Ansible's, with the place that it comes from.
    assert text.count("Origin: ") == 1 and text.count("FAILED! => {") == 1, text
    recap = [line.partition(" : ")[0].strip() for line in text.partition("PLAY RECAP")[2].splitlines() if " : " in line]
    assert recap == ["gpu01-gpu10, gpu12", "leaf01", "spine01"], text


def test_with_more_verbosity_a_failure_is_ansibles_own(tmp_path: Path) -> None:
    assert played(tmp_path, "-vv").count("FAILED! => {") == 13


def test_a_failure_reaches_no_terminal_with_what_acts_on_it(tmp_path: Path) -> None:
    text = played(tmp_path, words="NO-GO: \x1b[2Jport")
    assert "NO-GO: \ufffd[2Jport" in text and "\x1b[2J" not in text
