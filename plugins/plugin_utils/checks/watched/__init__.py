# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every layer with loads watches meanwhile, in readings just before the loads and after them."""

from __future__ import annotations

from . import amd, behind_leaf, host, network, switches

__all__ = ["amd", "behind_leaf", "host", "network", "switches"]
