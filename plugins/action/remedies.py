# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell what a run found to repair: the documentation is in plugins/modules/remedies.py."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import by_hand, drift, ledger, remediation
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import Once, RunAction

NO_STACK = {"managers": {}, "boot_loader": None}


class ActionModule(Once, RunAction):
    """Runs once for the whole play, on the controller."""

    def act_in(self, run: Path, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """End the run, print each host's drift and what is left to do by hand, and say what to repair."""
        book = ledger.Ledger(run)
        plan, state = book.plan(), book.state()
        state.finished = True
        book.keep_state(state)
        report = book.report(plan, state)
        told = book.answers("preflight", "now")
        hosts = {}
        for host in state.focus.nodes if state.focus else ():
            place = plan.nodes[host]
            if place.role != "host":
                continue
            found = remediation.found(report, host, place.group or "", remediation.far_ends(plan, host))
            stack = (task_vars.get("hostvars", {}).get(host) or {}).get("pyramid_stack") or NO_STACK
            rows = drift.settings(place.values, _readings(told.get(host, {})))
            hosts[host] = {**found.dump(), "by_hand": by_hand.fixes(report, host, place.values, stack), "report": str(run / "report.json")}
            _show(host, found, rows, hosts[host]["by_hand"])
        stats = {
            "pyramid_proved": [host for host, said in hosts.items() if said["proved"]],
            "pyramid_not_proved": {host: said["left"] + said["remedies"] for host, said in hosts.items() if not said["proved"]},
            "pyramid_report": str(run / "report.json"),
        }
        return {"hosts": hosts, "ansible_stats": {"data": stats, "per_host": False, "aggregate": False}}


def _readings(envelope: dict[str, t.Any]) -> dict[str, drift.Rows]:
    return {name: said["rows"] for name, said in envelope.get("readings", {}).items() if said["status"] == "ok"}


def _show(host: str, found: remediation.Found, rows: list[drift.Setting], fixes: list[str]) -> None:
    lines = [f"{host}: {'proved' if found.proved else 'not proved'}", *(f"    {line}" for line in drift.table(rows).splitlines())]
    lines += [f"  remedies: {', '.join(found.remedies)}"] if found.remedies else []
    lines += ["  left to a person:", *(f"    {line}" for line in found.left)] if found.left else []
    lines += [f"  {line}" for fix in fixes for line in fix.splitlines()]
    Display().display("\n" + "\n".join(lines) + "\n")
