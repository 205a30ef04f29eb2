# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host is judged by: the part of the pod's plan that is about it, as a file on the host."""

from __future__ import annotations

import hashlib
import json
import typing as t
from dataclasses import dataclass

from ..evaluate.waivers import Waiver, waivers
from ..pod.cabling import Cable
from ..pod.plan import Node, Plan

FORMAT = 2


class Refused(Exception):
    """The plan cannot be used on this host; its text is the whole message."""


@dataclass(frozen=True)
class NodePlan:
    """The plan of one host.

    node: its name in the inventory; pod: ``pod_name``; version: of the collection that wrote it; digest: of all that it says, SHA-256;
    plan: the host alone in its gate group, and its cables with the switches that they lead to; usual_driver: the form of driver of most rails of
    its gate group, empty where it is not known: only this one excuses what it cannot report; drain_max: how many hosts of the pod may be
    drained by their own checks at once.
    """

    node: str
    pod: str
    version: str
    digest: str
    plan: Plan
    waivers: tuple[Waiver, ...]
    usual_driver: str
    drain_max: int

    @property
    def values(self) -> dict[str, t.Any]:
        """The host's expectations."""
        return self.plan.nodes[self.node].values


def node_plan_text(plan: Plan, node: str, machine_id: str, version: str, accepted: t.Iterable[Waiver], usual_driver: str) -> str:
    """The file for a host of a pod; machine_id: of its ``/etc/machine-id``, so that no other host takes the file for its own."""
    place = plan.nodes[node]
    ends = dict.fromkeys(cable.seen_from(node)[1].node for cable in plan.at[node])
    document: dict[str, t.Any] = {
        "format": FORMAT,
        "node": node,
        "pod": place.values["pod_name"],
        "machine_id": machine_id,
        "version": version,
        "host": [place.role, place.platform, place.group, place.values],
        "usual_driver": usual_driver,
        "far_ends": {name: [plan.nodes[name].role, plan.nodes[name].platform] for name in ends},
        "cables": [cable.cells for cable in plan.at[node]],
        "waivers": [{**vars(one), "until": one.until.isoformat()} for one in accepted if one.host == node],
        "drain_max": drain_max(sum(one.kind == "host" for one in plan.nodes.values()), place.values["pod_drain_max_percent"]),
    }
    return json.dumps({**document, "digest": _digest(document)}, sort_keys=True, indent=1) + "\n"


def drain_max(hosts: int, percent: float) -> int:
    """How many of a pod's hosts may be drained at once: a share of them, but one at least."""
    return max(1, int(hosts * percent / 100))


def load_node_plan(text: str, machine_id: str) -> NodePlan:
    """The plan that a file holds.

    Raises Refused where it is damaged, of another form or of another host.
    """
    try:
        document = json.loads(text)
        digest = document.pop("digest")
        if document["format"] != FORMAT:
            raise Refused(f"the plan has format {document['format']}, and this program reads {FORMAT}: install both again")
        if digest != _digest(document):
            raise Refused("the plan was changed since it was written: its digest does not fit; install it again")
        if document["machine_id"] != machine_id:
            raise Refused(f"the plan is of {document['node']} with machine id {document['machine_id']}, and this host has {machine_id or 'none'}")
        role, platform, group, values = document["host"]
        nodes = {document["node"]: Node(document["node"], role, platform, group, values)}
        nodes.update({name: Node(name, place[0], place[1], None, {}) for name, place in document["far_ends"].items()})
        plan = Plan(nodes, {group: [document["node"]]}, [Cable.of_cells(cells) for cells in document["cables"]])
        return NodePlan(
            document["node"], document["pod"], document["version"], digest, plan, tuple(waivers(document["waivers"])), document["usual_driver"],
            int(document["drain_max"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"the plan cannot be read: {type(error).__name__}: {error}") from None


def _digest(document: dict[str, t.Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
