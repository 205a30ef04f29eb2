# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Port-channels and bonds: which ports are members of which, as both ends of a cable report it."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ..pod.names import port_name

End = tuple[str, str]
Cable = tuple[End, End]
Readings = Mapping[str, Mapping[str, list[dict[str, t.Any]]]]


def channels_of(cables: Sequence[Cable], readings: Readings, hosts: t.Container[str]) -> tuple[dict[Cable, tuple[str, str]], list[str]]:
    """The channel at each end of the cables that have one at both, and in words those with one at a single end; hosts: whose ports are netdevs."""
    of_end = {
        (node, row["member"] if node in hosts else port_name(row["member"])): str(row["channel"])
        for node, own in readings.items()
        for row in own.get("port_channels", ())
    }
    found, wrong = {}, []
    for cable in cables:
        a, b = (of_end.get(end) for end in cable)
        if a is not None and b is not None:
            found[cable] = (a, b)
        elif a is not None or b is not None:
            (node, port), other = cable if a is not None else cable[::-1]
            there = "of none" if "port_channels" in readings.get(other[0], {}) else f"is not known to be of any, since {other[0]} did not report its own"
            wrong.append(f"{node} {port} is a member of {a or b}, and {' '.join(other)} at its other end {there}; no channel was drafted for that cable")
    return found, wrong
