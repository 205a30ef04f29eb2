# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: compare
short_description: Compare two runs of a pod
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Prints what got worse between two runs, the lowest layer first, what is not judged any more, what is well again, and which gates moved.
  - Numbers (light, round trips, bandwidths, step times) are compared with the older run's as with a baseline.
extends_documentation_fragment: [gpufabric.pyramid.reads]
options:
  old:
    description: The directory of the older run.
    type: path
    required: true
  new:
    description: The directory of the newer run.
    type: path
    required: true
  fail_on:
    description:
      - What of the newer run fails the task, after everything was printed, so that a pipeline stops.
      - V(new_fail) is a finding that fails and did not in the older run, also one of a check that failed at other places before, and a newer run
        that has not ended.
      - V(new_unknown) is besides what has become unknown, and what is not evaluated any more.
    type: str
    choices: [nothing, new_fail, new_unknown]
    default: nothing
"""

EXAMPLES = r"""
- name: Say what has changed since the acceptance
  gpufabric.pyramid.compare:
    old: runs/mypod/20260601T080000Z
    new: runs/mypod/latest
"""

RETURN = r"""
text:
  description: What is printed.
  returned: success
  type: str
first_layer:
  description: The lowest layer in which something got worse; null where nothing did.
  returned: success
  type: str
worse:
  description: How many findings are new, equal ones counted once.
  returned: success
  type: int
new_fails:
  description: How many checks have findings that fail and did not.
  returned: success
  type: int
new_unknowns:
  description: How many checks have findings that are unknown and were not.
  returned: success
  type: int
unjudged:
  description: How many checks have places that were judged before and are not any more.
  returned: success
  type: int
"""
