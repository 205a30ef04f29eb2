# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as an inventory: hosts.yml, group_vars and the wiring plan, as an operator would write them for this pod."""

from __future__ import annotations

import csv
import io
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE

from .shape import RAIL_MTU, Plan

COLUMNS = ["a_node", "a_port", "b_node", "b_port", "medium", "length_m", "a_address", "b_address"]


def write(plan: Plan, directory: Path, private: Path) -> None:
    """Write the inventory; private: where the lab's ssh settings and keys are."""
    racks = rack_members(plan)
    files: dict[str, t.Any] = {
        "hosts.yml": {"all": {"children": _groups(plan, racks)}},
        "group_vars/all/connection.yml": _connection(private),
        "group_vars/all/pod.yml": _pod(plan, sorted(racks)),
    }
    for group in ("leaves", "spines"):
        files[f"group_vars/{group}.yml"] = {"pod_platform": "frr"}
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n" + yaml.safe_dump(content, sort_keys=False))
    (directory / PLACE).write_text(cabling_csv(plan))


def rack_members(plan: Plan) -> dict[str, list[str]]:
    """Two hosts a rack, so that a lab of four has two gate groups."""
    hosts = plan.with_role("host")
    return {f"rack_{first // 2 + 1:02}": hosts[first : first + 2] for first in range(0, len(hosts), 2)}


def cabling_csv(plan: Plan) -> str:
    """The wiring plan, host or leaf first, as it is read upwards."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS[:-2] if plan.shape.ipv6 else COLUMNS)
    for cable in plan.cables:
        low, high = (cable.b, cable.a) if plan.nodes[cable.b.node].role == "host" else (cable.a, cable.b)
        addresses = [] if plan.shape.ipv6 else [low.address, high.address]
        rows.writerow([low.node, low.name, high.node, high.name, "dac", 1, *addresses])
    return text.getvalue()


def _groups(plan: Plan, racks: dict[str, list[str]]) -> dict[str, t.Any]:
    return {
        "gpu_hosts": {"children": {rack: {"hosts": {name: _host(plan, name) for name in names}} for rack, names in racks.items()}},
        "leaves": {"hosts": {name: _switch(plan, name) for name in plan.with_role("leaf")}},
        "spines": {"hosts": {name: _switch(plan, name) for name in plan.with_role("spine")}},
    }


def _switch(plan: Plan, name: str) -> dict[str, t.Any]:
    return {"ansible_host": plan.nodes[name].management, "bgp_asn": plan.nodes[name].asn}


def _host(plan: Plan, name: str) -> dict[str, t.Any]:
    rails = [
        {"device": f"mlx5_{number}", "netdev": own.name, "gpu": number, "leaf": far.node, "address": f"{own.address}/{plan.prefix_length}"}
        for number, (own, far) in enumerate(plan.rails(name))
    ]
    return {"ansible_host": plan.nodes[name].management, "pod_rails": rails}


def _connection(private: Path) -> dict[str, t.Any]:
    return {
        "ansible_user": "root",
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_common_args": f"-F {private}/ssh_config",
        # Kept connections end with the lab: they are found in its own directory.
        "ansible_control_path_dir": f"{private}/cp",
    }


def _pod(plan: Plan, racks: list[str]) -> dict[str, t.Any]:
    return {
        "pod_name": "frr_lab",
        "pod_fabric": "roce",
        "pod_topology": "rail_optimised" if plan.shape.spines else "rail_only",
        "pod_address_family": "ipv6" if plan.shape.ipv6 else "ipv4",
        "pod_underlay": "ospf" if plan.shape.ospf else "bgp",
        "pod_gate_groups": racks,
        "pod_mtu": RAIL_MTU,
        "pod_ping_count": 20,
        "pod_ping_interval_seconds": 0.02,
        # Four routers on one core answer later than silicon does.
        "pod_ping_rtt_max_ms": 50,
        # Its sessions are as young as the lab itself.
        "pod_bgp_settled_seconds": 1,
        "pod_path_probe_flows": 32,
    }
