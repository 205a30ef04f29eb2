# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible knows of the pod, as plain values."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError

from .opening import ROLES, Inventory, Refused

ALSO = ("bgp_asn", "ansible_network_os")


def inventory_of(task_vars: t.Mapping[str, t.Any], steered: t.Mapping[str, t.Any] | None = None) -> Inventory:
    """The inventory's groups and each node's ``pod_*``, templated by Ansible.

    steered: ``pod_*`` of the run that a playbook sets for every node.
    Raises Refused with every value that cannot be templated.
    """
    groups = {str(name): [str(host) for host in hosts] for name, hosts in task_vars["groups"].items()}
    nodes = dict.fromkeys(node for group in ROLES for node in groups.get(group, ()))
    variables: dict[str, dict[str, t.Any]] = {}
    wrong: list[str] = []
    for node in nodes:
        own = task_vars["hostvars"][node]
        variables[node] = {}
        for name in own:
            if name.startswith("pod_") or name in ALSO:
                try:
                    variables[node][str(name)] = own[name]
                except AnsibleError as error:
                    wrong.append(f"{name} of {node} cannot be templated: {error}")
        variables[node].update(steered or {})
    if wrong:
        raise Refused(wrong)
    return Inventory(groups, variables)
