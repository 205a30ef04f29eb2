# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pause storms that a switch detected, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.congestion.watchdog import pause_storms

Rows = list[dict[str, t.Any]]
CABLES = [{"port": f"Ethernet{number}", "peer": f"leaf0{number}", "peer_port": "Ethernet33/1"} for number in (1, 2)]


def watched(port: int = 1, storms: int = 4, state: str | None = "operational", priority: int = 3, tx: int = 5, rx: int = 5) -> dict[str, t.Any]:
    return {"port": f"Ethernet{port}", "priority": priority, "state": state, "storms": storms, "tx_dropped": tx, "rx_dropped": rx}


def storms(before: Rows, now: Rows) -> list[tuple[str, str | None]]:
    return [(str(one), one.severity) for one in pause_storms(before, now, CABLES, 3)]


def test_a_storm_under_load() -> None:
    # Storms of earlier days are history, and so are those of a port or a priority that is none of the pod's.
    assert storms([watched(), watched(2, 0)], [watched(), watched(2, 0)]) == []
    assert storms([watched(), watched(9), watched(priority=4)], [watched(), watched(9, 8), watched(priority=4, storms=7)]) == []
    expected = "Ethernet1 PFC watchdog: expected no pause storm, got"
    assert storms([watched()], [watched(storms=6, tx=305)]) == [(f"{expected} 2 storms detected, 300 packets dropped, now operational", None)]
    assert storms([watched(state="stormed")], [watched(state="stormed")]) == [(f"{expected} 0 storms detected, 0 packets dropped, now stormed", None)]
    assert [severity for _words, severity in storms([watched(state="Stormed")], [watched(state="Stormed")])] == [None]
    (found,) = pause_storms([watched()], [watched(rx=6)], CABLES, 3)
    assert "leaf01 Ethernet33/1 paused this queue" in (found.cause or "") and found.where.port == "Ethernet1"


def test_what_is_not_known_is_no_pass() -> None:
    for before, now in (([watched()], [watched(2)]), ([watched()], [watched(storms=0)]), ([watched()], [watched(tx=0)])):
        assert "unknown" in [severity for _words, severity in storms(before, now)]
    # A queue with counters and without a status is not watched; what it counted all the same is a storm.
    assert [severity for _words, severity in storms([watched(state=None)], [watched(state=None)])] == ["unknown"]
    assert [severity for _words, severity in storms([watched(state=None)], [watched(state=None, storms=5)])] == [None]
    with pytest.raises(NotApplicable):
        storms([], [])
