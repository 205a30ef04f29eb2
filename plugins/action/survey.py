# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask a node whom it sees: the documentation is in plugins/modules/survey.py."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import collecting, transports
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import Action
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.opening import platform_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue

HOST = {
    "roce": ("rdma_link", "ip_link", "ip_address", "lldp_neighbors", "gpu_topology"),
    "infiniband": ("ibstat", "rdma_link", "ip_link", "gpu_topology"),
}
SWITCH = ("lldp_neighbors", "interface_status", "bgp_summary", "mac_table", "arp_table")
SYSTEM = "ansible_network_os"
# Two hosts see a whole fabric as well as one, and one of them may be down.
READERS = 2


class ActionModule(Action):
    """All readings that tell who is cabled to whom; what a node does not tell is kept with its words, and fails nothing."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"fabric": {"type": "str", "choices": list(HOST), "required": True}}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask once, and the readers of an InfiniBand fabric again, through the adapters that they turned out to have."""
        name = str(task_vars["inventory_hostname"])
        host = name in task_vars["groups"].get("gpu_hosts", ())
        own = {key: self._templar.template(task_vars[key]) for key in (*DEFAULTS, SYSTEM) if key in task_vars}
        system = str(own.pop(SYSTEM, None) or "")
        values = {**DEFAULTS, **own, "pod_fabric": given["fabric"]}
        platform = platform_of("host" if host else "leaf", values, system)
        node = {"platform": platform, "kind": "host" if host else "switch", "values": values, "items": {"rail": [], "port": []}}
        told, untold = self._ask(node, HOST[given["fabric"]] if host else SWITCH, task_vars)
        if given["fabric"] == "infiniband" and host:
            devices = self._devices(name, values, task_vars, told.get("ibstat", []))
            if devices:
                node["items"]["fabric"] = [{"via": device, "device": device} for device in devices]
                more, less = self._ask(node, ("fabric_topology",), task_vars)
                told, untold = {**told, **more}, {**untold, **less}
        return {"told": told, "untold": untold}

    def _ask(self, node: dict[str, t.Any], names: t.Sequence[str], task_vars: dict[str, t.Any]) -> tuple[dict[str, t.Any], dict[str, str]]:
        asks, _apart = collecting.asks([name for name in names if node["platform"] in catalogue()[name].platforms], node)
        said = transports.ask(self, node, asks, task_vars)
        if not said.answered:
            return {}, {"": said.words}
        replies = {ask.reading.name: collecting.reply(ask, node["platform"], said.answers[ask.reading.name]) for ask in asks}
        told = {name: reply.rows for name, reply in replies.items() if reply.status == "ok"}
        return told, {name: reply.words for name, reply in replies.items() if reply.status != "ok"}

    def _devices(self, name: str, values: dict[str, t.Any], task_vars: dict[str, t.Any], ports: list[dict[str, t.Any]]) -> list[str]:
        """The adapters through which this host reads the fabric; none where others do."""
        active = [row["device"] for row in ports if row["state"] == "Active" and row["link_layer"] == "InfiniBand"]
        said = [one.partition(":") for one in values["pod_fabric_reader"]]
        if said:
            return [device or next(iter(active), "") for host, _colon, device in said if host == name and (device or active)]
        return active if name in list(task_vars["groups"]["gpu_hosts"])[:READERS] else []
