# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of ports and nodes in one spelling, and the name that was meant where one is unknown."""

from __future__ import annotations

import difflib
import functools
import re
import typing as t

from ..readings.rows import Rows
from .types import NearCable, TierCable


class NodePort(t.NamedTuple):
    """What ``node:port`` or ``host:device`` names; port is empty where the text is a node alone, None where nothing follows the colon."""

    node: str
    port: str | None


def parse_place(text: str) -> NodePort:
    """The node and port that a text of the site names."""
    node, colon, port = text.partition(":")
    return NodePort(node, port or ("" if not colon else None))


# eth0 is the management port of switches whose first front port is Ethernet0.
ABBREVIATED = re.compile(r"^(?!(?-i:eth0)$)(?:ethernet|eth|et)\s*(?=\d)", re.IGNORECASE)
CHANNEL = re.compile(r"^(?:port-?channel|po)\s*(?=\d)", re.IGNORECASE)


@functools.lru_cache(maxsize=65536)
def port_name(name: str) -> str:
    """A port's name in one spelling: one switch writes Et1/1, Eth1/1 and Ethernet1/1, by command, and Po1 and port-channel1.

    Kept, since every host asks for those of its leaves.
    """
    return CHANNEL.sub("Port-Channel", ABBREVIATED.sub("Ethernet", name))


class Ports(dict[str, dict[str, t.Any]]):
    """Rows by port, found by any spelling of its name."""

    def __getitem__(self, name: str) -> dict[str, t.Any]:
        return super().__getitem__(port_name(name))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(port_name(str(name)))

    def get(self, name: str, default: t.Any = None) -> t.Any:
        """As of any mapping."""
        return super().get(port_name(name), default)


def by_port(rows: Rows) -> Ports:
    """The rows by their port."""
    return Ports((port_name(row["port"]), row) for row in rows)


def rated(cable: NearCable | TierCable, link_gbit_s: float) -> float:
    """A cable's rated speed: the plan's own, else that of the pod's links."""
    return float(cable.get("gbit_s") or link_gbit_s)


@functools.lru_cache(maxsize=65536)
def mac_of(text: str) -> str:
    """A MAC address without its punctuation; kept, since every switch asks for those of every host."""
    return re.sub(r"[^0-9a-f]", "", text.lower())


def same_end(heard: tuple[str, str], planned: tuple[str, str]) -> bool:
    """Whether a neighbor is the planned one: hosts may add their domain, platforms shorten Ethernet."""
    return node_name(heard[0]) == node_name(planned[0]) and port_name(heard[1]) == port_name(planned[1])


def node_name(name: str) -> str:
    """A node's name without its domain; an address is a name as it is."""
    first = name.split(".", maxsplit=1)[0].lower()
    return name if first.isdigit() else first


def unknown_expectation(name: str, known: t.Iterable[str]) -> str:
    """The message for a ``pod_*`` value that is no expectation, with the names near it."""
    near = ", ".join(difflib.get_close_matches(name, known, 3, 0.75))
    return f"{name!r} is not an expectation{near and f' (near it: {near})'}; docs/expectations.md has all of them"
