# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's own output, without a line for every host that is well."""

from __future__ import annotations

DOCUMENTATION = r"""
name: terminal
type: stdout
short_description: Ansible's default output for pods of hundreds of hosts
version_added: 0.2.0
author: The gpufabric.pyramid authors (@gpufabric)
description:
  - As the default callback of Ansible, but where O(display_ok_hosts) is off it keeps silent about included files too, which would name
    every host at every sample of a load.
  - A failure that a playbook words itself, by C(ansible.builtin.fail) or C(ansible.builtin.assert), and one of a task of this collection, such as a refused
    run, is printed once for each host, without the lines of the playbook that it comes from; with C(-vv) it is as the default's.
  - The recap names the hosts on which something changed, failed or was not reached, those with the same counts in one line, and counts the others; where
    P(gpufabric.pyramid.pyramid#callback) prints the table of a run after it, it counts none.
extends_documentation_fragment: [default_callback, result_format_callback]
requirements:
  - Set it with C(stdout_callback = gpufabric.pyramid.terminal) in ansible.cfg.
"""

import copy
import typing as t

from ansible import constants as C
from ansible.playbook.task_include import TaskInclude
from ansible.plugins.callback.default import CallbackModule as Default
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.control_characters import visible
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.counting import counted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.ranges import ranges
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.sorting import natural_key
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import console

SHOWN = ("changed", "failures", "dark", "rescued", "ignored")
COUNTED = ("ok", "skipped", *SHOWN)
# Their messages, and those of this collection's own tasks, are for people, and whole.
WORDED = ("ansible.builtin.fail", "ansible.builtin.assert")
OWN = "gpufabric.pyramid."
VERBOSE = 2


class CallbackModule(Default):
    """The default callback, with less to say."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "gpufabric.pyramid.terminal"

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """As the default's, without the banner of an include."""
        if self.get_option("display_ok_hosts") or not isinstance(result._task, TaskInclude):
            super().v2_runner_on_ok(result)

    def v2_playbook_on_include(self, included_file: t.Any) -> None:
        """As the default's, where hosts that are well are shown."""
        if self.get_option("display_ok_hosts"):
            super().v2_playbook_on_include(included_file)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """As the default's; of a failure that the playbook or this collection words, its words alone, which each of many hosts may have."""
        task, words = result._task, result._result.get("msg")
        if not (task.action in WORDED or task.action.startswith(OWN)) or task.loop or ignore_errors or not words or self._display.verbosity >= VERBOSE:
            super().v2_runner_on_failed(result, ignore_errors)
            return
        if self._last_task_banner != task._uuid:
            self._print_task_banner(task)
        # What a node or a tool said may be in it.
        shown = visible(str(words))
        self._display.display(f"fatal: [{self.host_label(result)}]: {shown}", color=C.COLOR_ERROR, stderr=self.get_option("display_failed_stderr"))

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """The recap of the hosts that have something to report."""
        alike: dict[tuple[int, ...], list[str]] = {}
        for host in sorted(stats.processed, key=natural_key):
            if any(getattr(stats, kind).get(host) for kind in SHOWN):
                alike.setdefault(tuple(getattr(stats, kind).get(host, 0) for kind in COUNTED), []).append(host)
        named = {ranges(hosts): counts for counts, hosts in alike.items()}
        shown = copy.copy(stats)
        shown.processed = dict.fromkeys(named, 1)
        for number, kind in enumerate(COUNTED):
            setattr(shown, kind, {name: counts[number] for name, counts in named.items()})
        super().v2_playbook_on_stats(shown)
        # Beside a pod's nodes the controller is none of them; a playbook may also be for the controller alone.
        nodes = set(stats.processed) - {"localhost"} or set(stats.processed)
        others = len(nodes.difference(*alike.values()))
        # One task reads all nodes of a run, and is counted for the first of them alone.
        if others and not console.table_follows:
            self._display.display(f"{counted(others, 'other' if named else 'node')}: nothing changed, failed or was unreachable\n")
