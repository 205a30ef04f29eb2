# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes is the machine's matter, not the property's.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")
