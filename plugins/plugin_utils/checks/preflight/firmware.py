# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: the firmware settings of rail NICs, by the names of mlxconfig, as they are and as they are after the next boot."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ...pod.types import Rail
from ...readings.rows import Rows
from .. import Finding, NotApplicable, check
from .._grouping import grouped, planned_rails, several
from .._odd_ones import odd_rails, undecided_rails
from ..place import Place, at_device

LOST_AT_NEXT_BOOT = (
    "The NIC works with {name} = {current} as the pod needs it, and {next_boot} is written for its next boot: after a reset or a reboot it has this value "
    "and not the planned one (a default was restored, or the change was meant for another NIC)."
)
LOST_AT_NEXT_BOOT_FIX = "Without a reset, mlxconfig -d DEVICE set {name}={value} before the next boot, and look at what wrote the other value."
MASK_OF_PRIORITIES = re.compile(r"ROCE_CC_PRIO_MASK_P\d")
LINK_TYPE = re.compile(r"LINK_TYPE_P\d")
# What decides the rate of a NIC, or whether what it writes arrives in order, and has no value that is right for every host.
COMPARED = {
    "PCI_WR_ORDERING": "The NIC orders what it writes to memory otherwise than the others: where relaxed ordering is forced, data may arrive after the flag "
    "that says so in programs that did not ask for it (wrong values, mismatches in collectives); where it is not, writes to GPU memory may be slow.",
    "MAX_ACC_OUT_READ": "The NIC may have fewer or more reads of memory outstanding than the others, which limits the rate at which it sends.",
    "ATS_ENABLED": "The NIC translates addresses itself, and the others do not, or the reverse: its way to GPU memory is another one, with another rate.",
}
# The number of Ethernet in LINK_TYPE_P1; InfiniBand is 1.
ETHERNET = 2


@dataclass(frozen=True)
class Needs:
    """What a pod needs: the settings of its plan, its congestion control and the priority of RoCE."""

    settings: t.Mapping[str, t.Any]
    congestion_control: str
    priority: int

    def met(self, name: str, value: str, number: int | None) -> bool | None:
        """Whether a value of a setting (its word and its number) is as the pod needs it; None of a setting of which it needs none."""
        if name in self.settings:
            return str(self.settings[name]) in (value, str(number))
        if number is None:
            return None
        if MASK_OF_PRIORITIES.fullmatch(name) and self.congestion_control == "dcqcn":
            return bool(number >> self.priority & 1)
        return number == ETHERNET if LINK_TYPE.fullmatch(name) else None


@check(
    cause="The NIC's firmware settings were never made or were reset; DCQCN then does not serve the RoCE priority.",
    fix="Set the named keys with mlxconfig -d DEVICE set KEY=VALUE, then reset the NIC.",
    fabric="roce",
    required=True,
    remedy="mlxconfig",
    when=(("pod_congestion_control", ("dcqcn",)), ("pod_nic_settings", True)),
    meanings=("firmware_settings",),
)
def nic_settings(
    mlxconfig: Rows, pod_rails: list[Rail], pod_roce_priority: int, pod_congestion_control: str, pod_nic_settings: dict[str, t.Any]
) -> t.Iterator[Finding]:
    """Every rail NIC's current firmware settings are those that the pod needs."""
    reported = {(row["device"], row["name"]): row for row in mlxconfig}
    needs = Needs(pod_nic_settings, pod_congestion_control, pod_roce_priority)
    for rail in planned_rails(pod_rails):
        if pod_congestion_control == "dcqcn":
            yield from _priority_masks(reported, rail["device"], pod_roce_priority)
        for name, wanted in pod_nic_settings.items():
            row = reported.get((rail["device"], name))
            where = at_device(rail["device"], f"{name}")
            if row is None or row["current"] is None:
                yield Finding(where, str(wanted), "not reported by mlxconfig", "unknown")
            elif not needs.met(name, row["current"], row["current_number"]):
                yield Finding(where, str(wanted), row["current"])


def _priority_masks(reported: dict[tuple[str, str], dict[str, t.Any]], device: str, priority: int) -> t.Iterator[Finding]:
    for name in ("ROCE_CC_PRIO_MASK_P1", "ROCE_CC_PRIO_MASK_P2"):
        row = reported.get((device, name))
        if row is None and name.endswith("P2"):
            # Single-port cards have no second port's mask.
            continue
        where = at_device(device, f"{name}")
        if row is None or row["current_number"] is None:
            yield Finding(where, f"bit {priority} set", "not reported by mlxconfig", "unknown")
        elif not row["current_number"] >> priority & 1:
            yield Finding(where, f"bit {priority} set", str(row["current_number"]))


@check(
    cause="Firmware settings were changed and the NIC was not reset since.",
    fix="Reset the NIC with mlxfwreset, or reboot the host, when no job uses it.",
    fabric="roce",
    remedy="mlxconfig",
    meanings=("firmware_settings",),
)
def nic_reset_pending(
    mlxconfig: Rows, pod_rails: list[Rail], pod_roce_priority: int, pod_congestion_control: str, pod_nic_settings: dict[str, t.Any]
) -> t.Iterator[Finding]:  # fmt: skip
    """No expected setting of a rail NIC has another value pending for its next boot."""
    reported = grouped(mlxconfig, "device")
    needs = Needs(pod_nic_settings, pod_congestion_control, pod_roce_priority)
    for rail in planned_rails(pod_rails):
        rows = reported.get(rail["device"], [])
        compared = any(row["current"] is not None and row["next_boot"] is not None for row in rows)
        if not compared:
            yield Finding(at_device(rail["device"]), "current and next boot settings", "not reported by mlxconfig", "unknown")
        for row in rows:
            where = at_device(rail["device"], f"{row['name']}")
            if None not in (row["current"], row["next_boot"]) and row["current"] != row["next_boot"]:
                yield _pending(where, row, needs)
            elif compared and (row["current"] is None) != (row["next_boot"] is None):
                which = "current" if row["current"] is None else "next boot"
                yield Finding(where, "current and next boot value", f"{which} value not reported", "unknown")


def _pending(where: Place, row: dict[str, t.Any], needs: Needs) -> Finding:
    """The finding of a setting that waits for a reset, or that must be set back before one."""
    if needs.met(row["name"], row["next_boot"], row["next_boot_number"]) is False and needs.met(row["name"], row["current"], row["current_number"]):
        names = {"name": row["name"], "current": row["current"], "next_boot": row["next_boot"]}
        value = row["current"] if row["current_number"] is None else row["current_number"]
        cause, fix = LOST_AT_NEXT_BOOT.format(**names), LOST_AT_NEXT_BOOT_FIX.format(name=row["name"], value=value)
        return Finding(where, f"{row['current']} (now and at the next boot)", f"{row['next_boot']} at the next boot", cause=cause, fix=fix)
    return Finding(where, f"{row['next_boot']} (next boot)", f"{row['current']} (a reset is pending)")


@check(
    cause="The NIC was replaced, or its firmware settings were changed or reset on this host alone.",
    fix="Find out which value is meant, set it with mlxconfig -d DEVICE set KEY=VALUE where it differs, and reset the NIC; list it in pod_nic_settings, which "
    "requires it from then on.",
    fabric="roce",
    scope="group",
    severity="warn",
    meanings=("firmware_settings",),
)
def nic_settings_alike(mlxconfig: dict[str, Rows], pod_rails: list[Rail], pod_nic_settings: dict[str, t.Any]) -> t.Iterator[Finding]:
    """What pod_nic_settings does not say of PCIe (PCI_WR_ORDERING, MAX_ACC_OUT_READ, ATS_ENABLED) is the same on all rail NICs of a gate group."""
    several(mlxconfig)
    devices = {rail["device"] for rail in planned_rails(pod_rails)}
    values: dict[str, dict[tuple[str, str], str]] = {}
    for host, rows in mlxconfig.items():
        for row in rows:
            if row["name"] not in COMPARED.keys() - pod_nic_settings.keys() or row["device"] not in devices:
                continue
            reported = values.setdefault(row["name"], {})
            if row["current"] is None:
                yield Finding(at_device(row["device"], row["name"]), "a value, to be compared with the group's", "not reported", "unknown", host=host)
            else:
                reported[host, row["device"]] = row["current"]
    if not values:
        raise NotApplicable("no NIC of the group reports a setting of PCIe that pod_nic_settings does not have")
    for name, of_nics in sorted(values.items()):
        yield from undecided_rails(of_nics, Place(name, of=name), "one value")
        for (host, device), value, usual in odd_rails(of_nics):
            alike = sum(one == usual for one in of_nics.values())
            yield Finding(at_device(device, name), f"{usual}, as {alike} of the group's {len(of_nics)} NICs", value, host=host, cause=COMPARED[name])
