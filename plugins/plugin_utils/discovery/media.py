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
from ..readings.rows import Rows

End = tuple[str, str]
Readings = Mapping[str, Mapping[str, Rows]]
ACTIVE = re.compile(r"\bactive (?:copper|equalizers)|\bA[CE]C\b", re.IGNORECASE)
# A transmitter as SFF-8636 and CMIS name it, of a module as of an active optical cable: a cable in one piece has a length.
LASER = re.compile(r"\bnm (?:VCSEL|FP|DFB|EML)\b|\blaser\b", re.IGNORECASE)
# A module with a connector of its own reports for how long a fibre it is made, not how long the fibre is.
ONE_PIECE = re.compile(r"\bAOC\b|active optical cable", re.IGNORECASE)
EMPTY = re.compile(r"not present|unknown|none|n/a", re.IGNORECASE)


class Medium(t.NamedTuple):
    """medium: a word of the wiring plan (``dac``, ``aec``, ``aoc``, ``optic``), empty where it was not reported; length_m: of a cable in one piece."""

    medium: str
    length_m: float | None


NOT_REPORTED = Medium("", None)


def media_of(cables: Iterable[tuple[End, End]], by_end: Mapping[End, Medium]) -> tuple[dict[tuple[End, End], Medium], list[str]]:
    """The medium of each cable, and the cables of which the ends report different ones."""
    found, differing = {}, []
    for cable in cables:
        reported = [by_end[end] for end in cable if end in by_end]
        words = sorted({one.medium for one in reported if one.medium})
        if len(words) > 1:
            differing.append(f"medium of {cable[0][0]} {cable[0][1]} to {cable[1][0]} {cable[1][1]}: its ends report {' and '.join(words)}")
        lengths = {one.length_m for one in reported if one.length_m}
        found[cable] = Medium(words[0], next(iter(lengths)) if len(lengths) == 1 else None) if len(words) == 1 else NOT_REPORTED
    return found, differing


def media_of_fabric(readings: Readings, end_of: t.Callable[[str, int], End | None]) -> dict[End, Medium]:
    """The medium at each end of an InfiniBand subnet; end_of: the end with a node's GUID and a port's number."""
    rows = (row for own in readings.values() for row in own.get("fabric_media", ()))
    ends = ((end_of(row["guid"], row["port"]), _medium(row)) for row in rows)
    return {end: medium for end, medium in ends if end is not None and medium.medium}


def media_of_ports(readings: Readings, hosts: t.Container[str]) -> dict[End, Medium]:
    """The medium at each end that a node reports of its own ports; hosts: whose ports are netdevs."""
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
    if LASER.search(words):
        return Medium("aoc", length) if length else Medium("optic", None)
    return Medium("aoc", length) if ONE_PIECE.search(words) else Medium("optic", None) if "optic" in words.lower() or _is_standard(words) else NOT_REPORTED


def _is_standard(words: str) -> bool:
    """Whether a medium is named as an optical standard: 400GBASE-DR4, 100G-SR4, LR4, FR8."""
    return re.search(r"\b(?:\d+G(?:BASE)?-?)?(?:[A-Z]*[SDFLEZ]R)\d*\b", words) is not None
