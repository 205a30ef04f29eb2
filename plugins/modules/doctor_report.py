# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: doctor_report
short_description: Print on how many nodes each layer can be judged
version_added: 0.3.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Prints what M(gpufabric.pyramid.doctor) found, as a table of layers and then each thing that is missing with its nodes, packages and checks.
  - The result of that task must be registered as C(pyramid_doctor).
extends_documentation_fragment: [gpufabric.pyramid.step, gpufabric.pyramid.reads]
"""

EXAMPLES = r"""
- name: Print what is missing
  gpufabric.pyramid.doctor_report:
  run_once: true
"""

RETURN = r"""
ready:
  description: The nodes on which no required check lacks anything, by layer.
  returned: success
  type: dict
"""
