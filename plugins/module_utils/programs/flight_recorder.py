# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What PyTorch's flight recorder knows of a rank in a hang: the last collective that it had enqueued, and the last that it had completed.

The recorder belongs to PyTorch's NCCL and RCCL backend; gloo has none. Its answers are of torch 2.11 on two H100.
"""

from __future__ import annotations

import json
import threading

# How many calls it keeps. Without room for any it knows nothing; torch before 2.7 has none by itself.
# A newer torch takes the older name too, and prints that it is deprecated.
BUFFER = {"TORCH_NCCL_TRACE_BUFFER_SIZE": "64", "TORCH_FR_BUFFER_SIZE": "64"}
PREFIXES = ("TORCH_NCCL_", "TORCH_FR_")
# The group of all ranks, by the number under which torch made it.
OF_ALL = "0"
COLUMNS = ("enqueued", "completed")
MOST_BYTES = 1 << 22


def positions(limit):
    """What it answers within so many seconds: ``enqueued`` and ``completed`` of the group of all ranks, counted from 1; empty where it knows nothing."""
    answers = []

    def ask():
        try:
            from torch._C import _distributed_c10d

            answers.append(_distributed_c10d._dump_nccl_trace_json(includeCollectives=False, onlyActive=True))
        except Exception:
            # An older torch has another one, and one without NCCL none: whatever it raises, a rank must still tell the rest.
            answers.append(None)

    # It may wait for a lock that a call holds which hangs.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(limit)
    return of_all(answers[0]) if answers else {}


def of_all(text):
    """The numbers of the group of all ranks, out of what the recorder answers; empty where it has none of it.

    text: JSON as str or bytes, or None. The recorder has -1 where there was none yet, which is 0 here.
    """
    try:
        if len(text) > MOST_BYTES:
            return {}
        status = json.loads(text)["pg_status"][OF_ALL]
        return {name: max(0, int(status[f"last_{name}_collective"])) for name in COLUMNS}
    except (ValueError, KeyError, TypeError):
        return {}
