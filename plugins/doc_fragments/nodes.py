# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules share that work for many nodes."""

from __future__ import annotations


class ModuleDocFragment:
    """C(gpufabric.pyramid.nodes)."""

    DOCUMENTATION = r"""
options:
  nodes:
    description: The nodes, where not all that are left in the play are meant.
    type: list
    elements: str
  seconds:
    description: How long one node may take. A task's C(timeout) would end the reading of all nodes.
    type: int
    required: true
  connections:
    description: How many nodes are read at a time; C(--forks) given on the command line and C(throttle) lower it.
    type: int
    required: true
"""
