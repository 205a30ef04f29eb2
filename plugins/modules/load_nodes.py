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
extends_documentation_fragment: [gpufabric.pyramid.loading, gpufabric.pyramid.nodes, gpufabric.pyramid.step, gpufabric.pyramid.run]
attributes:
  check_mode:
    support: full
    description: It does nothing in check mode.
  diff_mode:
    support: none
    description: It changes no configuration.
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
ended:
  description: Whether the load has ended on every host. One that could not be reached counts as one on which it has not.
  returned: success
  type: bool
nodes:
  description: How many hosts were contacted.
  returned: success
  type: int
silent:
  description: The hosts that refused, or could not be reached, and why.
  returned: success
  type: dict
"""
