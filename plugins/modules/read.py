# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: read
short_description: Read a node for a layer of the validation pyramid
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Asks a node all commands of a layer in one round trip, parses the answers on the controller, and keeps evidence and rows in the run directory.
  - What could not be read is not a failure of the task; the gate makes it an unknown verdict.
  - Where a connection cannot pipe the reader to the node's Python, M(gpufabric.pyramid.side_by_side) takes its place.
extends_documentation_fragment: [gpufabric.pyramid.phase, gpufabric.pyramid.step, gpufabric.pyramid.reads, gpufabric.pyramid.run, gpufabric.pyramid.run.layer]
"""

EXAMPLES = r"""
- name: Read the node
  gpufabric.pyramid.read:
    run_dir: "{{ pyramid_gate.run_dir }}"
    layer: links
  register: pyramid_read
  ignore_errors: true
"""

RETURN = r"""
answered:
  description: Whether the node answered at all.
  returned: success
  type: bool
readings:
  description: How many readings were requested.
  returned: success
  type: int
unread:
  description: The readings that could not be read, and why.
  returned: success
  type: dict
"""
