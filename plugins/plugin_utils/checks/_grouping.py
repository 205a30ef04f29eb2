# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows by a key, and what the hosts of a group say of their rails."""

from __future__ import annotations

import statistics
import typing as t

from ..pod.rail_ports import members_of
from ..pod.types import Rail
from ..readings.cells import CONVERT
from ..readings.rows import Rows
from . import CannotTell, Finding, NotApplicable
from .place import Place, at_port

At = t.Callable[[str], Place]


def grouped(rows: Rows, column: str) -> dict[t.Any, Rows]:
    """The rows by the value of a column."""
    result: dict[t.Any, Rows] = {}
    for row in rows:
        result.setdefault(row[column], []).append(row)
    return result


def planned_rails(rails: list[Rail]) -> list[Rail]:
    """The planned rails.

    Raises CannotTell where there is none, since a check over no rail would pass.
    """
    if not rails:
        raise CannotTell("pod_rails names no rail of this host")
    return rails


def rail_pci(rail: Rail, links: Rows | None) -> str | None:
    """A rail's PCI address: the plan's, else that of its netdev (of a bond the first member's), which iproute2 reports from 5.14 on."""
    if rail.get("pci"):
        return str(CONVERT["pci"](rail["pci"]))
    netdev = next(iter(members_of(rail)), rail.get("netdev"))
    return next((row["parent_pci"] for row in links or () if row["netdev"] == netdev), None)


def not_reported_of(pci: str | None) -> str:
    """That nothing is reported of a device, and why, where it cannot be looked for."""
    return "not reported" if pci else "not reported, nor its PCI address: give it as the rail's pci in pod_rails"


def several(hosts: t.Sized) -> None:
    """Raises NotApplicable for a group of one host, which has nothing to be compared with."""
    if len(hosts) < 2:
        raise NotApplicable("one host in the group")


def not_reported(
    hosts: t.Iterable[str], values: t.Container[tuple[str, str]], names: t.Iterable[str], expected: str, at: At = at_port
) -> t.Iterator[Finding]:  # fmt: skip
    """Rails that a host says nothing of: they are neither like nor unlike the others; at: what their names are of."""
    for host in hosts:
        for name in sorted(names):
            if (host, name) not in values:
                yield Finding(at(name), expected, "not reported", "unknown", host=host)


def typical(rates: t.Iterable[float]) -> float:
    """What a group reaches: the median, of an even number the better one, since the mean of two would excuse the worse; 0 of none."""
    reported = list(rates)
    return statistics.median_high(reported) if reported else 0.0
