# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a whole gate group has otherwise than most hosts of the other groups: within the group nothing is odd."""

from __future__ import annotations

import typing as t
from collections import Counter

from . import Finding, NotApplicable
from ._odd_ones import CLEAR
from .place import Place

OfHosts = t.Mapping[str, t.Mapping[str, str]]


def counted(of_hosts: OfHosts) -> dict[str, Counter[str]]:
    """How many hosts have each value of each item; of_hosts: a host's value of each item."""
    counts: dict[str, Counter[str]] = {}
    for values in of_hosts.values():
        for item, value in values.items():
            counts.setdefault(item, Counter())[value] += 1
    return counts


def of_other_groups(of_hosts: OfHosts, counts: t.Mapping[str, Counter[str]], item: str, group: t.Iterable[str]) -> Counter[str]:
    """How many hosts outside a group have each value of an item; counts: of all hosts."""
    return counts.get(item, Counter()) - Counter(of_hosts[host][item] for host in group if item in of_hosts.get(host, {}))


def unlike_other_groups(
    of_hosts: OfHosts, counts: t.Mapping[str, Counter[str]], node: str, same_group: t.Sequence[str], leave_out: t.Container[str], what: str
) -> t.Iterator[Finding]:  # fmt: skip
    """A finding for each item of a host that its group has otherwise than most hosts of other groups.

    counts: of all hosts; same_group: the others of its group; leave_out: items that are judged elsewhere; what: what is compared, for the reason of a skip.
    """
    group = [node, *same_group]
    if not of_hosts.keys() - set(group):
        raise NotApplicable(f"no other gate group reports its {what}")
    for item, own in of_hosts.get(node, {}).items():
        in_group = Counter(of_hosts[host][item] for host in group if item in of_hosts.get(host, {}))
        others = counts[item] - in_group
        # What differs within the group is a finding of the check that compares its hosts.
        if item in leave_out or in_group[own] < CLEAR * sum(in_group.values()) or not others:
            continue
        usual, count = others.most_common(1)[0]
        if others[own] < count:
            yield Finding(
                Place(item), f"{usual}, as {count} of {sum(others.values())} hosts of other gate groups", f"{own} on {in_group[own]} hosts of this one"
            )
