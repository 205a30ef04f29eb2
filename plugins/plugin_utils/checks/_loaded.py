# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of every layer under load: only idle hosts are loaded, and in the class that jobs use."""

from __future__ import annotations

import typing as t

from ..busy import busy
from . import CannotTell, Finding, check
from ._counters import RX_BYTES, growth, pick
from ._ports import Rows

PRIORITIES = range(8)
# A part of what was sent is retransmitted or cut off at the ends of the test; half of it in another class is not explained by that.
LEAST_SHARE = 0.5
OTHER_CLASS = "The load ran in another traffic class than jobs use, or the NIC or a switch maps it to another priority: an idle priority was judged."
CLASS_FIX = "Compare pod_traffic_class with pod_roce_dscp, the NIC's trust mode and its DSCP map (mlnx_qos -i NETDEV), and the switches' maps."


@check(
    cause="Somebody's job runs on the host, or traffic that is not of this run uses its NICs.",
    fix="Drain the host and wait for its jobs to end; or, where its users agree, set pod_load_busy_hosts: true.",
    fabric="roce",
    required=True,
    needs="load",
    layers=("congestion", "rdma"),
)
def hosts_idle(
    nic_counters_before: Rows, nic_counters_idle: Rows, pod_load_busy_hosts: bool, pod_gpus_per_host: int, pod_idle_seconds: int, pod_idle_gbit_s: float,
    gpus_idle: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """A host is loaded only while it is idle: its GPUs run nothing and its NICs carry nothing."""
    if pod_load_busy_hosts:
        return
    if pod_gpus_per_host and gpus_idle is None:
        raise CannotTell("its GPUs do not tell whether they run processes")
    words = busy(gpus_idle or [], nic_counters_before, nic_counters_idle, pod_idle_seconds, pod_idle_gbit_s)
    if words is not None:
        yield Finding("the host", "nobody's work on it", words)


def in_class(rails: Rows, expected: t.Mapping[str, float], idle: Rows, now: Rows, priority: int) -> t.Iterator[Finding]:
    """The rails that did not receive in a priority what others sent to them.

    expected: bytes, by device; idle, now: the rows of ``nic_counters``, read around the load.
    """
    nics = growth(idle, now, "netdev")
    for rail in rails:
        sent, where = expected.get(rail["device"], 0.0), f"{rail['netdev']} priority {priority}"
        told = pick(nics.get(rail["netdev"]), RX_BYTES, priority)
        if sent and told is None:
            yield Finding(where, "a counter of its bytes", "none", "unknown")
        elif told is not None and told < sent * LEAST_SHARE:
            others = {number: pick(nics[rail["netdev"]], RX_BYTES, number) or 0 for number in PRIORITIES if number != priority}
            most = max(others, key=lambda number: others[number])
            instead = f"; priority {most} received {others[most] / 1e9:.3g} GB" if others[most] >= sent * LEAST_SHARE else ""
            yield Finding(where, f"about {sent / 1e9:.3g} GB received", f"{told / 1e9:.3g} GB{instead}", "unknown")
