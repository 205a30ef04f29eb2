# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose error came first, by the times that ranks report."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks._by_time import order_of_error, times_by_host


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ({"gpu01": 100.0, "gpu02": 106.4, "gpu03": 109.0}, " (the first error of the run, 6 s before that of gpu02)"),
        ({"gpu01": 109.0, "gpu02": 106.4, "gpu03": 100.0}, " (9 s after the first error of gpu03)"),
        # Clocks of hosts are no better than that.
        ({"gpu01": 100.9, "gpu02": 100.0}, ""),
        ({"gpu01": 100.0, "gpu02": 101.0}, ""),
        ({"gpu01": 100.0}, ""),
        ({"gpu02": 100.0}, ""),
    ],
)
def test_the_order_of_a_hosts_error(times, words):
    assert order_of_error("gpu01", times) == (words, "after" in words)


def test_the_first_rank_of_a_host_and_no_rank_without_an_error_or_a_time():
    ranks = {
        "gpu01": [{"error": "a", "error_at": 7.0}, {"error": "b", "error_at": 5.0}, {"error": None, "error_at": 1.0}],
        "gpu02": [{"error": "c", "error_at": None}],
    }
    assert times_by_host(ranks) == {"gpu01": 5.0}
