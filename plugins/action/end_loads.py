# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""End what a run left on a host: the documentation is in plugins/modules/end_loads.py."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.programs import run_program
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import inventory_of, values_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock import lock_owner, refuse_locked
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

Values = dict[str, t.Any]


class ActionModule(PyramidAction):
    """Ends the loads of the pod's runs directory on one host."""

    def act(self, given: Values, task_vars: Values) -> Values:
        """End them, and name what still ran; in check mode nothing."""
        if self._task.check_mode:
            return {"skipped": True, "msg": "check mode ends nothing"}
        host = str(task_vars["inventory_hostname"])
        try:
            values = values_of(inventory_of(task_vars), host)
            place = Path(values["pod_runs_dir"]).expanduser().resolve() / values["pod_name"]
            if not place.is_dir():
                return {"ended": []}
            refuse_locked(place, os.getppid())
        except Refused as refused:
            raise AnsibleActionFail("; ".join(refused.reasons)) from None
        except RunError as error:
            raise AnsibleActionFail(f"nothing was ended: {error}") from None
        ended = run_program(self, "detached", {"do": "clear", "load": "", "owner": lock_owner(place / "ended")}, task_vars)["ended"]
        for words in ended:
            show(f"{host}: {words}\n")
        return {"ended": ended, "changed": bool(ended)}
