# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: load_nodes
short_description: Start, monitor or collect the hosts' parts of a planned load
version_added: 0.3.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Does for each host what M(gpufabric.pyramid.load) does for one, all from one task, since a task for each host costs the controller more.
  - Each host is reached over its own connection with its own variables, as a task of that host would reach it.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.run]
attributes:
  check_mode:
    support: full
    description: It does nothing in check mode.
  diff_mode:
    support: none
    description: It changes no configuration.
options:
  layer:
    description: The layer; needed unless O(state=released).
    type: str
    choices: [routing, congestion, rdma, collectives, training]
  step:
    description: The number of the step that M(gpufabric.pyramid.plan_load) planned.
    type: int
    default: 0
  state:
    description:
      - V(reserved) reserves the host, V(started) starts the load, V(watched) reads its state and keeps it alive, V(collected) waits for its end
        and keeps what it printed, V(released) ends the reservation.
    type: str
    required: true
    choices: [reserved, started, watched, collected, released]
  due:
    description: When this look was planned, in seconds since the epoch; a look that is late lets jobs start for longer until the next one.
    type: float
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

EXAMPLES = r"""
- name: Start the load
  gpufabric.pyramid.load_nodes:
    run_dir: "{{ pyramid_gate.run_dir }}"
    layer: rdma
    step: "{{ pyramid_load.step }}"
    state: started
    nodes: "{{ pyramid_load.hosts | list }}"
    seconds: "{{ pyramid_gate.read_timeout_seconds }}"
    connections: "{{ pyramid_gate.connections_max }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description: How many hosts were contacted.
  returned: success
  type: int
silent:
  description: The hosts that refused, or could not be reached, and why.
  returned: success
  type: dict
"""
