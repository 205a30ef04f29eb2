# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find partners to prove hosts with: the documentation is in plugins/modules/partners.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incasts import MIN_HOSTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.partners import load_partners
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import inventory_of, values_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.membership import no_load_reason
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

LOADED_FROM = "congestion"


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "named": {"type": "list", "elements": "str", "required": True},
        "unfit": {"type": "dict", "default": {}},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Name the partners, or refuse; in check mode, in which nothing is loaded, only say why it would refuse."""
        try:
            inventory = inventory_of(task_vars)
            values = values_of(inventory, given["named"][0])
        except Refused as refused:
            raise AnsibleActionFail("; ".join(refused.reasons)) from None
        to_layer = values["pod_remediate_to_layer"]
        if LAYERS.index(to_layer) < LAYERS.index(LOADED_FROM):
            return {"hosts": [], "to_layer": to_layer}
        groups = {group: list(inventory.groups.get(group, ())) for group in values["pod_gate_groups"]}
        inside = {str(host) for host in task_vars["ansible_play_hosts"]}
        hosts, reasons = load_partners(given["named"], groups, inside, given["unfit"], MIN_HOSTS - 1)
        reasons = [words for words in [no_load_reason(values, check_mode=False)] if words] + reasons
        if reasons:
            self._refuse(given["named"], to_layer, reasons)
        return {"hosts": hosts, "to_layer": to_layer}

    def _refuse(self, named: list[str], to_layer: str, reasons: list[str]) -> None:
        words = f"{', '.join(named)} cannot be proved up to layer {to_layer}:\n" + "\n".join(f"  - {reason}" for reason in reasons)
        words += f"\nname hosts with -e remediate_hosts={','.join(named)} in place of --limit, or prove less with -e pod_remediate_to_layer=routing"
        if not self._task.check_mode:
            raise AnsibleActionFail(f"nothing was touched: {words}")
        show(f"nothing would be touched: {words}\n")
