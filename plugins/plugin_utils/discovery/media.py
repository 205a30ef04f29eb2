# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of what a cable is and how long, as the modules at its ends report it."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping

from ..checks.links.optics import is_copper
from ..pod.names import port_name

End = tuple[str, str]
Readings = Mapping[str, Mapping[str, list[dict[str, t.Any]]]]
ACTIVE = re.compile(r"\bactive copper|\bA[CE]C\b", re.IGNORECASE)
# A module with a connector of its own reports for how long a fibre it is made, not how long the fibre is.
ONE_PIECE = re.compile(r"\bAOC\b|active optical cable", re.IGNORECASE)
EMPTY = re.compile(r"not present|unknown|none|n/a", re.IGNORECASE)


class Medium(t.NamedTuple):
    """medium: a word of the wiring plan (``dac``, ``aec``, ``aoc``, ``optic``), empty where it was not reported; length_m: of a cable in one piece."""

    medium: str
    length_m: float | None


NOT_REPORTED = Medium("", None)


def media_of(cables: Iterable[tuple[End, End]], readings: Readings, hosts: t.Container[str]) -> tuple[dict[tuple[End, End], Medium], list[str]]:
    """The medium of each cable, and the cables of which the ends report different ones; hosts: whose ports are netdevs."""
    found, differing = {}, []
    by_end = _by_end(readings, hosts)
    for cable in cables:
        reported = [by_end[end] for end in cable if end in by_end]
        words = sorted({one.medium for one in reported if one.medium})
        if len(words) > 1:
            differing.append(f"medium of {cable[0][0]} {cable[0][1]} to {cable[1][0]} {cable[1][1]}: its ends report {' and '.join(words)}")
        lengths = {one.length_m for one in reported if one.length_m}
        found[cable] = Medium(words[0], next(iter(lengths)) if len(lengths) == 1 else None) if len(words) == 1 else NOT_REPORTED
    return found, differing


def _by_end(readings: Readings, hosts: t.Container[str]) -> dict[End, Medium]:
    found: dict[End, Medium] = {}
    for node, own in readings.items():
        # A table of light lists no copper on some platforms, of which the state of the port names the medium.
        for row in (*own.get("interface_status", ()), *own.get("transceivers", ())):
            medium = _medium(row)
            if medium.medium:
                found[node, row["port"] if node in hosts else port_name(row["port"])] = medium
    return found


def _medium(row: Mapping[str, t.Any]) -> Medium:
    words = str(row.get("media") or "")
    if not words or EMPTY.search(words) or row.get("present") is False:
        return NOT_REPORTED
    length = float(row["length_m"]) if row.get("length_m") else None
    if is_copper(dict(row)):
        return Medium("aec" if ACTIVE.search(words) else "dac", length)
    return Medium("aoc", length) if ONE_PIECE.search(words) else Medium("optic", None) if "optic" in words.lower() or _is_standard(words) else NOT_REPORTED


def _is_standard(words: str) -> bool:
    """Whether a medium is named as an optical standard: 400GBASE-DR4, 100G-SR4, LR4, FR8."""
    return re.search(r"\b(?:\d+G(?:BASE)?-?)?(?:[A-Z]*[SDFLEZ]R)\d*\b", words) is not None
