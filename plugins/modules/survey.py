# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: survey
short_description: Read the cabling of a node
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - >-
    Reads from a GPU host or a switch everything that shows how a pod is cabled: its neighbors by LLDP, its adapters and netdevs, the MAC
    addresses that a switch has learned, its own AS, and on InfiniBand the discovery of the whole fabric by a few hosts.
  - A reading that fails does not fail the task; it is kept with the words of its tool. Nor does a node that is not reached.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
options:
  fabric:
    description: The fabric that joins the rails.
    type: str
    choices: [roce, infiniband]
    required: true
"""

EXAMPLES = r"""
- name: Read the neighbors of the node
  gpufabric.pyramid.survey:
    fabric: roce
  register: pyramid_survey
"""

RETURN = r"""
silent:
  description: Why the node was not reached; empty where it was.
  returned: success
  type: str
reported:
  description: The rows of each reading that the node reported, by reading; see docs/readings.md.
  returned: success
  type: dict
unreported:
  description: Why a reading was not reported, by reading.
  returned: success
  type: dict
"""
