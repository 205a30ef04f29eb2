# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports of a node are judged: those with a cable of the plan, and the further lanes of their modules."""

from __future__ import annotations

import typing as t

from .names import port_name
from .plan import Plan


def further_lanes(port: str, inactive: t.Container[str]) -> t.Iterator[tuple[int, str]]:
    """The further lanes of a port that EOS shows as ports of their own, inactive as long as this one uses them, with their numbers:
    Ethernet3/17/2 of Ethernet3/17/1.
    """
    cage, slash, first = port.rpartition("/")
    number = int(first) + 1 if slash and first.isdigit() else 0
    while number and (name := f"{cage}/{number}") in inactive:
        yield number, name
        number += 1


def inactive_ports(status: t.Iterable[t.Mapping[str, t.Any]]) -> set[str]:
    """The ports that are a lane of another one, by the rows of ``interface_status``."""
    return {port_name(row["port"]) for row in status if row["state"] == "inactive"}


def judged_ports(plan: Plan, node: str, status: t.Iterable[t.Mapping[str, t.Any]] = ()) -> set[str]:
    """The judged ports of a node, as ``port_name`` writes them; status: its rows of ``interface_status``."""
    planned, inactive = {port_name(cable.seen_from(node)[0].port) for cable in plan.at[node]}, inactive_ports(status)
    return planned.union(name for port in planned for _number, name in further_lanes(port, inactive))
