# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ends of a load counted meanwhile, as words beside its bandwidth: retransmissions, pauses, CNPs and ECN marks.

Counters are read before and after all loads of a layer, so that they are of all of them.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..pod.rail_ports import members_of, rail_ports
from ..pod.types import DeviceNames, Rail
from ..readings.rows import Rows
from . import CannotTell
from ._counters import CNPS, LOST_ON_THE_WAY, MARKED, RX_PAUSED_US, RX_PAUSES, SEQUENCE_ERRORS, TIMEOUTS, TX_ALL, growth, named, pick, summed

# Evaluated when it is imported, which before Python 3.10 cannot be `|`.
Table = t.Mapping[str, t.Optional[Rows]]  # noqa: UP045
Tables = tuple[t.Optional[Table], t.Optional[Table], t.Optional[Table], t.Optional[Table]]  # noqa: UP045
KINDS = ("retransmissions", "paused", "CNPs handled", "ECN marks")
NOT_REPORTED = "not reported"


@dataclass(frozen=True)
class Counted:
    """The counters of each host around the loads of a layer.

    tables: rows of ``nic_counters`` before and after the loads, then of ``rdma_counters``, by host; None where none were read.
    priority: that of RoCE; link: the rate of a rail in Gb/s.
    """

    tables: Tables
    priority: int = 0
    link: float = 1.0

    def of_pair(self, own: tuple[str, Rail], other: tuple[str, str, Rail | None]) -> str:
        """What the two ends of a test counted, as the end of a sentence.

        own: host and rail (of ``pod_rails``); other: host, device and the rail of that name, from which its netdev is.
        """
        host, device, rail = other
        ends = [(own[1]["device"], self._of(own[0], own[1])), (f"{host} {device}", self._of(host, rail or {"device": device, "netdev": None}))]
        return self._words(ends)

    def of_rail(self, host: str, rail: Rail | DeviceNames) -> str:
        """What one rail of a host counted, as the end of a sentence."""
        return self._words([(rail["device"], self._of(host, rail))])

    def of_host(self, host: str, rails: t.Sequence[Rail | DeviceNames]) -> str:
        """What the rails of a host counted together, as the end of a sentence."""
        return self._together("its rails", {str(rail["device"]): self._of(host, rail) for rail in rails})

    def of_devices(self, host: str) -> str:
        """As ``of_host``, of a host whose rails are known by what it counts of its devices alone."""
        devices = dict.fromkeys(str(row["device"]) for row in (self.tables[3] or {}).get(host) or ())
        return self.of_host(host, [{"device": device, "netdev": None} for device in devices])

    def of_incast(self, receiver: tuple[str, str], senders: t.Iterable[tuple[str, str]], netdevs: t.Mapping[str, str]) -> str:
        """What receiver and senders (host, device) counted in all incasts, as the end of a sentence; netdevs: of each device."""
        ends = {f"{host} {device}": self._of(host, {"device": device, "netdev": netdevs.get(device)}) for host, device in (receiver, *senders)}
        own = ends.pop(" ".join(receiver))
        return self._words([("the receiver", own)]) + self._together("the senders", ends)

    def _together(self, who: str, ends: t.Mapping[str, t.Mapping[str, float | None]]) -> str:
        """Sums, and of the pauses the longest, each with the end that has most of it; nothing where nothing is reported."""
        if any("reset" in one for one in ends.values()):
            return f"; counters of {who} over all loads of this layer: reset"
        parts, reported = [], False
        for kind in KINDS:
            if not any(kind in one for one in ends.values()):
                continue
            known = {name: count for name, one in ends.items() if (count := one.get(kind)) is not None}
            reported = reported or bool(known)
            most = max(known, key=lambda name: known[name], default="")
            amount = NOT_REPORTED if not known else f"{known[most]:.3g} % at most" if kind == "paused" else f"{sum(known.values()):.0f}"
            parts.append(f"{kind} {amount}" + (f" (most at {most})" if known.get(most) else ""))
        return f"; counters of {who} over all loads of this layer: {', '.join(parts)}" if reported else ""

    def _of(self, host: str, rail: Rail | DeviceNames) -> dict[str, float | None]:
        """What a rail counted by kind: numbers, and of the pauses the share of its sending time in percent; None: not reported. ``reset``: went back."""
        try:
            own = [(table or {}).get(host) for table in self.tables]
            nic, device = _together_grown(own[0], own[1], rail), _grown(own[2], own[3], "device", rail["device"])
        except CannotTell:
            return {**dict.fromkeys(KINDS), "reset": 1}
        # A driver that has one counter for both has sent these segments again once.
        again = {name: device[name] for names in (SEQUENCE_ERRORS, TIMEOUTS) if (name := named(device, names)) in device}
        counts: list[float | None] = [sum(again.values()) if again else None, self._paused_percent(nic), pick(device, CNPS), pick(device, MARKED)]
        # Which netdev a device of another host has is not always known: then its pauses are not looked for.
        return {kind: count for kind, count in zip(KINDS, counts) if kind != "paused" or rail["netdev"] is not None}

    def _paused_percent(self, nic: t.Mapping[str, int]) -> float | None:
        paused, sent = pick(nic, RX_PAUSED_US, self.priority), pick(nic, TX_ALL)
        if paused is None:
            return 0.0 if pick(nic, RX_PAUSES, self.priority) == 0 else None
        sending_us = (sent or 0) * 8 / self.link / 1e3
        return 100 * paused / (paused + sending_us) if paused else 0.0

    def _words(self, ends: list[tuple[str, dict[str, float | None]]]) -> str:
        if all(count is None for _name, one in ends for kind, count in one.items() if kind in KINDS) and not any("reset" in one for _name, one in ends):
            return ""
        parts = [f"{kind} {' and '.join(_word(one, kind) for _name, one in ends)}" for kind in KINDS if any(kind in one for _name, one in ends)]
        return f"; counters of {' and '.join(name for name, _one in ends)} over all loads of this layer: {', '.join(parts)}"


def of_node(host: str, rows: tuple[Rows | None, Rows | None, Rows | None, Rows | None], priority: int, link: float) -> Counted:
    """The counters of one host; rows: as the tables of ``Counted``."""
    nics_idle, nics, rdma_idle, rdma = ({host: one} for one in rows)
    return Counted((nics_idle, nics, rdma_idle, rdma), priority, link)


def _grown(was: Rows | None, now: Rows | None, key: str, name: str | None) -> t.Mapping[str, int]:
    """What the counters of one NIC grew by; nothing where they are not reported.

    Raises CannotTell where one went back.
    """
    mine = [[row for row in rows or () if row[key] == name] for rows in (was, now)]
    return growth(mine[0], mine[1], key).get(name or "", {})


def _together_grown(was: Rows | None, now: Rows | None, rail: Rail | DeviceNames) -> t.Mapping[str, int]:
    """As ``_grown``, of all ports of a rail together."""
    ports = members_of(rail)
    return summed([_grown(was, now, "netdev", port) for port in ports]) if ports else _grown(was, now, "netdev", rail["netdev"])


def _word(one: t.Mapping[str, float | None], kind: str) -> str:
    count = one.get(kind)
    if count is None:
        return "reset" if "reset" in one else NOT_REPORTED
    return f"{count:.3g} %" if kind == "paused" else f"{count:.0f}"


def _more(known: int, grown: int) -> int:
    """What a counter of several ports grew by, or how far one of them went back."""
    return min(known, grown) if min(known, grown) < 0 else known + grown


def error_growth(rail: Rail, idle: Rows | None, now: Rows | None, rdma_idle: Rows | None, rdma: Rows | None) -> dict[str, int] | None:
    """What a rail's NIC counted of lost data since before the load; None where no such counter was read, or one went back."""
    found: dict[str, int] = {}
    of_ports = [("netdev", port["netdev"], idle, now) for port in rail_ports([rail])]
    for key, name_of_it, was, later in (*of_ports, ("device", rail["device"], rdma_idle, rdma)):
        before, after = (
            {row["name"]: row["value"] for row in rows or () if row[key] == name_of_it and row["name"] in LOST_ON_THE_WAY} for rows in (was, later)
        )
        # One that went back on any port is told by its sign.
        found |= {name: _more(found.get(name, 0), after[name] - value) for name, value in before.items() if name in after}
    return {name: grown for name, grown in found.items() if grown} if found and min(found.values()) >= 0 else None
