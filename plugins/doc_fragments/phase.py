# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules share that read nodes for a layer."""

from __future__ import annotations


class ModuleDocFragment:
    """C(gpufabric.pyramid.phase)."""

    DOCUMENTATION = r"""
options:
  phase:
    description:
      - V(before) reads what the layer compares with, and starts what its probes need; V(idle) reads once more just before the loads.
      - V(during) is one sample under load.
    type: str
    default: now
    choices: [before, idle, during, now]
  sample:
    description: The number of a sample under load.
    type: int
  since:
    description: When the loads began, in seconds since the epoch, for a sample under load.
    type: float
"""
