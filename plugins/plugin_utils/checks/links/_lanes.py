# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lanes of a switch's ports: one that kept those of another breakout mode is slower than the others, and its other end with it."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.names import Ports
from ...text.counting import counted

LEFT_SPLIT = "{node} {port} has {lanes}, and its other ports of {gbit_s:g} Gb/s have {usual}: it kept those of another breakout mode, which limit both ends."
LEFT_SPLIT_FIX = (
    "Set the breakout mode of {port} on {node} again (SONiC: config interface breakout) until show interfaces status has {usual} there; leave the cable and "
    "the other end."
)


class SplitEnd(t.NamedTuple):
    """The end of a cable whose port has fewer lanes than the others of its switch, with cause and fix."""

    node: str
    port: str
    cause: str
    fix: str


def split_end(ends: t.Iterable[tuple[str, str, Ports]], gbit_s: float) -> SplitEnd | None:
    """The first of some ends (node, port, what its node reports of all ports) that has fewer lanes than most ports of a speed there; None: no one has."""
    for node, port, rows in ends:
        usual = Counter(number for row in rows.values() if row["speed_gbit_s"] == gbit_s and (number := _lanes(row)))
        own, most = _lanes(rows.get(port) or {}), usual.most_common(1)[0][0] if usual else 0
        if own and own < most:
            words = {"node": node, "port": port, "gbit_s": gbit_s, "lanes": counted(own, "lane"), "usual": counted(most, "lane")}
            return SplitEnd(node, port, LEFT_SPLIT.format(**words), LEFT_SPLIT_FIX.format(**words))
    return None


def _lanes(row: dict[str, t.Any]) -> int:
    """How many lanes a port has; 0 where its platform does not report them."""
    return len(row["lanes"].split(",")) if row.get("lanes") else 0
