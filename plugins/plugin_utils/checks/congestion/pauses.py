# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pauses of a host's rails, and packets that they lost."""

from __future__ import annotations

import itertools
import typing as t

from .. import Finding, check
from .._counters import DISCARDS, RX_PAUSED_US, RX_PAUSES, SEQUENCE_ERRORS, TIMEOUTS, TX_PAUSES, growth, loaded_seconds, pick, planned, total
from .._ports import Rows

LOST = (SEQUENCE_ERRORS, TIMEOUTS)


@check(
    cause="Marks come too late or senders do not back off, so that pauses must hold the traffic; or pauses spread from another part of the fabric.",
    fix="Lower the ECN minimum threshold until marks come well before pauses; find the port at which the pauses begin, the last that is not paused itself.",
    fabric="roce",
    required=True,
)
def pfc_brief(
    nic_counters_idle: Rows, nic_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_rails: Rows, pod_roce_priority: int,
    pod_pause_warn_percent: float, pod_pause_max_percent: float, nic_counters_during: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load no rail is paused for long, and no rail outside of the load at all."""
    seconds = loaded_seconds(planned(pod_incasts, pod_incast_refused))
    nics = growth(nic_counters_idle, nic_counters, "netdev")
    for rail in pod_rails:
        mine = nics.get(rail["netdev"])
        frames, paused = pick(mine, RX_PAUSES, pod_roce_priority), pick(mine, RX_PAUSED_US, pod_roce_priority)
        if frames is None and paused is None:
            yield Finding(f"{rail['netdev']} pauses", "a counter of them", "none", "unknown")
        elif rail["device"] not in seconds:
            if frames or paused:
                yield Finding(rail["netdev"], "no pause on a rail outside of the load", f"{frames or 0} pauses, {(paused or 0) / 1e6:.3g} s")
        elif paused is None and frames:
            yield Finding(rail["netdev"], "how long it was paused", f"{frames} pauses of a length that the NIC does not tell", "unknown")
        elif paused:
            percent = paused / 1e4 / seconds[rail["device"]]
            worst = _worst(nic_counters_during or [], rail["netdev"], pod_roce_priority)
            words = f"{percent:.2g} % of {seconds[rail['device']]:g} s" + (f", {worst:.2g} % at worst between two samples" if worst is not None else "")
            if percent >= pod_pause_max_percent:
                yield Finding(rail["netdev"], f"paused for less than {pod_pause_max_percent:g} % of the time", words)
            elif percent >= pod_pause_warn_percent:
                yield Finding(rail["netdev"], f"paused for less than {pod_pause_warn_percent:g} % of the time", words, "warn")


def _worst(samples: Rows, netdev: str, priority: int) -> float | None:
    """The largest share of the time between two samples for which a rail was paused, in percent."""
    names = {name.format(p=priority) for name in RX_PAUSED_US}
    told = sorted((row["seconds"], row["value"]) for row in samples if row["netdev"] == netdev and row["name"] in names)
    shares = [(late - soon) / 1e4 / (after - before) for (before, soon), (after, late) in itertools.pairwise(told) if after > before]
    return max(shares, default=None)


@check(
    cause="The receiving host is slower than its link, and pauses the fabric: a narrow PCIe link, ACS or an IOMMU on the way, or a memory that is far away.",
    fix="Look at the host's pcie_link, acs_as_expected, iommu_as_expected and nic_gpu_affinity of layer 0.",
    fabric="roce",
)
def slow_receiver(
    nic_counters_idle: Rows, nic_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_rails: Rows, pod_roce_priority: int
) -> t.Iterator[Finding]:
    """No NIC pauses the fabric: the host takes what its link brings."""
    planned(pod_incasts, pod_incast_refused)
    nics = growth(nic_counters_idle, nic_counters, "netdev")
    for rail in pod_rails:
        sent = pick(nics.get(rail["netdev"]), TX_PAUSES, pod_roce_priority)
        if sent is None:
            yield Finding(f"{rail['netdev']} pauses sent", "a counter of them", "none", "unknown")
        elif sent:
            yield Finding(rail["netdev"], "no pause sent to the switch", f"{sent} pauses: the host is slower than its link")


@check(
    cause="Packets were lost in the fabric or in the NIC: too little headroom behind pauses, a drop threshold below that of pauses, or no PFC.",
    fix="Look at the finding of switch_drops on the leaf; without one, at the NIC's receive buffers (mlnx_qos) and at the links' errors.",
    fabric="roce",
    required=True,
)
def no_drops(
    nic_counters_idle: Rows, nic_counters: Rows, rdma_counters_idle: Rows, rdma_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_rails: Rows,
    pod_roce_priority: int,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load no rail loses a packet."""
    planned(pod_incasts, pod_incast_refused)
    nics, devices = growth(nic_counters_idle, nic_counters, "netdev"), growth(rdma_counters_idle, rdma_counters, "device")
    for rail in pod_rails:
        discarded = total(nics.get(rail["netdev"]), DISCARDS, pod_roce_priority)
        if discarded is None:
            yield Finding(f"{rail['netdev']} discards", "a counter of them", "none", "unknown")
        elif discarded:
            yield Finding(rail["netdev"], "no packet discarded", str(discarded))
        lost = {names[0]: pick(devices.get(rail["device"]), names) for names in LOST}
        for name, count in lost.items():
            if count is None:
                yield Finding(f"{rail['device']} {name}", "a counter of it", "none", "unknown")
            elif count:
                yield Finding(f"{rail['device']} {name}", "no growth", str(count))
        order = pick(devices.get(rail["device"]), ("out_of_sequence",))
        if order and not any(lost.values()):
            yield Finding(f"{rail['device']} out_of_sequence", "no growth, unless routing is adaptive", str(order), "warn")


@check(
    cause="A port could not send what waited in it for so long that it threw it away: a broken link, a stuck receiver, or a routing loop.",
    fix="Look for the port behind which nothing is taken any more, by the growth of PortXmitWait along the path (perfquery, ibqueryerrors).",
    fabric="infiniband",
    required=True,
)
def xmit_discards(rdma_port_counters_idle: Rows, rdma_port_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_rails: Rows) -> t.Iterator[Finding]:
    """Under load no port discards what it cannot send; that it waits is how InfiniBand holds congestion, and is only kept."""
    planned(pod_incasts, pod_incast_refused)
    devices = growth(rdma_port_counters_idle, rdma_port_counters, "device")
    for rail in pod_rails:
        discarded, waited = (pick(devices.get(rail["device"]), (name,)) for name in ("port_xmit_discards", "port_xmit_wait"))
        if discarded is None:
            yield Finding(f"{rail['device']} port_xmit_discards", "a counter of it", "none", "unknown")
        elif discarded:
            yield Finding(rail["device"], "no packet discarded", f"{discarded}, and port_xmit_wait grew by {waited if waited is not None else 'nothing told'}")
