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
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS, SPECIFIED, WrongValue, of_type
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.names import parse_place
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory_check import platform_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction

HOST = {
    "roce": ("rdma_link", "ip_link", "ip_address", "lldp_neighbors", "gpu_topology"),
    "infiniband": ("ibstat", "rdma_link", "ip_link", "gpu_topology"),
}
SWITCH = ("lldp_neighbors", "interface_status", "bgp_summary", "mac_table", "arp_table")
SYSTEM = "ansible_network_os"
# Two hosts see a whole fabric as well as one, and one of them may be down.
READERS = 2


class ActionModule(PyramidAction):
    """All readings that report who is cabled to whom; what a node does not report is kept with its words, and fails nothing."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"fabric": {"type": "str", "choices": list(HOST), "required": True}}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask once, and the readers of an InfiniBand fabric again, through the adapters that they turned out to have."""
        name = str(task_vars["inventory_hostname"])
        host = name in task_vars["groups"].get("gpu_hosts", ())
        own = {key: self._templar.template(task_vars[key]) for key in (*DEFAULTS, SYSTEM) if key in task_vars}
        system = str(own.pop(SYSTEM, None) or "")
        values = {**DEFAULTS, **own, "pod_fabric": given["fabric"]}
        try:
            # It is the task's own timeout, and no run is opened that would refuse it.
            of_type(SPECIFIED["pod_read_timeout_seconds"], values["pod_read_timeout_seconds"])
        except WrongValue as wrong:
            raise AnsibleActionFail(str(wrong)) from None
        platform = platform_of("host" if host else "leaf", values, system)
        node = {"platform": platform, "kind": "host" if host else "switch", "values": values, "items": {"rail": [], "port": []}}
        reported, missing = self._ask(node, HOST[given["fabric"]] if host else SWITCH, task_vars)
        if given["fabric"] == "infiniband" and host:
            devices = self._devices(name, values, task_vars, reported.get("ibstat", []))
            if devices:
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

    def _devices(self, name: str, values: dict[str, t.Any], task_vars: dict[str, t.Any], ports: list[dict[str, t.Any]]) -> list[str]:
        """The adapters through which this host reads the fabric; none where others do."""
        active = [row["device"] for row in ports if row["state"] == "Active" and row["link_layer"] == "InfiniBand"]
        readers = [parse_place(one) for one in values["pod_fabric_reader"]]
        if readers:
            return [device or next(iter(active), "") for host, device in readers if host == name and (device or active)]
        return active if name in list(task_vars["groups"]["gpu_hosts"])[:READERS] else []
