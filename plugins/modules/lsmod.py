# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name: the node runs the tool, the controller parses it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lsmod
short_description: Read the loaded kernel modules of a host
version_added: 0.1.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Runs C(lsmod) and returns a row for each loaded module.
  - A module is loaded where it has a row; that it stands in another's C(used_by) proves nothing.
extends_documentation_fragment: [gpufabric.pyramid.reads, gpufabric.pyramid.reads.rows]
"""

EXAMPLES = r"""
- name: See the kernel modules
  gpufabric.pyramid.lsmod:
  register: modules

- name: Make sure that nvidia_peermem is loaded
  ansible.builtin.assert:
    that: "'nvidia_peermem' in modules.rows | map(attribute='module')"
"""

RETURN = r"""
rows:
  description: One row a module, its size in bytes, how often it is used and by which modules.
  returned: success
  type: list
  elements: dict
  sample:
    - {module: nvidia_peermem, size_bytes: 16384, used_count: 0, used_by: []}
"""
