# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who makes a group of hosts slow: halves and halves again, then single hosts with partners that passed.

Pure functions of what has been measured so far, so that a search goes on after every launch, and after an interruption. Groups of one
launch have no host in common, so they run side by side: one bad host of 32 is named in 6 launches, of 512 in 10, two bad ones in as many.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

Group = frozenset[str]
Measured = t.Mapping[Group, bool]
# A host is blamed when it fails with so many partners that passed without it.
CONFIRMED = 2


@dataclass
class Bisection:
    """Where a search stands.

    launch: the groups that the next launch measures side by side, none where nothing is left to measure.
    hosts: who is blamed, each with the partners that it failed with; paths: hosts that pass apart and fail together;
    open: suspects of whom nothing more can be determined, for want of a partner that passed.
    """

    launch: list[Group] = field(default_factory=list)
    hosts: dict[str, list[str]] = field(default_factory=dict)
    paths: list[tuple[Group, Group]] = field(default_factory=list)
    open: list[Group] = field(default_factory=list)

    @property
    def suspects(self) -> Group:
        """Everyone of whom something was found."""
        return frozenset(self.hosts).union(*(first | second for first, second in self.paths), *self.open)

    def and_of(self, other: Bisection | None) -> Bisection:
        """This one, with what a later search among other hosts has found."""
        if other is None:
            return self
        return Bisection(other.launch, {**self.hosts, **other.hosts}, [*self.paths, *other.paths], [*self.open, *other.open])


def largest_passed(measured: Measured) -> dict[str, int]:
    """With how many hosts, itself included, each host has passed; a host that never has is not in it."""
    largest: dict[str, int] = {}
    for group, passed in measured.items():
        for host in group if passed else ():
            largest[host] = max(len(group), largest.get(host, 0))
    return largest


def bisect_hosts(failing: t.Sequence[Group], measured: Measured, order: t.Sequence[str], at_fault: t.Container[str] = ()) -> Bisection:
    """What to measure next to find who makes the groups fail, or who it is.

    failing: groups that failed, with no host in common; measured: whether each group that was measured passed;
    order: all hosts, in the order in which partners are taken and halves are cut; at_fault: hosts of which an error of their own is known to have
    ended a group, so that they are not searched for: what else is wrong in it shows when the others go on.
    """
    state = Bisection()
    largest = largest_passed(measured)
    good = [host for host in order if largest.get(host, 1) > 1]
    finder = _Bisector(measured, order, good, state)
    for group in failing:
        named = [host for host in order if host in group and host in at_fault]
        state.hosts.update({host: [other for other in order if other in group and other not in named] for host in named})
        if not named:
            finder.narrow(group)
    return state


class _Bisector:
    """Asks for groups without a host in common; what a launch has no room for waits for the next one."""

    def __init__(self, measured: Measured, order: t.Sequence[str], good: t.Sequence[str], state: Bisection) -> None:
        self.measured, self.place, self.good, self.state = measured, {host: number for number, host in enumerate(order)}, good, state
        self.busy: set[str] = set()

    def ask(self, *groups: Group) -> bool:
        """Ask for groups that are not measured; whether all of them are."""
        missing = [group for group in groups if group not in self.measured]
        for group in missing:
            if not group & self.busy:
                self.state.launch.append(group)
                self.busy |= group
        return not missing

    def narrow(self, group: Group) -> None:
        """Follow whichever half of a failing group fails; where neither does, it is what lies between them."""
        if len(group) <= 2:
            self.singles(group)
            return
        first, second = self.halves(group)
        whole = [half for half in (first, second) if len(half) > 1]
        if not self.ask(*whole):
            return
        bad = [half for half in whole if not self.measured[half]]
        lone = [half for half in (first, second) if len(half) == 1]
        for half in bad:
            self.narrow(half)
        if lone and not bad:
            self.singles(lone[0], (first, second))
        elif not bad:
            self.between(first, second)

    def halves(self, group: Group) -> tuple[Group, Group]:
        """A group in two, in the order of the hosts."""
        hosts = sorted(group, key=self.place.__getitem__)
        return frozenset(hosts[: (len(hosts) + 1) // 2]), frozenset(hosts[(len(hosts) + 1) // 2 :])

    def singles(self, group: Group, around: tuple[Group, Group] | None = None) -> None:
        """Each host of one or two with partners that passed without it."""
        passed: dict[str, bool | None] = {host: self.alone(host, group) for host in sorted(group, key=self.place.__getitem__)}
        if None in passed.values():
            return
        if not any(passed.values()):
            first, second = around or (frozenset(sorted(group)[:1]), frozenset(sorted(group)[1:]))
            self.state.paths.append((first, second))

    def alone(self, host: str, beside: Group) -> bool | None:
        """Whether a host fails with others' partners too; None where that is not measured, or cannot be."""
        failed = []
        partners = [other for other in self.good if other not in beside and other != host]
        # What is measured decides before anything else is asked for: each host would wait for the partners of those before it.
        partners.sort(key=lambda other: frozenset({host, other}) not in self.measured)
        for partner in partners:
            pair = frozenset({host, partner})
            if pair in self.measured:
                if self.measured[pair]:
                    return False
                failed.append(partner)
            elif partner not in self.busy and host not in self.busy and len(failed) < CONFIRMED:
                self.ask(pair)
                return None
            if len(failed) == CONFIRMED:
                break
        if host in self.busy or (len(failed) < CONFIRMED and any(partner in self.busy for partner in partners)):
            return None
        if not failed:
            self.state.open.append(frozenset({host}))
            return None
        self.state.hosts[host] = failed
        return True

    def between(self, first: Group, second: Group) -> None:
        """Both halves pass and fail together: find the parts of them that fail together."""
        if len(first) == 1 and len(second) == 1:
            self.state.paths.append((first, second))
            return
        ones, twos = ([half] if len(half) == 1 else list(self.halves(half)) for half in (first, second))
        pairs = [(one, two) for one in ones for two in twos]
        # Opposite corners have no host in common.
        turns = [pairs[::3], pairs[1:3]] if len(pairs) == 4 else [[pair] for pair in pairs]
        for turn in turns:
            if not self.ask(*(one | two for one, two in turn)):
                return
            bad = [(one, two) for one, two in turn if not self.measured[one | two]]
            for one, two in bad:
                self.between(one, two)
            if bad:
                return
        # It takes more of them together than any part has.
        self.state.paths.append((first, second))
