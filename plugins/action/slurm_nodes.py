# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Say what Slurm's nodes became: the documentation is in plugins/modules/slurm_nodes.py."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

Values = dict[str, t.Any]


class ActionModule(PyramidAction):
    """The module does it all; what an operator must know is printed whatever tasks the output shows."""

    def arguments(self) -> Values:
        """As they were given: the module checks them."""
        return dict(self._task.args)

    def act(self, given: Values, task_vars: Values) -> Values:
        """Run the module, and name the nodes that stay drained."""
        result: Values = self._execute_module(module_name="gpufabric.pyramid.slurm_nodes", module_args=given, task_vars=task_vars)
        for node, reason in (result.get("left") or {}).items():
            show(f"{node} stays drained: {reason!r} is the reason of another owner; resume it by hand, or lift it (pod_readmit_reasons)\n")
        return result
