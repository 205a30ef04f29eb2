# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An InfiniBand fabric as its readers report it, given to each node as its own readings.

No one logs in to an InfiniBand switch: a few hosts ask the whole subnet, and their answers are split by node here. Checks then
judge a port of an InfiniBand switch as any other port, and a switch that no reader sees is a silent node.
"""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from ..readings import catalogue
from ..readings.rows import Rows
from .fabric_names import FabricNames, guid_of
from .fabric_rows import MAKERS, FabricPort
from .types import Envelope, KeptReading, reading_of

# The tables whose rows are of a node; the others are of a whole subnet.
OF_NODES = ("fabric_links", "fabric_topology")


class View(t.NamedTuple):
    """The fabric through one port: who reads it, through which device."""

    reader: str
    via: str


def spread_to_nodes(plan: Plan, envelopes: t.Mapping[str, Envelope], members: t.Collection[str]) -> dict[str, Envelope]:
    """The envelopes of ``read``, with what the fabric's readers report of each node among its readings.

    A switch that no reader sees, or that two nodes of the fabric claim to be, does not answer.
    """
    views = [View(reader, via) for reader, devices in plan.readers(members).items() for via in devices]
    asked = {name for view in views if view.reader in envelopes for name in envelopes[view.reader]["readings"]}
    if not asked & set(OF_NODES):
        return dict(envelopes)
    view_of_fabric = _FabricView(plan, envelopes, views)
    result = dict(envelopes)
    for name in members:
        node = plan.nodes[name]
        made = [one for one, what in catalogue().items() if (bases := what.of_fabric.get(node.platform)) and set(bases) <= asked]
        if node.kind == "switch" and node.platform == "infiniband" and made:
            result[name] = _of_switch(view_of_fabric, name, made)
        elif name in result and result[name]["answered"] and made:
            readings = {one: view_of_fabric.reading(name, one, catalogue()[one].of_fabric[node.platform]) for one in made}
            result[name] = {**result[name], "readings": {**result[name]["readings"], **readings}}
    return result


def _of_switch(view_of_fabric: _FabricView, name: str, made: t.Sequence[str]) -> Envelope:
    words = view_of_fabric.missing(name)
    readings = {} if words else {one: view_of_fabric.reading(name, one, catalogue()[one].of_fabric["infiniband"]) for one in made}
    return {"answered": not words, "words": words, "contacted": False, "boot_id": None, "uptime_seconds": None, "asked_at": None, "readings": readings}


class _FabricView:
    """What all readers report, by reading, view and node."""

    def __init__(self, plan: Plan, envelopes: t.Mapping[str, Envelope], views: t.Sequence[View]) -> None:
        self.plan, self.envelopes, self.views = plan, envelopes, views
        self.names = FabricNames(plan, envelopes)
        self.tables = {base: {view: rows for view in views if (rows := self._table(base, view)) is not None} for base in self._bases()}
        self.ports: dict[str, dict[str, dict[str, FabricPort]]] = {}
        self.claims: dict[str, set[int]] = {}
        for base in OF_NODES:
            self.ports[base] = self._by_node(base)

    def _bases(self) -> set[str]:
        return {base for what in catalogue().values() for bases in what.of_fabric.values() for base in bases}

    def _table(self, base: str, view: View) -> Rows | None:
        reading_of_base = reading_of(self.envelopes, view.reader, base)
        if reading_of_base is None or reading_of_base["status"] != "ok":
            return None
        return [row for row in reading_of_base["rows"] if row["via"] == view.via]

    def _by_node(self, base: str) -> dict[str, dict[str, FabricPort]]:
        """Each planned node's ports by name, as the first view that has them reports."""
        found: dict[str, dict[str, FabricPort]] = {}
        for view, rows in self.tables.get(base, {}).items():
            for row in rows:
                whose = self.names.end(row["guid"] or row.get("port_guid"), row["node"], row["port"])
                if whose.node not in self.plan.nodes:
                    continue
                guid = guid_of(row["guid"] or row.get("port_guid"))
                if guid is not None and self.plan.nodes[whose.node].kind == "switch":
                    self.claims.setdefault(whose.node, set()).add(guid)
                own = found.setdefault(whose.node, {})
                if row["port"] is not None and whose.port not in own:
                    peer = self.names.end(row["peer_guid"] or row.get("peer_port_guid"), row["peer"], row["peer_port"]) if row["peer"] else None
                    own[whose.port] = FabricPort(whose.port, row, peer, view)
        return found

    def missing(self, switch: str) -> str:
        """Why nothing can be stated of a switch; empty where its rows are there."""
        claims = self.claims.get(switch, set())
        if len(claims) > 1:
            guids = ", ".join(f"0x{guid:016x}" for guid in sorted(claims))
            return f"several switches of the fabric are called so ({guids}); set pod_node_guid"
        asked = [base for base in OF_NODES if self._asked(base)]
        if any(switch in self.ports[base] for base in asked):
            return ""
        unread = [words for base in asked for view in self.views if (words := self._unread(base, view))]
        seen_from = ", ".join(f"{view.reader} {view.via}" for view in self.views) or "no host"
        return "; ".join(dict.fromkeys(unread)) or f"no switch of this name or GUID is in the fabric that {seen_from} sees"

    def _asked(self, base: str) -> bool:
        return any(reading_of(self.envelopes, view.reader, base) is not None for view in self.views)

    def _unread(self, base: str, view: View) -> str:
        """Why a view does not report a table; empty where it does."""
        envelope = self.envelopes.get(view.reader)
        if envelope is None or not envelope["answered"]:
            return f"{view.reader} reads the fabric and did not answer: {(envelope['words'] if envelope else '') or 'never read'}"
        reading_of_base = envelope["readings"].get(base)
        return (
            ""
            if reading_of_base is not None and reading_of_base["status"] == "ok"
            else f"{view.reader} {view.via}: {(reading_of_base['words'] if reading_of_base else '') or 'never read'}"
        )

    def reading(self, name: str, made: str, bases: t.Sequence[str]) -> KeptReading:
        """One reading of one node, as ``keep_answers`` would have kept it."""
        table = next(base for base in bases if base in OF_NODES)
        ports = self.ports[table].get(name, {})
        views = list(dict.fromkeys(port.view for port in ports.values())) or list(self.views)
        if apart := self._not_asked([base for base in bases if base != table], views):
            return {"status": "not_applicable", "words": apart, "rows": [], "lost": {}, "evidence": None, "unparsed": False}
        unread = [words for base in bases if base != table for view in views if (words := self._unread(base, view))]
        unread += self._perhaps_there(table, name, ports)
        rows: Rows = []
        if not unread:
            try:
                rows = MAKERS[made](self, ports)
            except ValueError as unreadable:
                unread = [str(unreadable)]
        evidence = next((reading_of_base["evidence"] for view in views if (reading_of_base := reading_of(self.envelopes, view.reader, bases[0]))), None)
        return {
            "status": "unknown" if unread else "ok",
            "words": "; ".join(dict.fromkeys(unread)),
            "rows": rows,
            "lost": {},
            "evidence": evidence,
            "unparsed": False,
        }

    def _not_asked(self, bases: t.Sequence[str], views: t.Sequence[View]) -> str:
        """Why what a reading is made of is none that a reader has, such as where its tool is not installed; empty where it has it."""
        readings = [reading_of(self.envelopes, view.reader, base) for base in bases for view in views]
        return next((reading["words"] for reading in readings if reading is not None and reading["status"] == "not_applicable"), "")

    def _perhaps_there(self, table: str, name: str, ports: t.Mapping[str, FabricPort]) -> list[str]:
        """Views that were not read, where a planned port is in none of those that were."""
        if all(cable.seen_from(name)[0].port in ports for cable in self.plan.at[name]):
            return []
        return [words for view in self.views if (words := self._unread(table, view))]
