# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: end_loads
short_description: End what an interrupted run left on a host
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Ends the loads that runs of this runs directory started on the host and that still run, and releases the host where it is reserved for one of them.
    By themselves they end within minutes.
  - Refused while such a run is in progress. Loads of other runs directories, and processes of anybody else, are left alone.
extends_documentation_fragment: [gpufabric.pyramid.step]
attributes:
  check_mode:
    support: full
    description: It ends nothing.
  diff_mode:
    support: none
    description: It changes no configuration.
"""

EXAMPLES = r"""
- name: End what an interrupted run left
  gpufabric.pyramid.end_loads:
"""

RETURN = r"""
ended:
  description: The loads that still ran, in words.
  returned: success
  type: list
  elements: str
"""
