# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluate the history of a pod: the documentation is in plugins/modules/history.py."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history import of_node_check
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.export import export_parquet, export_postgresql
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.findings import Findings, findings_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.risk import Risk, any_bad, to_validate
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import Bounds
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.history_page import render_history_page, render_history_text
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.history_textfile import render_history_textfile
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused, RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import publish_file, write_private
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import pod_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.counting import counted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.history import history_file

Values = dict[str, t.Any]
JOURNALS = ("journal.1.jsonl", "journal.jsonl")


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller."""

    ARGUMENTS: t.ClassVar[Values] = {
        "journals": {"type": "path"},
        "nodes": {"type": "list", "elements": "str", "default": []},
        "count": {"type": "int", "default": 0},
        "accepted_risk": {"type": "float"},
        "proof": {"type": "list", "elements": "str", "choices": list(LAYERS), "default": []},
        "use_hours": {"type": "dict", "default": {}},
        "page": {"type": "path"},
        "parquet": {"type": "path"},
        "postgresql": {"type": "str"},
    }
    BOUNDS: t.ClassVar[dict[str, Bounds]] = {"count": Bounds(minimum=0), "accepted_risk": Bounds(above=0, maximum=1)}

    def act(self, given: Values, task_vars: Values) -> Values:
        """Take in the hosts' journals, evaluate, print, and write what was asked for."""
        try:
            pod = pod_of(task_vars, self._loader.get_basedir())
            return self._evaluated(pod.plan, pod.values, given)
        except Refused as refused:
            raise AnsibleActionFail("; ".join(refused.reasons)) from None
        except RunError as error:
            raise AnsibleActionFail(str(error)) from None

    def _evaluated(self, plan: t.Any, values: Values, given: Values) -> Values:
        path = history_file(values["pod_history"])
        if path is None:
            raise AnsibleActionFail("argument 'pod_history' must name the file of the pod's history, not ''")
        hosts = [name for name, node in plan.nodes.items() if node.kind == "host"]
        unknown = sorted(set(given["nodes"]) - set(hosts))
        if unknown:
            raise AnsibleActionFail(f"argument 'nodes': {', '.join(unknown)} is no GPU host of the pod")
        now = time.time()
        with History(path) as history:
            refused = _take_in(history, values["pod_name"], hosts, Path(given["journals"]), now) if given["journals"] else {}
            hours = {str(name): float(number) for name, number in given["use_hours"].items()}
            found = findings_of(history, values["pod_name"], now, values["pod_history_days"], given["nodes"] or hosts, given["proof"] or None, hours)
            if given["parquet"]:
                export_parquet(history, Path(given["parquet"]))
            if given["postgresql"]:
                show(f"PostgreSQL: {counted(export_postgresql(history, given['postgresql']), 'record')} added\n")
        following = _following(found, given)
        show("\n" + render_history_text(found, following))
        for node, words in refused.items():
            show(f"WARNING: the journal of {node} was not taken in whole: {words}\n")
        return {**_written(found, values, given), **_result(found, following), "refused_journals": refused}


def _take_in(history: History, pod: str, hosts: t.Iterable[str], place: Path, now: float) -> dict[str, str]:
    """Add what hosts noted of their own checks; why not, by host."""
    refused = {}
    for host in hosts:
        for name in JOURNALS:
            path = place / host / name
            try:
                text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
                for entry in of_node_check.entries_of_journal(pod, host, text, now):
                    history.add(entry)
            except of_node_check.Refused as words:
                refused[host] = f"{name}: {words}"
    return refused


def _following(found: Findings, given: Values) -> list[Risk]:
    """The nodes to validate next: so many, or as few as leave an accepted risk."""
    if given["accepted_risk"] is not None:
        return to_validate(found.risks, given["accepted_risk"])
    return found.risks[: given["count"]]


def _written(found: Findings, values: Values, given: Values) -> Values:
    """Write page and metrics; their paths."""
    page = Path(given["page"]) if given["page"] else Path(values["pod_runs_dir"]).expanduser().absolute() / values["pod_name"] / "history.html"
    write_private(page, render_history_page(found))
    metrics = page.with_suffix(".prom")
    write_private(metrics, render_history_textfile(found))
    if values["pod_textfile_dir"]:
        publish_file(metrics, Path(values["pod_textfile_dir"]).expanduser() / f"gpufabric_pyramid_history_{found.pod}.prom")
    show(f"page: {page}\n")
    return {"page": str(page), "metrics": str(metrics)}


def _result(found: Findings, following: t.Sequence[Risk]) -> Values:
    return {
        "next": [one.node for one in following],
        "risks": {one.node: round(one.probability, 6) for one in found.risks},
        "any_bad": round(any_bad(found.risks), 6),
        "offenders": [one.node for one in found.offenders],
        "bad": sorted(one.node for one in found.nodes.values() if one.bad),
    }
