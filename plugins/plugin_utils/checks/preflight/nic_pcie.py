# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: how rail NICs may use PCIe, by the control registers of their functions, which firmware, BIOS and services set at boot."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.types import Rail
from ...readings.rows import Rows
from ...text.counting import some_nodes
from .. import Finding, check
from .._grouping import planned_rails, several
from .._odd_ones import odd_rails, undecided_rails
from ..place import Place, at_device

# By host and device.
Values = dict[tuple[str, str], t.Any]
OfNics = t.Mapping[tuple[str, str], dict[str, t.Any]]
READS = "max_read_request_bytes"
# The value after a reset, with which a NIC of so many Gb/s needs more reads at once than it can have.
SMALL_READS, FAST_GBIT_S = 512, 200


class Setting(t.NamedTuple):
    """A setting: its name in ``lspci -vvv``, whether lspci of any release prints it, and the cause and the fix of one that is worse than that of other NICs."""

    name: str
    always_printed: bool
    cause: str
    fix: str


READS_FIX = (
    "Set it at every boot: setpci -s ADDRESS CAP_EXP+8.w (68.w of ConnectX; ADDRESS is the NIC's, pci in pod_rails) has it in its highest hexadecimal digit, 5 "
    "for 4096 bytes and 2 for 512, and the other three digits stay as they are. Where a service of the vendor does so (as on DGX OS), find out why it did "
    "not run; some BIOSes have a setting."
)
SETTINGS = {
    READS: Setting(
        "MaxReadReq",
        True,
        "The NIC asks memory for less by each read than the others do. It can have a limited number of reads under way, so that it sends at a fraction of "
        "its rate (about half, with 512 bytes and not 4096): what raises the value at boot did not run, or the NIC was reset or replaced since.",
        READS_FIX,
    ),
    "max_payload_bytes": Setting(
        "MaxPayload",
        True,
        "The NIC writes to memory in smaller packets than the others do: it, or what is above it, was set up by itself (hot-plugged, replaced, reset), or the "
        "BIOS of this host differs.",
        "Compare MaxPayload of the NIC and of each bridge above it (lspci -vvv) with a host that is well; align the BIOS, then boot the host.",
    ),
    "relaxed_ordering": Setting(
        "RlxdOrd",
        True,
        "Relaxed ordering is off in the function's control (DevCtl), so that writes wait for those before them, whatever the NIC's firmware and libraries "
        "ask for: slow to memory of another socket and to GPUs behind a root complex.",
        "Switch relaxed ordering on in the BIOS as on the others; setpci -s ADDRESS CAP_EXP+8.w=10:10 (ADDRESS is the NIC's, pci in "
        "pod_rails) sets it until the next boot.",
    ),
    "ten_bit_tags": Setting(
        "10BitTagReq",
        False,
        "The NIC may not use 10-bit tags, which limits it to 256 reads of memory under way.",
        "Switch 10-bit tags on in the BIOS as on the others, and compare the firmware of NIC and PCIe switch.",
    ),
    "aspm": Setting(
        "ASPM",
        True,
        "The NIC's PCIe link may sleep between transfers (ASPM), and each wake-up takes microseconds.",
        "Switch ASPM off in the BIOS, or with pcie_aspm.policy=performance on the kernel command line.",
    ),
}
SMALL_CAUSE = (
    "Nothing raises the largest read request of the NICs at boot. A NIC can have a limited number of reads under way: with 512 bytes each, one of 200 Gb/s or "
    "more may send at about half of its rate."
)
SMALL_FIX = f"{READS_FIX} Set pod_nic_max_read_request_bytes to what is right for these NICs: it is required from then on."


@check(
    cause="The NIC was reset or replaced, the BIOS of this host differs, or what sets the value at boot did not run.",
    fix="Compare lspci -vvv of the NIC with that of one that is well, and set the value as there at every boot.",
    scope="group",
    meanings=("pcie_control",),
    not_in_guest="what a guest reads of how its NICs may use PCIe is in part its hypervisor's emulation",
)
def nic_pcie_alike(
    nic_pcie_control: dict[str, Rows], pod_rails: list[Rail], pod_link_gbit_s: float, pod_nic_max_read_request_bytes: int | None
) -> t.Iterator[Finding]:  # fmt: skip
    """The rail NICs of a gate group may use PCIe alike (read requests, payload, relaxed ordering, tags, power states), and read as much at once as planned."""
    devices = [rail["device"] for rail in planned_rails(pod_rails)]
    rows = {(host, row["device"]): row for host, its in nic_pcie_control.items() for row in its if row["device"] in devices}
    yield from _not_reported(rows, nic_pcie_control, devices)
    reads = {nic: row[READS] for nic, row in rows.items() if row[READS] is not None}
    if pod_nic_max_read_request_bytes is not None:
        yield from _too_small(reads, rows, pod_nic_max_read_request_bytes)
    elif pod_link_gbit_s >= FAST_GBIT_S:
        yield from _usually_small(reads, rows, pod_link_gbit_s)
    several(nic_pcie_control)
    for column in SETTINGS:
        if column != READS or pod_nic_max_read_request_bytes is None:
            for of_model in _by_model(rows, column):
                yield from _unlike(column, of_model, rows)


def _not_reported(rows: OfNics, hosts: t.Iterable[str], devices: t.Iterable[str]) -> t.Iterator[Finding]:
    # A NIC whose model is not known has no others to be compared with.
    printed = [(column, setting.name) for column, setting in SETTINGS.items() if setting.always_printed] + [("model", "the model")]
    for host in hosts:
        for device in devices:
            row = rows.get((host, device), {})
            missing = [name for column, name in printed if row.get(column) is None]
            if missing:
                yield Finding(at_device(device), f"{', '.join(missing)} of its PCIe control", "not reported", "unknown", host=host)


def _at(rows: OfNics, nic: tuple[str, str], of: str) -> Place:
    """A setting of a NIC, with the address that setpci asks for."""
    address = rows[nic]["pci"]
    return Place(f"{nic[1]} at {address}, {of}", device=nic[1], of=of, pci=address)


def _too_small(reads: Values, rows: OfNics, least: int) -> t.Iterator[Finding]:
    setting = SETTINGS[READS]
    for nic, value in reads.items():
        if value < least:
            yield Finding(_at(rows, nic, setting.name), f"{least} bytes or more", f"{value} bytes", host=nic[0], cause=setting.cause, fix=setting.fix)


def _usually_small(reads: Values, rows: OfNics, link_gbit_s: float) -> t.Iterator[Finding]:
    """The one finding of small read requests that are usual, so that no NIC differs from the others by them."""
    name = SETTINGS[READS].name
    apart: set[tuple[str, str]] = set()
    for of_model in _by_model(rows, READS):
        undecided = any(undecided_rails(of_model, Place(name), ""))
        apart |= set(of_model) if undecided else {nic for nic, value, usual in odd_rails(of_model) if value < usual}
    small = [nic for nic, value in reads.items() if value <= SMALL_READS and nic not in apart]
    if small:
        devices, hosts = (some_nodes(list(dict.fromkeys(names))) for names in zip(*((device, host) for host, device in small)))
        sizes = " or ".join(f"{size} bytes" for size in sorted({reads[nic] for nic in small}))
        actual = f"{sizes} on {len(small)} of {len(reads)} NICs ({devices} of {hosts})"
        yield Finding(Place(name, of=name), f"more than {SMALL_READS} bytes at {link_gbit_s:g} Gb/s", actual, "warn", cause=SMALL_CAUSE, fix=SMALL_FIX)


def _by_model(rows: OfNics, column: str) -> t.Iterable[Values]:
    """The values of a column that were reported, of the NICs of each model."""
    models: dict[str | None, Values] = {}
    for nic, row in rows.items():
        if row[column] is not None:
            models.setdefault(row["model"], {})[nic] = row[column]
    return models.values()


def _unlike(column: str, values: Values, rows: OfNics) -> t.Iterator[Finding]:
    """What differs among NICs of one model; what is better than the usual value is a warning, since it slows nothing down."""
    setting = SETTINGS[column]
    said = {nic: _said(column, value) for nic, value in values.items()}
    for finding in undecided_rails(said, Place(setting.name, of=setting.name), "one value"):
        yield replace(finding, cause=setting.cause, fix=setting.fix)
    for nic, value, usual in odd_rails(values):
        expected = f"{_said(column, usual)}, as {sum(one == usual for one in values.values())} of the group's {len(values)} NICs of its model"
        where = _at(rows, nic, setting.name)
        if _worth(value) < _worth(usual):
            yield Finding(where, expected, _said(column, value), host=nic[0], cause=setting.cause, fix=setting.fix)
        else:
            yield Finding(where, expected, _said(column, value), "warn", host=nic[0])


def _worth(value: int | bool | str) -> int:
    """A number that is larger for a better value; of power states each one costs."""
    return -value.count("L") if isinstance(value, str) else int(value)


def _said(column: str, value: t.Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value} bytes" if column.endswith("_bytes") else "off" if value == "none" else str(value)
