# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each pair of GPUs of a host copies: rate, latency, peer access and wrong values."""

from __future__ import annotations

import time

COPY_BYTES = 256 << 20
COPY_TIMES = 10
LATENCY_TIMES = 200


def copies(rank, torch):
    """Copies between each two GPUs of the host, all by its first rank once the others have ended: a GPU that is shared is slow."""
    # Peer access maps all that is allocated, which takes a while of much memory.
    torch.cuda.empty_cache()
    for one in range(rank.local_world):
        own = torch.device("cuda", one)
        source = torch.arange(COPY_BYTES // 4, device=own, dtype=torch.int32) * (one + 3)
        for other in range(rank.local_world):
            if other != one:
                rank.enter(f"copy from GPU {one} to GPU {other}")
                rank.report("copies", **_copy(torch, own, torch.device("cuda", other), source))
                rank.leave()


def _copy(torch, own, peer, source):
    target = torch.zeros_like(source, device=peer)
    small, other, seconds = torch.zeros(1, device=own), torch.zeros(1, device=peer), []
    for here, there, times in ((source, target, COPY_TIMES), (small, other, LATENCY_TIMES)):
        there.copy_(here)
        torch.cuda.synchronize(own)
        torch.cuda.synchronize(peer)
        began = time.perf_counter()
        for _time in range(times):
            there.copy_(here, non_blocking=True)
        torch.cuda.synchronize(own)
        torch.cuda.synchronize(peer)
        seconds.append((time.perf_counter() - began) / times)
    wrong, access = int((target.to(own) != source).sum()), torch.cuda.can_device_access_peer(own.index, peer.index)
    return {"gpu": own.index, "peer": peer.index, "access": access, "gbyte_s": COPY_BYTES / seconds[0] / 1e9, "latency_us": seconds[1] * 1e6, "wrong": wrong}
