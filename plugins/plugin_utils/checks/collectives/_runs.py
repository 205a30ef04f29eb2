# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of all hosts, put together once for all nodes that are judged by them."""

from __future__ import annotations

from ...loads.collective_runs import collective_runs, probe_runs
from .._once import once_for_all_nodes

# Both take the rows of load_jobs, collective_rates and collective_ranks of peers.
runs_of_all_hosts = once_for_all_nodes(collective_runs)
probes_of_several_hosts = once_for_all_nodes(probe_runs)
