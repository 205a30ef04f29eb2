# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries: which commands a node is sent for its readings."""

from __future__ import annotations

import functools
import re
import typing as t

from ..pod.expectations import DEFAULTS
from ..pod.rail_ports import members_of, rail_ports
from ..pod.types import Rail, RailPort
from ..readings import Source, reading
from .types import Query, ReadingResult

Values = dict[str, t.Any]
OF_RAILS = ("rail", "rail_port")
EXPECTATION = re.compile(r"\{\*?(pod_\w+)\}")


def queries_for(names: t.Iterable[str], node: Values) -> tuple[list[Query], dict[str, ReadingResult]]:
    """What to ask a node for some readings, and the readings that do not apply to it.

    node: its ``platform``, its ``values`` (``when`` of a source needs them) and its ``items`` by kind (``rail``, ``ping``, ...).
    """
    wanted, apart = [], {}
    for name in names:
        what = reading(name)
        rows = what.platforms.get(node["platform"], ())
        sources = tuple(source for source in rows if applies(source, node["values"]))
        if rows and not sources:
            needs = " or ".join(sorted({f"{key} {wanted_words(value)}" for source in rows for key, value in source.when.items()}))
            apart[name] = ReadingResult("not_applicable", f"{name} is for {needs}")
        elif any(source.foreach == "fabric" and "fabric" not in node["items"] for source in sources):
            apart[name] = ReadingResult("not_applicable", f"{name} is reported by the readers of the fabric")
        elif any(source.foreach == "channels" and not node["items"].get("channels") for source in sources):
            apart[name] = ReadingResult("not_applicable", "no port-channel of this switch is in the wiring plan")
        elif any(source.foreach == "bond" and not _items(node["items"], "bond") for source in sources):
            apart[name] = ReadingResult("not_applicable", "no rail of this host is a bond by pod_rails")
        elif _of_netdevs(sources) and node["items"].get("rail") and not _repeated(sources, node["items"]):
            apart[name] = ReadingResult("not_applicable", "no rail of this host has a netdev by pod_rails")
        elif rows:
            items = _repeated(sources, node["items"])
            own = {one: node["values"].get(one, DEFAULTS[one]) for source in sources for one in expectations_in(source.command)}
            wanted.append(Query(what, sources, tuple({**item, **own} for item in items) if own else tuple(items)))
    return wanted, apart


@functools.cache
def expectations_in(command: str) -> tuple[str, ...]:
    """The expectations of a node that a command is made of."""
    return tuple(EXPECTATION.findall(command))


def _of_netdevs(sources: t.Sequence[Source]) -> bool:
    """Whether a reading is of the netdevs of rails, which those of InfiniBand need not have."""
    return bool(sources) and all(source.foreach in OF_RAILS and source.by_netdev for source in sources)


def _repeated(sources: t.Sequence[Source], of_node: t.Mapping[str, list[Values]]) -> list[Values]:
    """What the commands are repeated for."""
    items: list[Values] = next((_items(of_node, source.foreach) for source in sources if source.foreach), [{}])
    return [item for item in items if item.get("netdev")] if _of_netdevs(sources) else items


def _items(items: t.Mapping[str, list[Values]], kind: str) -> list[Values]:
    """What a command is repeated for; the members of a bond are named by their netdevs, and reached by the PCI addresses that the node knows of these."""
    if kind == "bond":
        return [rail for rail in items.get("rail", []) if members_of(rail)]
    if kind != "rail_port":
        return items.get(kind, [])
    ports = rail_ports(t.cast(list[Rail], items.get("rail", [])))
    return [_member(port) if port.get("bond") else t.cast("Values", port) for port in ports]


def _member(port: RailPort) -> Values:
    return {**port, "item": port["netdev"], "device": f"{{pci:{port['netdev']}}}", "rail_pci": f"{{pci:{port['device']}}}"}


def applies(source: Source, values: t.Mapping[str, t.Any]) -> bool:
    """Whether a source is for nodes with these expectations; one that they lack has its default."""
    return all(_meets(values.get(key, DEFAULTS.get(key)), wanted) for key, wanted in source.when.items())


def _meets(value: t.Any, wanted: t.Any) -> bool:
    return bool(value != wanted["not"] if isinstance(wanted, dict) else value == wanted)


def wanted_words(wanted: t.Any) -> str:
    """What ``when`` of a source wants of an expectation, in words."""
    return f"other than {wanted['not']!r}" if isinstance(wanted, dict) else str(wanted)


def item_labels(ask: Query) -> list[str | None]:
    """The items' names as evidence is headed by them; None where a reading has no items."""
    column = next((source.item for source in ask.sources if source.foreach), None)
    if column is None:
        return [None]
    return [str(item["item"] if "item" in item else item["netdev"] if column in ("netdev", "port", "bond") else item[column]) for item in ask.items]


def query_commands(wanted: t.Sequence[Query]) -> list[Values]:
    """The request's commands for ``side_by_side.answer``; their ids are ``reading number``."""
    result = []
    for ask in wanted:
        for number, item in enumerate(ask.items):
            filling = _Filling(item)
            alternatives = [{"argv": source.argv(filling), "rc": list(source.rc), "needs": source.needs} for source in ask.sources]
            exclusive = ask.sources[0].exclusive
            result.append(
                {
                    "id": f"{ask.reading.name} {number}",
                    "alternatives": alternatives,
                    "timeout": max(source.timeout_seconds for source in ask.sources),
                    "exclusive": exclusive.format_map(filling) if exclusive else None,
                }
            )
    return result


def typed_command(source: Source, ask: Query) -> str:
    """A command as it is typed at a switch, with the node's expectations that it names."""
    return EXPECTATION.sub(lambda found: str(ask.items[0][found[1]]), source.command)


class _Filling(dict[str, t.Any]):
    """An item's values; what only the node knows stays a token for it."""

    def __missing__(self, key: str) -> str:
        if key not in ("pci", "rail_pci") or "device" not in self:
            return f"{{{key}}}"
        if key == "rail_pci" and "bond" not in self:
            return str(self["pci"])
        return str(self["device"]) if "bond" in self else f"{{pci:{self['device']}}}"
