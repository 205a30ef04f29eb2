# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headroom against the length of cables, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.congestion.headroom import headroom_covers_cables


def covers(*lengths: tuple[str | None, float], cables: t.Sequence[float | None] = (50, 2)) -> list[tuple[str, str | None]]:
    rows = [{"port": port, "length_m": length} for port, length in lengths]
    planned = [{"port": f"Ethernet{8 * number}", "length_m": length} for number, length in enumerate(cables)]
    return [(str(one), one.severity) for one in headroom_covers_cables(rows, planned)]


def test_headroom_is_for_the_planned_cable_or_a_longer_one() -> None:
    assert covers(("Ethernet0", 50), ("Ethernet8", 300)) == [] == covers((None, 50))
    assert covers(("Ethernet0", 40), ("Ethernet8", 0)) == [
        ("Ethernet0: expected headroom for 50 m or more, got for 40 m", None),
        ("Ethernet8: expected headroom for 2 m or more, got for 0 m", None),
    ]
    assert covers((None, 5)) == [("Ethernet0: expected headroom for 50 m or more, got for 5 m", None)]


def test_lengths_that_are_not_known() -> None:
    assert covers(("Ethernet0", 50)) == [("Ethernet8: expected headroom for 2 m or more, got not reported for this port", "unknown")]
    assert covers(("Ethernet0", 50), cables=(50, None)) == []
    with pytest.raises(CannotTell):
        covers((None, 50), ("Ethernet8", 50))
    with pytest.raises(NotApplicable):
        covers((None, 5), cables=(None, 0))
