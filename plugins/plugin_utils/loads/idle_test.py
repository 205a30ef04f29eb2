# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host is busy with someone's work: such a host is not loaded."""

from __future__ import annotations

import fnmatch
import typing as t

from ..readings.nic_drivers import names_of
from ..readings.rows import Rows

# What shows it, by the phase in which it is read; every layer that loads hosts asks for it.
# An InfiniBand port has no netdev whose driver would count; its own counters are read.
IDLE_COUNTERS = {"roce": "nic_counters", "infiniband": "rdma_port_counters"}
# The column by which its rows name a NIC.
NIC_COLUMN = {"roce": "netdev", "infiniband": "device"}
IDLE_READINGS: dict[str, dict[str, tuple[str, ...]]] = {fabric: {"before": (name,), "idle": ("gpus", name)} for fabric, name in IDLE_COUNTERS.items()}
# What a NIC has sent and received, by any name that it gives it, and how many bytes each count is.
BYTES = {**dict.fromkeys((*names_of("rx_bytes"), *names_of("tx_bytes")), 1), "port_xmit_data": 4, "port_rcv_data": 4}
# So many names of processes are printed.
MOST_NAMES = 3
# A GPU that is used so much, with more memory than a driver at rest takes, runs something, whether its tool lists it or not. Alone, the first is
# reported of idle GPUs without persistence mode, and the second of programs that wait.
LEAST_UTILIZATION_PERCENT, LEAST_MEMORY_MIB = 20, 256
# Where a counter of 32 bits stops.
STOPPED = 0xFFFFFFFF


def busy_reason(
    gpus: Rows, before: Rows, idle: Rows, seconds: int, most_gbit_s: float, agents: t.Collection[str] = (), fabric: str = "roce"
) -> str | None:  # fmt: skip
    """Why a host is not idle, or None.

    agents: names of programs (patterns) that hold a GPU without work, such as those of monitoring.

    gpus: the rows of ``gpus``; before, idle: the rows of the ``fabric``'s ``IDLE_COUNTERS``, read ``seconds`` apart.
    """
    unreported = [f"GPU{gpu['gpu']}" for gpu in gpus if gpu["processes"] is None]
    if unreported:
        return f"{', '.join(unreported)} {'does' if len(unreported) == 1 else 'do'} not report processes"
    if working := gpus_at_work(gpus, agents):
        return words_of_work(working)
    nic = NIC_COLUMN[fabric]
    was, now = _bytes(before, nic), _bytes(idle, nic)
    both = was.keys() & now.keys()
    unread = {str(row[nic]) for row in (*before, *idle)} - {name for name, _counter in both}
    if unread or not both:
        return f"no byte counter was read twice on {', '.join(sorted(unread)) or 'its NICs'}"
    for of_nic, name in sorted(both):
        rate = (now[of_nic, name] - was[of_nic, name]) * 8 / 1e9 / max(seconds, 1)
        if rate < 0:
            return f"{of_nic} {name} went back between two readings, so that its traffic is not known"
        if rate > most_gbit_s:
            return f"{of_nic} carries {rate:.2f} Gb/s ({name}), and an idle NIC at most {most_gbit_s:g}"
    return None


def gpus_at_work(gpus: Rows, agents: t.Collection[str] = ()) -> dict[int, list[str]]:
    """The GPUs that run processes other than agents, with the names of these where they are reported."""
    found: dict[int, list[str]] = {}
    for gpu in gpus:
        if (gpu["processes"] or 0) > _agents(gpu, agents):
            found[gpu["gpu"]] = [one for one in _names(gpu) if not _is_agent(one, agents)]
        elif (gpu.get("utilization_percent") or 0) >= LEAST_UTILIZATION_PERCENT and (gpu.get("memory_used_mib") or 0) >= LEAST_MEMORY_MIB:
            found[gpu["gpu"]] = [f"not listed here: utilisation {gpu['utilization_percent']} %, {gpu['memory_used_mib']} MiB in use"]
    return found


def words_of_work(working: t.Mapping[int, t.Sequence[str]]) -> str:
    """What runs on some GPUs, in words."""
    names = list(dict.fromkeys(name for its in working.values() for name in its))
    named = f" ({', '.join(names[:MOST_NAMES])}{' and others' if len(names) > MOST_NAMES else ''})" if names else ""
    return f"{', '.join(f'GPU{gpu}' for gpu in working)} run{'s' if len(working) == 1 else ''} processes{named}"


def _names(gpu: dict[str, t.Any]) -> list[str]:
    return [str(name).split()[0].rpartition("/")[2] for name in gpu.get("process_names") or () if str(name).strip()]


def _is_agent(name: str, agents: t.Collection[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in agents)


def _agents(gpu: dict[str, t.Any], agents: t.Collection[str]) -> int:
    """How many processes of a GPU are agents."""
    return sum(_is_agent(name, agents) for name in _names(gpu))


def _bytes(rows: Rows, nic: str) -> dict[tuple[str, str], int]:
    return {(str(row[nic]), row["name"]): row["value"] * BYTES[row["name"]] for row in rows if row["name"] in BYTES and row["value"] != STOPPED}
