# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seconds since the epoch as dates."""

from __future__ import annotations

from datetime import UTC, datetime

DAY_SECONDS = 86400.0
HOUR_SECONDS = 3600.0


def day_of(seconds: float) -> str:
    """The date in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def minute_of(seconds: float) -> str:
    """Date and time in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
