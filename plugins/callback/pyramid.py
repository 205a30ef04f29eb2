# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of a validation, and its table at the very end."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pyramid
type: aggregate
short_description: Shows the progress of a validation run
version_added: 0.1.0
author: The gpufabric.pyramid authors (@gpufabric)
description:
  - Prints the layer in progress, how many nodes have responded, the gates of each group, and, after everything else, the table of gates and findings.
  - It only prints whole lines, so that a log and AWX can show them; without it M(gpufabric.pyramid.verdict) prints the table itself.
  - It prints to standard error where the output callback is P(ansible.posix.json#callback) or P(ansible.posix.jsonl#callback).
  - The playbooks of the collection enable it by themselves.
requirements:
  - For tasks in playbooks of your own enable it with C(callbacks_enabled = gpufabric.pyramid.pyramid) in ansible.cfg.
"""

import gc
import os
import shutil
import sys
import typing as t
from pathlib import Path

from ansible.plugins.callback import CallbackBase
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.gates import PASSABLE
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.document import load_report
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.table import WIDTH, render_table
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import console
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

READ = "gpufabric.pyramid.read_nodes"
GATE = "gpufabric.pyramid.gate"
VERDICT = "gpufabric.pyramid.verdict"
# They name the nodes that did not answer; Ansible counts these as reached, since their tasks report that and do not fail.
NAME_SILENT_NODES = ("gpufabric.pyramid.doctor_report", "gpufabric.pyramid.draft")


class CallbackModule(CallbackBase):
    """Prints a line at each reading of the nodes, and at each gate; how far a reading is, its task prints."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "gpufabric.pyramid.pyramid"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        console.progress_shown = True
        self._reads = True
        self._taking_part: dict[str, dict[str, bool]] = {}
        self._report: str | None = None

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Share what is there with the workers of the play's tasks: they are copies, and what no collector visits is not copied.

        Once a play, for what is garbage by then is kept for good; a long load has thousands of tasks.
        """
        gc.freeze()

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Print what is read."""
        if self._reads and _counted(task):
            # One role serves all layers, and its argument of the task is a template.
            layer = task.get_vars().get("layer_name", task.args.get("layer"))
            show(f"{layer}: reading {len(self._taking_part.get(layer, ()))} nodes ({task.get_name().rpartition(' : ')[2]})")

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Report a gate."""
        action, result_values = result._task.action, result._result
        if isinstance(result_values.get("taking_part"), dict):
            self._taking_part, self._reads = result_values["taking_part"], result_values["reads"]
        if action == GATE:
            gates = result_values["gates"]
            closed = [group for group, gate in gates.items() if gate != "open"]
            words = (
                "every gate open"
                if not closed
                else "nothing was evaluated"
                if not self._reads
                else ", ".join(f"{group} {gates[group].replace('_', ' ')}" for group in closed)
            )
            on = sum(gate in PASSABLE for gate in gates.values())
            show(f"{result_values['layer']}: {words} ({on} of {len(gates)} groups continue)")
        elif action == VERDICT:
            self._report = result_values["pyramid_report"]
            console.table_follows = self._report is not None
        elif action in NAME_SILENT_NODES:
            console.table_follows = True

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """The last words of a run are its table."""
        if self._report is not None:
            report = load_report(Path(self._report).parent)
            terminal = sys.stdout.isatty()
            columns = shutil.get_terminal_size((WIDTH, 0)).columns if terminal else WIDTH
            show("\n" + render_table(report, colour=terminal and "NO_COLOR" not in os.environ, columns=columns), rendered=True)
            show(f"report: {Path(self._report).with_name('report.html')} (also report.md, report.json, report.xml)")


def _counted(task: t.Any) -> bool:
    """Whether a task reads nodes; the samples under load are reported by the progress of the load."""
    return task.action == READ and task.args.get("phase") != "during"
