# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_check_report
short_description: Print what the hosts say of themselves
version_added: 0.3.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Prints the line of each host that did not pass its own check, and how many did.
  - What the program printed must be registered as C(node_check_once).
extends_documentation_fragment: [gpufabric.pyramid.step]
"""

EXAMPLES = r"""
- name: Print what the hosts say of themselves
  gpufabric.pyramid.node_check_report:
  run_once: true
"""

RETURN = r"""
not_judged:
  description: The hosts on which the program judged nothing, each with why.
  returned: success
  type: dict
"""
