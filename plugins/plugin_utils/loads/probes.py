# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which variable each probe of a slow all-reduce changes: what restores the rate names the cause."""

from __future__ import annotations

import typing as t

Variables = dict[str, str]
# Where a rung breaks although every rail carries its rate.
PROBES: dict[str, Variables] = {
    "NCCL_ALGO=Ring": {"NCCL_ALGO": "Ring"},
    "NCCL_NVLS_ENABLE=0": {"NCCL_NVLS_ENABLE": "0"},
    # NCCL warns of a file that is not there, and looks at the machine itself.
    "no topology file": {"NCCL_TOPO_FILE": "/nonexistent"},
    "4 queue pairs a connection": {"NCCL_IB_QPS_PER_CONNECTION": "4"},
}
# And where a host alone is slow: variables that take its GPUs off NVLink, and what NCCL chooses within a host.
PROBES_ALONE: dict[str, Variables] = {
    "NCCL_P2P_DISABLE=0": {"NCCL_P2P_DISABLE": "0"},
    "NCCL_NVLS_ENABLE=0": {"NCCL_NVLS_ENABLE": "0"},
    "no topology file": {"NCCL_TOPO_FILE": "/nonexistent"},
}


def changed_by(names: t.Iterable[str]) -> frozenset[str]:
    """The variables that some probes change; names: those of the probes."""
    return frozenset(variable for name in names for variable in {**PROBES, **PROBES_ALONE}.get(name, {}))
