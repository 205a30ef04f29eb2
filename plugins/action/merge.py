# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge slices of a pod: the documentation is in plugins/modules/merge.py."""

from __future__ import annotations

import os
import typing as t
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from ansible.errors import AnsibleActionFail
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import Bounds
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.merged_page import render_merged_page
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import json_text, private_directory, utc_now, write_private_files
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import NAME
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.run_directory import new_directory
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import collection_version
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.control_characters import printable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.folded_reasons import fold_reasons
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import OnController, PyramidAction
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.kept_slice import Slice
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.lean_slices import read_slices
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.merge import (
    Merged,
    headline,
    merge_sliced,
    merge_slices,
    merged_junit,
    merged_markdown,
    merged_summary,
    render_merged,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.publishing import PublishError, Target, link_between, publish_target
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.sliced import read_sliced

# What a merge writes and publishes; people open the first one.
FILES = ("merge.html", "merge.md", "merge.json", "merge.xml")


class ActionModule(OnController, PyramidAction):
    """Runs on the controller and contacts no node."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "runs": {"type": "list", "elements": "path"},
        "plan": {"type": "path"},
        "max_age_minutes": {"type": "int", "default": 1440},
        "recheck": {"type": "bool", "default": False},
        "report_dir": {"type": "path", "default": "merged"},
        "publish": {"type": "str", "default": ""},
        "publish_link": {"type": "str", "default": ""},
        "publish_endpoint": {"type": "str", "default": ""},
    }
    RULES: t.ClassVar[dict[str, t.Any]] = {"required_one_of": [("runs", "plan")], "mutually_exclusive": [("runs", "plan")]}
    # A week, as for a gate that is resumed.
    BOUNDS: t.ClassVar[dict[str, Bounds]] = {"max_age_minutes": Bounds(minimum=1, maximum=10080)}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read every slice, give one verdict and write it; fails on a no-go, and where a slice cannot be read: it is not a slice that is well."""
        if given["plan"] is None and not given["runs"]:
            raise AnsibleActionFail("argument 'runs' must name the run directories of all slices, not []")
        settings = (datetime.now(UTC), given["max_age_minutes"], collection_version(), given["recheck"])
        try:
            if given["plan"] is not None:
                planned = read_sliced(Path(given["plan"]), given["recheck"])
                found, pod, source = list(planned.runs().values()), planned.plan.pod, given["plan"]
                merged = merge_sliced(planned, *settings)
            else:
                found = read_slices(map(Path, given["runs"]), given["recheck"])
                pod, source = found[0].report["pod"], found[0].run / "report.json"
                merged = merge_slices(found, *settings)
            if not NAME.fullmatch(pod):
                raise RunError(f"{source}: field pod must be letters, digits and '_.-', not {pod[:60]!r}")
            # A wrong address is refused before anything is written.
            _target(given, Path(given["report_dir"]) / pod)
            place, publish_to = self._written(given, pod, merged, found)
        except PublishError as error:
            raise AnsibleActionFail(str(error)) from None
        except RunError as error:
            raise AnsibleActionFail(f"argument '{'runs' if given['plan'] is None else 'plan'}': the slices cannot be merged: {error}") from None
        show("\n" + "\n".join(printable(line) for line in render_merged(pod, merged).splitlines()) + f"\nreport: {place / FILES[0]}\n")
        result_values = {
            "pyramid_verdict": merged.verdict,
            "pyramid_reasons": merged.reasons,
            "pyramid_up_to_layer": merged.up_to_layer,
            "pyramid_stands_on": merged.stands_on,
            "pyramid_closed_gates": merged.closed(),
            "pyramid_report": str(place / "merge.json"),
        }
        stats = {**result_values, "pyramid_summary": merged_summary(pod, merged, publish_to.url if publish_to else "")}
        why = "; ".join(fold_reasons(merged.reasons, merged.gates)[:5])
        failed = {"failed": True, "msg": f"NO-GO for {pod}: {why}"} if merged.verdict == "no_go" else {}
        shown = {"merged": asdict(merged), "publish_to": publish_to.dump() if publish_to else {}}
        return {**result_values, **shown, "ansible_stats": {"data": stats, "per_host": False, "aggregate": False}, **failed}

    def _written(self, given: dict[str, t.Any], pod: str, merged: Merged, found: list[Slice]) -> tuple[Path, Target | None]:
        """Write the files of this merge in a directory of its own; returns it, and what is to be published of it.

        Raises RunError where it cannot be written.
        """
        directory = Path(given["report_dir"]) / pod
        time = utc_now()
        record = merged.record(pod, time, collection_version(), found)
        texts = {"merge.json": json_text(record), "merge.md": merged_markdown(record, merged), "merge.xml": merged_junit(pod, merged)}
        reports = {str(one.run): one.report for one in found}
        try:
            private_directory(directory := directory.expanduser().resolve())
            place = new_directory(directory)
            publish_to = _target(given, place)
            kept = {str(one.run): quote(os.path.relpath(one.run / "report.html", place)) for one in found}
            files = {place / name: text for name, text in texts.items()}
            files[place / FILES[0]] = render_merged_page(record, headline(pod, merged), merged.conditions, reports, kept)
            if publish_to:
                # A published page is not beside the runs' directories but beside their published pages.
                published = {str(one.run): _published_link(one, publish_to.url) for one in found}
                files |= {Path(publish_to.source) / name: text for name, text in texts.items()}
                files[Path(publish_to.source) / FILES[0]] = render_merged_page(record, headline(pod, merged), merged.conditions, reports, published)
            write_private_files(files)
        except OSError as error:
            raise RunError(f"{error.filename or directory} cannot be written: {error}") from None
        return place, publish_to


def _target(given: dict[str, t.Any], place: Path) -> Target | None:
    """Where the report of the merge in ``place`` is published.

    Raises PublishError where that is no place.
    """
    found = publish_target(given["publish"], given["publish_link"], given["publish_endpoint"], place, FILES)
    return replace(found, source=str(place / "published")) if found else None


def _published_link(one: Slice, page: str) -> str:
    """The published page of a run as a published page links it; empty where the run is not published."""
    values = next(iter(one.plan.nodes.values())).values
    try:
        found = publish_target(values["pod_publish"], values["pod_publish_link"], values["pod_publish_endpoint"], one.run)
    except PublishError:
        return ""
    return link_between(found.url, page) if found else ""
