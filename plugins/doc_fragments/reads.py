# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is true of every module that only reads."""

from __future__ import annotations


class ModuleDocFragment:
    """C(gpufabric.pyramid.reads), and C(gpufabric.pyramid.reads.rows) of those that parse on the controller."""

    DOCUMENTATION = r"""
attributes:
  check_mode:
    support: full
    description: It changes nothing, so it does the same in check mode.
  diff_mode:
    support: none
    description: It changes nothing.
"""

    ROWS = r"""
options: {}
requirements:
  - The Python packages textfsm and jmespath on the controller.
"""
