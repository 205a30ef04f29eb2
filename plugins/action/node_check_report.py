# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hosts say of themselves: the documentation is in plugins/modules/node_check_report.py."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.node_check.outcome import NOT_KNOWN, WELL, WORDS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.counting import counted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

REGISTERED = "node_check_once"


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller."""

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print the line of each host that is not well, and how many are."""
        found = {str(host): _document(task_vars["hostvars"][host].get(REGISTERED) or {}) for host in task_vars["ansible_play_hosts"]}
        lines = [str(one["line"]) for one in found.values() if one["status"] != WORDS[WELL]]
        well = len(found) - len(lines)
        show("\n" + "\n".join([*lines, f"{counted(well, 'host')} of {len(found)} passed their own check"]) + "\n")
        return {"not_judged": {host: one["line"] for host, one in found.items() if not one["verdicts"]}}


def _document(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """What the program printed; where it is no document, the words of the task."""
    try:
        document = json.loads(result.get("stdout") or "")
        return {name: document[name] for name in ("status", "line", "verdicts")}
    except (ValueError, KeyError, TypeError):
        words = result.get("msg") or result.get("stdout") or result.get("stderr") or "it printed nothing"
        return {"status": WORDS[NOT_KNOWN], "line": f"{WORDS[NOT_KNOWN]}: {words}", "verdicts": []}
