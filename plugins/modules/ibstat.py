# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name: the node runs the tool, the controller parses it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ibstat
short_description: Read the RDMA ports of a host as ibstat reports them
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Runs C(ibstat) and returns a row for each port of each RDMA adapter.
  - A missing tool, an exit status, a text that ends half way or no adapter at all fails the task with its words; it never returns an empty list.
extends_documentation_fragment: [gpufabric.pyramid.reads, gpufabric.pyramid.reads.rows]
"""

EXAMPLES = r"""
- name: See every RDMA port
  gpufabric.pyramid.ibstat:
  register: ports

- name: Make sure that no port of an NDR adapter is slow
  ansible.builtin.assert:
    that: ports.rows | selectattr('ca_type', 'equalto', 'MT4129') | rejectattr('rate_gbit_s', 'equalto', 400) | list | length == 0
"""

RETURN = r"""
rows:
  description: One row a port. The rate of a port that is down is a residue, not a speed.
  returned: success
  type: list
  elements: dict
  sample:
    - {device: mlx5_0, port: 1, ca_type: MT4129, firmware: 28.39.1002, state: Active, physical_state: LinkUp, rate_gbit_s: 400.0,
       base_lid: 0, sm_lid: 0, link_layer: Ethernet}
"""
