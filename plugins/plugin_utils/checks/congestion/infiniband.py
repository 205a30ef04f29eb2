# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of an InfiniBand fabric under load: they hold congestion by waiting, and discard nothing."""

from __future__ import annotations

import typing as t

from .. import Finding, NotApplicable, check
from .._counters import difference, faces, planned
from .._ports import Rows, by_port, cables_of, port_name

DISCARDS, WAITS = "PortXmitDiscards", "PortXmitWait"


@check(
    cause="A port of the switch could not send what waited in it for so long that it threw it away: a stuck receiver, a broken link, or a routing loop.",
    fix="Follow the growth of PortXmitWait along the path (ibqueryerrors) to the port behind which nothing is taken any more.",
    fabric="infiniband",
    kind="switch",
    required=True,
)
def switch_discards(link_errors_idle: Rows, link_errors: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_cables: Rows) -> t.Iterator[Finding]:
    """Under load no switch port of a cable discards what it cannot send."""
    planned(pod_incasts, pod_incast_refused)
    was, now = by_port(link_errors_idle), by_port(link_errors)
    for cable in cables_of(pod_cables):
        port, expected = cable["port"], f"no packet discarded on the way to {cable['peer']} {cable['peer_port']}"
        if port not in was or port not in now:
            yield Finding(port, expected, "no counters of this port", "unknown", port)
            continue
        if DISCARDS in {*was[port]["saturated"], *now[port]["saturated"]}:
            yield Finding(port, expected, f"{DISCARDS} stopped at its end, to be cleared", "unknown", port)
            continue
        discarded = difference(now[port]["tx_discards"], was[port]["tx_discards"], f"{port} {DISCARDS}")
        if discarded:
            yield Finding(port, expected, f"{discarded}, and {_waited(was[port], now[port])}", port=port)


def _waits(was: dict[str, t.Any], now: dict[str, t.Any]) -> int | None:
    """For how many ticks a port waited to send; None where its counter has stopped at its end."""
    stopped = WAITS in {*was["saturated"], *now["saturated"]}
    return None if stopped else difference(now["tx_waits"], was["tx_waits"], f"{now['port']} {WAITS}")


def _waited(was: dict[str, t.Any], now: dict[str, t.Any]) -> str:
    ticks = _waits(was, now)
    return f"{WAITS} stopped at its end" if ticks is None else f"it waited for {ticks} ticks"


@check(
    cause="Congestion is where no load was sent: a host behind that port takes nothing, or traffic of somebody else fills it.",
    fix="Look at the host behind the port named (PCIe width, its own PortXmitWait), and for jobs that still run.",
    fabric="infiniband",
    kind="switch",
    severity="warn",
)
def waits_stay_local(link_errors_idle: Rows, link_errors: Rows, pod_incasts: Rows, pod_incast_refused: str, pod_cables: Rows) -> t.Iterator[Finding]:
    """No port outside of the load waits to send for longer than every port of the switch that is part of it."""
    roles = faces(planned(pod_incasts, pod_incast_refused))
    was, now = by_port(link_errors_idle), by_port(link_errors)
    told = {port: _waits(was[port], now[port]) for cable in cables_of(pod_cables) if (port := cable["port"]) in was and port in now}
    stopped = [port for port, ticks in told.items() if ticks is None]
    if stopped:
        raise NotApplicable(f"{WAITS} stopped at its end on port {', '.join(stopped)}: clear the counters (perfquery -R)")
    waits = {port: ticks or 0 for port, ticks in told.items()}
    idle = {port for port in waits if roles.get(port_name(port), {"idle"}) == {"idle"}}
    most = max((ticks for port, ticks in waits.items() if port not in idle), default=0)
    if not most:
        raise NotApplicable("no port under load waited, with which others could be compared")
    for port in sorted(idle):
        if waits[port] > most:
            yield Finding(port, f"to wait no longer than a port under load, {most} ticks at most", f"{waits[port]} ticks", port=port)
