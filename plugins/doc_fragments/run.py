# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that the steps of a run share."""

from __future__ import annotations


class ModuleDocFragment:
    """The options C(gpufabric.pyramid.run), C(gpufabric.pyramid.run.layer) and, of the layers under load, C(gpufabric.pyramid.run.load)."""

    DOCUMENTATION = r"""
options:
  run_dir:
    description: The run directory, as M(gpufabric.pyramid.open_run) returned it.
    type: path
    required: true
"""

    LAYER = r"""
options:
  layer:
    description: The layer.
    type: str
    required: true
    choices: [preflight, links, routing, congestion, rdma, collectives, training]
"""

    LOAD = r"""
options:
  layer:
    description: The layer.
    type: str
    required: true
    choices: [routing, congestion, rdma, collectives, training]
"""
