# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host is busy with somebody's work: such a host is not loaded."""

from __future__ import annotations

import typing as t

Rows = list[dict[str, t.Any]]
# What tells it, by the phase in which it is read; every layer that loads hosts asks for it.
# An InfiniBand port has no netdev whose driver would count.
TOLD: dict[str, dict[str, tuple[str, ...]]] = {
    "roce": {"before": ("nic_counters",), "idle": ("gpus", "nic_counters")},
    "infiniband": {"idle": ("gpus",)},
}
# Bytes that a NIC has sent and received, by any name that it gives them.
BYTES = ("rx_bytes_phy", "tx_bytes_phy", "rx_bytes", "tx_bytes")


def busy(gpus: Rows, before: Rows | None, idle: Rows | None, seconds: int, most_gbit_s: float) -> str | None:
    """Why a host is not idle, or None.

    gpus: the rows of ``gpus``; before, idle: the rows of ``nic_counters``, read ``seconds`` apart, or None where the fabric has none.
    """
    processes = [f"GPU{gpu['gpu']}" for gpu in gpus if gpu["processes"]]
    if processes:
        return f"{', '.join(processes)} run{'s' if len(processes) == 1 else ''} processes"
    if before is None or idle is None:
        return None
    was, now = _bytes(before), _bytes(idle)
    if not now:
        return "its NICs have no counter of bytes to tell traffic by"
    for (netdev, name), value in now.items():
        rate = (value - was.get((netdev, name), value)) * 8 / 1e9 / max(seconds, 1)
        if rate > most_gbit_s:
            return f"{netdev} carries {rate:.2f} Gb/s ({name}), and an idle NIC at most {most_gbit_s:g}"
    return None


def _bytes(rows: Rows) -> dict[tuple[str, str], int]:
    return {(row["netdev"], row["name"]): row["value"] for row in rows if row["name"] in BYTES}
