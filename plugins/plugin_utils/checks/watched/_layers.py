# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The layers whose loads are watched."""

from __future__ import annotations

from .. import LOADED

ABOVE_INCASTS, OF_RANKS = LOADED[1:], LOADED[2:]
SINCE = "under load"
