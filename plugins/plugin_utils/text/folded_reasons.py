# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons, folded: one mistake is a few lines however many nodes have it."""

from __future__ import annotations

import re
import typing as t

from .shortened import shortened
from .sorting import NUMBERS

SHOWN = 3
LONGEST = 400
WORD = re.compile(r"[A-Za-z0-9_.-]+")
# The name of an argument is no value: reasons about different arguments are different.
QUOTED = re.compile(r"'(?!pod_)[^']*'|\"[^\"]*\"|\{[^}]*\}|\([^)]*\)")


def fold_reasons(reasons: t.Iterable[str], names: t.Iterable[str] = ()) -> list[str]:
    """The reasons in their order; of those that differ only in names, numbers and quoted values the first three, and how many more there are.

    names: names without numbers that may differ, such as those of nodes.
    """
    known = frozenset(names)
    alike: dict[str, list[str]] = {}
    for reason in dict.fromkeys(" ".join(one.split()) for one in reasons):
        alike.setdefault(_kind(reason, known), []).append(shortened(reason, LONGEST))
    result = []
    for same in alike.values():
        result += same[:SHOWN]
        result += [f"{len(same) - SHOWN} more like the one above"] if len(same) > SHOWN else []
    return result


def _kind(reason: str, names: t.Container[str]) -> str:
    """What is left of a reason without names, numbers and values; a list of names is one name."""
    bare = WORD.sub(lambda word: "*" if word[0] in names or word[0].rstrip(".") in names else word[0], QUOTED.sub("*", reason))
    return re.sub(r"\*(?:(?:, | and | )\*)*", "*", NUMBERS.sub("#", bare))
