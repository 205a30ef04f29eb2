# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draft an inventory: the documentation is in plugins/modules/draft.py."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import drafting, drafts, runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import Action, Once
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.opening import ROLES

# Times and process ids, which are others in every run.
PASSING = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)? ?|\[\d+\] ?")


class ActionModule(Once, Action):
    """Runs once for the whole play, on the controller."""

    _supports_diff = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "into": {"type": "path", "required": True},
        "name": {"type": "str", "required": True},
        "fabric": {"type": "str", "choices": ["roce", "infiniband"], "required": True},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Draft from what all nodes told; write only what is another text than before."""
        groups = {str(name): [str(host) for host in hosts] for name, hosts in task_vars["groups"].items()}
        roles = {node: role for group, role in ROLES.items() for node in groups.get(group, ())}
        if "host" not in roles.values():
            raise AnsibleActionFail("the inventory group gpu_hosts has no host")
        said, silent = _said(roles, task_vars)
        draft = drafting.draft(roles, said, given["fabric"])
        draft.blanks[:0] = silent
        texts = drafts.files(draft, _gate_groups(groups), given["name"])
        changed = self._write(Path(given["into"]).expanduser(), texts)
        Display().display(f"\n{len(draft.cables)} cables, {len(draft.switches)} switches and {len(draft.rails)} hosts drafted into {given['into']}")
        return {
            "changed": bool(changed),
            "diff": changed,
            "cables": len(draft.cables),
            "blanks": draft.blanks,
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
                    runs.write(path, text)
        return changed


def _said(roles: dict[str, str], task_vars: dict[str, t.Any]) -> tuple[dict[str, dict[str, t.Any]], list[str]]:
    """What each node told, and the words of what was not."""
    said, silent = {}, []
    for node in roles:
        survey = task_vars["hostvars"][node].get("pyramid_survey")
        if not isinstance(survey, dict) or "told" not in survey:
            words = " ".join(str((survey or {}).get("msg", "never asked")).split())[:200]
            silent.append(f"{node}: did not answer: {words}")
            continue
        said[node] = survey["told"]
        silent += [f"{node}: {PASSING.sub('', words)}" for _reading, words in sorted(survey["untold"].items())]
    return said, silent


def _gate_groups(groups: dict[str, list[str]]) -> dict[str, list[str]]:
    """The groups of the inventory that divide the GPU hosts among them; none where they do not."""
    hosts = set(groups.get("gpu_hosts", ()))
    parts = {name: own for name, own in groups.items() if own and set(own) < hosts}
    whole = {name: own for name, own in groups.items() if set(own) == hosts and name not in ("all", "gpu_hosts")}
    within = parts or whole
    return within if sorted(host for own in within.values() for host in own) == sorted(hosts) else {}
