# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roots: which findings follow from a node that does not answer."""

from __future__ import annotations

import typing as t

from .judging import ANSWERED
from .plan import Plan
from .verdicts import Verdict


def explained(plan: Plan, verdicts: t.Iterable[Verdict]) -> dict[str, list[str]]:
    """For each silent node, the places whose findings it explains.

    A place is ``node:port`` of the far end of one of its cables, ``node:device`` of a rail on it,
    or ``*:word`` for an address or the name that a finding anywhere speaks of.
    """
    return {one.host: _places(plan, one.host) for one in verdicts if one.check == ANSWERED and one.verdict == "unknown" and one.host}


def shared_leaf(plan: Plan, records: t.Iterable[dict[str, t.Any]]) -> None:
    """Name the leaf in each recorded finding that is of a host's rail: findings of many hosts that share it have one root."""
    leaves = {(rail["host"], name): rail["leaf"] for rail in plan.rails() for name in (rail["device"], rail["netdev"]) if name}
    for record in records:
        for finding in record["findings"]:
            finding["leaf"] = leaves.get((finding["host"], finding["where"].split(maxsplit=1)[0] if finding["where"] else ""))


def _places(plan: Plan, node: str) -> list[str]:
    places = [f"*:{node}"]
    for cable in plan.at[node]:
        near, far = cable.seen_from(node)
        places.append(f"{far.node}:{far.port}")
        places += [f"*:{end.address}" for end in (near, far) if end.address]
    for rail in plan.rails():
        if node in (rail["host"], rail["leaf"]):
            places += [f"{rail['host']}:{rail['device']}"] if rail["leaf"] == node else []
            places += [f"*:{rail['address']}"] if rail["address"] else []
    return places
