# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan_slices
short_description: Cut a pod into slices of gate groups and plan the runs between them
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Cuts the pod of the inventory into slices of whole gate groups. Gate groups that share leaves stay in one slice where there are enough of such
    clusters; otherwise some leaves serve several slices, which is shown.
  - Plans seams, which are runs over one gate group of each slice, so that each pair of slices and each rail is tested between slices.
  - Names the slice that owns each leaf and spine, and the switches that several slices use, which their owner reads for the others.
  - Shows the slices and, except in check mode, writes C(slices.json) in a new directory C(sliced/TIME) below the pod's runs directory. With the runs
    beside it M(gpufabric.pyramid.merge) gives one verdict.
attributes:
  check_mode:
    support: full
    description: It shows the slices and writes nothing.
  diff_mode:
    support: none
    description: It changes nothing but its own file.
options:
  number:
    description: How many slices, from 1 to the number of gate groups.
    type: int
    required: true
  whole:
    description: Whether collectives and training are also to be run over all hosts at once, without which the merged verdict is no V(go).
    type: bool
    default: true
  into:
    description:
      - The directory for C(slices.json), which must not have one, and below which each run has its runs directory.
      - Without it a new one is made below the pod's runs directory, which is locked as by a run until the playbook ends.
    type: path
"""

EXAMPLES = r"""
- name: Cut the pod into four slices
  gpufabric.pyramid.plan_slices:
    number: 4
  register: pyramid_sliced
"""

RETURN = r"""
plan:
  description: The path of C(slices.json), or empty in check mode.
  returned: success
  type: str
runs:
  description:
    - The runs in their order, each with its C(name), its C(phase) (V(slices), V(seams) or V(whole)), the C(arguments) of C(ansible-playbook) besides
      the playbook, and the file for its C(output). Options of this playbook's command line that a run needs too are among the arguments (inventories,
      vaults and extra variables).
    - The runs of V(slices) may run side by side. One of V(seams) or V(whole) loads hosts of several slices, so it runs alone.
  returned: success
  type: list
  elements: dict
directory:
  description: The directory that the playbook was started from.
  returned: success
  type: str
"""
