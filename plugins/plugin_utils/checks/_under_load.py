# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of every layer under load: only idle hosts are loaded, and in the class that jobs use."""

from __future__ import annotations

import typing as t

from ..loads.idle_test import busy_reason, gpus_at_work, words_of_work
from ..pod.types import Rail
from ..readings.rows import Rows
from . import LOADED, CannotTell, Finding, check
from ._counters import RX_BYTES, growth, of_rails, pick
from .place import at_node, at_port

PRIORITIES = range(8)
SHARED = "Processes of others ran on the host's GPUs while it was loaded (pod_load_busy_hosts is true): what was measured there they had a part of."
SHARED_FIX = "Drain the host, wait for these processes to end (nvidia-smi, fuser -v /dev/nvidia*), and run the layer again before any rate of it is believed."
# A part of what was sent is retransmitted or cut off at the ends of the test; half of it in another class is not explained by that.
LEAST_SHARE = 0.5
OTHER_CLASS = (
    "The load ran in another traffic class than jobs use, or the NIC or a switch maps it to another priority: the counters of an unused priority were "
    "evaluated."
)
CLASS_FIX = "Compare pod_traffic_class with pod_roce_dscp, the NIC's trust mode and its DSCP map (mlnx_qos -i NETDEV), and the switches' maps."


BUSY_CAUSE = "A job runs on the host, or traffic of another source uses its NICs."
BUSY_FIX = "Drain the host and wait for its jobs to end; or, where its users agree, set pod_load_busy_hosts: true."


@check(cause=BUSY_CAUSE, fix=BUSY_FIX, fabric="roce", required=True, needs="load", layers=LOADED)
def hosts_idle(
    nic_counters_before: Rows, nic_counters_idle: Rows, pod_load_busy_hosts: bool, pod_gpus_per_host: int, pod_idle_seconds: int, pod_idle_gbit_s: float,
    pod_idle_agents: list[str], gpus_idle: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """A host is loaded only while it is idle: its GPUs run nothing and its NICs carry nothing."""
    if pod_load_busy_hosts:
        return _loaded_all_the_same(gpus_idle, pod_idle_agents)
    return _idle("roce", gpus_idle, pod_gpus_per_host, nic_counters_before, nic_counters_idle, pod_idle_seconds, pod_idle_gbit_s, pod_idle_agents)


@check(cause=BUSY_CAUSE, fix=BUSY_FIX, fabric="infiniband", required=True, needs="load", layers=LOADED)
def ib_hosts_idle(
    rdma_port_counters_before: Rows, rdma_port_counters_idle: Rows, pod_load_busy_hosts: bool, pod_gpus_per_host: int, pod_idle_seconds: int,
    pod_idle_gbit_s: float, pod_idle_agents: list[str], gpus_idle: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """A host is loaded only while it is idle: its GPUs run nothing and its InfiniBand ports carry nothing."""
    if pod_load_busy_hosts:
        return _loaded_all_the_same(gpus_idle, pod_idle_agents)
    counters = (rdma_port_counters_before, rdma_port_counters_idle)
    return _idle("infiniband", gpus_idle, pod_gpus_per_host, *counters, pod_idle_seconds, pod_idle_gbit_s, pod_idle_agents)


def _loaded_all_the_same(gpus: Rows | None, agents: list[str]) -> t.Iterator[Finding]:
    """A busy host that is loaded all the same: what it then reaches is not what it can."""
    if working := gpus_at_work(gpus or [], agents):
        yield Finding(at_node("the host"), "no job", words_of_work(working), "warn", cause=SHARED, fix=SHARED_FIX)


def _idle(
    fabric: str, gpus: Rows | None, gpus_per_host: int, before: Rows, idle: Rows, seconds: int, most_gbit_s: float, agents: list[str]
) -> t.Iterator[Finding]:  # fmt: skip
    """Why a host is not idle; before, idle: the rows of the fabric's counters, read so many seconds apart."""
    if gpus_per_host and gpus is None:
        raise CannotTell("GPU processes: not reported")
    words = busy_reason(gpus or [], before, idle, seconds, most_gbit_s, agents, fabric)
    if words is not None:
        yield Finding(at_node("the host"), "no job and no traffic", words)


def in_class(rails: list[Rail], expected: t.Mapping[str, float], idle: Rows, now: Rows, priority: int) -> t.Iterator[Finding]:
    """The rails that did not receive in a priority what others sent to them.

    expected: bytes, by device; idle, now: the rows of ``nic_counters``, read around the load.
    """
    nics = of_rails(growth(idle, now, "netdev"), rails)
    for rail in rails:
        sent, where = expected.get(rail["device"], 0.0), at_port(rail["netdev"], f"priority {priority}")
        reported = pick(nics.get(rail["netdev"]), RX_BYTES, priority)
        if sent and reported is None:
            yield Finding(where, "receive byte counter", "not reported", "unknown")
        elif reported is not None and reported < sent * LEAST_SHARE:
            others = {number: pick(nics[rail["netdev"]], RX_BYTES, number) or 0 for number in PRIORITIES if number != priority}
            most = max(others, key=lambda number: others[number])
            instead = f"; priority {most} received {others[most] / 1e9:.3g} GB" if others[most] >= sent * LEAST_SHARE else ""
            # Where another priority has it, the class is wrong; otherwise data was lost, or counted nowhere.
            severity = None if instead else "unknown"
            yield Finding(where, f"about {sent / 1e9:.3g} GB received", f"{reported / 1e9:.3g} GB{instead}", severity, judged=True)
