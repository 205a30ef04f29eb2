# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links, losses, traffic classes and pauses of a host's rails under load."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.rail_ports import rail_ports
from ...pod.types import Rail
from ...readings.rows import Rows
from ...text.counting import counted
from .. import LOADED, Finding, NotApplicable, check
from .._counters import (
    BIT_ERRORS,
    DAMAGED,
    DISCARDS,
    IB_LINK_LOST,
    LINK_LOST,
    OUT_OF_ORDER,
    RX_BYTES,
    RX_PAUSED_US,
    SEQUENCE_ERRORS,
    SYMBOL_ERRORS,
    TERABYTE,
    TIMEOUTS,
    TX_ALL,
    TX_BYTES,
    at_most,
    growth,
    moved_bytes,
    named,
    of_rails,
    pick,
)
from .._grouping import planned_rails
from ..place import Place, at_device, at_port
from ._layers import ABOVE_INCASTS, OF_RANKS, SINCE

PRIORITIES = range(8)
# Below this a rail has carried no load whose class could be judged.
LEAST_BYTES = 1e9
# Of an InfiniBand port, by the kernel's names: what stops a link, and what loses a packet.
IB_ERRORS = ("symbol_error", "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors")
DATA_UNIT = 4


DAMAGED_CAUSE = (
    "What arrived in frames with a right checksum has a wrong one of RoCE's own (ICRC): it was changed within a node of the path, between its ports, and no "
    "cable did that. A switch's or NIC's memory is bad, or something on the way rewrites fields that ICRC covers (NAT, a tunnel, a filter that edits)."
)
DAMAGED_FIX = (
    "See which rails count it: one alone, then its NIC or the switch it shares with no other; several, then the leaf or spine on all of their paths. Look at "
    "parity and ECC errors in that switch's log (packet memory), take it out of the paths, and replace it; keep jobs off until then, their data is at risk."
)


def _known(counts: t.Mapping[str, int | None]) -> dict[str, int]:
    """The counters that are reported."""
    return {name: count for name, count in counts.items() if count is not None}


def _not_reported(counts: t.Mapping[str, t.Mapping[str, int | None]], what: str, at: t.Callable[[str, str], Place]) -> t.Iterator[Finding]:
    """The counters, by rail and name, that some rails of a host report and others do not.

    Raises NotApplicable where no rail has any of them.
    """
    reported = {name for mine in counts.values() for name, count in mine.items() if count is not None}
    if not reported:
        raise NotApplicable(f"counters of {what}: not reported by the NICs")
    for rail, mine in counts.items():
        for name in sorted(name for name in reported if mine[name] is None):
            yield Finding(at(rail, name), "a counter, as of the other rails", "not reported", "unknown")


def _errors(where: Place, expected: str, grown: t.Mapping[str, int], moved: float, per_tb: float, lossy_per_tb: float = 0) -> t.Iterator[Finding]:
    """One finding for a rail's counters of errors that grew: a warning where they are few for what it moved; none where a lossy transport has as many."""
    if any(grown.values()) and not (lossy_per_tb and at_most(sum(grown.values()), moved, lossy_per_tb)):
        counted_errors = ", ".join(f"{name} +{count}" for name, count in grown.items() if count)
        severity = "warn" if at_most(sum(grown.values()), moved, per_tb) else None
        yield Finding(where, f"{expected} {SINCE}, at most {per_tb:g} per TB", f"{counted_errors} in {moved / TERABYTE:.3g} TB", severity)


@check(
    cause="The link is lost or damages frames when it is loaded: a loose connector, a marginal optic or cable, heat, or a port of the leaf that restarts.",
    fix="Look at the leaf's log for the same time; clean and reseat both ends, compare optic power and temperature with other rails, then replace the cable.",
    fabric="roce",
    layers=LOADED,
    meanings=("link_losses",),
)
def links_under_load(nic_counters_idle: Rows, nic_counters: Rows, pod_rails: list[Rail], pod_load_errors_max_per_tb: float) -> t.Iterator[Finding]:
    """Under load no rail loses its link, and at most {pod_load_errors_max_per_tb} CRC and symbol errors per TB grow (any: warn)."""
    nics = growth(nic_counters_idle, nic_counters, "netdev")
    kinds = {names[0]: names for names in (LINK_LOST, BIT_ERRORS, SYMBOL_ERRORS)}
    counts = {
        str(rail["netdev"]): {name: pick(nics.get(rail["netdev"]), names) for name, names in kinds.items()} for rail in rail_ports(planned_rails(pod_rails))
    }
    yield from _not_reported(counts, "lost links and bit errors", at_port)
    for netdev, errors in counts.items():
        if lost := errors.pop(LINK_LOST[0]):
            yield Finding(at_port(netdev), f"no link loss {SINCE}", counted(lost, "link loss"))
        yield from _errors(at_port(netdev), "no CRC or symbol error", _known(errors), moved_bytes(nics.get(netdev, {})), pod_load_errors_max_per_tb)


@check(
    cause="Packets were lost and sent again: too little headroom, PFC or ECN missing on a switch of the path, a link with errors, or a NIC without buffers.",
    fix="Look at the drops of the leaf and spines on the rail's path, at PFC and ECN in layer 3, and at links_under_load of this layer.",
    fabric="roce",
    layers=ABOVE_INCASTS,
)
def losses_under_load(
    nic_counters_idle: Rows, nic_counters: Rows, rdma_counters_idle: Rows, rdma_counters: Rows, pod_rails: list[Rail], pod_roce_priority: int,
    pod_load_errors_max_per_tb: float, pod_drops_max_per_tb: float, pod_adaptive_routing: bool,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load a rail discards and retransmits at most {pod_load_errors_max_per_tb} packets per TB (any: warn; lossy: {pod_drops_max_per_tb})."""
    nics = of_rails(growth(nic_counters_idle, nic_counters, "netdev"), planned_rails(pod_rails))
    devices = growth(rdma_counters_idle, rdma_counters, "device")
    sent_again = {names[0]: names for names in (SEQUENCE_ERRORS, TIMEOUTS)}
    counts = {
        str(rail["device"]): {"discards": pick(nics.get(rail["netdev"]), DISCARDS, pod_roce_priority)}
        | {name: pick(devices.get(rail["device"]), names) for name, names in sent_again.items()}
        for rail in pod_rails
    }
    yield from _not_reported(counts, "discards and retransmissions", at_device)
    for rail in pod_rails:
        known = _known(counts[rail["device"]])
        # Where the driver counts both as one, it is one error.
        if len({named(devices.get(rail["device"]), names) for names in sent_again.values()}) < len(sent_again):
            known.pop(TIMEOUTS[0], None)
        if damaged := pick(devices.get(rail["device"]), DAMAGED):
            grown = {named(devices.get(rail["device"]), DAMAGED): damaged}
            found = _errors(at_device(rail["device"]), "no packet with a wrong ICRC", grown, moved_bytes(nics.get(rail["netdev"])), pod_load_errors_max_per_tb)
            yield from (replace(one, cause=DAMAGED_CAUSE, fix=DAMAGED_FIX) for one in found)
            # Each of them is dropped and sent again: what is sent again more often was lost for another reason too.
            known = {name: count for name, count in known.items() if name == "discards" or count > damaged}
        limits = (max(pod_load_errors_max_per_tb, pod_drops_max_per_tb), pod_drops_max_per_tb)
        yield from _errors(at_device(rail["device"]), "no packet discarded or sent again", known, moved_bytes(nics.get(rail["netdev"])), *limits)
        order = pick(devices.get(rail["device"]), OUT_OF_ORDER)
        if (order or 0) > (damaged or 0) and not any(known.values()) and not (pod_adaptive_routing or pod_drops_max_per_tb):
            yield Finding(at_device(rail["device"], "out_of_sequence"), f"no growth {SINCE}, unless routing is adaptive", str(order), "warn")


@check(
    cause="The jobs' data is in another traffic class than the fabric treats as lossless: by NCCL_IB_TC, or by the NIC's or leaf's DSCP map.",
    fix="Compare NCCL_IB_TC of the job's environment with pod_traffic_class, and the NIC's trust mode and DSCP map (mlnx_qos -i NETDEV) with pod_roce_dscp.",
    fabric="roce",
    layers=OF_RANKS,
    meanings=("rx_priority_bytes",),
)
def class_under_load(
    nic_counters_idle: Rows, nic_counters: Rows, pod_rails: list[Rail], pod_roce_priority: int, pod_other_priorities: list[int],
    pod_other_class_max_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """Of what a rail carries under load at most {pod_other_class_max_percent} percent is outside of the RoCE priority."""
    nics = growth(nic_counters_idle, nic_counters, "netdev")
    carried = {str(rail["netdev"]): _by_priority(nics.get(rail["netdev"], {})) for rail in rail_ports(planned_rails(pod_rails))}
    if not any(carried.values()):
        raise NotApplicable("bytes of each priority: not reported by the NICs")
    if all(sum(bytes_of.values()) < LEAST_BYTES for bytes_of in carried.values()):
        raise NotApplicable("no rail carried a load")
    for netdev, bytes_of in carried.items():
        total, planned_classes = sum(bytes_of.values()), {pod_roce_priority, *pod_other_priorities}
        if not bytes_of:
            yield Finding(at_port(netdev, "priorities"), "bytes of each priority", "not reported", "unknown")
        if total < LEAST_BYTES:
            continue
        for priority, count in bytes_of.items():
            if priority not in planned_classes and 100 * count > pod_other_class_max_percent * total:
                actual = f"priority {priority} carried {count / 1e9:.3g} GB, {100 * count / total:.3g} % of the rail's data"
                expected = f"data in priority {pod_roce_priority} {SINCE}, at most {pod_other_class_max_percent:g} % in one that no job should use"
                yield Finding(at_port(netdev), expected, actual)


def _by_priority(counters: t.Mapping[str, int]) -> dict[int, int]:
    """What a rail received and sent in each priority that it counts, in bytes."""
    both = {priority: [pick(counters, names, priority) for names in (RX_BYTES, TX_BYTES)] for priority in PRIORITIES}
    return {priority: sum(count or 0 for count in counts) for priority, counts in both.items() if counts != [None, None]}


@check(
    cause="A receiver or the fabric behind it is slower than the senders, so that pauses stop the rail: a slow host, a switch that marks too late, or a storm.",
    fix="Look for the port at which pauses begin (pauses_stay_local, slow_receiver of congestion), and at the PCIe link and log of the slowest host.",
    fabric="roce",
    layers=ABOVE_INCASTS,
    when=("pod_pfc", True),
    meanings=("rx_paused_us",),
)
def pauses_under_load(
    nic_counters_idle: Rows, nic_counters: Rows, pod_rails: list[Rail], pod_roce_priority: int, pod_link_gbit_s: float, pod_pause_warn_percent: float,
    pod_pause_max_percent: float,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load a rail is paused for less than {pod_pause_max_percent} percent ({pod_pause_warn_percent}: warn) of the time that its data and pauses take."""
    nics = growth(nic_counters_idle, nic_counters, "netdev")
    known = False
    for rail in rail_ports(planned_rails(pod_rails)):
        mine = nics.get(rail["netdev"], {})
        paused, sent = pick(mine, RX_PAUSED_US, pod_roce_priority), pick(mine, TX_ALL)
        known = known or None not in (paused, sent)
        if not paused or sent is None:
            continue
        sending = sent * 8 / pod_link_gbit_s / 1e9
        percent = 100 * paused / 1e6 / (sending + paused / 1e6)
        if percent >= pod_pause_warn_percent and sent >= LEAST_BYTES:
            limit = pod_pause_max_percent if percent >= pod_pause_max_percent else pod_pause_warn_percent
            actual = f"{percent:.3g} %: {paused / 1e6:.3g} s of pauses beside {sending:.3g} s of data at line rate"
            yield Finding(
                at_port(str(rail["netdev"])), f"paused for less than {limit:g} % {SINCE}", actual, None if percent >= pod_pause_max_percent else "warn"
            )
    if not known:
        raise NotApplicable("pause duration: not reported by the NICs")


@check(
    cause="The link is lost, retrained or damages packets when it is loaded: a loose connector, a marginal cable or module, or heat.",
    fix="Look at both ends with mlxlink, clean and reseat them, compare module power and temperature with other ports, then replace the cable.",
    fabric="infiniband",
    layers=LOADED,
)
def ib_ports_under_load(
    rdma_port_counters_idle: Rows, rdma_port_counters: Rows, pod_rails: list[Rail], pod_load_errors_max_per_tb: float
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load no InfiniBand port loses or retrains its link, and at most {pod_load_errors_max_per_tb} errors per TB grow (any: warn)."""
    ports = growth(rdma_port_counters_idle, rdma_port_counters, "device")
    for rail in planned_rails(pod_rails):
        mine, device = ports.get(rail["device"], {}), str(rail["device"])
        lost = {name: mine[name] for name in IB_LINK_LOST if name in mine}
        errors = {name: mine[name] for name in IB_ERRORS if name in mine}
        if not lost or not errors:
            yield Finding(at_device(device, "link errors"), "counters of lost links and errors", "not reported", "unknown")
        if any(lost.values()):
            yield Finding(at_device(device), f"no lost or retrained link {SINCE}", ", ".join(f"{name} +{count}" for name, count in lost.items() if count))
        moved = DATA_UNIT * float(sum(mine.get(name, 0) for name in ("port_xmit_data", "port_rcv_data")))
        yield from _errors(at_device(device), "no error", errors, moved, pod_load_errors_max_per_tb)
