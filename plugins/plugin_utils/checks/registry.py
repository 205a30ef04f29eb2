# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check: a module of checks is declared by its import, and here they are imported, by name."""

from __future__ import annotations

from . import REGISTRY, collectives, congestion, links, preflight, rdma, routing, training, watched

MODULES = (preflight, links, routing, congestion, rdma, collectives, training, watched)

__all__ = ["MODULES", "REGISTRY"]
