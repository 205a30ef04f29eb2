# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: soak
short_description: Wait while error counters soak
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Waits once for the whole play, and prints the time that is left.
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
options:
  seconds:
    description: How long to wait.
    type: int
  until:
    description: When to stop waiting, in seconds since the epoch; a time that has passed is not waited for.
    type: float
  ends:
    description: When what goes on will end, in seconds since the epoch, where that is later than the waiting; it is what is printed as left.
    type: float
  doing:
    description: What is printed as in progress meanwhile.
    type: str
    default: soaking
  quiet:
    description:
      - Whether nothing is printed where the output is no terminal. In a terminal one line counts down; elsewhere there is a line at
        the beginning and one at each quarter, 30 seconds apart or more.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Soak
  gpufabric.pyramid.soak:
    seconds: 300
  run_once: true
"""

RETURN = r"""
seconds:
  description: How long it waited.
  returned: success
  type: int
"""
