# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mlxconfig: the documentation is in plugins/modules/mlxconfig.py."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.reading_action import ReadingAction


class ActionModule(ReadingAction):
    """The reading ``mlxconfig`` of a host's NICs."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"devices": {"type": "list", "elements": "str", "required": True}}

    def readings(self, given: dict[str, t.Any]) -> list[str]:
        """The reading of its own name."""
        return ["mlxconfig"]

    def rails(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> list[dict[str, t.Any]]:
        """The devices; a PCI address is one without a name."""
        return [{"device": device, "netdev": device, **({"pci": device} if ":" in device else {})} for device in given["devices"]]
