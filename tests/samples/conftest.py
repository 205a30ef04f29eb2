# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Genuine outputs that are kept outside of the repository; the tests of this folder run where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of genuine outputs."""
    if not SAMPLES.is_dir():
        pytest.skip(f"no genuine outputs in {SAMPLES}")
    return SAMPLES
