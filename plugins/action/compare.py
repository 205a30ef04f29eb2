# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare two runs: the documentation is in plugins/modules/compare.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import baselines, ledger, runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import Action, Controller
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import comparison, document


class ActionModule(Controller, Action):
    """Runs on the controller and contacts no node."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {name: {"type": "path", "required": True} for name in ("old", "new")}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read both runs, print what differs."""
        old, new = (_report(name, Path(given[name])) for name in ("old", "new"))
        if old["pod"] != new["pod"]:
            raise AnsibleActionFail(f"argument 'new' must be a run of the pod {old['pod']!r}, not of {new['pod']!r}")
        told = comparison.compare(old, new, _numbers(Path(given["old"]), Path(given["new"])))
        text = comparison.render(old, new, told)
        Display().display(f"\n{text}")
        return {"text": text, "first_layer": told.first, "worse": len(told.worse), "unjudged": len(told.unjudged)}


def _report(name: str, run: Path) -> dict[str, t.Any]:
    try:
        return document.load(run)
    except runs.RunError as error:
        raise AnsibleActionFail(f"argument '{name}' must be a run's directory: {error}") from None


def _numbers(old: Path, new: Path) -> list[t.Any]:
    """The newer run's numbers that are worse than the older's."""
    before, now = (ledger.Ledger(run) for run in (old, new))
    reference = baselines.load(before.captured(before.plan(), before.state()), before.state().pod)
    numbers, software = now.numbers(now.plan(), now.state())
    return list(baselines.compare(reference, numbers, software).findings)
