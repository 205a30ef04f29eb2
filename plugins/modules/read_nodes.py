# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: read_nodes
short_description: Read all nodes of a play for a layer of the validation pyramid
version_added: 0.3.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Reads each node that is left in the play as M(gpufabric.pyramid.read) does, all from one task, since a task for each node costs the controller more.
  - Each node is reached over its own connection with its own variables, as a task of that node would reach it.
  - As many processes work as the controller has cores, C(--forks) at most.
  - A node that could not be read is not a failure of the task; the gate makes it an unknown verdict.
extends_documentation_fragment:
  - gpufabric.pyramid.nodes
  - gpufabric.pyramid.phase
  - gpufabric.pyramid.step
  - gpufabric.pyramid.reads
  - gpufabric.pyramid.run
  - gpufabric.pyramid.run.layer
"""

EXAMPLES = r"""
- name: Read the nodes
  gpufabric.pyramid.read_nodes:
    run_dir: "{{ pyramid_gate.run_dir }}"
    layer: links
    seconds: "{{ pyramid_gate.read_timeout_seconds }}"
    connections: "{{ pyramid_gate.connections_max }}"
  run_once: true
  register: pyramid_read
  ignore_errors: true
"""

RETURN = r"""
nodes:
  description: How many nodes were asked.
  returned: success
  type: int
silent:
  description: The nodes that could not be read, and why.
  returned: success
  type: dict
"""
