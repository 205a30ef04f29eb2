# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""switch_show: the documentation is in plugins/modules/switch_show.py."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import KINDS, catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.reading_action import ReadingAction

PLATFORMS = [platform for platform, kind in KINDS.items() if kind == "switch" and platform != "infiniband"]
READINGS = [name for name, reading in catalogue().items() if set(PLATFORMS) & set(reading.platforms)]


class ActionModule(ReadingAction):
    """Any readings of a switch, by what its platform calls them."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "readings": {"type": "list", "elements": "str", "required": True, "choices": READINGS},
        "platform": {"type": "str", "choices": PLATFORMS},
    }

    def readings(self, given: dict[str, t.Any]) -> list[str]:
        """The named readings."""
        return list(given["readings"])

    def platform(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> str:
        """The named platform, or the inventory's."""
        named, system = (self._templar.template(task_vars.get(name)) for name in ("pod_platform", "ansible_network_os"))
        return str(given["platform"] or named or str(system or "").rpartition(".")[2])

    def returned(self, rows: dict[str, list[dict[str, t.Any]]]) -> dict[str, t.Any]:
        """The rows by reading."""
        return {"rows": rows}
