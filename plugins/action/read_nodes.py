# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read all nodes: the documentation is in plugins/modules/read_nodes.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.action.read import ActionModule as Read
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.shared_readings import shared_phase
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.nodes_action import NodesAction, Work


class ActionModule(NodesAction):
    """One task for all nodes: each of them is read as by gpufabric.pyramid.read."""

    EACH = "gpufabric.pyramid.read"
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {**Read.ARGUMENTS, **NodesAction.OWN}
    RULES: t.ClassVar[dict[str, t.Any]] = Read.RULES

    def results(self, run: Path, given: dict[str, t.Any], nodes: t.Sequence[str], work: Work) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
        """Of a slice, what other slices read of the switches that they share with it is taken."""
        shared = shared_phase(run, given["layer"], given["phase"])
        return work(nodes) if shared is None else shared.results(nodes, work, show)

    def progress(self, given: dict[str, t.Any]) -> bool:
        """The samples under load are reported by the progress of the load."""
        return bool(given["phase"] != "during")
