# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How nodes are logged in to, as the inventory that discovered them has it: what all nodes of a group share, and what is a node's own."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

Values = dict[str, t.Any]
GROUPS = {"host": "gpu_hosts", "leaf": "leaves", "spine": "spines", "super_spine": "super_spines"}
# No secret is among them: passwords stay in the vault, or are given again (-k, -K).
KEPT = (
    "ansible_host", "ansible_port", "ansible_connection", "ansible_network_os", "ansible_user", "ansible_become", "ansible_become_method",
    "ansible_become_user", "ansible_python_interpreter", "ansible_ssh_private_key_file", "ansible_ssh_common_args", "ansible_ssh_extra_args",
    "ansible_httpapi_use_ssl", "ansible_httpapi_validate_certs", "ansible_httpapi_port",
    "ansible_kubectl_namespace", "ansible_kubectl_pod", "ansible_kubectl_container", "ansible_kubectl_context", "ansible_kubectl_kubeconfig",
    "pod_platform", "pod_switch_transport",
)  # fmt: skip

# What the site decides and no node reports; where all nodes of the inventory have one value, the draft has it too.
DECIDED = (
    "pod_cnp_dscp", "pod_collective_backend", "pod_container_image", "pod_container_runtime", "pod_fabric_reader", "pod_imex_domain", "pod_job_services",
    "pod_launcher", "pod_nccl_tests_dir", "pod_roce_dscp", "pod_roce_priority", "pod_software", "pod_standby_sms", "pod_torch_python", "pod_traffic_class",
)  # fmt: skip


@dataclass
class Access:
    """Variables of the connection; shared: by group; own: by node; decided: of all nodes, the expectations among DECIDED."""

    shared: dict[str, Values] = field(default_factory=dict)
    own: dict[str, Values] = field(default_factory=dict)
    decided: Values = field(default_factory=dict)


def access_of(roles: Mapping[str, str], variables: Mapping[str, Mapping[str, t.Any]]) -> Access:
    """How to reach the nodes.

    roles: the nodes with ``host``, ``leaf``, ``spine`` or ``super_spine``; variables: by node, what the inventory sets of KEPT and DECIDED.
    """
    found = Access()
    for key in DECIDED:
        decided = [variables.get(node, {}).get(key) for node in roles]
        if decided and decided[0] is not None and all(one == decided[0] for one in decided):
            found.decided[key] = decided[0]
    for role, group in GROUPS.items():
        nodes = [node for node, own in roles.items() if own == role]
        for key in KEPT:
            values = {node: variables[node][key] for node in nodes if key in variables.get(node, {})}
            if len(values) == len(nodes) > 1 and len(set(map(repr, values.values()))) == 1:
                found.shared.setdefault(group, {})[key] = next(iter(values.values()))
                continue
            for node, value in values.items():
                found.own.setdefault(node, {})[key] = value
    return found
