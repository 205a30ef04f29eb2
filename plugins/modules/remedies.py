# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: remedies
short_description: Tell what a run found to repair on each host
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Ends a run of some hosts, and returns for each of them which remedies its findings name, what no remedy repairs, and whether the run proved it.
  - It prints each host's settings that drifted, with what runs, what the firmware has, and what the next boot will have, and the commands of
    what is fixed by hand, for the host's own distribution and network stack where M(gpufabric.pyramid.host_stack) was registered as
    C(pyramid_stack).
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
options:
  run_dir:
    description: The directory of the run, as M(gpufabric.pyramid.open_run) returned it.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: See what there is to repair
  gpufabric.pyramid.remedies:
    run_dir: "{{ pyramid_gate.run_dir }}"
  run_once: true
  register: pyramid_remedies
"""

RETURN = r"""
hosts:
  description:
    - For each host C(proved), C(remedies), C(left) (what no remedy heals), C(by_hand) (commands for a person) and C(report).
  returned: success
  type: dict
  sample: {gpu47: {proved: false, remedies: [mlxconfig, dcqcn], left: [], by_hand: [], report: runs/pod/20260101T000000Z/report.json}}
"""
