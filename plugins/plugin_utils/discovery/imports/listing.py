# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an import found, whatever it was read from, and the words and units in which people write down a cable."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

End = tuple[str, str]
# What a spreadsheet or NetBox calls a medium, by the word of the wiring plan. The first that fits counts: an active cable is also a DAC to many.
MEDIA = (
    ("aec", re.compile(r"\ba[ce]c\b|dac[ -]?active|active (?:electrical|copper)", re.IGNORECASE)),
    ("dac", re.compile(r"dac|twinax|copper|\bcat ?\d", re.IGNORECASE)),
    ("aoc", re.compile(r"\baoc\b|active optical", re.IGNORECASE)),
    ("optic", re.compile(r"optic|fib(?:er|re)|[sm]mf|\bo[ms]\d|\bmpo|\b(?:[SDFLEZV]R)\d*\b", re.IGNORECASE)),
)
METRES = {"": 1.0, "m": 1.0, "metres": 1.0, "meters": 1.0, "cm": 0.01, "km": 1000.0, "ft": 0.3048, "feet": 0.3048, "in": 0.0254, "mi": 1609.344}
SPEED = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:g|gb/?s|gbit/?s|gbps|gbe)?\s*", re.IGNORECASE)
LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


class ImportFailed(Exception):
    """What is wrong with a source, in words for the operator."""


@dataclass(frozen=True)
class ListedNode:
    """A node; role: what the source calls it, empty where it does not; rack: what it stands in, or passes or stops with."""

    name: str
    role: str = ""
    address: str = ""
    platform: str = ""
    rack: str = ""


@dataclass(frozen=True)
class ListedCable:
    """A cable from end to end; what the source does not have is empty. medium: a word of the wiring plan; addresses: of the BGP session over it."""

    a: End
    b: End
    medium: str = ""
    length_m: float | None = None
    addresses: tuple[str, str] = ("", "")
    gbit_s: float | None = None


@dataclass
class Listing:
    """Nodes by name and cables, as they were read; left_out: what was not taken, with the reason."""

    nodes: dict[str, ListedNode] = field(default_factory=dict)
    cables: list[ListedCable] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def named(self) -> None:
        """Give each end of a cable a node, where the source lists only cables."""
        for cable in self.cables:
            for node, _port in (cable.a, cable.b):
                self.nodes.setdefault(node, ListedNode(node))


def medium_of(words: t.Any) -> str:
    """The wiring plan's word for a medium; empty for one that is not known."""
    return next((medium for medium, written in MEDIA if written.search(str(words or ""))), "")


def metres_of(words: t.Any, unit: str = "") -> float | None:
    """A length in metres: ``3``, ``3 m``, ``10ft``, or a number with the unit beside it; None for none.

    Raises ImportFailed where it is no length.
    """
    if words is None or not str(words).strip():
        return None
    written = LENGTH.fullmatch(str(words))
    factor = METRES.get((written[2] or unit).lower()) if written else None
    if written is None or factor is None:
        raise ImportFailed(f"{str(words)!a:.80} is no length; 3, 3 m and 10 ft are")
    return round(float(written[1]) * factor, 3) or None


def gbit_s_of(words: t.Any) -> float | None:
    """A speed in Gb/s: ``400``, ``400G``, ``400 Gb/s``; None for none.

    Raises ImportFailed where it is no speed.
    """
    if words is None or not str(words).strip():
        return None
    written = SPEED.fullmatch(str(words))
    if written is None:
        raise ImportFailed(f"{str(words)!a:.80} is no speed; 400, 400G and 400 Gb/s are")
    return float(written[1])
