# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read all nodes: the documentation is in plugins/modules/read_nodes.py."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.action.read import ActionModule as Read
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.nodes_action import NodesAction


class ActionModule(NodesAction):
    """One task for all nodes: each of them is read as by gpufabric.pyramid.read."""

    EACH = "gpufabric.pyramid.read"
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {**Read.ARGUMENTS, **NodesAction.OWN}
    RULES: t.ClassVar[dict[str, t.Any]] = Read.RULES

    def progress(self, given: dict[str, t.Any]) -> bool:
        """The samples under load are reported by the progress of the load."""
        return bool(given["phase"] != "during")
