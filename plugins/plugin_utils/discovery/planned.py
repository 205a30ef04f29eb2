# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory plans of a pod, as far as it has it: of one that is not complete too, which a run would refuse."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from pathlib import Path

from ..pod.cabling import decode, located, read_cabling
from ..pod.expectations import DEFAULTS
from .differences import Planned

# What is read of a node's variables.
VARIABLES = ("pod_rails", "bgp_asn", "pod_cabling_file")


def planned_of(directory: Path, roles: Mapping[str, str], variables: Mapping[str, Mapping[str, t.Any]]) -> tuple[Planned | None, list[str]]:
    """What is planned, and what is wrong in the wiring plan; None where the inventory has none.

    directory: the inventory's; roles: its nodes with ``host``, ``leaf`` or ``spine``; variables: by node, those of VARIABLES that it has.
    """
    named = next((str(own["pod_cabling_file"]) for own in variables.values() if own.get("pod_cabling_file")), DEFAULTS["pod_cabling_file"])
    try:
        place = directory / located(directory, named)
    except ValueError as error:
        return None, [str(error)]
    if not place.is_file():
        return None, []
    text, wrong = decode(place.read_bytes())
    cables, problems = read_cabling(text, roles, [name for name, role in roles.items() if role == "host"]) if text is not None else ([], wrong)
    addresses = {
        (node, str(rail["netdev"])): str(rail["address"])
        for node, own in variables.items()
        for rail in own.get("pod_rails") or ()
        if isinstance(rail, dict) and rail.get("netdev") and rail.get("address")
    }
    asns = {node: int(own["bgp_asn"]) for node, own in variables.items() if str(own.get("bgp_asn") or "").isdigit() and roles.get(node) != "host"}
    return Planned(cables, addresses, asns), [f"{place}: {problem}" for problem in problems]
