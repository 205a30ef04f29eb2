# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counters grew by, by NIC and by port, and which NICs an incast has loaded."""

from __future__ import annotations

import contextlib
import typing as t

from ..loads.incasts import INCAST
from ..pod.names import port_name
from ..pod.rail_ports import members_of
from ..pod.types import Rail
from ..readings.nic_drivers import names_of
from ..readings.rows import Row, Rows
from . import CannotTell, Finding
from .place import Place

Counters = dict[str, dict[str, int]]
# What counters mean, whatever the driver calls them; {p} in a name is the priority.
RX_BYTES, TX_BYTES = names_of("rx_priority_bytes"), names_of("tx_priority_bytes")
RX_PAUSES, TX_PAUSES = names_of("rx_pauses"), names_of("tx_pauses")
RX_PAUSED_US, TX_PAUSED_US = names_of("rx_paused_us"), names_of("tx_paused_us")
DISCARDS = names_of("discards")
LINK_LOST, BIT_ERRORS, SYMBOL_ERRORS = names_of("link_losses"), names_of("bit_errors"), names_of("symbol_errors")
# Of InfiniBand, whose links are trained again where Ethernet's are lost.
IB_LINK_LOST = ("link_downed", "link_error_recovery")
RX_ALL, TX_ALL = names_of("rx_bytes"), names_of("tx_bytes")
ALL_BYTES = (*RX_ALL, *TX_ALL)
# Of RDMA devices: marks and notifications at the receiver, notifications that arrive at the sender, and what is lost.
MARKED, NOTIFIED = names_of("ecn_marked"), names_of("cnps_sent")
CNPS, IGNORED = names_of("cnps_handled"), names_of("cnps_ignored")
SEQUENCE_ERRORS, TIMEOUTS, OUT_OF_ORDER = names_of("sequence_errors"), names_of("timeouts"), names_of("out_of_sequence")
# Packets whose own checksum (ICRC) is wrong in a frame whose checksum is right.
DAMAGED = names_of("damaged_payloads")
# What grows where a link or a path loses data.
LOST_ON_THE_WAY = (
    *SEQUENCE_ERRORS, *TIMEOUTS, *OUT_OF_ORDER, *names_of("not_ready"), *BIT_ERRORS, *SYMBOL_ERRORS, *DISCARDS, *names_of("tx_errors"),
)  # fmt: skip
# The longest time for which one pause frame stops a priority: 65,535 quanta of 512 bits.
FRAME_BITS = 65535 * 512
TERABYTE = 1e12
FRAMES_CAUSE = "The port counts its pause frames, and not for how long they stop it: that is between next to no time and the share named."
FRAMES_FIX = (
    "Read for how long it was paused where that is counted: the pause duration of the NIC at either end (ethtool -S), or the switch's PFC watchdog. "
    "Where it was short, raise pod_pause_max_percent for these nodes; else look for the receiver at which the pauses begin, and its ECN marking."
)
RESET_CAUSE = "Counters went back between the two readings: they were cleared, or the driver, port or node was reset."
RESET_FIX = "Find out what cleared or reset them (a script, an operator, a driver that was reloaded), then evaluate the layer again."
NOT_ASKED = (
    "The port's node did not answer when the subnet's reader asked for its counters (ibqueryerrors names it): the firmware of that NIC or "
    "switch is busy or hangs, or its answers are lost on their way."
)
NOT_ASKED_FIX = (
    "Ask it alone (perfquery LID PORT, smpquery nodeinfo LID). Where that has no answer, either, reset the NIC (mlxfwreset) or reboot the switch, and renew "
    "its firmware; where it has one, run the layer again."
)
SATURATED_CAUSE = "The counter is at its maximum, from an earlier fault or never cleared, and counts no further: its growth is not known."
SATURATED_FIX = "Clear the counters of that port (perfquery -R), then evaluate the layer again."


def by_name(rows: Rows, key: str) -> Counters:
    """Counters by NIC (the column ``key``, ``netdev`` or ``device``) and name."""
    found: Counters = {}
    for row in rows:
        found.setdefault(row[key], {})[row["name"]] = row["value"]
    return found


def growth(was: Rows, now: Rows, key: str) -> Counters:
    """What each counter that both readings have grew by, by NIC and name.

    Raises CannotTell where one went back.
    """
    old, grown = by_name(was, key), {}
    for nic, counters in by_name(now, key).items():
        grown[nic] = {name: difference(value, old[nic][name], f"{nic} {name}") for name, value in counters.items() if name in old.get(nic, {})}
    return grown


def growth_of_hosts(was: t.Mapping[str, Rows], now: t.Mapping[str, Rows], key: str) -> dict[str, Counters]:
    """``growth`` of each host; without one of which a counter went back."""
    found = {}
    for host, rows in now.items():
        with contextlib.suppress(CannotTell):
            found[host] = growth(was.get(host, []), rows, key)
    return found


def of_rails(grown: Counters, rails: t.Iterable[Rail]) -> Counters:
    """The same, and of each bond what its members counted together."""
    bonds = {str(rail["netdev"]): members for rail in rails if (members := members_of(rail))}
    return {**grown, **{netdev: summed([grown.get(member, {}) for member in members]) for netdev, members in bonds.items()}}


def summed(ports: t.Sequence[t.Mapping[str, int]]) -> dict[str, int]:
    """What the ports of a bond counted together, by the names that all of them have."""
    return {name: sum(port[name] for port in ports) for name in ports[0] if all(name in port for port in ports)}


def difference(now: int, was: int, where: str) -> int:
    """How much a counter grew.

    Raises CannotTell where it went back.
    """
    if now < was:
        raise CannotTell(f"counters were reset: {where} went back from {was} to {now}")
    return now - was


def pick(counters: t.Mapping[str, int] | None, names: t.Iterable[str], priority: int = 0) -> int | None:
    """The first counter that the driver has by one of its names; None where it has none: absent is not zero."""
    for name in names:
        value = (counters or {}).get(name.format(p=priority))
        if value is not None:
            return value
    return None


def named(counters: t.Mapping[str, int] | None, names: t.Sequence[str], priority: int = 0) -> str:
    """The name of the counter that ``pick`` takes; the first of the names where the driver has none."""
    spelt = [name.format(p=priority) for name in names]
    return next((name for name in spelt if (counters or {}).get(name) is not None), spelt[0])


def total(counters: t.Mapping[str, int] | None, names: t.Iterable[str], priority: int = 0) -> int | None:
    """The sum of the counters that the driver has; None where it has none."""
    values = [value for name in names if (value := (counters or {}).get(name.format(p=priority))) is not None]
    return sum(values) if values else None


def port_growth(was: Rows, now: Rows, columns: t.Sequence[str], by: str | None = None) -> dict[tuple[str, t.Any], dict[str, int]]:
    """What columns of a switch's rows grew by, by port and the column ``by`` (a priority, a queue); a row that lacks one of them is left out."""
    key = (lambda row: (port_name(row["port"]), row[by])) if by else (lambda row: (port_name(row["port"]), None))
    old = {key(row): row for row in was}
    grown: dict[tuple[str, t.Any], dict[str, int]] = {}
    for row in now:
        first = old.get(key(row))
        if first is None or any(one[column] is None for one in (row, first) for column in columns):
            continue
        into = grown.setdefault(key(row), {})
        for column in columns:
            into[column] = into.get(column, 0) + difference(row[column], first[column], f"{row['port']} {column}")
    return grown


def moved_bytes(counters: t.Mapping[str, int] | None) -> float:
    """How much a rail received and sent, in bytes; 0 where it counts none. The port of a virtual function counts none, and its virtual port does."""
    return float(sum(max(((counters or {}).get(name, 0) for name in names), default=0) for names in (RX_ALL, TX_ALL)))


def at_most(count: int, moved: float, per_tb: float) -> bool:
    """Whether so many errors or losses are no more than allowed for so many bytes: for each terabyte, and for the first."""
    return count <= per_tb * max(moved / TERABYTE, 1.0)


def sent_bytes(was: Rows | None, now: Rows | None) -> dict[str, int]:
    """How many bytes each port of a switch sent between two readings, over all of its queues; without a port whose counter went back or is not reported."""
    sums: list[dict[str, int]] = []
    for rows in (was, now):
        found: dict[str, int] = {}
        for row in rows or ():
            found[port_name(row["port"])] = found.get(port_name(row["port"]), 0) + (row["tx_bytes"] or 0)
        sums.append(found)
    return {port: count - sums[0][port] for port, count in sums[1].items() if port in sums[0] and count >= sums[0][port]}


def not_grown(where: Place, expected: str, now: Row, before: Row, columns: t.Sequence[str]) -> t.Iterator[Finding]:
    """The columns of a port's errors that grew, or went back, between two readings that both report them."""
    shrunk = [column for column in columns if now[column] < before[column]]
    if shrunk:
        yield Finding(where, expected, f"counters were reset ({', '.join(shrunk)})", "unknown", cause=RESET_CAUSE, fix=RESET_FIX)
        return
    grown = [f"{column} +{now[column] - before[column]}" for column in columns if now[column] > before[column]]
    if grown:
        yield Finding(where, expected, ", ".join(grown))


def incasts_of_node(pod_incasts: Rows, refused: str) -> Rows:
    """The incasts of a node.

    Raises CannotTell where none is planned.
    """
    if refused or not pod_incasts:
        raise CannotTell(f"no congestion was made: {refused or 'no incast is planned here'}")
    return pod_incasts


def faces(pod_incasts: Rows) -> dict[str, set[str]]:
    """The roles that each port of a switch has in the load; one that is idle in one round only has a part in it."""
    roles: dict[str, set[str]] = {}
    for row in pod_incasts:
        roles.setdefault(port_name(row["port"]), set()).add(row["role"])
    return {port: its - {"idle"} or {"idle"} for port, its in roles.items()}


def in_group(pod_incasts: Rows) -> Rows:
    """The rows of rounds in a gate group, or all where there are no others."""
    return [row for row in pod_incasts if not row.get("across")] or pod_incasts


def loaded_seconds(pod_incasts: Rows) -> dict[str, float]:
    """For how long each device of a host took part in the rounds of its gate group, by device.

    Rounds across groups also pause, and make no limit of the others milder.
    """
    rounds = {(row["device"], row["round"]): row["seconds"] for row in in_group(pod_incasts)}
    seconds: dict[str, float] = {}
    for (device, _round), lasted in rounds.items():
        seconds[device] = seconds.get(device, 0.0) + lasted
    return seconds


def paused_percent(frames: int, seconds: float, gbit_s: float) -> float:
    """For how much of the time so many pause frames stop a port's priority at most, in percent."""
    return min(100.0, frames * FRAME_BITS / (gbit_s * 1e9) / max(seconds, 1.0) * 100)


def judge_most(percent: float, most: float) -> dict[str, t.Any]:
    """Severity, cause and fix of a port that pause frames stop for at most so many percent of the time, of which it may be most.

    As many as stop it all of the time are a fault; fewer may stop it for next to no time, and then whether it is one is not known.
    """
    if percent >= 100:
        return {"severity": None}
    return {"severity": "unknown", "cause": FRAMES_CAUSE, "fix": FRAMES_FIX, "judged": True} if percent >= most else {"severity": "warn"}


def incast_jobs(rows: Rows, role: str, kinds: t.Container[str] = (INCAST,)) -> Rows:
    """The jobs of incasts that a host took part in as ``client`` (it sent) or ``server``; kinds: those in its gate group alone, or others."""
    return [row for row in rows if row["kind"] in kinds and row["role"] == role]
