# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test needs and a machine lacks: a reason to leave the test out there, and a failure in CI, which has everything."""

from __future__ import annotations

import os
import typing as t

import pytest


def leave_out(words: str) -> t.NoReturn:
    """Leave the test out for a reason; in CI, fail by it."""
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)
