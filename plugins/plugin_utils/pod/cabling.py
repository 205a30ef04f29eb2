# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wiring plan: ``cabling.csv``, one cable a row.

Ansible takes any file of an inventory's directory for a list of hosts, but leaves group_vars out, and reads there what is called by a group.
"""

from __future__ import annotations

import codecs
import csv
import io
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .addressing import bare
from .expectations import SPECIFIED, Bounds

# Relative to the inventory's directory; OLD is where it was up to 0.2.
PLACE, OLD = "group_vars/cabling.csv", "cabling.csv"
NEEDED = ("a_node", "a_port", "b_node", "b_port", "medium", "length_m")
ADDRESSES = ("a_address", "b_address")
CHANNELS = ("a_channel", "b_channel")
OPTIONAL = (*ADDRESSES, "gbit_s", *CHANNELS)
# The columns that are numbers, with their units and bounds; a cell may be empty. No fibre without an amplifier is longer.
NUMBERS: dict[str, tuple[str, Bounds]] = {
    "length_m": ("metres", Bounds(above=0, maximum=40000)),
    "gbit_s": ("Gb/s", SPECIFIED["pod_link_gbit_s"].bounds),
}


@dataclass(frozen=True)
class CableEnd:
    """One end of a cable; address is that of the BGP session over it, and channel the port-channel that the port is a member of, where the plan has one."""

    node: str
    port: str
    address: str | None = None
    channel: str | None = None


@dataclass(frozen=True)
class Cable:
    """One cable and its line in the plan; its length in metres and its rated speed are None where the plan does not state."""

    a: CableEnd
    b: CableEnd
    medium: str
    length_m: float | None
    line: int
    gbit_s: float | None = None

    @classmethod
    def of_cells(cls, cells: t.Sequence[t.Any]) -> Cable:
        """The cable of such ``cells``."""
        an, ap, aa, bn, bp, ba, medium, length, line, speed, ac, bc = cells
        return cls(CableEnd(an, ap, aa, ac), CableEnd(bn, bp, ba, bc), medium, length, line, speed)

    @property
    def cells(self) -> list[t.Any]:
        """The cable as a list of plain values, for a file."""
        a, b = self.a, self.b
        return [a.node, a.port, a.address, b.node, b.port, b.address, self.medium, self.length_m, self.line, self.gbit_s, a.channel, b.channel]

    def seen_from(self, node: str) -> tuple[CableEnd, CableEnd]:
        """This cable's ends, the given node's first."""
        return (self.a, self.b) if self.a.node == node else (self.b, self.a)


def located(directory: Path, named: str) -> str:
    """The name of the wiring plan of an inventory: as given, or where that is the default place and has none, that of the old place.

    directory: the inventory's, to which names are relative. Raises ValueError where there is a plan in both places.
    """
    if not Path(named).match(PLACE):
        return named
    old = str(Path(named).parents[1] / OLD)
    if not (directory / old).is_file():
        return named
    if (directory / named).is_file():
        raise ValueError(f"there are two wiring plans, {named} and {old}: remove one of them")
    return old


class Problems:
    """What is wrong in a plan: messages with their lines, those of one kind folded."""

    SHOWN: t.ClassVar[int] = 3

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, str]]] = {}

    def add(self, line: int, kind: str, words: str) -> None:
        """One message; kind: what messages share that are one mistake in several lines."""
        self._found.setdefault(kind, []).append((line, words))

    def lines(self) -> list[str]:
        """The first messages of each kind, and how many more lines have it."""
        result = []
        for found in self._found.values():
            result += [f"line {line}: {words}" for line, words in found[: self.SHOWN]]
            others = list(dict.fromkeys(str(line) for line, _words in found[self.SHOWN :]))
            more = f" and {len(others) - self.SHOWN} more" if len(others) > self.SHOWN else ""
            result += [f"lines {', '.join(others[: self.SHOWN])}{more} have the same error"] if others else []
        return result


def decode(data: bytes) -> tuple[str | None, list[str]]:
    """The text of a plan's file, which is UTF-8 with or without a byte order mark; or None and the one message why it is not."""
    for mark, name in ((codecs.BOM_UTF32_LE, "UTF-32"), (codecs.BOM_UTF32_BE, "UTF-32"), (codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16")):
        if data.startswith(mark):
            return None, [f"line 1: the file is {name}; save it as UTF-8"]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, [f"line {_line_of(data, error.start)}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"]
    if "\0" in text:
        return None, [f"line {_line_of(data, data.index(0))}: a NUL byte; the file is not UTF-8 text, save it as UTF-8"]
    return text, []


def _line_of(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def read_cabling(text: str, nodes: t.Collection[str], hosts: t.Container[str] = ()) -> tuple[list[Cable], list[str]]:
    """The cables of a plan, and the messages of what is wrong in it, each with its line; many of one kind are folded.

    nodes: the inventory's names; a cable to any other node is wrong. hosts: those whose bonds may end at several leaves.
    """
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True, strict=True)
    problems = Problems()
    cables: list[Cable] = []
    used: dict[tuple[str, str], int] = {}
    line = 0
    try:
        columns = list(rows.fieldnames or ())
        line = 1
        if wrong := _wrong_header(columns):
            return [], [f"line 1: {wrong}"]
        for row in rows:
            line = rows.line_num
            found = _problems(row, nodes, used)
            for kind, words in found:
                problems.add(line, kind, words)
            if not found:
                cable = _cable(row, line)
                used[cable.a.node, cable.a.port] = used[cable.b.node, cable.b.port] = line
                cables.append(cable)
    except csv.Error as error:
        problems.add(line + 1, "csv", f"not CSV from here on ({error}); a quote is not closed, or stands inside a cell")
    for line, words in _channels(cables, hosts):
        problems.add(line, "channel", words)
    if not cables and not problems.lines():
        return [], ["line 1: the plan has no cable"]
    return cables, problems.lines()


def _channels(cables: t.Iterable[Cable], hosts: t.Container[str]) -> t.Iterator[tuple[int, str]]:
    """The cables of a switch's port-channel that end elsewhere than its first one, each with its line."""
    first: dict[tuple[str, str], CableEnd] = {}
    for cable in cables:
        for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
            if near.channel is None or near.node in hosts:
                continue
            wanted = first.setdefault((near.node, near.channel), far)
            if (far.node, far.channel) != (wanted.node, wanted.channel):
                ends = [f"{end.node} {end.channel or 'without a channel'}" for end in (wanted, far)]
                yield cable.line, f"{near.channel} of {near.node} leads to {ends[0]} and to {ends[1]}"


def _wrong_header(columns: t.Sequence[str]) -> str | None:
    missing = [column for column in NEEDED if column not in columns]
    if missing:
        return f"the columns {', '.join(missing)} are missing; needed are {', '.join(NEEDED)}; got {','.join(columns)[:100]!r}"
    twice = [column for column in dict.fromkeys(columns) if columns.count(column) > 1]
    return f"the column {', '.join(twice)} is there more than once" if twice else None


def _problems(row: dict[str, t.Any], nodes: t.Collection[str], used: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    """What is wrong in a row: the kind of each mistake, and its words."""
    empty = [column for column in NEEDED[:4] if not (row[column] or "").strip()]
    if empty:
        return [("empty", f"{', '.join(empty)} is empty")]
    if None in row:
        return [("cells", "there are more cells than columns")]
    if all((row[column] or "").strip() == column for column in NEEDED):
        return [("header", "the header is repeated")]
    if broken := [column for column in NEEDED[:4] if "\n" in row[column] or "\r" in row[column]]:
        return [("quote", f"{broken[0]} has a line break; a quote is not closed")]
    (a, b) = ends = [(row[f"{side}_node"].strip(), row[f"{side}_port"].strip()) for side in "ab"]
    if a in used and used[a] == used.get(b):
        return [("cable", f"the cable of line {used[a]} again: {a[0]}:{a[1]} to {b[0]}:{b[1]}")]
    problems = [("node", _unknown(node, nodes)) for node in dict.fromkeys(node for node, _port in ends) if node not in nodes]
    problems += [("port", f"port {node}:{port} is already used in line {used[node, port]}") for node, port in ends if (node, port) in used]
    if a == b:
        problems.append(("ends", "both ends are the same port"))
    return problems + [(column, words) for column in NUMBERS if (words := _wrong_number(row, column))]


def _unknown(node: str, nodes: t.Collection[str]) -> str:
    """The message of a node that the inventory lacks, with the one that differs in capital letters alone."""
    meant = next((one for one in nodes if one.lower() == node.lower()), None)
    return f"node {node} is not in the inventory" + (f", which has {meant}: capital letters count" if meant else "")


def _wrong_number(row: dict[str, t.Any], column: str) -> str | None:
    unit, bounds = NUMBERS[column]
    cell = (row.get(column) or "").strip()
    try:
        fits = not cell or bounds.contain(float(cell))
    except ValueError:
        return f"{column} must be a number of {unit}, not {row[column]!r}"
    return None if fits else f"{column} must be {bounds.words} {unit}, not {row[column]!r}"


def _cable(row: dict[str, t.Any], line: int) -> Cable:
    cell = {column: (row.get(column) or "").strip() for column in (*NEEDED, *OPTIONAL)}
    a, b = (CableEnd(cell[f"{side}_node"], cell[f"{side}_port"], bare(cell[f"{side}_address"]) or None, cell[f"{side}_channel"] or None) for side in "ab")
    length, speed = (float(cell[column]) if cell[column] else None for column in ("length_m", "gbit_s"))
    return Cable(a, b, cell["medium"], length, line, speed)
