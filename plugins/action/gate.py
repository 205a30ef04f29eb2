# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold a gate: the documentation is in plugins/modules/gate.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import WholeRunAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.evaluate_layer import evaluate_layer
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.silent_nodes import silent_of


class ActionModule(WholeRunAction):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"layer": {"type": "str", "required": True, "choices": list(LAYERS)}}

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Judge every node's rows, open or close each group's gate, and name the groups that continue."""
        # One task read all nodes, so that each of them has registered the same; looking into every node's variables takes as long as its checks.
        registered = task_vars.get("pyramid_read")
        facts, gates = evaluate_layer(run, given["layer"], lambda node: silent_of(registered, node))
        return {**facts, "layer": given["layer"], "gates": gates}
