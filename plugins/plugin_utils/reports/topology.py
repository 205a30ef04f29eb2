# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod as a picture: its nodes in rows, super-spines above spines above leaves above hosts, and its cables, each by its worst verdict."""

from __future__ import annotations

import typing as t

from ..evaluate.verdicts import ORDER, place_of
from ..pod.plan import Plan
from ..pod.tiers import SUPER_SPINE, TIERS
from ..run.documents import Report
from .checklist import overall

Document = dict[str, t.Any]
ROWS = tuple(reversed(TIERS))


def topology(report: Report, plan: Plan) -> Document:
    """Nodes as [name, row, place from 0 to 1, verdict, group], and links as [node, node, cables, verdict, ports that are not well]."""
    of_node: dict[str, list[str]] = {}
    of_port: dict[tuple[str, str], str] = {}
    for record in report["verdicts"]:
        if record["host"]:
            of_node.setdefault(record["host"], []).append(record["verdict"])
        for finding in record["findings"]:
            host = finding["host"] or record["host"]
            port = place_of(finding).interface
            if host and port:
                of_port[host, port] = max(of_port.get((host, port), "pass"), finding["severity"], key=ORDER.index)
            if host and not record["host"]:
                of_node.setdefault(host, []).append(finding["severity"])
    nodes: list[list[t.Any]] = []
    present = {node.role for node in plan.nodes.values()}
    for number, role in enumerate(role for role in ROWS if role in present or role != SUPER_SPINE):
        row = [node for node in plan.nodes.values() if node.role == role]
        for place, node in enumerate(row):
            # A node of which nothing is reported is not healthy: it was not reached.
            verdict = overall(of_node[node.name]) if node.name in of_node else "not_reached"
            nodes.append([node.name, number, (place + 0.5) / len(row), verdict, node.group])
    return {"nodes": nodes, "links": list(_links(plan, of_port))}


def _links(plan: Plan, of_port: dict[tuple[str, str], str]) -> t.Iterator[list[t.Any]]:
    # Of a bond's device a finding is on no one of its cables.
    devices = {(rail["host"], rail["netdev"]): rail["device"] for rail in plan.rails()}
    found: dict[tuple[str, str], list[t.Any]] = {}
    for cable in plan.cables:
        link = found.setdefault((cable.a.node, cable.b.node), [cable.a.node, cable.b.node, 0, "pass", []])
        link[2] += 1
        for end in (cable.a, cable.b):
            for port in dict.fromkeys((end.port, devices.get((end.node, end.port), end.port))):
                verdict = of_port.get((end.node, port), "pass")
                link[3] = max(link[3], verdict, key=ORDER.index)
                link[4] += [f"{end.node} {port}"] if verdict != "pass" else []
    yield from found.values()
