# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report the verdict: the documentation is in plugins/modules/verdict.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.entries import PATROL, RUN
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.findings import remediable_hosts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import culprits
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.markdown import summary
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.table import render_table
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import utc_now
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.lock import release_lock
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow import console
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import WholeRunAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.history import keep_history
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.publishing import publish_target
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report


class ActionModule(WholeRunAction):
    """Runs once for the whole play, on the controller."""

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """End the run, print its table, and hand its verdict to whoever started it."""
        store = RunStore(run)
        plan, state = store.plan(), store.state()
        state.finished, state.ended = True, utc_now()
        store.keep_state(state)
        report = write_report(store, plan, state, page=True)
        if not console.progress_shown:
            # The callback prints it last of all; without it, here is the last place.
            show(f"\n{render_table(report)}\nreport: {run / 'report.html'} (also report.md, report.json, report.xml)\n")
        keep_history(store, plan, state, report, PATROL if task_vars.get("pyramid_patrol") else RUN)
        baseline = self._captured(store, plan, state, report["verdict"], task_vars)
        result_values = {
            "pyramid_verdict": report["verdict"],
            "pyramid_up_to_layer": report["up_to_layer"],
            "pyramid_stands_on": report["stands_on"],
            "pyramid_closed_gates": {layer["layer"]: closed for layer in report["layers"] if (closed := _closed(layer))},
            "pyramid_report": str(run / "report.json"),
            "pyramid_baseline": baseline,
        }
        values = next(iter(plan.nodes.values())).values
        place = publish_target(values["pod_publish"], values["pod_publish_link"], values["pod_publish_endpoint"], run)
        outcome = {
            "pod": report["pod"],
            "reasons": report["reasons"],
            "culprits": culprits.culprits(report, plan.nodes),
            "publish": place.dump() if place else {},
        }
        # A workflow hands it to remediate.yml, which takes it as the hosts to repair.
        hosts = remediable_hosts(report) if report["verdict"] != "not_judged" else []
        stats = {**result_values, "pyramid_summary": summary(report, place.url if place else ""), **({"remediate_hosts": ",".join(hosts)} if hosts else {})}
        release_lock(run)
        return {**result_values, **outcome, "ansible_stats": {"data": stats, "per_host": False, "aggregate": False}}

    def _captured(self, store: RunStore, plan: t.Any, state: t.Any, verdict: str, task_vars: dict[str, t.Any]) -> str:
        """The path of the baseline that this run became; empty where it became none."""
        values = next(iter(plan.nodes.values())).values
        if values["pod_baseline"] != "capture":
            return ""
        if verdict != "go":
            show(f"no baseline is captured: the verdict is {verdict}, and only a go is a reference")
            return ""
        path = Path(str(task_vars.get("inventory_dir") or self._loader.get_basedir())) / values["pod_baseline_file"]
        path.write_text(store.captured(plan, state), encoding="utf-8")
        return str(path)


def _closed(layer: dict[str, t.Any]) -> list[str]:
    return [group for group, gate in layer["groups"].items() if gate["gate"] == "closed"]
