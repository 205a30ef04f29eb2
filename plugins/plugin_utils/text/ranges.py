# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in a row as a range."""

from __future__ import annotations

import typing as t

from .sorting import NUMBERS, natural_key


def ranges(names: t.Sequence[str]) -> str:
    """``gpu01, gpu02, gpu03`` as ``gpu01-gpu03``; long lists end in how many more there are."""
    pieces: list[str] = []
    run: list[str] = []
    for name in [*sorted(names, key=natural_key), ""]:
        if run and _follows(run[-1], name):
            run.append(name)
            continue
        if run:
            pieces += [_span(run[0], run[-1])] if len(run) > 2 else run
        run = [name]
    return ", ".join(pieces[:4]) + (f" and {len(pieces) - 4} more" if len(pieces) > 4 else "")


def _span(first: str, last: str) -> str:
    """Names from the first to the last; of names of several words, and where more numbers follow (the port of a slot), the number alone."""
    a, b = NUMBERS.split(first), NUMBERS.split(last)
    at = next(number for number in range(len(a)) if a[number] != b[number])
    if " " not in first and not any(piece.isdigit() for piece in a[at + 1 :]):
        return f"{first}-{last}"
    return "".join([*a[:at], f"{a[at]}-{b[at]}", *a[at + 1 :]])


def _follows(one: str, other: str) -> bool:
    a, b = NUMBERS.split(one), NUMBERS.split(other)
    if len(a) != len(b):
        return False
    differing = [number for number in range(len(a)) if a[number] != b[number]]
    return len(differing) == 1 and a[differing[0]].isdigit() and b[differing[0]].isdigit() and int(b[differing[0]]) == int(a[differing[0]]) + 1
