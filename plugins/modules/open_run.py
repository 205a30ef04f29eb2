# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: open_run
short_description: Open a run of the validation pyramid
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Types every expectation of every node, checks gate groups and wiring plan, takes the pod's place and makes the run directory.
  - It refuses, before any node is contacted, a pod that is not described whole, and names every reason at once.
  - A playbook may open a second run after its first; that ends the first.
extends_documentation_fragment: [gpufabric.pyramid.reads]
options:
  only:
    description: Nodes to judge alone, as C(pod_only); such a run never says go for the pod.
    type: list
    elements: str
    default: []
  far_ends:
    description: Whether the switch ports that the hosts of O(only) are cabled to are judged with them; of a switch that is not in the play they are not.
    type: bool
    default: false
  lent:
    description: Hosts that may help to load what O(only) or C(pod_only) names; every host of the play, where it is not given.
    type: list
    elements: str
  to_layer:
    description: The last layer to climb to, in place of C(pod_to_layer).
    type: str
    choices: [preflight, links, routing, congestion, rdma, collectives, training]
  depth:
    description: How long to soak and load, in place of C(pod_depth).
    type: str
    choices: [quick, standard, go_live]
"""

EXAMPLES = r"""
- name: Open the run
  gpufabric.pyramid.open_run:
  run_once: true
  register: pyramid_gate
"""

RETURN = r"""
run_dir:
  description: The directory of the run.
  returned: success
  type: str
pod:
  description: The name of the pod.
  returned: success
  type: str
taking_part:
  description:
    - The nodes that climb, by layer. Where only some nodes are judged, also the hosts that help them, being loaded with them or telling
      of their fabric. A mapping of names to V(true), since every node looks itself up in it.
  returned: success
  type: dict
replay:
  description: Whether kept evidence is judged again and no node is contacted.
  returned: success
  type: bool
soak_seconds:
  description: How long counters are watched, in seconds.
  returned: success
  type: int
read_timeout_seconds:
  description: How long one node may take to answer, in seconds.
  returned: success
  type: int
"""
