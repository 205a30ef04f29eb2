# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as tools write them."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.times import epoch_seconds


@pytest.mark.parametrize("text", ["2026-06-15T10:20:33+0000", "2026-06-15T10:20:33+00:00", "2026-06-15T12:20:33+0200", "2026-06-15T10:20:33,000000+00:00"])
def test_a_moment(text):
    assert epoch_seconds(text) == 1781518833.0


@pytest.mark.parametrize("text", [None, "", "12345.678", "Jun  5 07:12:07", "Mon Jun 15 10:20:33 2026", "2026-06-15T10:20:33"])
def test_a_time_that_is_no_moment(text):
    assert epoch_seconds(text) is None
