# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load all hosts: the documentation is in plugins/modules/load_nodes.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.action.load import ActionModule as Load
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import Values
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.nodes_action import NodesAction, Work


class ActionModule(NodesAction):
    """One task for all hosts: each of them is loaded as by gpufabric.pyramid.load."""

    EACH = "gpufabric.pyramid.load"
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {**Load.ARGUMENTS, **NodesAction.OWN}
    RULES: t.ClassVar[dict[str, t.Any]] = Load.RULES

    def act_in(self, run: Path, given: Values, task_vars: Values) -> Values:
        """Work for the hosts, and say whether the load has ended on each of them; of one that does not answer that is not known."""
        self.ended = 0
        outcome = super().act_in(run, given, task_vars)
        return {**outcome, "ended": 0 < outcome["nodes"] == self.ended}

    def results(self, run: Path, given: Values, nodes: t.Sequence[str], work: Work) -> t.Iterator[tuple[str, Values]]:
        """Each host with its result, counted where its load has ended."""
        for node, result in work(nodes):
            self.ended += result.get("ended") is not None
            yield node, result
