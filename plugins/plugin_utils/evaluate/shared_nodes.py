# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts on nodes that several gate groups share, such as a leaf or a spine."""

from __future__ import annotations

from ..pod.plan import Plan
from .verdicts import Verdict, worst


def by_group(plan: Plan, node: str, verdict: Verdict) -> dict[str, str]:
    """For a shared node, what its verdict is for each group it affects, by the ports its findings are on."""
    if verdict.group is not None or not verdict.findings:
        return {}
    touched: dict[str, list[str]] = {group: ["pass"] for group in verdict.affects}
    for finding in verdict.findings:
        for group in plan.affects(node, finding.where.port):
            touched.setdefault(group, ["pass"]).append(finding.severity or "fail")
    return {group: worst(severities) for group, severities in touched.items()}
