# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value that most nodes of a role have, and the nodes that have another one.

What most have becomes an expectation of the drafted inventory, so that only a majority of several nodes makes one, and nothing decides where there is
none: a person does. ``checks/_odd_ones.py`` judges the hosts of a group that runs, of which the value that most of them share, or the other groups have,
names the ones to look at, however few they are.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Callable, Hashable, Mapping

from ..text.sorting import natural_key
from .outliers import CLASS, FEWEST, Outlier

End = tuple[str, str]


class Usual(t.NamedTuple):
    """The value of most nodes of a role; nodes: how many have it at all of their ends, of how many that report it."""

    value: t.Any
    nodes: int
    reporting: int


def usual_of(values: Mapping[End, Hashable]) -> Usual | None:
    """The value of all, or of more than half and of several nodes; None where there is none. values: by node and port, without a port where it is a node's."""
    value, count = Counter(values.values()).most_common(1)[0]
    reporting = {node for node, _port in values}
    having = reporting - {node for (node, _port), own in values.items() if own != value}
    if len(having) == len(reporting) or (2 * count > len(values) and len(having) >= FEWEST):
        return Usual(value, len(having), len(reporting))
    return None


def odd_ones(values: Mapping[End, Hashable], most: Usual, words_of: Callable[[t.Any], str]) -> list[Outlier]:
    """The ends that differ; a node that differs alike at all of its ends is named by itself. words_of: what is said of a value that is not the usual one."""
    words: dict[str, dict[str, str]] = {}
    for (node, port), value in sorted(values.items(), key=lambda one: [natural_key(word) for word in one[0]]):
        if value != most.value:
            words.setdefault(node, {})[port] = words_of(value)
    found = []
    for node, by_port in words.items():
        alike = len(set(by_port.values())) == 1 and len(by_port) == sum(name == node for name, _port in values)
        ports = {"": next(iter(by_port.values()))} if alike else by_port
        found += [Outlier(node, port, CLASS, own) for port, own in ports.items()]
    return found
