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
  - The recap names the hosts on which something changed, failed or was not reached, and counts the others; where
    P(gpufabric.pyramid.pyramid#callback) prints the table of a run after it, it counts none.
extends_documentation_fragment: [default_callback, result_format_callback]
requirements:
  - Set it with C(stdout_callback = gpufabric.pyramid.terminal) in ansible.cfg.
"""

import copy
import typing as t

from ansible.playbook.task_include import TaskInclude
from ansible.plugins.callback.default import CallbackModule as Default
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.counting import counted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import console

SHOWN = ("changed", "failures", "dark", "rescued", "ignored")


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

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """The recap of the hosts that have something to report."""
        shown = copy.copy(stats)
        shown.processed = {host: 1 for host in stats.processed if any(getattr(stats, kind).get(host) for kind in SHOWN)}
        super().v2_playbook_on_stats(shown)
        # Beside a pod's nodes the controller is none of them; a playbook may also be for the controller alone.
        nodes = set(stats.processed) - {"localhost"} or set(stats.processed)
        others = len(nodes - set(shown.processed))
        # One task reads all nodes of a run, and is counted for the first of them alone.
        if others and not console.table_follows:
            self._display.display(f"{counted(others, 'other' if shown.processed else 'node')}: nothing changed, failed or was unreachable\n")
