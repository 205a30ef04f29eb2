# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules share that load hosts."""

from __future__ import annotations


class ModuleDocFragment:
    """C(gpufabric.pyramid.loading)."""

    DOCUMENTATION = r"""
options:
  layer:
    description: The layer; needed unless O(state=released).
    type: str
    choices: [routing, congestion, rdma, collectives, training]
  step:
    description: The number of the step that M(gpufabric.pyramid.plan_load) planned.
    type: int
    default: 0
  state:
    description:
      - V(reserved) reserves the host, V(started) starts the load, V(watched) reads its state and keeps it alive, V(collected) waits for its end
        and keeps what it printed, V(released) ends the reservation.
    type: str
    required: true
    choices: [reserved, started, watched, collected, released]
  due:
    description: When this look was planned, in seconds since the epoch; a look that is late lets jobs start for longer until the next one.
    type: float
"""
