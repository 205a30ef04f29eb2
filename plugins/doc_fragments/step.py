# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation of every module that only the playbooks use says."""

from __future__ import annotations


class ModuleDocFragment:
    """C(gpufabric.pyramid.step)."""

    DOCUMENTATION = r"""
options: {}
notes:
  - This module is a step of the playbooks of this collection.
"""
