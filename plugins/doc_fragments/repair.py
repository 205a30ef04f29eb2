# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation that every module that repairs a host shares."""

from __future__ import annotations


class ModuleDocFragment:
    """C(gpufabric.pyramid.repair), and C(gpufabric.pyramid.repair.rails) of those that set NICs up for one priority."""

    DOCUMENTATION = r"""
options:
  root:
    description: Where the host's files are, sysfs and procfs too; another directory is a mounted image, or a test.
    type: path
    default: /
attributes:
  check_mode:
    support: full
    description: It reports what it would change, and changes nothing.
  diff_mode:
    support: full
    description: It shows each setting and each file as it was and as it is wanted.
notes:
  - It needs root on the host.
  - What it writes starts with C(gpufabric) in its name; to take a repair back, remove those files.
"""

    RAILS = r"""
options:
  netdevs:
    description: The NICs, by their netdevs.
    type: list
    elements: str
    required: true
  priority:
    description: The priority that carries RoCE, from 0 to 7.
    type: int
    required: true
"""
