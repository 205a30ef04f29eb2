# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as an inventory: hosts.yml, group_vars and the wiring plan, as an operator would write them for this pod."""

from __future__ import annotations

import typing as t

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE

from .lab import OTHER_PARTITION, Lab
from .shape import healthy, rows

HOSTS_OF_A_RACK = 8


def write(lab: Lab, **expectations: t.Any) -> None:
    """Write the inventory of the fabric as it was planned, whatever it is now, into the lab's directory."""
    shape = lab.shape
    hosts = shape.host_names()
    racks = {f"rack_{first // HOSTS_OF_A_RACK + 1:02}": hosts[first : first + HOSTS_OF_A_RACK] for first in range(0, len(hosts), HOSTS_OF_A_RACK)}
    members = {rack: {"hosts": {name: _host(lab, hosts.index(name)) for name in names}} for rack, names in racks.items()}
    switches = {"leaves": shape.leaf_names(), "spines": shape.spine_names()}
    groups = {"gpu_hosts": {"children": members}, **{group: {"hosts": dict.fromkeys(names)} for group, names in switches.items()}}
    directory = lab.directory / "inventory"
    for name, content in {"hosts.yml": {"all": {"children": groups}}, "group_vars/all.yml": _pod(lab, list(racks)) | expectations}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n" + yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    cables = [f"{','.join(row)},optic,10" for row in rows(healthy(shape))]
    (directory / PLACE).write_text("\n".join(["a_node,a_port,b_node,b_port,medium,length_m", *cables]) + "\n", encoding="utf-8")


def _host(lab: Lab, number: int) -> dict[str, t.Any]:
    rails = [{"device": f"mlx5_{rail}", "gpu": rail, "leaf": lab.shape.leaf_of(number, rail)} for rail in range(lab.shape.rails)]
    return {"pod_rails": rails, "ansible_python_interpreter": str(lab.directory / "hosts" / lab.shape.host_names()[number] / "python3")}


def _pod(lab: Lab, racks: list[str]) -> dict[str, t.Any]:
    return {
        "ansible_connection": "local",
        "pod_name": "infiniband_lab",
        "pod_runs_dir": str(lab.directory / "runs"),
        "pod_fabric": "infiniband",
        "pod_topology": "rail_optimised",
        "pod_gate_groups": racks,
        "pod_link_gbit_s": 200,
        "pod_lane_gbit_s": 50,
        "pod_soak_seconds": 1,
        "pod_other_partition_keys": [OTHER_PARTITION],
        # ibsim has one subnet manager, and no standby to speak of.
        "pod_standby_sms": 0,
    }
