# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name: the node runs the tool, the controller parses it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: switch_show
short_description: Read a switch's show commands as typed rows
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Asks a switch the command that its platform has for each reading and returns the same columns on every platform.
  - A refused command, a text that a template does not know or an empty table fails the task with its words.
extends_documentation_fragment: [gpufabric.pyramid.reads, gpufabric.pyramid.reads.rows]
options:
  readings:
    description: What to read, of the readings that a switch has; C(docs/readings.md) has them with the command of each on each platform.
    type: list
    elements: str
    required: true
  platform:
    description: What the switch runs; by default the inventory's C(pod_platform), else the last word of C(ansible_network_os).
    type: str
    choices: [eos, nxos, sonic, cumulus, frr]
"""

EXAMPLES = r"""
- name: See ports and BGP sessions of the leaves
  gpufabric.pyramid.switch_show:
    readings: [interface_status, bgp_summary]
  register: shown
"""

RETURN = r"""
rows:
  description: The rows by reading.
  returned: success
  type: dict
  sample:
    interface_status:
      - {port: Ethernet1/1, state: connected, speed_gbit_s: 400.0, media: 400GBASE-DR4, reason: null}
"""
