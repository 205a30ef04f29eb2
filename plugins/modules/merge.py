# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: merge
short_description: Merge the verdicts of a pod that was climbed in slices
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Gives one verdict over runs that climbed different gate groups of one pod (C(--limit rack_01:leaves:spines)), on one controller or on several.
  - It fails closed on a group that no slice judged, and on a slice that is missing, has not ended, is too old, or is of another pod, wiring,
    version, depth or choice of layers.
  - Slices never test the paths between them, so together they prove of routing and above at best that no fault was seen.
extends_documentation_fragment: [gpufabric.pyramid.reads]
options:
  runs:
    description: The run directories of all slices.
    type: list
    elements: path
    required: true
  max_age_minutes:
    description: How long ago each slice may have been opened.
    type: int
    default: 1440
"""

EXAMPLES = r"""
- name: Give one verdict
  gpufabric.pyramid.merge:
    runs:
      - slices/rack_01/latest
      - slices/rack_02/latest
"""

RETURN = r"""
pyramid_verdict:
  description: V(go), V(no_go) or V(no_fault_seen).
  returned: always
  type: str
pyramid_reasons:
  description: Why it is not V(go).
  returned: always
  type: list
  elements: str
merged:
  description: The verdict with, by gate group, the runs that judged it and the worst of their gates.
  returned: always
  type: dict
"""
