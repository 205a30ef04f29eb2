# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: soak
short_description: Wait while counters are watched
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Waits once for the whole play, and says how long it still takes.
extends_documentation_fragment: [gpufabric.pyramid.reads]
options:
  seconds:
    description: How long to wait.
    type: int
  until:
    description: When to stop waiting, in seconds since the epoch; a time that has passed is not waited for.
    type: float
  ends:
    description: When what goes on will end, in seconds since the epoch, where that is later than the waiting; it is what is said to be left.
    type: float
  doing:
    description: What is said to go on meanwhile.
    type: str
    default: soaking
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
