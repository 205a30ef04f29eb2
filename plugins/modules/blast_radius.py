# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: blast_radius
short_description: Refuse hosts that must not be out at once
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Fails where the play has more hosts than C(pod_remediate_max), or where a gate group would lose more of its hosts than C(pod_quarantine_max)
    (and one) allows; a host that takes no jobs already may always be repaired.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
options:
  out:
    description: Hosts of the inventory that take no jobs already.
    type: list
    elements: str
    default: []
  busy:
    description: Hosts of the inventory that have jobs.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Refuse more hosts than may be out at once
  gpufabric.pyramid.blast_radius:
    out: [gpu12]
  run_once: true
"""

RETURN = r"""
unfit:
  description: Hosts that must not be loaded to prove another, each with the reason.
  returned: success
  type: dict
  sample: {gpu12: has jobs}
"""
