# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_check_files
short_description: Write the program and the plans of the hosts' own checks
version_added: 0.3.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Writes, on the controller, the program by which a GPU host checks itself and a plan for each host, which only that host takes.
  - The files are in a directory that ends with the playbook; the role C(node_check) copies them to the hosts.
extends_documentation_fragment: [gpufabric.pyramid.step]
options:
  machine_ids:
    description: What C(/etc/machine-id) of each host holds, by host.
    type: dict
    required: true
  drivers:
    description: The rows of the reading C(nic_driver) of each host, by host; only what most hosts of a gate group have excuses what it cannot report.
    type: dict
    required: true
  state_directory:
    description: Where the program keeps on a host what it read last.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Write the files of the check
  gpufabric.pyramid.node_check_files:
    machine_ids: {gpu01: 4c4c45440052351080334b5c04f3f7a1}
    drivers: {gpu01: [{netdev: enp12s0np0, driver: mlx5_core, version: 24.10-1.1.4}]}
    state_directory: /var/lib/gpufabric-node-check
  run_once: true
"""

RETURN = r"""
program:
  description: The program's path on the controller.
  returned: success
  type: str
plans:
  description: The path of each host's plan on the controller, by host.
  returned: success
  type: dict
"""
