# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare two runs: the documentation is in plugins/modules/compare.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.baselines import compare_with_baseline, load_baseline
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.comparison import FAIL_ON, compare_runs, failing, render_comparison
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.document import load_report
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.reader import RunReader
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.folded_reasons import fold_reasons
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import OnController, PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

MOST = 5


class ActionModule(OnController, PyramidAction):
    """Runs on the controller and contacts no node."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        **{name: {"type": "path", "required": True} for name in ("old", "new")},
        "fail_on": {"type": "str", "choices": list(FAIL_ON), "default": "nothing"},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read both runs, print what differs; fails on what ``fail_on`` names."""
        old, new = (_report(name, Path(given[name])) for name in ("old", "new"))
        if old["pod"] != new["pod"]:
            raise AnsibleActionFail(f"argument 'new' must be a run of the pod {old['pod']!r}, not of {new['pod']!r}")
        comparison = compare_runs(old, new, _numbers(Path(given["old"]), Path(given["new"])))
        text = render_comparison(old, new, comparison)
        show(f"\n{text}")
        reasons = fold_reasons(failing(comparison, new, given["fail_on"]))
        failed = {"failed": True, "msg": f"compared with run {old['run_id']}: {'; '.join(reasons[:MOST])}"} if reasons else {}
        counts = {
            "worse": len(comparison.worse),
            "unjudged": len(comparison.unjudged),
            "new_fails": len(comparison.new_fails),
            "new_unknowns": len(comparison.new_unknowns),
        }
        return {"text": text, "first_layer": comparison.first, **counts, **failed}


def _report(name: str, run: Path) -> dict[str, t.Any]:
    try:
        return load_report(run)
    except RunError as error:
        raise AnsibleActionFail(f"argument '{name}' must be a run's directory: {error}") from None


def _numbers(old: Path, new: Path) -> list[t.Any]:
    """The newer run's numbers that are worse than the older's."""
    before, now = (RunReader(run) for run in (old, new))
    reference = load_baseline(before.captured(before.plan(), before.state()), before.state().pod)
    numbers, software = now.numbers(now.plan(), now.state())
    return list(compare_with_baseline(reference, numbers, software).findings)
