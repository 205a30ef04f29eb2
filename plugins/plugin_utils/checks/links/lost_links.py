# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: links that hosts lost, by the kernel's log and by the NICs' own count."""

from __future__ import annotations

import typing as t

from ...pod.names import by_port
from ...pod.rail_ports import rail_ports
from ...pod.types import Rail, RailPort
from ...readings.rows import Rows
from ...text.counting import counted
from ...text.times import epoch_seconds
from .. import CannotTell, Finding, check
from .._counters import RESET_CAUSE, RESET_FIX
from .._kernel_events import LOG_CAUSE, LOG_FIX, logged_since
from ..place import Place, at_port
from ._lost_together import links_of, lost_together
from .errors import of_one_node, sent_by

DAY_SECONDS = 86400
LOST_TOGETHER = "{number} links of {hosts} hosts were lost within a second: one common cause, such as a leaf that restarted, and not {number} cables."
LOST_BY_HOST = "{number} links of {host} were lost within a second: one common cause on the host, and not {number} cables."
BY_HOSTS_FIX = (
    "Look at the log of {leaf} at {time} (restart, line card, power, a configuration change), and at what was run on all of these hosts then, before any cable."
)
BY_HOST_FIX = (
    "Look at the kernel log of {host} at {time} and at its journal, before any cable: firmware or a driver that was reset or loaded again, or a service "
    "that set the ports anew, since some drivers take a link down for new classes, buffers or addresses (lldpad and its DCB messages, mlnx_qos in a script, "
    "systemd-networkd, NetworkManager, netplan apply)."
)


@check(
    cause="A loose connector, a failing optic, or a peer that resets its port.",
    fix="Reseat or replace the cable, and look at the peer's log for the same seconds.",
    fabric="roce",
    kind="host",
    needs="soak",
)
def link_flaps(
    kernel_log: Rows, kernel_log_before: Rows, kernel_log_of_peers: dict[str, Rows], pod_node: str, pod_rails: list[Rail],
    pod_flaps_warn: int, pod_flaps_max: int, pod_flaps_settle_minutes: int, host_clock: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """No rail loses its link in the soak, and fewer than {pod_flaps_max} times in 24 h ({pod_flaps_warn}: warn), boot excluded."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    if not any(row["event"] == "boot" for row in kernel_log):
        # The soak can be judged without them, the time before it cannot.
        yield Finding(Place("kernel log"), "all lines since the boot", "its first lines were overwritten", "warn")
    since, period = watched(kernel_log, host_clock or [], pod_flaps_settle_minutes)
    unnamed = len(_losses(kernel_log, None))
    if unnamed:
        yield Finding(Place("kernel log"), "the netdev of every lost link", f"not reported of {unnamed}", "unknown")
    fresh, complete = logged_since(kernel_log_before, kernel_log)
    if not complete:
        yield Finding(Place("kernel log"), "no link loss in the soak", "the log lost lines during the soak", "unknown", cause=LOG_CAUSE, fix=LOG_FIX)
    for rail in rail_ports(pod_rails):
        lost = _losses(fresh, rail["netdev"]) if complete or _dated_alike(kernel_log, kernel_log_before) else []
        recent = [row for row in _losses(kernel_log, rail["netdev"]) if since is None or (epoch_seconds(row["time"]) or 0) >= since]
        common = _common_loss(pod_node, rail, lost or recent, kernel_log_of_peers)
        if lost:
            yield Finding(at_port(rail["netdev"]), "no link loss in the soak", counted(len(lost), "link loss"), **common)
        elif len(recent) >= pod_flaps_max:
            # Without times, losses of weeks ago would stop a pod.
            words = f"fewer than {pod_flaps_max} link losses {period}"
            yield Finding(at_port(rail["netdev"]), words, str(len(recent)), None if since else "warn", **common)
        elif len(recent) >= pod_flaps_warn:
            yield Finding(at_port(rail["netdev"]), f"fewer than {pod_flaps_warn} link losses {period}", str(len(recent)), "warn", **common)


def _dated_alike(now: Rows, before: Rows) -> bool:
    """Whether both readings of a log have times of one form: the journal's and the kernel's own differ for the same line."""
    return len({epoch_seconds(row["time"]) is None for row in (*now, *before)}) < 2


def _common_loss(node: str, rail: RailPort, lost: Rows, logs: dict[str, Rows]) -> dict[str, t.Any]:
    """Cause, fix and beginning of losses of a rail that all came with those of others within a second; nothing where any is its own."""
    many = lost_together(logs)
    of_losses = [next((cluster for cluster in many if (epoch_seconds(row["time"]), (node, rail["netdev"])) in cluster), None) for row in lost]
    if not of_losses or of_losses[0] is None or None in of_losses:
        # A link that is also lost alone has a fault of its own.
        return {}
    links, time = links_of(of_losses[0]), lost[0]["time"]
    hosts = {host for host, _netdev in links}
    if len(hosts) == 1:
        return {"cause": LOST_BY_HOST.format(number=len(links), host=node), "fix": BY_HOST_FIX.format(host=node, time=time)}
    return {
        "cause": LOST_TOGETHER.format(number=len(links), hosts=len(hosts)),
        "fix": BY_HOSTS_FIX.format(leaf=rail.get("leaf") or "the leaf", time=time),
        "began_at": sent_by(rail),
    }


def _losses(log: Rows, netdev: str | None) -> Rows:
    return [row for row in log if row["event"] == "link_down" and row["device"] == netdev]


def watched(log: Rows, clock: Rows, settle_minutes: int) -> tuple[float | None, str]:
    """From when on a lost link counts, and that period in words; None where the log's lines or the host have no time."""
    times = [epoch_seconds(row["time"]) for row in log if row["event"] in ("boot", "link_down")]
    now = epoch_seconds(clock[0]["time"]) if clock else None
    if now is None or None in times:
        return None, "since the boot (the log has no timestamps)"
    boot = next((epoch_seconds(row["time"]) for row in log if row["event"] == "boot"), None)
    return max(now - DAY_SECONDS, (boot or 0) + settle_minutes * 60), "in 24 h"


@check(
    cause="The NIC lost its link, which its kernel need not log: a loose connector, a failing cable or optic, or a port of the leaf that was reset.",
    fix="Look at the leaf's log and port for the time of the soak, and reseat cable and optics at both ends; if it counts on (ethtool -S), replace the cable "
    "or optics, then the NIC.",
    fabric="roce",
    kind="host",
    meanings=("link_losses",),
)
def nic_link_flaps(interface_errors: Rows, interface_errors_before: Rows, pod_rails: list[Rail]) -> t.Iterator[Finding]:
    """No rail's NIC counts a lost link during the soak."""
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    ports = rail_ports(pod_rails)
    yield from of_one_node(_losses_counted(ports, interface_errors, interface_errors_before), len(ports))


def _losses_counted(ports: list[RailPort], interface_errors: Rows, interface_errors_before: Rows) -> t.Iterator[Finding]:
    now, then = by_port(interface_errors), by_port(interface_errors_before)
    for rail in ports:
        place, expected = at_port(rail["netdev"]), "no link loss counted by the NIC in the soak"
        count, before = (_counted(rows.get(rail["netdev"])) for rows in (now, then))
        if count is None or before is None:
            once = (count is None) != (before is None)
            yield Finding(place, expected, "link_losses reported in one of two readings only" if once else "link_losses not reported for this port", "unknown")
        elif count < before:
            yield Finding(place, expected, "counters were reset (link_losses)", "unknown", cause=RESET_CAUSE, fix=RESET_FIX)
        elif count > before:
            words = f"{counted(count - before, 'link loss')} (link_losses {before}, then {count})"
            yield Finding(place, expected, words, began_at=sent_by(rail))


def _counted(row: dict[str, t.Any] | None) -> int | None:
    """A port's count of lost links; None where the port or the counter is not reported."""
    return None if row is None else row["link_losses"]
