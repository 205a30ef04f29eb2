# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which idle hosts a patrol takes, in which order, and what an interrupted one leaves to the next."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incasts import MIN_HOSTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.patrolling import (
    FILE,
    choose,
    in_order,
    interrupted_hosts,
    keep_interrupted,
)

GROUPS = {"rack_01": ["a1", "a2", "a3", "a4"], "rack_02": ["b1", "b2", "b3", "b4"], "rack_03": ["c1", "c2"]}
IDLE = {"a1": 10.0, "a2": 300.0, "b1": 20.0, "b2": 300.0, "c1": 5.0}


def test_without_a_history_the_longest_idle_host_is_first() -> None:
    assert in_order(IDLE, ()) == ["a2", "b2", "b1", "a1", "c1"]


def test_with_a_history_the_riskiest_is_first_and_a_host_known_to_be_bad_last() -> None:
    risky = ["zz", "c1", "a1", "b1", "a2", "b2"]
    assert in_order(IDLE, (), risky) == ["c1", "a1", "b1", "a2", "b2"]
    assert in_order(IDLE, (), risky, bad=["c1"]) == ["a1", "b1", "a2", "b2", "c1"]


def test_hosts_of_an_interrupted_patrol_come_before_all_others() -> None:
    assert in_order(IDLE, ["c1", "b1", "gone"], ["a1", "a2", "b1", "b2", "c1"], bad=["c1"])[:2] == ["b1", "c1"]


def test_a_gate_group_has_as_many_hosts_as_its_loads_need() -> None:
    assert MIN_HOSTS == 3
    ordered = ["b4", "a1", "a2", "a3", "a4", "b1", "b2", "b3"]
    assert choose(GROUPS, ordered, 3).hosts == ["b1", "b2", "b4"]
    # One more of a group that is taken anyway; another group would take three.
    chosen = choose(GROUPS, ordered, 5)
    assert chosen.hosts == ["b1", "b2", "b3", "b4"] and chosen.left == {"rack_01": "as many hosts as may be are taken already"}
    assert choose(GROUPS, ordered, 6).hosts == ["a1", "a2", "a3", "b1", "b2", "b4"]
    assert choose(GROUPS, ordered, 7).hosts == ["a1", "a2", "a3", "a4", "b1", "b2", "b4"]
    assert choose(GROUPS, ordered, 80).hosts == sorted(ordered)


def test_a_gate_group_with_too_few_idle_hosts_is_named() -> None:
    chosen = choose(GROUPS, ["c1", "c2", "a1", "b1", "b2", "b3", "not_of_the_pod"], 6)
    assert chosen.hosts == ["b1", "b2", "b3"]
    assert chosen.left == {"rack_03": "2 hosts idle, and its loads need 3", "rack_01": "1 host idle, and its loads need 3"}


@pytest.mark.parametrize("most", [-3, 0, 2])
def test_no_host_is_taken_where_fewer_may_be_than_loads_need(most: int) -> None:
    assert choose(GROUPS, ["a1", "a2", "a3"], most).hosts == []


def test_what_was_interrupted_is_kept_privately(tmp_path: Path) -> None:
    place = tmp_path / "patrol"
    assert interrupted_hosts(place) == []
    keep_interrupted(place, ["b", "a"])
    assert interrupted_hosts(place) == ["a", "b"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (place, place / FILE)] == [0o700, 0o600]


@pytest.mark.parametrize("text", ["", "[]", "{", json.dumps({"schema": 2, "interrupted": ["a"]}), json.dumps({"schema": 1, "interrupted": [1]})])
def test_a_file_that_is_none_of_ours_names_no_host(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    assert interrupted_hosts(tmp_path) == []
