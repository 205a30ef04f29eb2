# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which gate groups a run evaluates under ``--limit`` and ``pod_only``."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from .pod_only import Selection


def groups_in_scope(plan: Plan, inside: t.Container[str], focus: Selection | None) -> tuple[dict[str, str], dict[str, str]]:
    """Which gate groups are judged (``in``, ``out``, ``partly``), and nodes that are needed and outside ``--limit``.

    A group none of whose hosts is inside is out; one that is partly inside is closed by its own missing hosts.
    """
    groups: dict[str, str] = {}
    silent: dict[str, str] = {}
    for group, hosts in plan.groups.items():
        missing = [host for host in hosts if host not in inside]
        groups[group] = "in" if not missing else "out" if len(missing) == len(hosts) else "partly"
        if groups[group] == "partly":
            silent |= dict.fromkeys(missing, f"outside --limit, and the rest of {group} is inside; add {group} to --limit")
    for node in plan.nodes.values():
        if node.group is None and node.name not in inside and any(groups[group] != "out" for group in plan.affects(node.name)):
            silent[node.name] = "outside --limit; add it, as in --limit rack_01:leaves:spines"
    if focus is not None and focus.nodes:
        touched = frozenset().union(*(plan.affects(node) for node in focus.nodes))
        groups = {group: state if group in touched else "out" for group, state in groups.items()}
        silent = {node: words for node, words in silent.items() if node in focus.nodes}
    return groups, silent
