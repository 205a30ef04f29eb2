# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The prerequisites of all nodes as a table: the documentation is in plugins/modules/doctor_report.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.prerequisites.table import NodeAnswer, is_ready, render_prerequisites
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.unplanned_node import outside_roles, unknown_expectations

REGISTERED = "pyramid_doctor"


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller."""

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print the table, and return which nodes are ready for which layer."""
        answers = {str(node): _answer(str(node), task_vars) for node in task_vars["ansible_play_hosts_all"]}
        show(f"\n{render_prerequisites(answers)}\n")
        groups = {str(name): [str(node) for node in nodes] for name, nodes in task_vars["groups"].items()}
        for words in (*outside_roles(groups), *unknown_expectations(answers, task_vars)):
            show(words)
        if not groups.get("gpu_hosts"):
            raise AnsibleActionFail("the inventory group gpu_hosts has no host")
        return {"ready": {layer: [node for node, answer in answers.items() if is_ready(answer, layer)] for layer in LAYERS}}


def _answer(node: str, task_vars: dict[str, t.Any]) -> NodeAnswer:
    """What a node's task registered; of one whose task failed, the reason."""
    kind = "host" if node in task_vars["groups"].get("gpu_hosts", ()) else "switch"
    result = task_vars["hostvars"][node].get(REGISTERED) or {}
    if "lacks" not in result:
        return {"kind": kind, "silent": str(result.get("msg") or "it was not asked"), "lacks": []}
    return {"kind": str(result["kind"]), "silent": str(result["silent"]), "lacks": list(result["lacks"])}
