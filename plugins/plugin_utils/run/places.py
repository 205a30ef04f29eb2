# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts limited to the places that ``pod_only`` names."""

from __future__ import annotations

from dataclasses import replace

from ..checks import Finding
from ..evaluate.boot_check import BOOT_CHECK
from ..evaluate.layer_input import ANSWERED
from ..evaluate.verdicts import Verdict, worst


def limited_to_places(verdicts: list[Verdict], places: set[str]) -> list[Verdict]:
    """Verdicts with the findings of some places (``node:port``, or ``node`` for all of it) only; what could not be determined of a node stays."""
    kept = []
    for one in verdicts:
        findings = tuple(f for f in one.findings if one.check in (ANSWERED, BOOT_CHECK) or _names(f.host or one.host, f) & places)
        if findings == one.findings:
            kept.append(one)
        else:
            severity = worst(f.severity or "fail" for f in findings)
            kept.append(replace(one, findings=findings, verdict=severity, by_group=dict.fromkeys(one.affects, severity)))
    return kept


def _names(node: str | None, finding: Finding) -> set[str]:
    """What a place may call where a finding is."""
    return {f"{node}", *(f"{node}:{name}" for name in (finding.where.port, finding.where.device) if name)}
