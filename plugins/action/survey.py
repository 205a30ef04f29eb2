# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask a node whom it sees: the documentation is in plugins/modules/survey.py."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.responses import reading_result
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.transports import query_node
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import SPECIFIED, WrongValue, of_type
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.unplanned_node import UnplannedNode

HOST = {
    "roce": ("rdma_link", "ip_link", "ip_address", "lldp_neighbors", "gpu_topology"),
    "infiniband": ("ibstat", "rdma_link", "ip_link", "gpu_topology"),
}
SWITCH = ("lldp_neighbors", "interface_status", "bgp_summary", "mac_table", "arp_table", "transceivers")
# What is asked of each rail of a host once it has named its devices.
RAIL = ("interface_status", "transceivers")


class ActionModule(PyramidAction):
    """All readings that report who is cabled to whom; what a node does not report is kept with its words, and fails nothing."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"fabric": {"type": "str", "choices": list(HOST), "required": True}}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask once, and the readers of an InfiniBand fabric again, through the adapters that they turned out to have."""
        unplanned = UnplannedNode.of(task_vars, self._templar.template, pod_fabric=given["fabric"])
        host, values = unplanned.kind == "host", unplanned.values
        try:
            # It is the task's own timeout, and no run is opened that would refuse it.
            of_type(SPECIFIED["pod_read_timeout_seconds"], values["pod_read_timeout_seconds"])
        except WrongValue as wrong:
            raise AnsibleActionFail(str(wrong)) from None
        node = unplanned.asked()
        reported, missing = self._ask(node, HOST[given["fabric"]] if host else SWITCH, task_vars)
        if given["fabric"] == "roce" and host:
            node["items"]["rail"] = [{"device": row["device"], "netdev": row["netdev"]} for row in reported.get("rdma_link", ()) if row["netdev"]]
            more, less = self._ask(node, RAIL, task_vars) if node["items"]["rail"] else ({}, {})
            reported, missing = {**reported, **more}, {**missing, **less}
        if given["fabric"] == "infiniband" and host and (devices := _devices(unplanned, reported.get("ibstat", []))):
            node["items"]["fabric"] = [{"via": device, "device": device} for device in devices]
            more, less = self._ask(node, ("fabric_topology",), task_vars)
            reported, missing = {**reported, **more}, {**missing, **less}
        return {"reported": reported, "unreported": missing}

    def _ask(self, node: dict[str, t.Any], names: t.Sequence[str], task_vars: dict[str, t.Any]) -> tuple[dict[str, t.Any], dict[str, str]]:
        asks, _apart = queries_for([name for name in names if node["platform"] in catalogue()[name].platforms], node)
        response = query_node(self, node, asks, task_vars)
        if not response.answered:
            return {}, {"": response.words}
        replies = {ask.reading.name: reading_result(ask, node["platform"], response.answers[ask.reading.name]) for ask in asks}
        reported = {name: reply.rows for name, reply in replies.items() if reply.status == "ok"}
        return reported, {name: reply.words for name, reply in replies.items() if reply.status != "ok"}


def _devices(node: UnplannedNode, ports: list[dict[str, t.Any]]) -> list[str]:
    """The adapters through which this host reads the fabric; none where others do."""
    active = [str(row["device"]) for row in ports if row["state"] == "Active" and row["link_layer"] == "InfiniBand"]
    named = node.fabric_devices()
    if named is None or not node.values["pod_fabric_reader"]:
        return active if named else []
    return [one for one in (device or next(iter(active), "") for device in named) if one]
