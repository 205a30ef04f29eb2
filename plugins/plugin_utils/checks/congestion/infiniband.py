# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of an InfiniBand fabric under load: they hold congestion by waiting, and discard nothing."""

from __future__ import annotations

import statistics
import typing as t

from ...pod.names import by_port, port_name
from ...pod.types import NearCable
from ...readings.rows import Rows
from .. import INCAST, Finding, NotApplicable, check
from .._counters import NOT_ASKED, NOT_ASKED_FIX, SATURATED_CAUSE, SATURATED_FIX, difference, faces, incasts_of_node
from .._planned import cables_of
from ..place import at_device, at_port
from .marks import Grouped, rates_of_rounds

DISCARDS, WAITS = "PortXmitDiscards", "PortXmitWait"


@check(
    cause="A port of the switch discarded packets that it could not send in time: a stuck receiver, a broken link, or a routing loop.",
    fix="Follow the growth of PortXmitWait along the path (ibqueryerrors) to the port whose link partner returns no credits.",
    fabric="infiniband",
    kind="switch",
    required=True,
)
def switch_discards(link_errors_idle: Rows, link_errors: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_cables: list[NearCable]) -> t.Iterator[Finding]:
    """Under load no cabled switch port discards a packet."""
    incasts_of_node(pod_incasts, pod_incast_refused)
    was, now = by_port(link_errors_idle), by_port(link_errors)
    for cable in cables_of(pod_cables):
        port, expected = cable["port"], f"no packet discarded on the way to {cable['peer']} {cable['peer_port']}"
        if port not in was or port not in now:
            yield Finding(at_port(port), expected, "no counters of this port", "unknown", cause=NOT_ASKED, fix=NOT_ASKED_FIX)
            continue
        if DISCARDS in {*was[port]["saturated"], *now[port]["saturated"]}:
            yield Finding(at_port(port), expected, f"{DISCARDS} is saturated: clear it", "unknown", cause=SATURATED_CAUSE, fix=SATURATED_FIX)
            continue
        discarded = difference(now[port]["tx_discards"], was[port]["tx_discards"], f"{port} {DISCARDS}")
        if discarded:
            yield Finding(at_port(port), expected, f"{discarded}, and {_waited(was[port], now[port])}")


def _waits(was: dict[str, t.Any], now: dict[str, t.Any]) -> int | None:
    """For how many ticks a port waited to send; None where its counter has stopped at its end."""
    stopped = WAITS in {*was["saturated"], *now["saturated"]}
    return None if stopped else difference(now["tx_waits"], was["tx_waits"], f"{now['port']} {WAITS}")


def _waited(was: dict[str, t.Any], now: dict[str, t.Any]) -> str:
    ticks = _waits(was, now)
    return f"{WAITS} is saturated" if ticks is None else f"it waited for {ticks} ticks"


@check(
    cause="Congestion is where no load was sent: a host behind that port accepts no packets, or traffic of another source fills it.",
    fix="Look at the host behind the port named (PCIe width, its own PortXmitWait), and for jobs that still run.",
    fabric="infiniband",
    kind="switch",
    severity="warn",
)
def waits_stay_local(link_errors_idle: Rows, link_errors: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_cables: list[NearCable]) -> t.Iterator[Finding]:
    """No port outside of the load waits to send for longer than the switch's ports under load."""
    roles = faces(incasts_of_node(pod_incasts, pod_incast_refused))
    was, now = by_port(link_errors_idle), by_port(link_errors)
    waits_of = {port: _waits(was[port], now[port]) for cable in cables_of(pod_cables) if (port := cable["port"]) in was and port in now}
    idle = {port for port in waits_of if roles.get(port_name(port), {"idle"}) == {"idle"}}
    most = max((ticks for port, ticks in waits_of.items() if port not in idle and ticks), default=0)
    stopped = sorted(port for port, ticks in waits_of.items() if port not in idle and ticks is None)
    expected = f"at most {most} ticks of waiting, as ports under load"
    own: t.Any = {"severity": "unknown", "cause": SATURATED_CAUSE, "fix": SATURATED_FIX}
    for port in sorted(idle):
        ticks = waits_of[port]
        if ticks is None:
            yield Finding(at_port(port), expected, f"{WAITS} is saturated", **own)
        elif stopped and ticks > most:
            words = f"{ticks} ticks, and {WAITS} of port {', '.join(stopped)}, which carried load, is saturated"
            yield Finding(at_port(port), expected, words, **own)
        elif most and ticks > most:
            yield Finding(at_port(port), expected, f"{ticks} ticks")
    if not most and not stopped:
        raise NotApplicable("no port under load waited, with which others could be compared")


ONE_SENDER = "One host sends to one, so that either of the two may be slower than its link; layer 4 tests each with other partners and says which."


@check(
    cause="The receiving host takes less than its link brings and returns no credits to its leaf, whose port to it waits: a narrow PCIe link, ACS or an IOMMU "
    "on the way, or memory of a remote NUMA node. No switch is at fault, though ports on the way to it wait, too.",
    fix="Look at the host's pcie_link, nic_pcie_alike, acs_as_expected, iommu_as_expected and nic_gpu_affinity of layer 0, and at PortXmitWait of the leaf's "
    "port to it (ibqueryerrors).",
    fabric="infiniband",
    scope="group",
    hosts=INCAST,
)
def receivers_fill_links(load_jobs: Grouped, write_bw: Grouped, pod_link_gbit_s: float, pod_incast_fill_percent: float) -> t.Iterator[Finding]:
    """Every receiver takes at least {pod_incast_fill_percent} percent of its link of all its senders together (a warning where most take less)."""
    least = pod_link_gbit_s * pod_incast_fill_percent / 100
    rounds = rates_of_rounds(load_jobs, write_bw)
    usual = statistics.median(sum(shares.values()) for shares in rounds.values())
    for (host, device, number), shares in rounds.items():
        taken = sum(shares.values())
        if taken < least:
            # Where most take less it is what they share, such as a setting of the fabric; of several senders the others fill what one of them leaves.
            severity = None if usual >= least and len(shares) > 1 else "warn"
            expected, words = f"{least:.4g} Gb/s or more of its senders together", f"{taken:.4g} Gb/s, and the median receiver of the group {usual:.4g}"
            where = at_device(device, f"as receiver in round {number}")
            yield Finding(where, expected, words, severity, cause=ONE_SENDER if len(shares) == 1 else None, host=host)
