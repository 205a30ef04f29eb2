# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 5, collectives: all-reduce over every host alone, 2, 4, 8 and so on to all; exactly right, over every rail, as fast as the pod must be."""

from __future__ import annotations

from . import bandwidth, clique, correctness, curve, gpu_clocks, nvls, slow_hosts, tables, transport

__all__ = ["bandwidth", "clique", "correctness", "curve", "gpu_clocks", "nvls", "slow_hosts", "tables", "transport"]
