# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: what GPU hosts need before any link is judged."""

from __future__ import annotations

from . import (
    behind_leaf,
    containers,
    firmware,
    gpu,
    hardware,
    identities,
    nic,
    nic_addresses,
    nic_pcie,
    nvlink_domain,
    pcie,
    qos,
    software,
    system,
    virtualization,
)

__all__ = [
    "behind_leaf",
    "containers",
    "firmware",
    "gpu",
    "hardware",
    "identities",
    "nic",
    "nic_addresses",
    "nic_pcie",
    "nvlink_domain",
    "pcie",
    "qos",
    "software",
    "system",
    "virtualization",
]
