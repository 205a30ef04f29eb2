# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Series: the numbers of ports, NICs and GPUs that are kept over time, from the rows of one node.

series.yml declares them. ``counter`` (the default): it grows until it is cleared, and its growth is what tells; ``usual``: it grows where nothing is
broken, too. ``high`` is the expectation that is its limit. Of its ``sources`` the first one that reports a place gives its number: ``at`` is the column of
the place, or GPU, and the number is a ``column``, the ``counter`` of a name or of a ``meaning`` (see nic_drivers.py), or else how many Xids there are of a
GPU. ``kind`` and ``fabric`` are those of the nodes that it is read from, where not all of them are.
"""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..checks.xids import of_gpu
from ..pod.names import port_name
from ..pod.plan import Node
from ..readings.nic_drivers import names_of
from ..text.yaml_text import from_yaml

Row = t.Mapping[str, t.Any]
GPU, PORTS = "GPU", ("port", "netdev")
# When a node booted, in seconds since the epoch: a number of the node itself, which no series is.
BOOTED, BOOTED_UNIT = "booted", "s"


@dataclass(frozen=True)
class Source:
    """Where numbers of a series are from, as series.yml declares it."""

    reading: str
    at: str
    column: str = ""
    counter: str = ""
    meaning: str = ""
    kind: str | None = None
    fabric: str | None = None

    def values(self, readings: t.Mapping[str, t.Sequence[Row]]) -> t.Iterator[tuple[str, float | None]]:
        """Places and their numbers; None where a place does not report its number."""
        rows = readings.get(self.reading, ())
        if self.at == GPU:
            yield from _xids(rows, readings.get("gpus", ())) if self.reading in readings else ()
        elif self.column:
            yield from ((str(row[self.at]), row.get(self.column)) for row in rows)
        else:
            yield from _named(rows, self.at, names_of(self.meaning) if self.meaning else (self.counter,))


@dataclass(frozen=True)
class Series:
    """One series, as series.yml declares it."""

    name: str
    unit: str
    sources: tuple[Source, ...]
    counter: bool = True
    usual: bool = False
    high: str = ""

    @property
    def of_ports(self) -> bool:
        """Whether its places are ports (of InfiniBand the devices): an exchange of a port's optic or cable begins it anew."""
        return self.sources[0].at in PORTS


class SeriesNumber(t.NamedTuple):
    """One number; where: the port, the RDMA device or the PCI address of the GPU; high: the limit that it is judged by."""

    series: Series
    where: str
    value: float
    high: float | None


@functools.cache
def all_series() -> dict[str, Series]:
    """Every declared series by name."""
    raw = from_yaml(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    return {name: Series(name, **{**spec, "sources": tuple(Source(**one) for one in spec["sources"])}) for name, spec in raw.items()}


def readings_of_series() -> set[str]:
    """The readings that series are from."""
    return {source.reading for one in all_series().values() for source in one.sources} | {"gpus"}


def readings_of_hosts(fabric: str) -> list[str]:
    """The readings of hosts alone that series of a fabric are from."""
    sources = [source for one in all_series().values() for source in one.sources]
    return list(dict.fromkeys(one.reading for one in sources if one.kind == "host" and one.fabric in (None, fabric)))


def series_numbers(readings: t.Mapping[str, t.Sequence[Row]], node: Node, judged: t.Container[str]) -> t.Iterator[SeriesNumber]:
    """The numbers of one node; readings: its last rows by reading; judged: its ports that have limits (``judged_ports``)."""
    for one in all_series().values():
        high, seen = float(node.values[one.high]) if one.high else None, set[str]()
        for source in one.sources:
            if source.kind not in (None, node.kind) or source.fabric not in (None, node.values["pod_fabric"]):
                continue
            for where, value in source.values(readings):
                name = port_name(where) if source.at in PORTS else where
                if value is not None and name not in seen:
                    seen.add(name)
                    yield SeriesNumber(one, name, float(value), high if name in judged or not one.of_ports else None)


def _named(rows: t.Iterable[Row], at: str, names: tuple[str, ...]) -> t.Iterator[tuple[str, float]]:
    """Of each NIC the counter with the first of some names that it reports."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["name"] in names and row[at]:
            found.setdefault(row[at], {})[row["name"]] = row["value"]
    for where, counters in found.items():
        yield where, counters[min(counters, key=names.index)]


def _xids(log: t.Iterable[Row], gpus: t.Iterable[Row]) -> t.Iterator[tuple[str, int]]:
    """How many Xids that no program caused the log has of each GPU; a GPU that nvidia-smi names and the log does not has none."""
    counts = {str(gpu["pci"]).rpartition(".")[0]: 0 for gpu in gpus if gpu["pci"] and str(gpu["uuid"]).startswith("GPU-")}
    for row in log:
        if of_gpu(row):
            address = str(row["device"]).lower().partition(".")[0]
            counts[address] = counts.get(address, 0) + 1
    yield from counts.items()
