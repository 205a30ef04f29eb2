# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds of which a member is missing, carries nothing or is slower than the others: what a draft says of each, since the bond looks whole without it."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Mapping, Sequence

from ..text.counting import counted, some_nodes

Rail = dict[str, t.Any]
Readings = Mapping[str, Mapping[str, list[dict[str, t.Any]]]]


def members_apart(rails: Mapping[str, Sequence[Rail]], readings: Readings) -> list[str]:
    """One line for each member of a bond that LACP does not bundle, and each bond of fewer members or of several speeds; rails: of each host."""
    bonds = [(host, rail) for host, own in rails.items() for rail in own if rail.get("members")]
    sizes = Counter(len(rail["members"]) for _host, rail in bonds)
    usual, count = sizes.most_common(1)[0] if sizes else (0, 0)
    # Where no number is that of most bonds, nothing tells which one is right.
    found = [] if 2 * count > len(bonds) or len(sizes) < 2 else [_differ(bonds)]
    for host, rail in bonds:
        own, its, leaf_of = readings.get(host, {}), rail["members"], dict(zip(rail["members"], rail["leaves"]))
        if 2 * count > len(bonds) and len(its) != usual:
            found.append(
                f"{host} {rail['netdev']}: it has {counted(len(its), 'member')} with a cable to a leaf, and {count} of {len(bonds)} bonds have {usual}"
            )
        found += [
            f"{host} {row['member']}: it is a member of {rail['netdev']} that carries nothing (to {leaf_of[row['member']]}): {row['state']}"
            for row in own.get("port_channels", ())
            if row["member"] in its and row["bundled"] is False
        ]
        speeds = {row["port"]: row["speed_gbit_s"] for row in own.get("interface_status", ()) if row["port"] in its and row["speed_gbit_s"]}
        if len(set(speeds.values())) > 1:
            words = " and ".join(f"{port} (to {leaf_of[port]}) {speed:g}" for port, speed in speeds.items())
            found.append(f"{host} {rail['netdev']}: its members run at different speeds, in Gb/s {words}")
    return found


def _differ(bonds: Sequence[tuple[str, Rail]]) -> str:
    """That bonds differ in their number of members, with those of each number."""
    by_size: dict[int, list[str]] = {}
    for host, rail in bonds:
        by_size.setdefault(len(rail["members"]), []).append(f"{host} {rail['netdev']}")
    words = " and ".join(f"{counted(size, 'member')} on {some_nodes(names)}" for size, names in sorted(by_size.items()))
    return f"bonds differ in how many members have a cable to a leaf, and no number is that of most: {words}"
