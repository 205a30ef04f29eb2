# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run's report in every format, written to its directory, and the metrics that node_exporter reads."""

from __future__ import annotations

from pathlib import Path

from ..pod.plan import Plan
from ..reports.document import build_report, load_report
from ..reports.documentation import CheckLinks
from ..reports.html import render_html, shown_readings
from ..reports.junit import render_junit
from ..reports.markdown import render_markdown
from ..reports.measured import beside_before, measured
from ..reports.textfile import render_textfile
from ..run.documents import Measured, Report
from ..run.errors import RunError
from ..run.files import json_text, publish_file, write_private_files
from ..run.reader import RunReader
from ..run.run_directory import latest_run
from ..run.state import State
from ..run.store import RunStore


def write_report(store: RunStore, plan: Plan, state: State, page: bool = False) -> Report:
    """Write report.json and what is rendered from it, at a run's end also the page; returns the report."""
    report = build_report(plan, state, store.verdicts())
    kept = RunReader(store.source(state.replay), plan)
    if page:
        kept.hold(shown_readings())
        numbers = measured(kept)
        report["measured"] = beside_before(numbers, _measured_before(store))
    links = CheckLinks(store.run, next(iter(plan.nodes.values())).values["pod_docs_url"])
    texts = {"report.md": render_markdown(report, links), "report.xml": render_junit(report, links), "report.prom": render_textfile(report)}
    if page:
        texts["report.html"] = render_html(report, plan, kept, links)
    write_private_files({store.run / name: text for name, text in {**texts, "report.json": json_text(report)}.items()})
    _publish_metrics(store, plan, state)
    return report


def _measured_before(store: RunStore) -> dict[str, Measured]:
    """What the newest other run of the pod measured; nothing where there is none, or it is of another version of the report."""
    before = latest_run(store.run.parent, store.run.name)
    try:
        return load_report(before).get("measured", {}) if before is not None else {}
    except RunError:
        return {}


def _publish_metrics(store: RunStore, plan: Plan, state: State) -> None:
    """Give the pod's metrics to node_exporter; a run of a part, of kept evidence or in check mode is not about the pod as it is."""
    directory = next(iter(plan.nodes.values())).values["pod_textfile_dir"]
    if directory and not (state.only or state.replay or state.check_mode):
        publish_file(store.run / "report.prom", Path(directory).expanduser() / f"gpufabric_pyramid_{state.pod}.prom")
