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
from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import runs
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.acting import Action, Controller
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports import document, merging
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.table import printable


class ActionModule(Controller, Action):
    """Runs on the controller and contacts no node."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "runs": {"type": "list", "elements": "path", "required": True},
        "max_age_minutes": {"type": "int", "default": 1440},
    }

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read every slice's report, give one verdict; fails on a no-go, and where a slice has no report: it is not a slice that is well."""
        try:
            reports = [document.load(Path(path)) for path in given["runs"]]
        except runs.RunError as error:
            raise AnsibleActionFail(f"argument 'runs': a slice has no report: {error}") from None
        merged = merging.merge(reports, datetime.now(UTC), given["max_age_minutes"])
        pod = printable(str(reports[0]["pod"])) if reports else "unknown"
        Display().display("\n" + "\n".join(printable(line) for line in merging.render(pod, merged).splitlines()) + "\n")
        told = {"pyramid_verdict": merged.verdict, "pyramid_reasons": merged.reasons}
        failed = {"failed": True, "msg": f"NO-GO for {pod}: {'; '.join(merged.reasons[:5])}"} if merged.verdict == "no_go" else {}
        return {**told, "merged": asdict(merged), "ansible_stats": {"data": told, "per_host": False, "aggregate": False}, **failed}
