# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: load
short_description: Start, monitor or collect a host's part of a planned load
version_added: 0.2.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Starts the host's schedule detached from the connection, under a supervisor that ends every process at its deadline.
  - A load that is not renewed any more ends by itself, and starting one ends what a dead run of the same pod has left on the host, by its
    recorded process ids.
  - What the processes printed becomes readings of the run.
  - A host is loaded for one run at a time. All hosts of a load are reserved before one of them is loaded; other runs, of whatever controller
    and login, respect the reservation, which every look renews and which expires by the host's own clock.
extends_documentation_fragment: [gpufabric.pyramid.loading, gpufabric.pyramid.step, gpufabric.pyramid.run]
attributes:
  check_mode:
    support: full
    description: It does nothing in check mode.
  diff_mode:
    support: none
    description: It changes no configuration.
"""

EXAMPLES = r"""
- name: Start the load
  gpufabric.pyramid.load:
    run_dir: "{{ pyramid_gate.run_dir }}"
    layer: rdma
    step: "{{ pyramid_load.step }}"
    state: started
"""

RETURN = r"""
ended_leftovers:
  description: What a dead run had left on the host and was ended.
  returned: started
  type: list
  elements: str
ended:
  description: Why the load has ended; null while it runs.
  returned: watched or collected
  type: str
jobs:
  description: How many processes it starts.
  returned: watched or collected
  type: int
done:
  description: How many of them have ended.
  returned: watched or collected
  type: int
failed_jobs:
  description: How many of them gave no result.
  returned: collected
  type: int
"""
