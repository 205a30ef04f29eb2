# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wiring plan: ``cabling.csv``, one cable a row."""

from __future__ import annotations

import csv
import io
import typing as t
from dataclasses import dataclass

NEEDED = ("a_node", "a_port", "b_node", "b_port", "medium", "length_m")
OPTIONAL = ("a_address", "b_address", "gbit_s")


@dataclass(frozen=True)
class End:
    """One end of a cable; address is that of the BGP session over it, where the plan has one."""

    node: str
    port: str
    address: str | None = None


@dataclass(frozen=True)
class Cable:
    """One cable and its line in the plan; its length in metres and its rated speed are None where the plan does not say."""

    a: End
    b: End
    medium: str
    length_m: float | None
    line: int
    gbit_s: float | None = None

    def seen_from(self, node: str) -> tuple[End, End]:
        """This cable's ends, the given node's first."""
        return (self.a, self.b) if self.a.node == node else (self.b, self.a)


def read(text: str, nodes: t.Container[str]) -> tuple[list[Cable], list[str]]:
    """The cables of a plan, and one message with its line number for each line that is wrong.

    nodes: the inventory's names; a cable to any other node is wrong.
    """
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    missing = [column for column in NEEDED if column not in (rows.fieldnames or ())]
    if missing:
        return [], [f"line 1: the columns {', '.join(missing)} are missing; needed are {', '.join(NEEDED)}"]
    cables: list[Cable] = []
    wrong: list[str] = []
    used: dict[tuple[str, str], int] = {}
    for row in rows:
        line = rows.line_num
        problems = _problems(row, nodes, used)
        wrong += [f"line {line}: {problem}" for problem in problems]
        if not problems:
            cable = _cable(row, line)
            used[cable.a.node, cable.a.port] = used[cable.b.node, cable.b.port] = line
            cables.append(cable)
    if not cables and not wrong:
        wrong.append("line 1: the plan has no cable")
    return cables, wrong


def _problems(row: dict[str, t.Any], nodes: t.Container[str], used: dict[tuple[str, str], int]) -> list[str]:
    empty = [column for column in NEEDED[:4] if not (row[column] or "").strip()]
    if empty or None in row:
        return [f"{', '.join(empty)} is empty" if empty else "there are more cells than columns"]
    problems = []
    for side in "ab":
        node, port = row[f"{side}_node"].strip(), row[f"{side}_port"].strip()
        if node not in nodes:
            problems.append(f"node {node} is not in the inventory")
        if (node, port) in used:
            problems.append(f"port {node}:{port} is already used in line {used[node, port]}")
    if (row["a_node"], row["a_port"]) == (row["b_node"], row["b_port"]):
        problems.append("both ends are the same port")
    for column, what in (("length_m", "metres"), ("gbit_s", "Gb/s")):
        try:
            float((row.get(column) or "").strip() or 0)
        except ValueError:
            problems.append(f"{column} must be a number of {what}, not {row[column]!r}")
    return problems


def _cable(row: dict[str, t.Any], line: int) -> Cable:
    cell = {column: (row.get(column) or "").strip() for column in (*NEEDED, *OPTIONAL)}
    a, b = (End(cell[f"{side}_node"], cell[f"{side}_port"], cell[f"{side}_address"].split("/", maxsplit=1)[0] or None) for side in "ab")
    length, speed = (float(cell[column]) if cell[column] else None for column in ("length_m", "gbit_s"))
    return Cable(a, b, cell["medium"], length, line, speed)
