# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which idle hosts a patrol validates next, and which an interrupted one left."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..loads.incasts import MIN_HOSTS
from ..text.counting import counted
from ..text.schema import Each, shape_error
from .files import read_json, write_json

SCHEMA = 1
# Where the runs of a pod's patrols are, below its runs directory, and what they left.
DIRECTORY, FILE = "patrol", "patrol.json"
LEFT = {"schema": int, "interrupted": Each(str)}


@dataclass(frozen=True)
class Choice:
    """The hosts that are validated next, in the order of the pod; left: why idle hosts of a gate group are not, by group."""

    hosts: list[str]
    left: dict[str, str] = field(default_factory=dict)


def in_order(
    idle: t.Mapping[str, float], interrupted: t.Container[str], riskiest: t.Sequence[str] = (), bad: t.Container[str] = (),
) -> list[str]:  # fmt: skip
    """Idle hosts, the one to validate first at the beginning.

    idle: for how many seconds each has been; riskiest: all of them by their risk, none where nothing is known of it;
    bad: those that were bad when they were last judged. A patrol looks for what is not known yet, so these come last.
    """
    rank = {name: number for number, name in enumerate(riskiest)}
    return sorted(idle, key=lambda name: (name not in interrupted, name in bad, rank.get(name, -1) if rank else -idle[name], name))


def choose(groups: t.Mapping[str, t.Sequence[str]], ordered: t.Sequence[str], most: int) -> Choice:
    """The first of some ordered hosts, at most so many, and of each gate group as many as its loads need.

    groups: the gate groups with their hosts. A group that has too few idle hosts, or for which no room is left, has none.
    """
    of_group = {group: [name for name in ordered if name in hosts] for group, hosts in groups.items()}
    group_of = {name: group for group, names in of_group.items() for name in names}
    taken: dict[str, list[str]] = {}
    left: dict[str, str] = {}
    room = most
    for name in ordered:
        group = group_of.get(name)
        if group is None or name in taken.get(group, ()):
            continue
        wanted = 1 if group in taken else MIN_HOSTS
        if len(of_group[group]) < MIN_HOSTS:
            left[group] = f"{counted(len(of_group[group]), 'host')} idle, and its loads need {MIN_HOSTS}"
        elif room < wanted:
            left.setdefault(group, "as many hosts as may be are taken already")
        else:
            others = [one for one in of_group[group] if one not in taken.get(group, ())]
            taken.setdefault(group, []).extend(others[:wanted])
            room -= wanted
    chosen = {name for names in taken.values() for name in names}
    return Choice([name for hosts in groups.values() for name in hosts if name in chosen], {group: why for group, why in left.items() if group not in taken})


def interrupted_hosts(place: Path) -> list[str]:
    """The hosts that an interrupted patrol left; none where nothing is known of them."""
    try:
        document = read_json(place / FILE)
    except (OSError, ValueError):
        return []
    if shape_error(document, LEFT) is not None or document["schema"] != SCHEMA:
        return []
    return t.cast("list[str]", document["interrupted"])


def keep_interrupted(place: Path, hosts: t.Iterable[str]) -> None:
    """Note which hosts come first next time."""
    write_json(place / FILE, {"schema": SCHEMA, "interrupted": sorted(hosts)})
