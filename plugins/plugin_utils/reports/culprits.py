# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes that findings of a no-go are on, for what acts on nodes: AWX, and who drains them."""

from __future__ import annotations

import typing as t

from ..run.documents import Report
from ..text.counting import counted
from ..text.ranges import ranges
from .grouping import entries


def culprits(report: Report, nodes: t.Container[str], most: int = 5) -> dict[str, list[str]]:
    """The hosts and switches that findings of a no-go are on, each with the checks and its own places; none of another verdict.

    What was expected and got, the cause and the fix are in the entries, once for all nodes that have them alike. nodes: the run's; a finding of a whole
    gate group is on none of them. most: how many checks of a node are named.
    """
    found: dict[str, dict[str, dict[str, None]]] = {}
    for entry in entries(report) if report["verdict"] == "no_go" else ():
        for host, where in entry.places:
            if host in nodes:
                places = found.setdefault(host, {}).setdefault(f"{entry.layer}/{entry.checks_named}", {})
                places |= {where: None} if where != host else {}
    named = {host: [f"{check} at {ranges(list(places))}" if places else check for check, places in own.items()] for host, own in found.items()}
    return {host: [*own[:most], *([counted(len(own) - most, "more check")] if len(own) > most else [])] for host, own in named.items()}
