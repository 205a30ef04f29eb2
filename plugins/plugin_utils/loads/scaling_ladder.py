# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ladder: all-reduce over 2 hosts, 4, 8 and so on to all, each rung over every host, and a search where a rung breaks.

A rung's groups have no host in common and run side by side, so that no host is left out of a rung and none waits for another. Where a
search has named who breaks a rung, the others continue without them: what they have not done together is not proved.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from .bisection import Bisection, Group, Measured, bisect_hosts, largest_passed

# A search that goes on for longer has a pod before it in which more is wrong than a host.
MAX_SEARCHES = 12


@dataclass
class LadderStep:
    """The next launch: its groups, none where the ladder has ended; the rung (hosts to a group), 0 in a search; what was found; which hosts are still in it."""

    groups: list[Group] = field(default_factory=list)
    rung: int = 0
    found: Bisection | None = None
    order: t.Sequence[str] = ()


def group_sizes(hosts: int) -> list[int]:
    """2, 4, 8 and so on, and all."""
    sizes = []
    size = 2
    while size < hosts:
        sizes.append(size)
        size *= 2
    return [*sizes, hosts] if hosts > 1 else []


def groups_of_size(order: t.Sequence[str], size: int) -> list[Group]:
    """The hosts in groups of a size, in their order; what is left over takes hosts of its neighbour, unless it is one rung's whole."""
    whole = [frozenset(order[at : at + size]) for at in range(0, len(order) - size + 1, size)]
    left = order[len(whole) * size :]
    return [*whole, frozenset(left)] if len(left) > 1 else whole


def left_out(order: t.Sequence[str], size: int) -> list[str]:
    """Who is in no group of a rung: one host that is left over, which the next rung has."""
    within = frozenset().union(*groups_of_size(order, size))
    return [host for host in order if host not in within]


def next_step(order: t.Sequence[str], measured: Measured, searches: int, at_fault: t.Container[str] = ()) -> LadderStep:
    """The next step of a ladder.

    order: the hosts; measured: whether each group that was measured passed; searches: how many launches of a search there were;
    at_fault: hosts that ended a run by an error of their own, so that no search is needed.
    """
    largest = largest_passed(measured)
    for size in group_sizes(len(order)):
        # What each host has carried with as many hosts already, if with others, is not measured again.
        wanted = [group for group in groups_of_size(order, size) if group in measured or any(largest.get(host, 0) < size for host in group)]
        missing = [group for group in wanted if group not in measured]
        if missing:
            return LadderStep(missing, size, order=order)
        failing = [group for group in wanted if not measured[group]]
        if failing:
            return _searched(failing, order, measured, searches, at_fault)
    return LadderStep(order=order)


def _searched(failing: t.Sequence[Group], order: t.Sequence[str], measured: Measured, searches: int, at_fault: t.Container[str]) -> LadderStep:
    """The next launch of a search; once it has ended, the ladder of those that it reported nothing against."""
    found = bisect_hosts(failing, measured, order, at_fault)
    if found.launch or not found.suspects:
        return LadderStep(found.launch if searches < MAX_SEARCHES else [], 0, found, order)
    further = next_step([host for host in order if host not in found.suspects], measured, searches, at_fault)
    return replace(further, found=found.and_of(further.found))


def launch_count(hosts: int) -> int:
    """How many launches a ladder has where no rung breaks."""
    return len(group_sizes(hosts))
