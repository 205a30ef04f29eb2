# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of a gate group's values is the usual one, and which are the odd ones.

A group may be of two hosts, and the other groups may differ on purpose: the commonest value is the usual one, also short of a majority, and where it is
not clearly so the other groups decide. ``discovery/usual.py`` asks for a majority of several nodes: what it finds becomes an expectation.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from types import MappingProxyType

from ..text.counting import some_nodes
from . import Finding
from .place import Place

Key = t.TypeVar("Key", str, tuple[str, str], tuple[str, int])
# Of the values of a group: so many are enough to be the usual one, whatever the other groups have, which may differ on purpose.
CLEAR = 0.75
NO_OTHERS: t.Mapping[t.Any, int] = MappingProxyType({})


def usual_value(values: t.Iterable[t.Any], elsewhere: t.Mapping[t.Any, int] = NO_OTHERS) -> t.Any:
    """The value that the others should have too, or None where the values do not say which.

    elsewhere: how often the other gate groups have each value, which decides where no value is clearly the group's own.
    """
    counts = Counter(values)
    if not counts:
        return None
    most = max(counts.values())
    if most < CLEAR * sum(counts.values()):
        known = {value: elsewhere.get(value, 0) for value in counts}
        first = [value for value, count in known.items() if count == max(known.values())]
        if len(first) == 1 and known[first[0]]:
            return first[0]
    commonest = [value for value, count in counts.items() if count == most]
    return commonest[0] if len(commonest) == 1 else None


def odd_ones(values: t.Mapping[Key, t.Any], elsewhere: t.Mapping[t.Any, int] = NO_OTHERS) -> t.Iterator[tuple[Key, t.Any, t.Any]]:
    """Each (key, value, usual value) whose value is not the usual one; none where no value is: ``undecided`` says that."""
    usual = usual_value(values.values(), elsewhere)
    if usual is not None:
        yield from ((key, value, usual) for key, value in values.items() if value != usual)


def odd_rails(values: t.Mapping[tuple[str, str], t.Any]) -> t.Iterator[tuple[tuple[str, str], t.Any, t.Any]]:
    """As ``odd_ones``, of a value of the NICs of hosts, by host and device; where none is usual ``undecided_rails`` says that.

    A NIC is compared with those of the same rail, since those of other rails may be of another model or in another slot; where these do not say what is
    usual, all rails of the group decide.
    """
    elsewhere = Counter(values.values())
    for its in _by_rail(values):
        yield from odd_ones(its, elsewhere)


def undecided_rails(values: t.Mapping[tuple[str, str], t.Any], where: Place, one: str, unit: str = "") -> t.Iterator[Finding]:
    """As ``undecided``, of what ``odd_rails`` compares; what is the same of several rails is one finding."""
    elsewhere = Counter(values.values())
    found = (finding for its in _by_rail(values) for finding in undecided(its, where, one, elsewhere, unit))
    yield from {str(finding): finding for finding in found}.values()


def _by_rail(values: t.Mapping[tuple[str, str], t.Any]) -> t.Iterable[dict[tuple[str, str], t.Any]]:
    rails: dict[str, dict[tuple[str, str], t.Any]] = {}
    for (host, device), value in values.items():
        rails.setdefault(device, {})[host, device] = value
    return rails.values()


def undecided(
    values: t.Mapping[Key, t.Any], where: Place, one: str, elsewhere: t.Mapping[t.Any, int] = NO_OTHERS, unit: str = ""
) -> t.Iterator[Finding]:  # fmt: skip
    """The one finding, of the group, that its hosts differ and none of the values is the usual one; nobody is named as the odd one.

    values: by host, or by host and what of it; one: what is expected, such as "one MTU"; unit: of the values, with its space.
    """
    if not values or usual_value(values.values(), elsewhere) is not None:
        return
    hosts: dict[str, set[str]] = {}
    for key, value in values.items():
        hosts.setdefault(f"{value}{unit}", set()).add(key if isinstance(key, str) else key[0])
    shares = "; ".join(f"{value} on {some_nodes(sorted(its))}" for value, its in sorted(hosts.items()))
    yield Finding(where, f"{one} over the group", f"{shares}: none of them is the usual one, so that it is not known which must change")
