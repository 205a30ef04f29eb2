# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drops in other classes than that of RoCE, by plain calls."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.congestion.other_classes import other_classes_kept

Rows = list[dict[str, t.Any]]
CABLES = [{"port": "Ethernet0", "peer": "leaf01", "peer_port": "Ethernet33/1"}]
CLASSES = [{"port": None, "map": "AZURE", "traffic_class": 6, "dscp": [48]}]


def queues(**dropped: int | None) -> Rows:
    given: dict[str, int | None] = {**{f"UC{number}": 9 for number in range(8)}, "MC8": 0, **dropped}
    return [{"port": "Ethernet0", "queue": queue, "dropped_packets": count} for queue, count in given.items()]


def pools(non_roce: int | None = 55, cnp: int | None = 3) -> Rows:
    return [{"port": "Ethernet0", "non_roce_in": non_roce, "cnp_out": cnp}]


def kept(before: Rows | None, now: Rows | None, pools_before: Rows | None = None, pools_now: Rows | None = None) -> list[tuple[str, str | None]]:
    found = other_classes_kept(CABLES, 3, 48, before, now, pools_before, pools_now, CLASSES)
    return [(str(one), one.severity) for one in found]


def test_drops_by_queue() -> None:
    # Drops of the queue of RoCE are those of switch_drops, and those of multicast are none of the load's.
    assert kept(queues(), queues(UC3=99, MC8=7)) == []
    assert kept(queues(), queues(UC0=10)) == [("Ethernet0: expected no packet of another class dropped, got 1 packet of UC0", None)]
    assert kept(queues(), queues(UC6=12)) == [("Ethernet0: expected no CNP dropped, got 3 packets of UC6", "fail")]


def test_drops_by_priority_group() -> None:
    def found(count: int) -> list[tuple[str, str | None]]:
        was, now = ([{"port": "Ethernet0", "priority_group": group, "dropped_packets": own} for group in (3, 7)] for own in (5, 5 + count))
        return [(str(one), one.severity) for one in other_classes_kept(CABLES, 3, 48, queues(), queues(), None, None, CLASSES, was, now)]

    assert found(2) == [("Ethernet0: expected no packet of another class dropped, got 2 packets that came in in priority group 7", None)]
    assert found(10_000) == [], "so many are the load's own, which switch_drops finds"


def test_drops_by_pool() -> None:
    assert kept(None, None, pools(), pools()) == []
    assert kept(None, None, pools(), pools(60, 5)) == [
        ("Ethernet0: expected no packet of another class dropped, got 5 packets that came in outside of the RoCE class", None),
        ("Ethernet0: expected no CNP dropped, got 2 packets", "fail"),
    ]


def test_drops_that_are_not_reported_are_no_pass() -> None:
    assert kept(queues(), queues(UC0=None)) == [("Ethernet0 drops of UC0: expected drop counter, got not reported", "unknown")]
    nameless = [{**row, "queue": None} if row["queue"] == "UC0" else row for row in queues()]
    assert [one for _words, one in kept(queues(), nameless)] == ["unknown"]
    assert {one for _words, one in kept(queues(), [{**row, "queue": None} for row in queues()])} == {"unknown"}
    for now in (pools(None), pools(cnp=None), []):
        assert "unknown" in [one for _words, one in kept(queues(), queues(), pools(), now)]
    for none in (None, [{"port": "Ethernet0", "queue": None, "dropped_packets": 4}]):
        with pytest.raises(NotApplicable):
            kept(none, none)
