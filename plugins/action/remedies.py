# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell what a run found to repair: the documentation is in plugins/modules/remedies.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.drift import Rows, Setting, drift_table, host_settings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.findings import HostFindings, host_findings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.manual_fixes import manual_fixes
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.remediation.partners import far_ends
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import RunAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report

NO_STACK: dict[str, t.Any] = {"managers": {}, "boot_loader": None}


class ActionModule(RunOnce, RunAction):
    """Runs once for the whole play, on the controller."""

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """End the run, print each host's drift and what is left to do by hand, and say what to repair."""
        store = RunStore(run)
        plan, state = store.plan(), store.state()
        state.finished = True
        store.keep_state(state)
        report = write_report(store, plan, state)
        responses = store.answers("preflight", "now")
        hosts = {}
        for host in state.focus.nodes if state.focus else ():
            place = plan.nodes[host]
            if place.role != "host":
                continue
            found = host_findings(report, host, place.group or "", far_ends(plan, host))
            stack = (task_vars.get("hostvars", {}).get(host) or {}).get("pyramid_stack") or NO_STACK
            rows = host_settings(place.values, _readings(responses.get(host, {})))
            hosts[host] = {**found.dump(), "by_hand": manual_fixes(report, host, place.values, stack), "report": str(run / "report.json")}
            _show(host, found, rows, hosts[host]["by_hand"])
        stats = {
            "pyramid_proved": [host for host, outcome in hosts.items() if outcome["proved"]],
            "pyramid_not_proved": {host: outcome["left"] + outcome["remedies"] for host, outcome in hosts.items() if not outcome["proved"]},
            "pyramid_report": str(run / "report.json"),
        }
        return {"hosts": hosts, "ansible_stats": {"data": stats, "per_host": False, "aggregate": False}}


def _readings(envelope: dict[str, t.Any]) -> dict[str, Rows]:
    return {name: outcome["rows"] for name, outcome in envelope.get("readings", {}).items() if outcome["status"] == "ok"}


def _show(host: str, found: HostFindings, rows: list[Setting], fixes: list[str]) -> None:
    lines = [f"{host}: {'proved' if found.proved else 'not proved'}", *(f"    {line}" for line in drift_table(rows).splitlines())]
    lines += [f"  remedies: {', '.join(found.remedies)}"] if found.remedies else []
    lines += ["  left to a person:", *(f"    {line}" for line in found.left)] if found.left else []
    lines += [f"  {line}" for fix in fixes for line in fix.splitlines()]
    show("\n" + "\n".join(lines) + "\n")
