# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: merge
short_description: Merge the verdicts of a pod that was validated in slices
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Gives one verdict over runs that validated different gate groups of one pod (C(--limit rack_01:leaves:spines)), on one controller or on several.
  - It fails closed on a group that no slice evaluated, and on a slice that is missing, has not ended, is too old, or is of another pod, wiring,
    version, depth or choice of layers.
  - The gates are recomputed from the verdicts of each slice, and its report, state and verdicts must agree. Verdicts are evaluated again from the
    evidence with O(recheck=true); otherwise the verdict says that the evidence was not rechecked.
  - A slice that was resumed needs the runs beside it whose gates it stands on.
  - Slices never test the paths between them, so together they prove of routing and above at best that no fault was seen.
  - Slices that M(gpufabric.pyramid.plan_slices) planned can be a V(go). Then seams test the paths between every two slices, every spine and every rail, and
    collectives and training were run over all hosts at once. What is missing of that is among the reasons, and the verdict is V(no_fault_seen).
extends_documentation_fragment: [gpufabric.pyramid.reads]
options:
  runs:
    description: The run directories of all slices. Exactly one of O(runs) and O(plan) must be given.
    type: list
    elements: path
  plan:
    description: The C(slices.json) of M(gpufabric.pyramid.plan_slices), beside which the runs are.
    type: path
  max_age_minutes:
    description: How long ago each slice may have been opened, from 1 to 10080.
    type: int
    default: 1440
  recheck:
    description: Whether the verdicts of each slice are evaluated again from the evidence in its directory.
    type: bool
    default: false
  report_dir:
    description: >-
      Where the report of the merge is kept (C(merge.html), C(merge.json), C(merge.md) and C(merge.xml), below a directory of the pod's name and
      one of the time), relative to the directory the playbook was started from.
    type: path
    default: merged
  publish:
    description: Where the report of the merge goes too, as C(pod_publish); empty for nowhere. The role C(publish) copies the files that RV(publish_to) names.
    type: str
    default: ""
  publish_link:
    description: The web address that people open O(publish) at, if it is another one.
    type: str
    default: ""
  publish_endpoint:
    description: The address of an S3-compatible service that O(publish) is a bucket of; empty for AWS.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Report one verdict
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
pyramid_up_to_layer:
  description: The highest layer that every gate group has proved, with all layers below it; null where none is.
  returned: always
  type: str
pyramid_stands_on:
  description: What the verdict stands on besides the checks (waivers, gates of earlier runs, changed expectations).
  returned: always
  type: list
  elements: str
pyramid_closed_gates:
  description: The gate groups with a closed gate, by layer.
  returned: always
  type: dict
publish_to:
  description: Where the role C(publish) puts the report; empty where it is published nowhere.
  returned: always
  type: dict
pyramid_report:
  description: The path of C(merge.json).
  returned: always
  type: str
merged:
  description: The verdict with, by gate group, the runs that judged it and the worst of their gates.
  returned: always
  type: dict
"""
