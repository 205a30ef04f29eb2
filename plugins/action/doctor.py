# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node lacks to be judged: the documentation is in plugins/modules/doctor.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.responses import reading_result
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import query_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.prerequisites.lacks import Lack, host_lacks, switch_lacks, switch_readings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.times import without_times
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.silent_nodes import reason_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.unplanned_node import UnplannedNode

# A response of these words is a fact about the node, and no command that it refused or lacks.
UNDERSTOOD = ("ok", "not_applicable")


class ActionModule(PyramidAction):
    """One round trip to a host, and to a switch each command that takes no port; a node that does not answer fails nothing."""

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask the node, and name what it lacks."""
        unplanned = UnplannedNode.of(task_vars, self._templar.template)
        kind, platform, values = unplanned.kind, unplanned.platform, unplanned.values
        host = kind == "host"
        if wrong := unplanned.wrong_platform():
            raise AnsibleActionFail(wrong)
        node = unplanned.asked()
        node["items"]["python"] = [{"python": values["pod_torch_python"]}]
        names = ["installed"] if host else switch_readings(values, platform)
        asks, _apart = queries_for(names, node)
        if not asks:
            # As of InfiniBand's switches, which the hosts read: nothing that was not asked is ready.
            return {"kind": "not_read", "silent": "", "lacks": []}
        try:
            response = query_node(self, node, asks, task_vars)
        except AnsibleConnectionFailure as error:
            return {"kind": kind, "silent": reason_of(str(error)), "lacks": []}
        if not response.answered:
            return {"kind": kind, "silent": response.words, "lacks": []}
        answers = {ask.reading.name: (ask, reading_result(ask, platform, response.answers[ask.reading.name])) for ask in asks}
        if not host:
            refused = {name: (ask.sources[0].command, without_times(one.words)) for name, (ask, one) in answers.items() if one.status not in UNDERSTOOD}
            return {"kind": kind, "silent": "", "lacks": _dumped(switch_lacks(values, refused))}
        installed = answers["installed"][1]
        if installed.status != "ok":
            return {"kind": kind, "silent": installed.words, "lacks": []}
        return {"kind": kind, "silent": "", "lacks": _dumped(host_lacks(values, installed.rows, reads_fabric=unplanned.fabric_devices() is not None))}


def _dumped(lacks: t.Sequence[Lack]) -> list[dict[str, t.Any]]:
    return [one.dump() for one in lacks]
