# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name: the node runs the tool, the controller parses it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mlxconfig
short_description: Read the firmware settings of NVIDIA NICs
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Runs C(mlxconfig -e query), or C(mstconfig), for each device and returns a row for each setting, with its default, current and next-boot value.
  - It needs root on the host; without it the task fails with the words of the tool.
extends_documentation_fragment: [gpufabric.pyramid.reads, gpufabric.pyramid.reads.rows]
options:
  devices:
    description: RDMA devices (V(mlx5_0)) or PCI addresses (V(0000:18:00.0)).
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: See what DCQCN serves
  gpufabric.pyramid.mlxconfig:
    devices: [mlx5_0, mlx5_3]
  become: true
  register: settings
"""

RETURN = r"""
rows:
  description: One row a setting of a device. The number is the one in parentheses; text and number are none where the layout lacks the column.
  returned: success
  type: list
  elements: dict
  sample:
    - {device: mlx5_0, name: ROCE_CC_PRIO_MASK_P1, default: '255', default_number: 255, current: '8', current_number: 8,
       next_boot: '8', next_boot_number: 8, differs: true}
"""
