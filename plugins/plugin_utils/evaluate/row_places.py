# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Places: what of the pod a row is about, as charts.yml and metrics.yml name it.

An axis is the name of a column, ``node``, ``group``, ``{host_of: column}`` (the host with that name or rail address),
``{rail_of: column}`` (the rail with that device, netdev or address) or ``{count_of: column}`` (how many hosts a column lists). A row of a load
has the columns of its job, too, as ``job.peer``.
"""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan

Row = t.Mapping[str, t.Any]
Axis = str | dict[str, str]


class RowPlaces:
    """The names of a pod, by what rows call them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.hosts = {name: name for name in plan.nodes}
        self.rails: dict[tuple[str, str], str] = {}
        for rail in plan.rails():
            for word in (rail["address"], rail["device"], rail["netdev"]):
                if word:
                    self.rails[rail["host"], word] = f"rail {rail['index']}"
            for number, member in enumerate(rail.get("members", ()), 1):
                self.rails[rail["host"], member] = f"rail {rail['index']} port {number}"
            if rail["address"]:
                self.hosts[rail["address"]] = rail["host"]

    def at(self, axis: Axis | None, node: str, row: Row) -> t.Any:
        """The row's place on an axis; None where it has none."""
        if axis is None:
            return ""
        if isinstance(axis, dict):
            (way, column), *_none = axis.items()
            return getattr(self, f"_{way}")(node, row.get(column))
        if axis in ("node", "group"):
            return node if axis == "node" else self.plan.nodes[node].group
        return row.get(axis)

    def _host_of(self, _node: str, word: t.Any) -> str | None:
        return self.hosts.get(str(word))

    def _rail_of(self, node: str, word: t.Any) -> str | None:
        return self.rails.get((node, str(word)))

    def _count_of(self, _node: str, values: t.Any) -> str:
        return f"{len(values or ())} {'host' if len(values or ()) == 1 else 'hosts'}"
