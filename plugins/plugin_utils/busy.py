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
    untold = [f"GPU{gpu['gpu']}" for gpu in gpus if gpu["processes"] is None]
    if untold:
        return f"{', '.join(untold)} {'does' if len(untold) == 1 else 'do'} not tell whether processes run there"
    processes = [f"GPU{gpu['gpu']}" for gpu in gpus if gpu["processes"]]
    if processes:
        return f"{', '.join(processes)} run{'s' if len(processes) == 1 else ''} processes"
    if before is None or idle is None:
        return None
    was, now = _bytes(before), _bytes(idle)
    both = was.keys() & now.keys()
    silent = {row["netdev"] for row in (*before, *idle)} - {netdev for netdev, _name in both}
    if silent or not both:
        return f"no counter of bytes, read twice, tells the traffic of {', '.join(sorted(silent)) or 'its NICs'}"
    for netdev, name in sorted(both):
        rate = (now[netdev, name] - was[netdev, name]) * 8 / 1e9 / max(seconds, 1)
        if rate < 0:
            return f"{netdev} {name} went back between two readings, so that its traffic is not told"
        if rate > most_gbit_s:
            return f"{netdev} carries {rate:.2f} Gb/s ({name}), and an idle NIC at most {most_gbit_s:g}"
    return None


def _bytes(rows: Rows) -> dict[tuple[str, str], int]:
    return {(row["netdev"], row["name"]): row["value"] for row in rows if row["name"] in BYTES}
