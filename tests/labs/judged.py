# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab as ``validate.yml`` judges it over ssh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Check, host (a gate group for a check of all its hosts together) and verdict.
Verdicts = set[tuple[str, str, str]]


@dataclass
class Judged:
    """How ``validate.yml`` ended, and its report."""

    rc: int
    output: str
    report: dict[str, t.Any]

    def verdicts(self) -> dict[tuple[str, str], dict[str, t.Any]]:
        """Every verdict by its check, and its host or group."""
        return {(one["check"], one["host"] or one["group"]): one for one in self.report["verdicts"]}

    def with_verdict(self, *verdicts: str) -> Verdicts:
        """Check, host and verdict of those that came to one of these."""
        return {(*place, one["verdict"]) for place, one in self.verdicts().items() if one["verdict"] in verdicts}

    def not_well(self) -> Verdicts:
        """Check, host and verdict of all that is neither a pass nor a skip."""
        return self.with_verdict("warn", "fail", "unknown")

    def findings(self, check: str, host: str) -> dict[str, tuple[str, str]]:
        """What a check found on a host: where, to expected and actual."""
        return {finding["where"]: (finding["expected"], finding["actual"]) for finding in self.verdicts()[check, host]["findings"]}

    def words(self, check: str, host: str) -> str:
        """The words of a verdict that could not tell."""
        return self.verdicts()[check, host]["words"]


def climbed(inventory: Path, runs: Path, seconds: float = 300, **variables: t.Any) -> Judged:
    """Run ``validate.yml`` with extra variables; seconds: at most."""
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/validate.yml", "-i", str(inventory)]
    command += ["-e", json.dumps({**variables, "pod_runs_dir": str(runs)})]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, text=True, capture_output=True, timeout=seconds, check=False)
    reports = list(runs.glob("*/latest/report.json"))
    assert len(reports) == 1, done.stdout + done.stderr
    return Judged(done.returncode, done.stdout + done.stderr, json.loads(reports[0].read_text()))
