# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draft an inventory: the documentation is in plugins/modules/draft.py."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.access import KEPT, access_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.draft import draft_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.inventory_files import inventory_files
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import write_private
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory_check import ROLES
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

# Times and process ids, which are others in every run.
PASSING = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)? ?|\[\d+\] ?")


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
            raise AnsibleActionFail("the inventory group gpu_hosts has no host")
        readings_of, silent = _surveyed(roles, task_vars)
        draft = draft_pod(roles, readings_of, given["fabric"], given["accept"])
        draft.blanks[:0] = silent
        texts = inventory_files(draft, _gate_groups(groups), given["name"], access_of(roles, _variables(roles, task_vars)), given["accept"])
        changed = self._write(Path(given["into"]).expanduser(), texts)
        show(f"\n{len(draft.cables)} cables, {len(draft.switches)} switches and {len(draft.rails)} hosts drafted into {given['into']}")
        for outlier in draft.outliers:
            show(f"out of the plan: {outlier.place}: {outlier.words}")
        for one in draft.proposals if "all" not in given["accept"] else ():
            if one.name not in given["accept"]:
                show(f"proposed, not adopted: {one.name}: {one.value} ({one.read})")
        return {
            "changed": bool(changed),
            "diff": changed,
            "cables": len(draft.cables),
            "blanks": draft.blanks,
            "proposals": {one.name: one.value for one in draft.proposals},
            "files": sorted(str(Path(given["into"]) / name) for name in texts),
        }

    def _write(self, into: Path, texts: dict[str, str]) -> list[dict[str, str]]:
        changed = []
        for name, text in texts.items():
            path = into / name
            old = path.read_text(encoding="utf-8") if path.is_file() else ""
            if old != text:
                changed.append({"before": old, "after": text, "before_header": str(path), "after_header": str(path)})
                if not self._task.check_mode:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_private(path, text)
        return changed


def _surveyed(roles: dict[str, str], task_vars: dict[str, t.Any]) -> tuple[dict[str, dict[str, t.Any]], list[str]]:
    """What each node reported, and the words of what was not."""
    readings_of, silent = {}, []
    for node in roles:
        survey = task_vars["hostvars"][node].get("pyramid_survey")
        if not isinstance(survey, dict) or "reported" not in survey:
            words = " ".join(str((survey or {}).get("msg", "never asked")).split())[:200]
            silent.append(f"{node}: did not answer: {words}")
            continue
        readings_of[node] = survey["reported"]
        silent += [f"{node}: {PASSING.sub('', words)}" for _reading, words in sorted(survey["unreported"].items())]
    return readings_of, silent


def _variables(roles: dict[str, str], task_vars: dict[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    """How the inventory reaches each node."""
    known = task_vars["hostvars"]
    return {node: {key: known[node][key] for key in KEPT if known[node].get(key) is not None} for node in roles}


def _gate_groups(groups: dict[str, list[str]]) -> dict[str, list[str]]:
    """The groups of the inventory that divide the GPU hosts among them; none where they do not."""
    hosts = set(groups.get("gpu_hosts", ()))
    parts = {name: own for name, own in groups.items() if own and set(own) < hosts}
    whole = {name: own for name, own in groups.items() if set(own) == hosts and name not in ("all", "gpu_hosts")}
    within = parts or whole
    return within if sorted(host for own in within.values() for host in own) == sorted(hosts) else {}
