# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name: the node runs the tool, the controller parses it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: reading
short_description: Read any reading of a node as typed rows
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Runs the command that the node's platform has for a reading, and returns its rows with the same columns on every platform.
  - A missing tool, a refused command, a text that a template does not know or an empty table fails the task with its words.
extends_documentation_fragment: [gpufabric.pyramid.reads, gpufabric.pyramid.reads.rows]
options:
  name:
    description:
      - The reading; C(docs/readings.md) has each with its columns and its command on each platform.
      - What is repeated for a port, a ping or a load, and what the readers of an InfiniBand fabric report, is read by a run only.
    type: str
    required: true
  platform:
    description: >-
      What the node runs; by default the inventory's C(pod_platform), else the last word of C(ansible_network_os), else V(linux).
    type: str
    choices: [linux, eos, nxos, sonic, cumulus, frr]
  rails:
    description: >-
      The rails that a command is repeated for, each with C(device) and C(netdev), and C(pci) where the device has no name;
      by default the inventory's C(pod_rails).
    type: list
    elements: dict
"""

EXAMPLES = r"""
- name: See the counters of two rails
  gpufabric.pyramid.reading:
    name: rdma_counters
    rails:
      - {device: mlx5_0, netdev: enp24s0np0}
      - {device: mlx5_3, netdev: enp79s0np0}
  register: counters

- name: See the ports of a switch
  gpufabric.pyramid.reading:
    name: interface_status
    platform: eos
  register: ports
"""

RETURN = r"""
rows:
  description: The rows of the reading.
  returned: success
  type: list
  elements: dict
  sample:
    - {port: Ethernet1/1, state: connected, speed_gbit_s: 400.0, media: 400GBASE-DR4, reason: null}
"""
