# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 4, RDMA: every rail of every host carries its rate under ``ib_write_bw``, and a failing one is separated from its partner and the path."""

from __future__ import annotations

from . import bandwidth, latency, settings

__all__ = ["bandwidth", "latency", "settings"]
