# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share."""

from __future__ import annotations

import gc

import pytest
from hypothesis import settings

# How long an example takes is the machine's matter, not the property's.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share a lab stay with one worker: releases of pytest and pytest-xdist that do not fit each other forget it in silence."""
    if getattr(config.option, "loadgroup", False):
        lost = [item.nodeid for item in items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid]
        if lost:
            raise pytest.UsageError(f"pytest-xdist keeps no groups together with this pytest: {lost[0]}")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave alone what was collected, and look for cycles less often: a twelfth of the time of a climb in process went into looking for none."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
