# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draft an inventory: the documentation is in plugins/modules/draft.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.access import DECIDED, KEPT, access_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.differences import Difference, differences_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.draft import Draft, draft_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.inventory_files import inventory_files, reasons_of_blanks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.outliers import CLASS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.planned import VARIABLES, planned_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.proposals import ALL
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.rails_by_port import WORD, in_words
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import ROLES
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.counting import counted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.folded_reasons import fold_reasons
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.shortened import shortened
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.inventory_writer import write_changed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.node_survey import unreported_words
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.unplanned_node import outside_roles, unknown_expectations

SILENT = 12


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller."""

    _supports_diff = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "into": {"type": "path", "required": True},
        "name": {"type": "str", "required": True},
        "fabric": {"type": "str", "choices": ["roce", "infiniband"], "required": True},
        "accept": {"type": "list", "elements": "str", "default": []},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Draft from what all nodes reported; write only what is another text than before."""
        groups = {str(name): [str(host) for host in hosts] for name, hosts in task_vars["groups"].items()}
        roles = {node: role for group, role in ROLES.items() for node in groups.get(group, ())}
        if "host" not in roles.values():
            raise AnsibleActionFail("; ".join(["the inventory group gpu_hosts has no host", *outside_roles(groups)]))
        readings_of, silent = _surveyed(roles, task_vars)
        if unknown := unknown_expectations(roles, task_vars):
            raise AnsibleActionFail("; ".join(unknown))
        gate_groups = _gate_groups(groups)
        draft = draft_pod(roles, readings_of, given["fabric"], given["accept"])
        draft.blanks[:0] = silent
        differences = _differences(draft, roles, readings_of, task_vars)
        access = access_of(roles, _variables(roles, (*KEPT, *DECIDED), task_vars))
        texts = inventory_files(draft, gate_groups, given["name"], access, given["accept"])
        changed = write_changed(Path(given["into"]).expanduser(), texts, self._task.check_mode)
        done = "found; nothing is written" if self._task.check_mode else f"drafted into {given['into']}"
        show(f"\n{len(draft.cables)} cables, {len(draft.switches)} switches and {len(draft.rails)} hosts {done}")
        for outlier in draft.outliers:
            show(f"{'odd, and not proposed' if outlier.what == CLASS else 'out of the plan'}: {outlier.place}: {outlier.words}")
        for one in draft.proposals if ALL not in given["accept"] else ():
            if one.name not in (*given["accept"], *access.decided):
                show(f"proposed, not adopted: {one.name}: {one.value} ({one.read})")
        for words in draft.undecided:
            show(f"not proposed: {words}")
        if draft.unreported and not {ALL, WORD} & set(given["accept"]):
            show(f"proposed, not adopted: {in_words(draft.unreported)}")
        for words in fold_reasons(silent, roles)[:SILENT]:
            show(f"not reported: {words}")
        for name in draft.unmatched:
            show(f"not accepted: {name}, since nothing of this name is proposed or out of the plan")
        reasons = reasons_of_blanks(draft, gate_groups, access.decided)
        if reasons and not self._task.check_mode:
            show(f"blanks in the draft: {counted(len(reasons), 'reason')} at the end of {Path(given['into']) / 'group_vars/all/pod.yml'}")
        return {
            "changed": bool(changed),
            "diff": changed,
            "cables": len(draft.cables),
            "blanks": draft.blanks,
            "proposals": {one.name: one.value for one in draft.proposals},
            "differences": [one._asdict() for one in differences],
            "files": sorted(str(Path(given["into"]) / name) for name in texts),
        }


def _surveyed(roles: dict[str, str], task_vars: dict[str, t.Any]) -> tuple[dict[str, dict[str, t.Any]], list[str]]:
    """What each node reported, and the words of what was not."""
    readings_of: dict[str, dict[str, t.Any]] = {}
    missing_of: dict[str, dict[str, str]] = {}
    for node in roles:
        survey = task_vars["hostvars"][node].get("pyramid_survey")
        if not isinstance(survey, dict) or "reported" not in survey or survey["silent"]:
            found = survey or {}
            words = shortened(" ".join(str(found.get("silent") or found.get("msg", "never asked")).split()), 200)
            missing_of[node] = {"": f"did not answer: {words}"}
            continue
        readings_of[node] = survey["reported"]
        missing_of[node] = survey["unreported"]
    return readings_of, unreported_words(missing_of)


def _variables(roles: dict[str, str], names: t.Iterable[str], task_vars: dict[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    """What the inventory has of some variables, by node."""
    known = task_vars["hostvars"]
    return {node: {key: known[node][key] for key in names if known[node].get(key) is not None} for node in roles}


def _differences(draft: Draft, roles: dict[str, str], readings_of: dict[str, dict[str, t.Any]], task_vars: dict[str, t.Any]) -> list[Difference]:
    """Say where the pod differs from the inventory's own plan, where that has one."""
    directory = task_vars["hostvars"][next(iter(roles))].get("inventory_dir")
    if not directory:
        return []
    planned, wrong = planned_of(Path(str(directory)), roles, _variables(roles, VARIABLES, task_vars))
    for words in wrong:
        show(f"not compared with the plan: {words}")
    if planned is None or not planned.cables:
        return []
    found = differences_of(planned, draft.heard, readings_of, roles)
    for one in found:
        show(f"{'differs from the plan' if one.seen else 'not seen as planned'}: {one.where}: planned {one.planned}, found {one.found}")
    if not found:
        show(f"as planned in {directory}: {len(planned.cables)} cables, {len(planned.addresses)} addresses, {len(planned.asns)} AS numbers")
    return found


def _gate_groups(groups: dict[str, list[str]]) -> dict[str, list[str]]:
    """The groups of the inventory that divide the GPU hosts among them; none where they do not."""
    hosts = set(groups.get("gpu_hosts", ()))
    parts = {name: own for name, own in groups.items() if own and set(own) < hosts}
    whole = {name: own for name, own in groups.items() if set(own) == hosts and name not in ("all", "gpu_hosts")}
    within = parts or whole
    return within if sorted(host for own in within.values() for host in own) == sorted(hosts) else {}
