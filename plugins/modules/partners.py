# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: partners
short_description: Find hosts that help to prove others under load
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Names the hosts of the play in the gate groups of O(named) and may be loaded together with them.
  - Fails where C(pod_remediate_to_layer) asks for a load and there are too few, or where C(pod_depth) or C(pod_mode) load nothing.
    In check mode, which loads nothing, it only reports that.
  - Whether a partner works is looked at again just before each load, by its GPUs and its NICs.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
options:
  named:
    description: The hosts to prove.
    type: list
    elements: str
    required: true
  unfit:
    description: Hosts that must not be loaded, each with the reason.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Find partners to retest it with
  gpufabric.pyramid.partners:
    named: [gpu03]
    unfit: {gpu12: has jobs}
  run_once: true
  register: partners
"""

RETURN = r"""
hosts:
  description: The partners; none where no layer with a load is requested.
  returned: success
  type: list
  elements: str
to_layer:
  description: The last layer in which the hosts are to be proved.
  returned: success
  type: str
"""
