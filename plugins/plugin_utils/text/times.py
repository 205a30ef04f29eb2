# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as tools write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

# Times and process ids, which are others in every run.
PASSING = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)? ?|\[\d+\] ?")


def epoch_seconds(text: str | None) -> float | None:
    """Seconds since 1970 of a time with its offset from UTC (ISO 8601); None of any other, since it does not state which moment it is."""
    try:
        moment = datetime.fromisoformat((text or "").replace(",", "."))
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None


def day_and_clock_before(text: str, milliseconds: float) -> str | None:
    """So many milliseconds before a time as glog writes it: month and day, and the clock (``1126 08:31:05.123456``), without a year.

    The result is ``11-26 08:31:04``; None where the text is no such time.
    """
    day, _space, clock = text.partition(" ")
    try:
        # A leap year, as any day may be in the log.
        moment = datetime.strptime(f"2000{day:0>4} {clock}", "%Y%m%d %H:%M:%S.%f" if "." in clock else "%Y%m%d %H:%M:%S")
    except ValueError:
        return None
    return (moment - timedelta(milliseconds=milliseconds)).strftime("%m-%d %H:%M:%S")


def without_times(words: str) -> str:
    """The words of a tool without its times and process ids, so that those of two nodes or two runs are alike."""
    return PASSING.sub("", words)
