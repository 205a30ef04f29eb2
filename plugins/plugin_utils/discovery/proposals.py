# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all nodes agree on and may share as a fault, such as a link speed: proposed beside what was read, and never adopted in silence."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Mapping, Sequence

from ..pod.expectations import DEFAULTS
from ..pod.tiers import above, below
from ..readings.rows import Rows
from ..text.counting import counted

End = tuple[str, str]
ALL = "all"


class Proposal(t.NamedTuple):
    """An expectation, its value, and from what it was read."""

    name: str
    value: t.Any
    read: str


def proposals_of(
    roles: Mapping[str, str],
    readings: Mapping[str, Mapping[str, Rows]],
    cables: Sequence[tuple[End, End]],
    rails: Mapping[str, Rows],
    link_gbit_s: float | None,
) -> list[Proposal]:
    """The proposals for a pod; what nodes disagree about is none.

    roles: the nodes with ``host``, ``leaf`` or ``spine``; rails: of each host; link_gbit_s: the rate of all links, where they agree.
    """
    found = []
    if link_gbit_s is not None:
        found.append(Proposal("pod_link_gbit_s", link_gbit_s, f"all links run at {link_gbit_s:g} Gb/s"))
    netdevs = {(host, rail["netdev"]) for host, own in rails.items() for rail in own}
    mtus = {row["mtu"] for node, own in readings.items() for row in own.get("ip_link", ()) if (node, row["netdev"]) in netdevs}
    if len(mtus) == 1:
        found.append(Proposal("pod_mtu", next(iter(mtus)), "of all rails"))
    return [*found, *_oversubscription(roles, cables)]


def _oversubscription(roles: Mapping[str, str], cables: Sequence[tuple[End, End]]) -> t.Iterator[Proposal]:
    down: Counter[str] = Counter()
    up: Counter[str] = Counter()
    for ends in cables:
        by_role = {roles.get(node): node for node, _port in ends}
        for role in ("leaf", "spine"):
            if role in by_role:
                down[by_role[role]] += below(role) in by_role
                up[by_role[role]] += above(role) in by_role
    ratios = {leaf: down[leaf] / up[leaf] for leaf in down if up[leaf]}
    most = max(ratios.values(), default=0.0)
    if most > min(DEFAULTS["pod_oversubscription_warn"], DEFAULTS["pod_oversubscription_max"]):
        leaf = max(ratios, key=lambda one: ratios[one])
        read = f"{leaf} has {counted(down[leaf], 'host port' if roles[leaf] == 'leaf' else 'port to leaves')} and {counted(up[leaf], 'uplink')}"
        yield from (Proposal(name, round(most, 2), read) for name in ("pod_oversubscription_warn", "pod_oversubscription_max"))
