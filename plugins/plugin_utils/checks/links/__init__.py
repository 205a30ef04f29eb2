# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: speed, wiring, errors, optics and cables."""

from __future__ import annotations

from . import behind_leaf, bonds, channels, errors, infiniband, infiniband_modules, lost_links, optics, optics_health, ports, switch_ports, switch_state, vlans

__all__ = [
    "behind_leaf", "bonds", "channels", "errors", "infiniband", "infiniband_modules", "lost_links", "optics", "optics_health", "ports",
    "switch_ports", "switch_state", "vlans",
]  # fmt: skip
