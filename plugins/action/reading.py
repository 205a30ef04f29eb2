# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""reading: the documentation is in plugins/modules/reading.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import KINDS, catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.reading_action import ReadingAction

# Switches of InfiniBand are read through hosts.
PLATFORMS = [platform for platform in KINDS if platform != "infiniband"]
# What is repeated for anything else needs the plan of a run.
READINGS = [
    name
    for name, reading in catalogue().items()
    if not reading.load and any(source.foreach in (None, "", "rail", "rail_port", "bond") for sources in reading.platforms.values() for source in sources)
]
Values = dict[str, t.Any]


class ActionModule(ReadingAction):
    """Any reading of a node, by the command of its platform."""

    ARGUMENTS: t.ClassVar[Values] = {
        "name": {"type": "str", "required": True, "choices": READINGS},
        "platform": {"type": "str", "choices": PLATFORMS},
        "rails": {"type": "list", "elements": "dict"},
    }

    def readings(self, given: Values) -> list[str]:
        """The named reading."""
        return [given["name"]]

    def platform(self, given: Values, task_vars: Values) -> str:
        """The named platform, or the inventory's; a node of which it says nothing is a host."""
        named, system = (self._templar.template(task_vars.get(name)) for name in ("pod_platform", "ansible_network_os"))
        of_inventory = named if named != "auto" else None
        return str(given["platform"] or of_inventory or str(system or "").rpartition(".")[2] or "linux")

    def values(self, task_vars: Values) -> Values:
        """The node's expectations, which choose between the tools of two vendors."""
        return {**DEFAULTS, **{name: self._templar.template(task_vars[name]) for name in DEFAULTS if name in task_vars}}

    def rails(self, given: Values, task_vars: Values) -> list[Values]:
        """The named rails, or the inventory's.

        Raises AnsibleActionFail where one lacks its device or netdev.
        """
        rails = given["rails"] if given["rails"] is not None else self._templar.template(task_vars.get("pod_rails")) or []
        for number, rail in enumerate(rails):
            lacking = [key for key in ("device", "netdev") if not (isinstance(rail, dict) and rail.get(key) and isinstance(rail[key], str))]
            if lacking:
                raise AnsibleActionFail(f"argument 'rails': rail {number} lacks {' and '.join(lacking)}")
        return [dict(rail) for rail in rails]
