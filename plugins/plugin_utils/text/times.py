# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as tools write them."""

from __future__ import annotations

from datetime import datetime


def epoch_seconds(text: str | None) -> float | None:
    """Seconds since 1970 of a time with its offset from UTC (ISO 8601); None of any other, since it does not state which moment it is."""
    try:
        moment = datetime.fromisoformat((text or "").replace(",", "."))
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None
