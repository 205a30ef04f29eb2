# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts report of their GPUs: the vendor by PCI, how they are connected, and how far NVLink reaches."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..checks.preflight.nvlink_domain import IN_RACKS, NO_CLUSTER
from ..pod.expectations import DEFAULTS
from ..readings.rows import Rows
from ..text.counting import counted
from .proposals import Proposal

Readings = Mapping[str, Mapping[str, Rows]]
VENDORS = {"10de": "nvidia", "1002": "amd"}
# PCI classes of display controllers that are no monitor's, and of processing accelerators, which GPUs of AMD are.
CLASSES = ("0x0302", "0x0300", "0x1200")
# From next to each other to across the sockets, as nvidia-smi and rocm-smi write it.
NEAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
NVLINK = re.compile(r"NV\d+|XGMI")


def vendor_of(devices: Iterable[Mapping[str, t.Any]]) -> str | None:
    """The vendor of a host's GPUs by its rows of ``pci_devices``; None where it has none, or GPUs of two vendors."""
    found = {VENDORS.get(str(row["vendor"]).removeprefix("0x")) for row in devices if str(row["class"]).startswith(CLASSES)} - {None}
    return found.pop() if len(found) == 1 else None


def models_of(readings: Readings) -> dict[str, int]:
    """The GPUs of all hosts by name, the most frequent first."""
    return dict(Counter(str(row["name"]) for own in readings.values() for row in own.get("gpus", ())).most_common())


def gpu_proposals(readings: Readings, rails: Mapping[str, Sequence[Mapping[str, t.Any]]]) -> t.Iterator[Proposal]:
    """What all hosts agree on of their GPUs and differs from the default."""
    counts = {host: number for host in rails if (number := _count(readings.get(host, {})))}
    numbers = set(counts.values())
    if len(numbers) == 1:
        yield Proposal("pod_gpus_per_host", numbers.pop(), _of(len(counts), len(rails)))
    tables = [own["gpu_topology"] for own in readings.values() if own.get("gpu_topology")]
    between = {row["connection"] for table in tables for row in table if row["device"].startswith("GPU") and row["peer"].startswith("GPU")}
    meshed = len(between) == 1 and all(NVLINK.fullmatch(str(one)) for one in between)
    if meshed:
        yield Proposal("pod_gpu_interconnect", between.pop(), f"between every two GPUs {_of(len(tables), len(rails))}")
    yield from _distance(readings, rails)
    rows = [row for own in readings.values() for row in own.get("gpus", ())]
    # GPUs with NVSwitches of which the driver reports no state are all connected by NVLink. Without a topology nothing tells whether they are.
    known = bool(tables) and all(own.get("gpu_topology") for own in readings.values() if own.get("gpus"))
    if rows and known and not meshed and all(row.get("fabric_state") is None for row in rows) and _all_of_nvidia(readings):
        yield Proposal("pod_nvswitch", False, "no GPU reports the state of an NVSwitch fabric")
    yield from _domain(readings)


def _count(own: Mapping[str, Rows]) -> int:
    """How many GPUs a host has by its topology, else by the list of its GPUs; 0 where it reports neither."""
    return len({row["device"] for row in own.get("gpu_topology", ()) if row["device"].startswith("GPU")}) or len(own.get("gpus", ()))


def _of(reporting: int, hosts: int) -> str:
    """Of which hosts a value was read."""
    return "of all hosts" if reporting == hosts else f"of the {counted(reporting, 'host')} that {'reports it' if reporting == 1 else 'report it'}, of {hosts}"


def _all_of_nvidia(readings: Readings) -> bool:
    return {vendor_of(own["pci_devices"]) for own in readings.values() if "pci_devices" in own} == {"nvidia"}


def _distance(readings: Readings, rails: Mapping[str, Sequence[Mapping[str, t.Any]]]) -> t.Iterator[Proposal]:
    """The longest path between a rail and its GPU, where the rails of all hosts are connected alike."""
    alike = set()
    for host, own in rails.items():
        ways = {(row["device"], row["peer"]): row["connection"] for row in readings.get(host, {}).get("gpu_topology", ())}
        alike.add(tuple(ways.get((f"GPU{rail['gpu']}", rail["device"])) for rail in own))
    ways_of_all = next(iter(alike), ()) if len(alike) == 1 else ()
    if not ways_of_all or not all(way in NEAR for way in ways_of_all):
        return
    worst = max(ways_of_all, key=lambda way: NEAR.index(str(way)))
    if NEAR.index(str(worst)) > NEAR.index(DEFAULTS["pod_gpu_nic_distance"]):
        yield Proposal("pod_gpu_nic_distance", worst, "the longest path between a rail and its GPU, on all hosts alike")


def _domain(readings: Readings) -> t.Iterator[Proposal]:
    """How far NVLink reaches, of GPUs that stand alone or in a rack of one NVLink cluster."""
    clusters: dict[str, set[str]] = {}
    for host, own in readings.items():
        for row in own.get("gpus", ()):
            if not IN_RACKS.search(str(row["name"])) or row.get("fabric_uuid") is None:
                continue
            clusters.setdefault(str(row["fabric_uuid"]).lower(), set()).add(host)
    if clusters and NO_CLUSTER not in clusters and all(len(hosts) > 1 for hosts in clusters.values()):
        sizes = "each" if len(clusters) > 1 else "all"
        yield Proposal("pod_nvlink_domain", "gate_group", f"{counted(len(clusters), 'NVLink cluster')}, {sizes} over several hosts")
    elif clusters.keys() == {NO_CLUSTER}:
        yield Proposal("pod_nvlink_domain", "host", "no GPU is in an NVLink cluster of several hosts")
