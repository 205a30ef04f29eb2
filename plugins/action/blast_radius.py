# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse hosts that must not be out at once: the documentation is in plugins/modules/blast_radius.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.blast_radius import blast_radius_reasons
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import inventory_of, values_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {name: {"type": "list", "elements": "str", "default": []} for name in ("out", "busy")}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Refuse, or say which other hosts cannot help to prove those of the play."""
        named = [str(host) for host in task_vars["ansible_play_hosts"]]
        try:
            inventory = inventory_of(task_vars)
            values = values_of(inventory, named[0])
        except Refused as refused:
            raise AnsibleActionFail("; ".join(refused.reasons)) from None
        groups = {group: list(inventory.groups.get(group, ())) for group in values["pod_gate_groups"]}
        reasons = blast_radius_reasons(named, groups, set(given["out"]), values["pod_remediate_max"], values["pod_quarantine_max"])
        if reasons:
            raise AnsibleActionFail("nothing was touched:\n" + "\n".join(f"  - {reason}" for reason in reasons))
        return {"unfit": {**dict.fromkeys(given["busy"], "has jobs"), **dict.fromkeys(given["out"], "takes no jobs")}}
