# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL's RAS knows of a communicator whose ranks hang: which rank does not respond, and which has called fewer collectives.

The RAS thread of a process of each host listens there (NCCL 2.24 and later), and tells in JSON from 2.28.7 on. It is asked as its own client
``ncclras -f json`` asks, which is not installed everywhere. Its answers are of NCCL 2.28.9 on two H200.
"""

from __future__ import annotations

import json
import re
import socket
import time

ADDRESS = ("127.0.0.1", 28028)
# The number is that of the protocol since NCCL 2.24; RAS waits so many seconds for the processes of other hosts.
GREETING, QUESTIONS, STATUS = b"CLIENT PROTOCOL 2\n", (b"TIMEOUT 2\n", b"SET FORMAT json\n"), b"VERBOSE STATUS\n"
MOST_BYTES = 1 << 26
MOST_NAMED = 8
# NCCL 2.28.9 leaves out a comma in what it tells of a missing rank.
NO_COMMA = re.compile(r'("nvml_dev": -?\d+)(\s+"status")')


def ask(limit, address=ADDRESS):
    """What RAS answers within so many seconds as text; None where none listens, or it knows no JSON."""
    until = time.monotonic() + limit
    try:
        with socket.create_connection(address, limit) as asked:
            for line in (GREETING, *QUESTIONS):
                asked.settimeout(max(0.1, until - time.monotonic()))
                asked.sendall(line)
                if not asked.recv(4096).startswith(b"SERVER PROTOCOL" if line is GREETING else b"OK"):
                    return None
            asked.sendall(STATUS)
            return _rest(asked, until)
    except OSError:
        return None


def _rest(asked, until):
    text = b""
    while len(text) < MOST_BYTES and time.monotonic() < until:
        asked.settimeout(max(0.1, until - time.monotonic()))
        piece = asked.recv(65536)
        if not piece:
            return text.decode("utf-8", "replace")
        text += piece
    return None


def odd_ranks(text, pid, world):
    """The ranks that do not respond or are behind in the communicator of all ranks that this process is in.

    ``ras_missing`` and ``ras_behind`` have their numbers, and ``ras`` words of them, or None where all are alike; empty where nothing is known.
    text: what ``ask`` returned; pid: of a rank of it, so that no other job's is taken; world: how many ranks it has.
    """
    try:
        document = json.loads(NO_COMMA.sub(r"\1,\2", text or ""))
        mine = [one for one in document["communicators"] if one["size"] == world and any(rank["pid"] == pid for rank in one["ranks"])]
        ranks, missing = mine[0]["ranks"], mine[0]["missing_ranks"]
        called = {rank["rank"]: sum(rank["collective_counts"].values()) for rank in ranks}
        most = max(called.values())
        behind = [rank for rank in ranks if called[rank["rank"]] < most]
        found = [_named(rank) + (": considered dead" if rank["status"]["considered_dead"] else ": does not respond") for rank in missing]
        found += [f"{_named(rank)}: {called[rank['rank']]} of {most} collectives" for rank in behind]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return {}
    left = [f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    numbers = {"ras_missing": [rank["rank"] for rank in missing], "ras_behind": [rank["rank"] for rank in behind]}
    return {"ras": "; ".join([*found[:MOST_NAMED], *left]) or None, **numbers}


def _named(rank):
    return f"rank {rank['rank']} on {rank['host']} GPU {rank['nvml_dev']}"
