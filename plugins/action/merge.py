# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge slices of a pod: the documentation is in plugins/modules/merge.py."""

from __future__ import annotations

import typing as t
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import merging
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.document import SCHEMA
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.table import printable


class ActionModule(ActionBase):
    """Runs on the controller and contacts no node."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Read every slice's report, give one verdict; fails on a no-go."""
        result = super().run(tmp, task_vars)
        _validation, given = self.validate_argument_spec(
            {"runs": {"type": "list", "elements": "path", "required": True}, "max_age_minutes": {"type": "int", "default": 1440}}
        )
        reports = [_report(Path(path)) for path in given["runs"]]
        merged = merging.merge(reports, datetime.now(UTC), given["max_age_minutes"])
        pod = printable(str(reports[0]["pod"])) if reports else "unknown"
        Display().display("\n" + "\n".join(printable(line) for line in merging.render(pod, merged).splitlines()) + "\n")
        told = {"pyramid_verdict": merged.verdict, "pyramid_reasons": merged.reasons}
        failed = {"failed": True, "msg": f"NO-GO for {pod}: {'; '.join(merged.reasons[:5])}"} if merged.verdict == "no_go" else {}
        stats = {"data": told, "per_host": False, "aggregate": False}
        return {**result, "changed": False, **told, "merged": asdict(merged), "ansible_stats": stats, **failed}


def _report(run: Path) -> dict[str, t.Any]:
    """A slice's report; AnsibleActionFail where there is none, since a slice that is missing is not a slice that is well."""
    try:
        report = runs.read_json(run / "report.json")
    except (OSError, ValueError) as error:
        raise AnsibleActionFail(f"argument 'runs': the slice {run} has no report: {error}") from None
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise AnsibleActionFail(f"argument 'runs': {run / 'report.json'} is no report of schema {SCHEMA}")
    return report
