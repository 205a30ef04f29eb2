# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gate
short_description: Evaluate a layer and decide its gates
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Evaluates every check of a layer over what M(gpufabric.pyramid.read) kept, opens or closes the gate of each gate group, and writes the report.
  - A node that left no answer is unknown, and unknown closes the gate.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads, gpufabric.pyramid.run, gpufabric.pyramid.run.layer]
"""

EXAMPLES = r"""
- name: Evaluate the layer
  gpufabric.pyramid.gate:
    run_dir: "{{ pyramid_gate.run_dir }}"
    layer: links
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
gates:
  description: The gate of each gate group that reached the layer, V(open) or V(closed).
  returned: success
  type: dict
"""
