# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel logs of GPUs, NVSwitches, NICs, their PCIe links, memory and disks, judged alike since the boot and under load."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field

from ..pod.types import Rail
from ..readings.rows import Rows
from ..text.counting import counted
from . import Finding
from ._grouping import rail_pci
from ._kernel_event_causes import EVENTS, FEW, LOG_PREFIX, OF_OTHERS, OVERCOME, TOLD_AGAIN, Event
from .place import Place, at_device, at_gpu, at_pci, at_port
from .xids import judged_xid, latest_recoveries

CORRECTED = "corrected"
LOG_CAUSE = "The kernel's log was cleared, or its buffer is too small for what was logged, so that an error may have been overwritten."
LOG_FIX = "Keep the log in the journal (systemd-journald) or enlarge the kernel's buffer (log_buf_len), then evaluate the layer again."


class Fresh(t.NamedTuple):
    """The rows of a kernel log that an earlier reading of it lacks; complete: whether no line between the two readings may have been lost."""

    rows: Rows
    complete: bool


def logged_since(before: Rows, now: Rows) -> Fresh:
    """What a kernel log has that an earlier reading of it has not.

    A log of limited size loses its first lines; where even the last one of before is gone, more may be.
    """
    known = Counter((row["time"], row["text"]) for row in before)
    fresh = []
    for row in now:
        if known[row["time"], row["text"]]:
            known[row["time"], row["text"]] -= 1
        else:
            fresh.append(row)
    return Fresh(fresh, not (before and known[before[-1]["time"], before[-1]["text"]]))


@dataclass(frozen=True)
class Devices:
    """The GPUs and rail NICs of a host by PCI address without function (``0000:1b:00``), and the rails by their netdevs."""

    places: dict[str, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, rails: list[Rail], gpus: Rows | None, links: Rows | None = None, bridges: Rows | None = None) -> Devices:
        """From a host's rails and what it reports of its GPUs; a bridge (row of ``acs_control``) above one of them alone is taken for it."""
        places = {str(gpu["pci"]).rpartition(".")[0]: at_gpu(gpu["gpu"]) for gpu in gpus or () if gpu["pci"]}
        places |= {str(rail["netdev"]).lower(): at_device(str(rail["device"])) for rail in rails if rail.get("netdev")}
        places |= {str(rail["device"]).lower(): at_device(str(rail["device"])) for rail in rails}
        places |= {pci.rpartition(".")[0]: at_device(str(rail["device"])) for rail in rails if (pci := rail_pci(rail, links))}
        above = ((bridge["pci"].rpartition(".")[0], _below(bridge, places)) for bridge in bridges or ())
        return cls({slot: places[cards[0]] for slot, cards in above if len(cards) == 1} | places)

    def place(self, device: str | None) -> Place:
        """Of a GPU or rail by its name, of another device by its address or netdev."""
        if not device:
            return Place("not named")
        return self.places.get(_slot(device)) or (at_pci(device) if ":" in device else at_port(device))

    def known(self, device: str | None) -> bool:
        """Whether it is a GPU or a rail's NIC."""
        return _slot(device or "") in self.places


def _below(bridge: dict[str, t.Any], slots: t.Iterable[str]) -> list[str]:
    """Those of some slots that are on the buses below a bridge; none where its buses are not known."""
    first, last = bridge.get("first_bus"), bridge.get("last_bus")
    if first is None or last is None:
        return []
    domain = bridge["pci"].partition(":")[0]
    cards = [slot for slot in slots if slot.count(":") == 2 and slot.partition(":")[0] == domain]
    return [slot for slot in cards if int(first, 16) <= int(slot.split(":")[1], 16) <= int(last, 16)]


def _slot(device: str) -> str:
    """A PCI address without its function, of the first domain where the kernel left it out; a netdev without its VLAN."""
    name = device.lower().partition(".")[0]
    return f"0000:{name}" if name.count(":") == 1 else name


def judged_events(rows: t.Iterable[dict[str, t.Any]], devices: Devices, corrected_max: int, since: str, past: bool = False) -> t.Iterator[Finding]:
    """A finding for each device and kind of event.

    rows: of ``kernel_log``; corrected_max: how many corrected errors of a device are normal; since: the time that they are of, in words;
    past: what a device has overcome since warns only.
    """
    rows = list(rows)
    for (device, code, recovery, severity), times in Counter(
        (row["device"], row["code"], row["recovery"], row["severity"]) for row in latest_recoveries(rows) if row["event"] == "xid"
    ).items():
        xid = judged_xid(code, recovery, severity)
        yield Finding(devices.place(device), f"no Xid {since}", xid.words + _again(times), xid.severity, cause=xid.cause, fix=xid.fix)
    known = {row["event"] for row in rows}
    rows = [row for row in rows if row["severity"] != CORRECTED or TOLD_AGAIN.get(row["event"]) not in known]
    found = Counter((row["event"], row["device"], row["code"], row["severity"]) for row in rows if row["event"] in EVENTS)
    for (event, device, code, severity), times in found.items():
        how = EVENTS[event]
        if event in FEW and severity == CORRECTED and times <= corrected_max:
            continue
        what = how.what.format(code=code, device=device or "that is not named", severity={"nonfatal": "non-fatal"}.get(severity, severity or "an unnamed"))
        if event in LOG_PREFIX:
            lines = (_said(str(row["text"]), LOG_PREFIX[event]) for row in rows if (row["event"], row["device"]) == (event, device))
            what += f": {next(filter(None, lines), 'not named')}"
        expected = f"at most {counted(corrected_max, 'corrected error')} {since}" if event in FEW and severity == CORRECTED else f"{how.expected} {since}"
        level = _severity(event, how, severity, devices.known(device), past)
        where = Place(how.place) if how.place and not devices.known(device) else devices.place(device)
        yield Finding(where, expected, what + _again(times), level, cause=how.cause, fix=how.fix)


def _said(line: str, before: str) -> str:
    """What a line says behind some words of its driver, all of it where it has not these."""
    return line.partition(before)[2] if before and before in line else line


def _again(times: int) -> str:
    return f", {times} times" if times > 1 else ""


def _severity(event: str, how: Event, severity: str | None, known: bool, past: bool) -> str | None:
    if event in OF_OTHERS and not known:
        return "warn"
    if severity in how.serious:
        return None
    return "warn" if how.severity == "warn" or (past and event in OVERCOME) else None
