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
  - Types every expectation of every node, checks gate groups and wiring plan, locks the pod's runs directory and makes the run's.
  - It refuses, before any node is contacted, a pod that is not described whole, and names every reason at once.
  - The lock is released by M(gpufabric.pyramid.verdict), and whenever and however C(ansible-playbook) ends before.
  - A playbook may open a second run after its first; that ends the first.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
options:
  only:
    description: Nodes to judge alone, as C(pod_only); such a run never reports go for the pod.
    type: list
    elements: str
    default: []
  far_ends:
    description: Whether the switch ports that the hosts of O(only) are cabled to are judged with them; of a switch that is not in the play they are not.
    type: bool
    default: false
  helpers:
    description: Hosts that may be loaded with what O(only) or C(pod_only) names, or read its fabric; every host of the play by default.
    type: list
    elements: str
  to_layer:
    description: The last layer to evaluate, in place of C(pod_to_layer).
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
    - The nodes that take part, by layer. Where only some nodes are judged, also the helper hosts, which are loaded with them or read
      their fabric. A mapping of names to V(true), since every node looks itself up in it.
  returned: success
  type: dict
replay:
  description: Whether kept evidence is evaluated again and no node is contacted.
  returned: success
  type: bool
reads:
  description: Whether nodes are read; not where kept evidence is evaluated again, nor in check mode, which only prints the plans of the loads.
  returned: success
  type: bool
reserved:
  description: The hosts that are reserved for this run's loads, as a mapping of names to V(true).
  returned: success
  type: dict
soak_seconds:
  description: How long the soak takes, in seconds.
  returned: success
  type: int
read_timeout_seconds:
  description: How long one node may take to answer, in seconds.
  returned: success
  type: int
"""
