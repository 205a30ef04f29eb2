# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every parser under coverage-guided fuzzing for a bounded time; ``make fuzz`` does it for longer and keeps its corpus."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

SECONDS = 20


@pytest.mark.exhaustive
def test_no_text_breaks_a_parser(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz.parsers", str(tmp_path / "corpus"), f"-max_total_time={SECONDS}", "-print_final_stats=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    broken = [path.name for path in (tmp_path / "corpus").glob("crash-*")]
    assert (done.returncode, broken) == (0, []), done.stdout[-2000:] + done.stderr[-4000:]
    runs = next(int(line.split()[-1]) for line in done.stderr.splitlines() if "number_of_executed_units" in line)
    assert runs > len(list((tmp_path / "corpus").iterdir())) // 2, "the fuzzer did not come to run its corpus"
