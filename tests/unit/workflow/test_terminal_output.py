# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person sees of a run in a terminal: as wide as it is, in colour, and nothing that a device wrote acts on it."""

from __future__ import annotations

import re
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
