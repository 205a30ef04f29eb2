# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drift: what a host's settings are now, in the firmware, and at the next boot, beside what they have to be."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..pod.rail_ports import rail_ports
from ..pod.types import Rail, RailPort
from ..readings.rows import Rows

Values = t.Mapping[str, t.Any]
NOT_REPORTED = "not reported"
NONE = "-"


@dataclass(frozen=True)
class Setting:
    """One setting; running, current (firmware now) and next_boot are ``-`` where it has no such value, and ``not reported`` where no reading has it."""

    where: str
    name: str
    wanted: str
    running: str = NONE
    current: str = NONE
    next_boot: str = NONE

    @property
    def drifted(self) -> bool:
        """Whether a value is not the wanted one."""
        return any(value not in (self.wanted, NONE) for value in (self.running, self.current, self.next_boot))


def host_settings(values: Values, readings: t.Mapping[str, Rows]) -> list[Setting]:
    """The settings that remedies change and that are compared by value: the peer memory module, DCQCN's reaction point, NIC firmware, QoS and memlock.

    readings: rows by reading, of readings that were reported.
    """
    found = [_peermem(readings)] if values["pod_gpudirect"] in ("either", "peermem") and values["pod_gpu_vendor"] == "nvidia" else []
    for rail in values["pod_rails"] if values["pod_fabric"] == "roce" else ():
        ports = rail_ports([t.cast(Rail, rail)])
        for number, port in enumerate(ports, 1):
            found += _dcqcn(values, readings, port, number)
        found += _firmware(values, readings, rail)
        for port in ports:
            found += _qos(values, readings, port)
    jobs = [row for row in readings.get("service_units", ()) if row["load_state"] == "loaded" and _names(row) & set(values["pod_job_services"])]
    return found + [Setting(row["unit"], "LimitMEMLOCK", "infinity", NONE, NONE, row["memlock"] or NOT_REPORTED) for row in jobs]


def _names(unit: t.Mapping[str, t.Any]) -> set[str]:
    """A unit's own name and its aliases."""
    return {unit["unit"], *(unit["names"] or ())}


def _peermem(readings: t.Mapping[str, Rows]) -> Setting:
    def there(reading: str) -> str:
        if reading not in readings:
            return NOT_REPORTED
        return "loaded" if any(row["module"].replace("-", "_") == "nvidia_peermem" for row in readings[reading]) else "not loaded"

    return Setting("kernel", "nvidia_peermem", "loaded", there("lsmod"), NONE, there("modules_load"))


def _dcqcn(values: Values, readings: t.Mapping[str, Rows], rail: RailPort, number: int) -> t.Iterator[Setting]:
    """DCQCN as it runs, and as the firmware's mask lets it; number: of the port on its NIC, from 1."""
    if values["pod_congestion_control"] != "dcqcn":
        return
    priority = values["pod_roce_priority"]
    switches = [row for row in readings.get("dcqcn", ()) if row["netdev"] == rail["netdev"] and row["setting"] == "enable" and row["role"] == "rp"]
    running = next((row["value"] for row in switches if row["priority"] == priority), None)
    row = _reported(readings, rail, f"ROCE_CC_PRIO_MASK_P{number}")
    masks = [NOT_REPORTED if row is None or row[f"{when}_number"] is None else _on(row[f"{when}_number"] >> priority & 1) for when in ("current", "next_boot")]
    yield Setting(rail["netdev"], f"DCQCN on priority {priority}", "on", NOT_REPORTED if running is None else _on(running == "1"), *masks)


def _on(value: t.Any) -> str:
    return "on" if value else "off"


def _reported(readings: t.Mapping[str, Rows], rail: t.Mapping[str, t.Any], name: str) -> dict[str, t.Any] | None:
    return next((row for row in readings.get("mlxconfig", ()) if row["device"] == rail["device"] and row["name"] == name), None)


def _firmware(values: Values, readings: t.Mapping[str, Rows], rail: Values) -> t.Iterator[Setting]:
    """The site's own settings, and whatever waits for a reset."""
    wanted = dict(values["pod_nic_settings"])
    for row in readings.get("mlxconfig", ()):
        if row["device"] == rail["device"] and None not in (row["current"], row["next_boot"]) and row["current"] != row["next_boot"]:
            wanted.setdefault(row["name"], row["next_boot"])
    for name, value in wanted.items():
        row = _reported(readings, rail, name) or {}
        now = [_as(str(value), row.get(when), row.get(f"{when}_number")) for when in ("current", "next_boot")]
        yield Setting(rail["device"], name, str(value), NONE, *now)


def _as(wanted: str, word: str | None, number: int | None) -> str:
    """A firmware value in the form of the wanted one: by its word, or by its number."""
    if word is None:
        return NOT_REPORTED
    return str(number) if number is not None and wanted.isdigit() else word


def _qos(values: Values, readings: t.Mapping[str, Rows], rail: RailPort) -> t.Iterator[Setting]:
    netdev = rail["netdev"]
    trust = next((row["trust"] for row in readings.get("qos_trust", ()) if row["netdev"] == netdev), NOT_REPORTED)
    yield Setting(netdev, "trust", "dscp", trust)
    rows = [row for row in readings.get("pfc_priorities", ()) if row["port"] == netdev]
    lossless = ", ".join(str(row["priority"]) for row in rows if row["pfc"]) or "none"
    yield Setting(netdev, "PFC on", str(values["pod_roce_priority"]) if values["pod_pfc"] else "none", lossless if rows else NOT_REPORTED)
    pause = next((_on(row["rx"] or row["tx"]) for row in readings.get("pause_settings", ()) if row["netdev"] == netdev), NOT_REPORTED)
    yield Setting(netdev, "link pause", "off", pause)


def drift_table(rows: t.Sequence[Setting]) -> str:
    """The settings that drifted, as aligned text; or that none did."""
    drifted = [(one.where, one.name, one.wanted, one.running, one.current, one.next_boot) for one in rows if one.drifted]
    if not drifted:
        return f"no drift in {len(rows)} settings"
    lines = [("where", "setting", "wanted", "running", "firmware", "next boot"), *drifted]
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
