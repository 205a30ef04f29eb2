# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Discovery of a simulated pod in process: its nodes asked by nothing but their addresses and platforms, and the draft as files."""

from __future__ import annotations

import typing as t
from pathlib import Path
from types import MappingProxyType

from ...plugins.plugin_utils.collect.queries import queries_for
from ...plugins.plugin_utils.collect.responses import reading_result
from ...plugins.plugin_utils.discovery.access import KEPT, access_of
from ...plugins.plugin_utils.discovery.draft import Draft, draft_pod
from ...plugins.plugin_utils.discovery.inventory_files import inventory_files
from ...plugins.plugin_utils.pod.plan import Plan
from ...plugins.plugin_utils.run.planned_pod import ROLES
from ...plugins.plugin_utils.workflow.node_survey import Reported, survey_node
from ...plugins.plugin_utils.workflow.unplanned_node import UnplannedNode
from . import answers
from .inprocess import answered
from .model import Pod

GROUP = {role: group for group, role in ROLES.items()}
SYSTEMS = {"eos": "arista.eos.eos"}


def access_to(plan: Plan) -> dict[str, dict[str, t.Any]]:
    """What a list of addresses and logins has of each node: of a switch its platform."""
    systems = {name: SYSTEMS.get(node.platform) for name, node in plan.nodes.items() if node.kind == "switch" and node.platform != "infiniband"}
    return {name: {"ansible_network_os": system} if system else {"pod_platform": plan.nodes[name].platform} for name, system in systems.items()}


def survey(pod: Pod, plan: Plan, fabric: str) -> tuple[dict[str, t.Any], dict[str, dict[str, str]]]:
    """By node, what it reported, and what it did not; an InfiniBand switch is not asked."""
    variables = access_to(plan)
    groups = {group: [name for name, node in plan.nodes.items() if node.role == role] for role, group in GROUP.items()}
    reported, missing = {}, {}
    for name in [name for name, node in plan.nodes.items() if node.platform != "infiniband"]:
        given = {"inventory_hostname": name, "groups": groups, **variables.get(name, {})}
        unplanned = UnplannedNode.of(given, lambda value: value, pod_fabric=fabric)
        reported[name], missing[name] = survey_node(unplanned, fabric, _asking(pod, plan, name))
    return reported, missing


def _asking(pod: Pod, plan: Plan, name: str) -> t.Callable[[dict[str, t.Any], t.Sequence[str]], Reported]:
    def ask(node: dict[str, t.Any], names: t.Sequence[str]) -> Reported:
        asks, _apart = queries_for(names, node)
        replies = {}
        for one in asks:
            printed = answers.of_queries(pod, plan, name, [one])
            replies[one.reading.name] = reading_result(one, node["platform"], answered(pod, name, one, printed, "preflight", "now"))
        known = {reading: reply.rows for reading, reply in replies.items() if reply.status == "ok"}
        return known, {reading: reply.words for reading, reply in replies.items() if reply.status != "ok"}

    return ask


def discover(
    pod: Pod, plan: Plan, into: Path, fabric: str, accepted: t.Sequence[str] = (), decided: t.Mapping[str, t.Any] = MappingProxyType({})
) -> Draft:  # fmt: skip
    """Write the draft of a pod into a directory.

    Gate groups are as the inventory of addresses has them; decided: expectations that it has besides.
    """
    roles = {name: node.role for name, node in plan.nodes.items() if node.platform != "infiniband"}
    reported, _missing = survey(pod, plan, fabric)
    draft = draft_pod(roles, reported, fabric, accepted)
    variables = access_to(plan)
    access = access_of(roles, {name: {**{key: value for key, value in variables.get(name, {}).items() if key in KEPT}, **decided} for name in roles})
    for name, text in inventory_files(draft, plan.groups, "drafted", access, accepted).items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(text, encoding="utf-8")
    return draft
