# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as tools write them."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.times import day_and_clock_before, epoch_seconds, without_times


@pytest.mark.parametrize("text", ["2026-06-15T10:20:33+0000", "2026-06-15T10:20:33+00:00", "2026-06-15T12:20:33+0200", "2026-06-15T10:20:33,000000+00:00"])
def test_a_moment(text):
    assert epoch_seconds(text) == 1781518833.0


@pytest.mark.parametrize("text", [None, "", "12345.678", "Jun  5 07:12:07", "Mon Jun 15 10:20:33 2026", "2026-06-15T10:20:33"])
def test_a_time_that_is_no_moment(text):
    assert epoch_seconds(text) is None


def test_words_of_a_tool_are_alike_without_their_times() -> None:
    assert without_times("2026-11-25T18:30:19 [WARN/control] no socket [4711] here") == "[WARN/control] no socket here"
    assert without_times("exited with status 1: 2026-11-25T18:30:19+01:00 broken") == "exited with status 1: broken"


def test_a_time_of_glog_may_be_of_another_day_before() -> None:
    assert day_and_clock_before("1126 08:31:05", 1000) == "11-26 08:31:04"
    assert day_and_clock_before("301 00:00:01.500000", 2000) == "02-29 23:59:59"
    assert day_and_clock_before("1340 08:31:05", 0) is None and day_and_clock_before("", 0) is None
