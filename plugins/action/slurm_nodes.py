# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Say what Slurm's nodes became: the documentation is in plugins/modules/slurm_nodes.py."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display


class ActionModule(ActionBase):
    """The module does it all; what an operator must know is said whatever tasks the output shows."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module, and name the nodes that stay drained."""
        result = super().run(tmp, task_vars)
        result.update(self._execute_module(module_name="gpufabric.pyramid.slurm_nodes", module_args=self._task.args, task_vars=task_vars))
        for node, reason in (result.get("left") or {}).items():
            Display().display(f"{node} stays drained: {reason!r} is somebody else's reason; resume it by hand, or lift it (pod_readmit_reasons)\n")
        return result
