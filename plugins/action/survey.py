# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask a node whom it sees: the documentation is in plugins/modules/survey.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.responses import reading_result
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import query_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import SPECIFIED, WrongValue, of_type
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.node_survey import HOST, survey_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.silent_nodes import reason_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.unplanned_node import UnplannedNode


class ActionModule(PyramidAction):
    """All readings that report who is cabled to whom; what a node does not report is kept with its words, and that it is not reached, and neither fails."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"fabric": {"type": "str", "choices": list(HOST), "required": True}}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask once, and the readers of an InfiniBand fabric again, through the adapters that they turned out to have."""
        unplanned = UnplannedNode.of(task_vars, self._templar.template, pod_fabric=given["fabric"])
        if wrong_platform := unplanned.wrong_platform():
            raise AnsibleActionFail(wrong_platform)
        values = unplanned.values
        try:
            # It is the task's own timeout, and no run is opened that would refuse it.
            of_type(SPECIFIED["pod_read_timeout_seconds"], values["pod_read_timeout_seconds"])
        except WrongValue as wrong:
            raise AnsibleActionFail(str(wrong)) from None
        try:
            reported, missing = survey_node(unplanned, given["fabric"], lambda node, names: self._ask(node, names, task_vars))
        except AnsibleConnectionFailure as error:
            # The draft names all nodes that are not reached, in a line for each error.
            return {"silent": reason_of(str(error)), "reported": {}, "unreported": {}}
        return {"silent": "", "reported": reported, "unreported": missing}

    def _ask(self, node: dict[str, t.Any], names: t.Sequence[str], task_vars: dict[str, t.Any]) -> tuple[dict[str, t.Any], dict[str, str]]:
        asks, _apart = queries_for(names, node)
        response = query_node(self, node, asks, task_vars)
        if not response.answered:
            return {}, {"": response.words}
        replies = {ask.reading.name: reading_result(ask, node["platform"], response.answers[ask.reading.name]) for ask in asks}
        reported = {name: reply.rows for name, reply in replies.items() if reply.status == "ok"}
        return reported, {name: reply.words for name, reply in replies.items() if reply.status != "ok"}
