# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 6, training: real steps are steady, as fast as they must be, and leave every rank with the same model; or a site's own training says so."""

from __future__ import annotations

from . import efficiency, gpu_clocks, own_log, own_ranks, own_steps, results, steps, storage

__all__ = ["efficiency", "gpu_clocks", "own_log", "own_ranks", "own_steps", "results", "steps", "storage"]
