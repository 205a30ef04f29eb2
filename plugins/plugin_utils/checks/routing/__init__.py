# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 2, routing: sessions, equal-cost paths and reachability of every rail; the subnet manager and the tree of an InfiniBand fabric."""

from __future__ import annotations

from . import adjacencies, announcements, capacity, ecmp, failover, infiniband, neighbor_entries, overlay, partitions, paths, sessions, vrfs

__all__ = [
    "adjacencies",
    "announcements",
    "capacity",
    "ecmp",
    "failover",
    "infiniband",
    "neighbor_entries",
    "overlay",
    "partitions",
    "paths",
    "sessions",
    "vrfs",
]
