# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Give the verdict: the documentation is in plugins/modules/verdict.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible import constants as C
from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import ledger, remediation
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import Once, RunAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import table


class ActionModule(Once, RunAction):
    """Runs once for the whole play, on the controller."""

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """End the run, print its table, and hand its verdict to whoever started it."""
        book = ledger.Ledger(run)
        plan, state = book.plan(), book.state()
        state.finished = True
        book.keep_state(state)
        report = book.report(plan, state, page=True)
        if "gpufabric.pyramid.pyramid" not in (C.CALLBACKS_ENABLED or ()):
            # The callback prints it last of all; without it, here is the last place.
            Display().display(f"\n{table.render(report)}\nreport: {run / 'report.html'} (also report.md, report.json, report.xml)\n")
        baseline = self._captured(book, plan, state, report["verdict"], task_vars)
        told = {
            "pyramid_verdict": report["verdict"],
            "pyramid_up_to_layer": report["up_to_layer"],
            "pyramid_closed_gates": {layer["layer"]: closed for layer in report["layers"] if (closed := _closed(layer))},
            "pyramid_report": str(run / "report.json"),
            "pyramid_baseline": baseline,
        }
        # A workflow hands it to remediate.yml, which takes it as the hosts to repair.
        stats = {**told, **({"remediate_hosts": ",".join(hosts)} if (hosts := remediation.remediable(report)) else {})}
        return {**told, "ansible_stats": {"data": stats, "per_host": False, "aggregate": False}}

    def _captured(self, book: ledger.Ledger, plan: t.Any, state: t.Any, verdict: str, task_vars: dict[str, t.Any]) -> str:
        """The path of the baseline that this run became; empty where it became none."""
        values = next(iter(plan.nodes.values())).values
        if values["pod_baseline"] != "capture":
            return ""
        if verdict != "go":
            Display().display(f"no baseline is captured: the verdict is {verdict}, and only a go is a reference")
            return ""
        path = Path(str(task_vars.get("inventory_dir") or self._loader.get_basedir())) / values["pod_baseline_file"]
        path.write_text(book.captured(plan, state), encoding="utf-8")
        return str(path)


def _closed(layer: dict[str, t.Any]) -> list[str]:
    return [group for group, gate in layer["groups"].items() if gate["gate"] == "closed"]
