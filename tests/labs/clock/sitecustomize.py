# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another day for a Python program: Python imports this by itself where the folder is on PYTHONPATH.

DAYS_AHEAD is by how many days its clock is ahead, less than 0 for a day that is past. Its monotonic clock and all other programs keep their time.
"""

from __future__ import annotations

import datetime
import os
import time

DAY_SECONDS = 86400.0
AHEAD = float(os.environ.get("DAYS_AHEAD", "0")) * DAY_SECONDS

if AHEAD:
    real = time.time
    time.time = lambda: real() + AHEAD
    # Its name is written into the programs that Ansible sends.
    datetime.datetime = type(  # type: ignore[misc]
        "datetime.datetime", (datetime.datetime,), {"now": classmethod(lambda cls, tz=None: cls.fromtimestamp(time.time(), tz))}
    )
