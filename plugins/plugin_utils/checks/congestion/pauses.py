# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pauses of a host's rails, and packets that they lost."""

from __future__ import annotations

import typing as t

from ...pod.rail_ports import rail_ports
from ...pod.types import Rail
from ...readings.rows import Rows
from .. import Finding, check
from .._counters import (
    DISCARDS,
    OUT_OF_ORDER,
    RX_PAUSED_US,
    RX_PAUSES,
    SEQUENCE_ERRORS,
    TIMEOUTS,
    TX_PAUSED_US,
    TX_PAUSES,
    at_most,
    growth,
    incasts_of_node,
    judge_most,
    loaded_seconds,
    moved_bytes,
    named,
    of_rails,
    paused_percent,
    pick,
    total,
)
from ..place import at_device, at_port

LOST = (SEQUENCE_ERRORS, TIMEOUTS)
DISCARDED = (
    "The NIC received these packets whole and discarded them: its receive buffer was full, since the host takes them more slowly than they come (PCIe, memory, "
    "the IOMMU) and the NIC did not pause its leaf in time (PFC of the priority is off, or the buffer of the priority is too small)."
)
DISCARDED_FIX = (
    "Compare the NIC's receive buffers and their priorities (mlnx_qos -i NETDEV: buffer_size, prio2buffer) and PFC with the other rails; then pcie_link, "
    "nic_pcie_alike and iommu_as_expected of layer 0, which say why a host takes packets slowly."
)


@check(
    cause="ECN marking starts too late or senders do not reduce their rate, so that PFC pauses stop the traffic; or pauses spread from another part "
    "of the fabric.",
    fix="Lower the ECN minimum threshold until marks come well before pauses; find the port at which the pauses begin, the last that is not paused itself.",
    fabric="roce",
    required=True,
    when=("pod_pfc", True),
    meanings=("rx_pauses",),
)
def pfc_brief(
    nic_counters_idle: Rows, nic_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_rails: list[Rail], pod_roce_priority: int,
    pod_pause_warn_percent: float, pod_pause_max_percent: float, nic_counters_during: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load a rail is paused for less than {pod_pause_max_percent} percent of the time ({pod_pause_warn_percent}: warn), outside of the load never."""
    seconds = loaded_seconds(incasts_of_node(pod_incasts, pod_incast_refused))
    nics = growth(nic_counters_idle, nic_counters, "netdev")
    for rail in rail_ports(pod_rails):
        mine = nics.get(rail["netdev"])
        frames, paused = pick(mine, RX_PAUSES, pod_roce_priority), pick(mine, RX_PAUSED_US, pod_roce_priority)
        if frames is None and paused is None:
            yield Finding(at_port(rail["netdev"], "pauses"), "PFC pause counter", "not reported", "unknown")
        elif rail["device"] not in seconds:
            if frames or paused:
                yield Finding(at_port(rail["netdev"]), "no pause on a rail outside of the load", f"{frames or 0} pauses, {(paused or 0) / 1e6:.3g} s")
        elif paused is None and frames:
            yield Finding(at_port(rail["netdev"]), "pause duration", f"{frames} pauses; pause duration: not reported", "unknown")
        elif paused:
            percent = paused / 1e4 / seconds[rail["device"]]
            worst = _worst(nic_counters_during or [], rail["netdev"], pod_roce_priority)
            words = f"{percent:.2g} % of {seconds[rail['device']]:g} s" + (
                f", {worst:.2g} % at worst between two samples" if worst is not None and worst > percent else ""
            )
            if percent >= pod_pause_max_percent:
                yield Finding(at_port(rail["netdev"]), f"paused for less than {pod_pause_max_percent:g} % of the time", words)
            elif percent >= pod_pause_warn_percent:
                yield Finding(at_port(rail["netdev"]), f"paused for less than {pod_pause_warn_percent:g} % of the time", words, "warn")


def _worst(samples: Rows, netdev: str, priority: int) -> float | None:
    """The largest share of the time between two samples for which a rail was paused, in percent."""
    names = {name.format(p=priority) for name in RX_PAUSED_US}
    samples_of_port = sorted((row["seconds"], row["value"]) for row in samples if row["netdev"] == netdev and row["name"] in names)
    # itertools.pairwise is newer than Python 3.9.
    neighbours = zip(samples_of_port, samples_of_port[1:])  # noqa: RUF007
    shares = [(late - soon) / 1e4 / (after - before) for (before, soon), (after, late) in neighbours if after > before]
    return max(shares, default=None)


@check(
    cause="The receiving host is slower than its link, and pauses the fabric: a narrow PCIe link, ACS or an IOMMU on the way, or memory of a remote NUMA node.",
    fix="Look at the host's pcie_link, acs_as_expected, iommu_as_expected and nic_gpu_affinity of layer 0.",
    fabric="roce",
    when=("pod_pfc", True),
    meanings=("tx_pauses",),
)
def slow_receiver(
    nic_counters_idle: Rows, nic_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_rails: list[Rail], pod_roce_priority: int,
    pod_link_gbit_s: float, pod_pause_warn_percent: float, pod_pause_max_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """A NIC pauses its switch for less than {pod_pause_max_percent} percent of the load ({pod_pause_warn_percent}: warn), as it is as fast as its link."""
    seconds = loaded_seconds(incasts_of_node(pod_incasts, pod_incast_refused))
    nics = growth(nic_counters_idle, nic_counters, "netdev")
    for rail in rail_ports(pod_rails):
        mine, lasted = nics.get(rail["netdev"]), seconds.get(rail["device"]) or max(seconds.values())
        sent, paused = pick(mine, TX_PAUSES, pod_roce_priority), pick(mine, TX_PAUSED_US, pod_roce_priority)
        if sent is None and paused is None:
            yield Finding(at_port(rail["netdev"], "pauses sent"), "PFC pause counter", "not reported", "unknown")
            continue
        # Some drivers count the time, the others frames, whose longest time is known.
        percent = paused / 1e4 / lasted if paused is not None else paused_percent(sent or 0, lasted, pod_link_gbit_s)
        if percent >= pod_pause_warn_percent:
            limit = pod_pause_max_percent if percent >= pod_pause_max_percent else pod_pause_warn_percent
            share = f"{'' if paused is not None else 'at most '}{percent:.3g} % of {lasted:g} s"
            words = f"{share} ({sent if sent is not None else '?'} frames): the host is slower than its link"
            timed = {"severity": None if percent >= pod_pause_max_percent else "warn"}
            judged = timed if paused is not None else judge_most(percent, pod_pause_max_percent)
            yield Finding(at_port(rail["netdev"]), f"pauses sent for less than {limit:g} % of the time", words, **judged)


@check(
    cause="Packets were lost in the fabric or in the NIC: too little headroom behind pauses, a drop threshold below that of pauses, or no PFC; without pauses "
    "more than pod_drops_max_per_tb allows, since ECN marks too late, senders do not slow down, or a switch has too little buffer.",
    fix="Look at the finding of switch_drops on the leaf and spines; without one, at the NIC's receive buffers (mlnx_qos) and at the links' errors; without "
    "pauses also at the ECN thresholds of the port that drops and at DCQCN of the senders (dcqcn_backs_off).",
    fabric="roce",
    required=True,
)
def no_drops(
    nic_counters_idle: Rows, nic_counters: Rows, rdma_counters_idle: Rows, rdma_counters: Rows, pod_incasts: Rows, pod_incast_refused: str,
    pod_rails: list[Rail], pod_roce_priority: int, pod_drops_max_per_tb: float, pod_adaptive_routing: bool,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load a rail loses at most {pod_drops_max_per_tb} packets per TB."""
    incasts_of_node(pod_incasts, pod_incast_refused)
    nics = of_rails(growth(nic_counters_idle, nic_counters, "netdev"), pod_rails)
    devices = growth(rdma_counters_idle, rdma_counters, "device")
    few = f"at most {pod_drops_max_per_tb:g} packets per TB" if pod_drops_max_per_tb else "no packet"
    for rail in pod_rails:

        def too_many(count: int, netdev: str = rail["netdev"]) -> bool:
            return not at_most(count, moved_bytes(nics.get(netdev)), pod_drops_max_per_tb)

        for port in rail_ports([rail]):
            discarded = total(nics.get(port["netdev"]), DISCARDS, pod_roce_priority)
            if discarded is None:
                yield Finding(at_port(port["netdev"], "discards"), "discard counter", "not reported", "unknown")
            elif too_many(discarded, port["netdev"]):
                yield Finding(at_port(port["netdev"]), f"{few} discarded", str(discarded), cause=DISCARDED, fix=DISCARDED_FIX)
        # Where a receiver's leaf dropped them.
        leaves = {leaf for row in pod_incasts if (row["role"], row["device"]) == ("sender", rail["device"]) for leaf in row.get("peer_leaves") or ()}
        lost = {named(mine, names): pick(mine, names) for names in LOST for mine in (devices.get(rail["device"]),)}
        for name, count in lost.items():
            if count is None:
                yield Finding(at_device(rail["device"], f"{name}"), "counter", "not reported", "unknown")
            elif too_many(count):
                where = at_device(rail["device"], f"{name}", peers=tuple(sorted(leaves)))
                yield Finding(where, f"{few} sent again" if pod_drops_max_per_tb else "no growth", str(count))
        order = pick(devices.get(rail["device"]), OUT_OF_ORDER)
        if order and not any(lost.values()) and not (pod_adaptive_routing or pod_drops_max_per_tb):
            yield Finding(at_device(rail["device"], "out_of_sequence"), "no growth, unless routing is adaptive", str(order), "warn")


@check(
    cause="A port discarded packets that it could not send in time: a broken link, a stuck receiver, or a routing loop.",
    fix="Follow the growth of PortXmitWait along the path (perfquery, ibqueryerrors) to the port whose link partner returns no credits.",
    fabric="infiniband",
    required=True,
)
def xmit_discards(
    rdma_port_counters_idle: Rows, rdma_port_counters: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_rails: list[Rail]
) -> t.Iterator[Finding]:
    """Under load no port discards a packet; waiting is how InfiniBand handles congestion, and is recorded only."""
    incasts_of_node(pod_incasts, pod_incast_refused)
    devices = growth(rdma_port_counters_idle, rdma_port_counters, "device")
    for rail in pod_rails:
        discarded, waited = (pick(devices.get(rail["device"]), (name,)) for name in ("port_xmit_discards", "port_xmit_wait"))
        if discarded is None:
            yield Finding(at_device(rail["device"], "port_xmit_discards"), "counter", "not reported", "unknown")
        elif discarded:
            yield Finding(
                at_device(rail["device"]), "no packet discarded", f"{discarded}, and port_xmit_wait grew by {waited if waited is not None else '(no data)'}"
            )
