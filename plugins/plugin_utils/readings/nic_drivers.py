# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drivers of NICs, loaded from the YAML files of ``drivers``: what each calls a counter, and what it cannot report.

Checks ask for a meaning (``rx_pauses``), never for a driver or for its names.
"""

from __future__ import annotations

import functools
import re
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..text.schema import Each, Maybe, shape_error
from ..text.yaml_text import from_yaml

HERE = Path(__file__).parent
NETDEV = (
    "rx_bytes", "tx_bytes", "rx_priority_bytes", "tx_priority_bytes", "rx_pauses", "tx_pauses", "rx_paused_us", "tx_paused_us", "discards", "link_losses",
    "bit_errors", "symbol_errors", "corrected_bits", "tx_errors",
)  # fmt: skip
# Of a port's errors that interface_errors has a column of, and no load is judged by.
PORT = ("alignment_errors", "runts", "giants", "rx_errors", "rx_drops", "tx_drops")
DEVICE = ("ecn_marked", "cnps_sent", "cnps_handled", "cnps_ignored", "sequence_errors", "timeouts", "out_of_sequence", "not_ready", "damaged_payloads")
MEANINGS = frozenset({*NETDEV, *PORT, *DEVICE})
# What a check may need that is no counter: settings of the firmware (mlxconfig), whether DCQCN is on, and its parameters; trust, PFC and DSCP map;
# the module and the quality of the link; how its function may use PCIe.
SETTINGS = frozenset({"firmware_settings", "dcqcn_switches", "dcqcn_parameters", "qos_settings", "optics", "link_quality", "pcie_control"})
NAMES, REASONS = Each(str), Each(str, dict)
SHAPE = {
    "drivers": NAMES, "rank": int, "description": str, "tools": NAMES, "rdma_module": Maybe(str),
    "netdev": Each(NAMES, dict), "device": Each(NAMES, dict), "cannot_report": REASONS,
    "map_is_trust": bool, "generations": Maybe({"vendor_ids": Each(int), "least": str, "too_old": Each(str, dict)}),
    "inbox": Maybe({"version": str, "map_is_trust": bool, "cannot_report": REASONS}),
    "virtual": Maybe({"vendor": str, "devices": NAMES, "cannot_report": REASONS}),
}  # fmt: skip


@dataclass(frozen=True)
class NicDriver:
    """One table.

    name: its file's; drivers: what the kernel calls them; tools: the programs that read or set its NICs.
    rdma_module: the kernel's module that makes RDMA devices of its NICs, beside the driver itself.
    rank: where counters of two drivers' names are reported together, those of the lower one are taken.
    cannot_report: by meaning (of a counter or of SETTINGS), why no version of the driver reports it.
    inbox: of a driver that also comes with the kernel: a regular expression of that one's versions, and what it cannot report besides; or None.
    virtual: of a driver that also runs virtual functions: their ids on the PCI bus, and what they cannot report besides; or None.
    map_is_trust: as of ``Form``; generations: of a vendor some of whose NICs are too old, or None.
    netdev, device: by meaning, the names of counters of ``ethtool -S`` and of the RDMA device, the first that is reported; ``{p}`` is the priority.
    """

    name: str
    drivers: tuple[str, ...]
    rank: int
    description: str
    tools: tuple[str, ...]
    rdma_module: str | None
    netdev: t.Mapping[str, tuple[str, ...]]
    device: t.Mapping[str, tuple[str, ...]]
    cannot_report: t.Mapping[str, str]
    inbox: Inbox | None
    virtual: Virtual | None
    map_is_trust: bool
    generations: Generations | None


class Generations(t.TypedDict):
    """A vendor's NICs, by their number in verbs: those that are too old, and from which on they are not."""

    vendor_ids: list[int]
    least: str
    too_old: dict[int, str]


class Inbox(t.TypedDict):
    """The kernel's own form of a driver."""

    version: str
    map_is_trust: bool
    cannot_report: dict[str, str]


class Virtual(t.TypedDict):
    """Virtual functions of a driver, as sysfs writes their ids."""

    vendor: str
    devices: list[str]
    cannot_report: dict[str, str]


@dataclass(frozen=True)
class Form:
    """A driver in the form in which a NIC has it; name: ``bnxt_en``, or ``mlx5_core of the kernel``; cannot_report: by meaning, why not.

    virtual: whether it is of a virtual function.

    map_is_trust: a port that maps a DSCP trusts DSCP, and one that maps none does not.
    """

    name: str
    cannot_report: t.Mapping[str, str]
    map_is_trust: bool = False
    virtual: bool = False


def is_virtual_function(vendor: str | None, device: str | None) -> bool:
    """Whether a function with these ids on the PCI bus is a virtual one of a NIC that a table knows."""
    return any(one.virtual and vendor == one.virtual["vendor"] and device in one.virtual["devices"] for one in nic_drivers())


def forms_of(drivers: t.Iterable[t.Mapping[str, t.Any]], functions: t.Iterable[t.Mapping[str, t.Any]] | None) -> dict[str, Form]:
    """The form of each netdev; drivers: rows of ``nic_driver``; functions: those of ``nic_functions``, without which a NIC counts as a whole one."""
    virtual = {row["netdev"] for row in functions or () if is_virtual_function(row["vendor"], row["device"])}
    return {row["netdev"]: form_of(row["driver"], row["version"], row["netdev"] in virtual) for row in drivers}


def rdma_module_of(driver: str) -> str | None:
    """The kernel's module that makes an RDMA device of a NIC with a driver; None of a driver without a table."""
    return next((one.rdma_module for one in nic_drivers() if driver in one.drivers), None)


@functools.cache
def form_of(driver: str, version: str | None, virtual: bool = False) -> Form:
    """The form of a driver that a NIC reports, whole or as a virtual function; one without a table can report everything, as far as is known."""
    whole = _whole(driver, version)
    table = next((one.virtual for one in nic_drivers() if driver in one.drivers), None)
    if not virtual or table is None:
        return whole
    return Form(f"{whole.name}, virtual function", {**whole.cannot_report, **table["cannot_report"]}, whole.map_is_trust, virtual=True)


def _whole(driver: str, version: str | None) -> Form:
    table = next((one for one in nic_drivers() if driver in one.drivers), None)
    if table is None:
        return Form(driver, {})
    if table.inbox and re.fullmatch(table.inbox["version"], version or ""):
        return Form(f"{driver} of the kernel", {**table.cannot_report, **table.inbox["cannot_report"]}, table.inbox["map_is_trust"])
    return Form(driver, table.cannot_report, table.map_is_trust)


def _load(path: Path) -> NicDriver:
    raw = from_yaml(path.read_text(encoding="utf-8"))
    wrong = shape_error(raw, SHAPE)
    strange = [] if wrong else [*set(raw["netdev"]).difference(NETDEV, PORT), *set(raw["device"]).difference(DEVICE), *set(raw).difference(SHAPE)]
    reasons = [] if wrong else [name for one in (raw, raw["inbox"], raw["virtual"]) if one for name in one["cannot_report"]]
    strange += [name for name in reasons if name not in MEANINGS | SETTINGS]
    if wrong or strange:
        raise ValueError(f"NIC driver {path.stem}: {wrong or 'unknown are ' + ', '.join(sorted(strange))}")
    counters = {kind: {meaning: tuple(names) for meaning, names in raw[kind].items()} for kind in ("netdev", "device")}
    return NicDriver(
        path.stem,
        tuple(raw["drivers"]),
        raw["rank"],
        raw["description"],
        tuple(raw["tools"]),
        raw["rdma_module"],
        **counters,
        cannot_report=raw["cannot_report"],
        inbox=raw["inbox"],
        virtual=raw["virtual"],
        map_is_trust=raw["map_is_trust"],
        generations=raw["generations"],
    )


@functools.cache
def nic_drivers() -> tuple[NicDriver, ...]:
    """Every table, by rank."""
    return tuple(sorted(map(_load, sorted((HERE / "drivers").glob("*.yml"))), key=lambda one: one.rank))


def generations_of(vendor_id: int | None) -> Generations | None:
    """The generations of a vendor's NICs; None where none of them is too old, or the vendor is not reported."""
    return next((one.generations for one in nic_drivers() if one.generations and vendor_id in one.generations["vendor_ids"]), None)


@functools.cache
def names_of(meaning: str) -> tuple[str, ...]:
    """What any driver calls a counter of some meaning.

    Raises KeyError for a meaning that is none.
    """
    if meaning not in MEANINGS:
        raise KeyError(f"no counter means {meaning!r}; known are {', '.join(sorted(MEANINGS))}")
    return tuple(dict.fromkeys(name for driver in nic_drivers() for name in (driver.device if meaning in DEVICE else driver.netdev).get(meaning, ())))


def counter_patterns(kind: str) -> tuple[str, ...]:
    """Patterns of every counter by which loads are judged that a table names of a ``netdev`` or a ``device``; a priority is one digit."""
    meanings = NETDEV if kind == "netdev" else DEVICE
    return tuple(dict.fromkeys(name.format(p="[0-7]") for meaning in meanings for name in names_of(meaning)))
