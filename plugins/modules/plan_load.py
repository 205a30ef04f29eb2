# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan_load
short_description: Plan the next step of a layer's loads
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Plans which host does what to which other host and when, from the pod and from what the earlier steps gave; prints the plan and its duration.
  - Hosts whose GPUs run processes or whose NICs carry traffic are named and left out, unless C(pod_load_busy_hosts) allows it.
  - Where the run loads nothing (check mode, mode passive, depth quick) the plan of the first step is printed and nothing more is done.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.run, gpufabric.pyramid.run.load]
attributes:
  check_mode:
    support: full
    description: It prints the plan; nothing is loaded.
  diff_mode:
    support: none
    description: It changes nothing.
options:
  step:
    description: The number of the step, from 0.
    type: int
    required: true
  reserved:
    description:
      - Whether M(gpufabric.pyramid.load) has reserved the hosts of the first step, which is then begun as it was planned. Where one of them is
        reserved for another run, none is loaded, and RV(hosts) are those to release.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Plan the load
  gpufabric.pyramid.plan_load:
    run_dir: "{{ pyramid_gate.run_dir }}"
    layer: rdma
    step: 0
  run_once: true
  register: pyramid_load
"""

RETURN = r"""
more:
  description: Whether there is something to load.
  returned: success
  type: bool
layer:
  description: The layer.
  returned: success
  type: str
step:
  description: The number of the step.
  returned: success
  type: int
hosts:
  description: The hosts that are loaded, as a mapping of names to V(true), since every node looks itself up in it.
  returned: success
  type: dict
begins:
  description: When the loads begin, in seconds since the epoch.
  returned: where there is something to load
  type: float
seconds:
  description: How long they take.
  returned: success
  type: float
ticks:
  description: How often they are looked at meanwhile.
  returned: success
  type: int
tick_seconds:
  description: How long it is from one look to the next.
  returned: where there is something to load
  type: int
sampled:
  description: Whether counters are read meanwhile.
  returned: where there is something to load
  type: bool
"""
