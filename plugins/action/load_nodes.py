# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load all hosts: the documentation is in plugins/modules/load_nodes.py."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.action.load import ActionModule as Load
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.nodes_action import NodesAction


class ActionModule(NodesAction):
    """One task for all hosts: each of them is loaded as by gpufabric.pyramid.load."""

    EACH = "gpufabric.pyramid.load"
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {**Load.ARGUMENTS, **NodesAction.OWN}
    RULES: t.ClassVar[dict[str, t.Any]] = Load.RULES
