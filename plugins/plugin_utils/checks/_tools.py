# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several layers of checks need: rows by port, growth of counters, the odd ones of a group."""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from . import CannotTell, Finding, NotApplicable

Row = dict[str, t.Any]
Rows = list[Row]

PORT = re.compile(r"^([A-Za-z][A-Za-z_-]*?)\s*(\d.*)$")
ETHERNET = ("et", "eth", "ethernet")
ACTIVE = re.compile(r"\b(?:aoc|aec|acc|active)\b", re.IGNORECASE)
COPPER = re.compile(r"\b(?:dac|copper|passive|twinax|cu)\b|direct.?attach|base-?cr|\bcr\d*\b", re.IGNORECASE)
SHOWN = 3


def port_key(name: str) -> str:
    """A port's name without what abbreviations differ in: ``Ethernet1/1``, ``Eth1/1`` and ``Et1/1`` are one."""
    match = PORT.match(name.strip())
    if match is None:
        return name.strip().lower()
    word = match[1].lower()
    return ("ethernet" if word in ETHERNET else word) + match[2].lower()


def by_port(rows: Rows, column: str = "port") -> dict[str, Row]:
    """Rows by their port's key."""
    return {port_key(row[column]): row for row in rows}


def short_name(name: str) -> str:
    """A node's name without its domain, as LLDP and inventories differ in it."""
    return name.strip().split(".")[0].lower()


def rails_of(pod_rails: Rows) -> Rows:
    """The planned rails.

    Raises CannotTell where none is planned, which would otherwise pass.
    """
    if not pod_rails:
        raise CannotTell("pod_rails names no rail of this host")
    return pod_rails


def planned_ports(pod_role: str, pod_rails: Rows, pod_cables: Rows) -> list[str]:
    """The fabric ports of a node: a host's rails, a switch's ports of the wiring plan.

    Raises CannotTell where none is planned.
    """
    if pod_role == "host":
        return [rail["netdev"] for rail in rails_of(pod_rails)]
    if not pod_cables:
        raise CannotTell("the wiring plan has no cable of this switch")
    return [cable["port"] for cable in pod_cables]


def cables_by_port(pod_role: str, pod_rails: Rows, pod_cables: Rows) -> dict[str, Row]:
    """The planned cables by their port; a host's end may be named by the rail's netdev or by its RDMA device."""
    netdevs = {rail["device"]: rail.get("netdev") for rail in pod_rails} if pod_role == "host" else {}
    return {netdevs.get(cable["port"]) or cable["port"]: cable for cable in pod_cables}


def medium_of(*words: str | None) -> str | None:
    """``copper`` (passive), ``active`` or ``optic``, by the first word that is said; None where none is."""
    for word in words:
        if word:
            return "active" if ACTIVE.search(word) else "copper" if COPPER.search(word) else "optic"
    return None


def unknown(where: str, expected: str, actual: str, port: str | None = None) -> Finding:
    """A finding of severity unknown."""
    return Finding(where, expected, actual, "unknown", port)


def grown(where: str, expected: str, now: Row, before: Row, column: str) -> int | Finding:
    """How much a counter grew, or the finding that says why that is not known."""
    new, old = now[column], before[column]
    if new is None or old is None:
        return unknown(where, expected, f"no counter {column}")
    if new < old:
        return unknown(where, expected, "counters were reset")
    return int(new - old)


def some(items: t.Sequence[str]) -> str:
    """A list in words that stays short."""
    rest = len(items) - SHOWN
    return ", ".join(items[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def one_of_many(rows: dict[str, t.Any]) -> None:
    """Raises NotApplicable for a group of one host, which has nothing to be compared with."""
    if len(rows) < 2:
        raise NotApplicable("one host in the group")


def odd_hosts(where: str, values: dict[str, str | None]) -> t.Iterator[Finding]:
    """The hosts that differ from most of their group.

    values: what each host has; None is a host that does not tell. Without a majority every host is named.
    """
    told = {host: value for host, value in values.items() if value is not None}
    for host in values.keys() - told.keys():
        yield Finding(where, "a value to compare with the group", "not told", "unknown", host=host)
    if len(set(told.values())) < 2:
        return
    (common, most), *others = Counter(told.values()).most_common()
    tied = others[0][1] == most
    expected = "one value in the group" if tied else f"{common}, as on {most} of {len(told)} hosts"
    for host in sorted(told):
        if tied or told[host] != common:
            yield Finding(where, expected, str(told[host]), host=host)
