# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ladders and searches over pods whose ills are known: who is named, and in how many launches."""

from __future__ import annotations

import itertools
import random
import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.bisection import Bisection, Group, bisect_hosts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.scaling_ladder import MAX_SEARCHES, group_sizes, launch_count, next_step
from hypothesis import given, settings
from hypothesis import strategies as st

Passes = t.Callable[[Group], bool]


def named(count: int) -> list[str]:
    """Hosts of a pod."""
    return [f"h{number:03}" for number in range(count)]


def climbed(order: list[str], passes: Passes) -> tuple[dict[Group, bool], Bisection | None, int, int]:
    """What was measured, what was found, and how many launches the rungs and the search took."""
    measured: dict[Group, bool] = {}
    rungs = searches = 0
    while (step := next_step(order, measured, searches)).groups:
        hosts = [host for group in step.groups for host in group]
        assert len(hosts) == len(set(hosts)), "a host is in two groups of one launch"
        assert all(len(group) > 1 for group in step.groups)
        measured |= {group: passes(group) for group in step.groups}
        rungs, searches = rungs + bool(step.rung), searches + (not step.rung)
        assert searches <= MAX_SEARCHES
    return measured, step.found, rungs, searches


def searched(order: list[str], passes: Passes) -> tuple[Bisection, int]:
    """A search among all hosts, with two that are known to be good, and how many launches it took."""
    measured: dict[Group, bool] = {frozenset(order): passes(frozenset(order)), frozenset({"good 1", "good 2", "good 3"}): True}
    for launches in itertools.count():
        state = bisect_hosts([frozenset(order)], measured, [*order, "good 1", "good 2", "good 3"])
        if not state.launch:
            return state, launches
        measured |= {group: passes(group) for group in state.launch}
    raise AssertionError


@pytest.mark.parametrize(("hosts", "wanted"), [(1, []), (2, [2]), (3, [2, 3]), (6, [2, 4, 6]), (32, [2, 4, 8, 16, 32]), (33, [2, 4, 8, 16, 32, 33])])
def test_rungs(hosts: int, wanted: list[int]) -> None:
    assert group_sizes(hosts) == wanted


@pytest.mark.parametrize("hosts", [2, 3, 5, 8, 32, 33])
def test_a_healthy_pod_climbs_every_rung_and_finds_nobody(hosts: int) -> None:
    measured, found, rungs, searches = climbed(named(hosts), lambda _group: True)
    assert (found, rungs, searches) == (None, launch_count(hosts), 0)
    assert frozenset(named(hosts)) in measured


@pytest.mark.parametrize(("hosts", "most"), [(32, 7), (512, 11)])
def test_one_bad_host_among_all_is_named_in_few_launches(hosts: int, most: int) -> None:
    for bad in named(hosts)[:: max(1, hosts // 32)]:
        found, launches = searched(named(hosts), lambda group, bad=bad: bad not in group)
        assert list(found.hosts) == [bad]
        assert len(found.hosts[bad]) == 2
        assert not found.paths and not found.open
        assert launches <= most


@pytest.mark.parametrize("count", [1, 5, 8, 12, 40])
def test_many_bad_hosts_are_named_in_two_searches_and_the_others_measured_together(count: int) -> None:
    order = named(232)
    bad = set(random.Random(count).sample(order, count))
    measured, found, rungs, searches = climbed(order, lambda group: not bad & group)
    assert found is not None and set(found.hosts) == bad and not found.paths and not found.open
    assert searches <= 2 and rungs == launch_count(232)
    assert measured[frozenset(order) - bad], "all that are well have passed together"


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 64), st.data())
def test_a_ladder_names_each_bad_host_and_nobody_else(count: int, data) -> None:
    order = named(count)
    bad = set(data.draw(st.lists(st.sampled_from(order), min_size=1, max_size=min(3, count), unique=True)))
    measured, found, _rungs, _searches = climbed(order, lambda group: not bad & group)
    assert found is not None
    assert set(found.hosts) <= bad
    assert not found.paths
    good = {host for group, passed in measured.items() if passed and len(group) > 1 for host in group}
    if len(good) >= 2:
        # With partners that passed, every bad host is named, but one that no failing group has had yet.
        assert set(found.hosts) | {host for group in found.open for host in group} == bad & {
            host for group, passed in measured.items() if not passed for host in group
        }


@settings(max_examples=200, deadline=None)
@given(st.integers(4, 64), st.data())
def test_two_hosts_that_only_fail_together_are_a_path_and_no_bad_host(count: int, data) -> None:
    order = named(count)
    one, two = data.draw(st.lists(st.sampled_from(order), min_size=2, max_size=2, unique=True))
    _measured, found, _rungs, _searches = climbed(order, lambda group: not {one, two} <= group)
    assert found is not None and not found.hosts
    assert len(found.paths) == 1
    first, second = found.paths[0]
    assert (one in first and two in second) or (two in first and one in second)


def test_without_a_partner_that_passed_nobody_is_blamed() -> None:
    _measured, found, _rungs, searches = climbed(named(2), lambda _group: False)
    assert found is not None and not found.hosts and not found.paths
    assert {host for group in found.open for host in group} == set(named(2))
    assert searches == 0


def test_a_fabric_that_is_slow_only_under_all_hosts_blames_no_host() -> None:
    _measured, found, _rungs, searches = climbed(named(32), lambda group: len(group) < 32)
    assert found is not None and not found.hosts
    assert len(found.paths) == 1 and searches <= 2


def test_a_host_that_ends_a_run_by_itself_is_not_searched_for_and_the_others_go_on() -> None:
    order = ["a", "b", "c", "d", "e"]
    measured = {frozenset("ab"): True, frozenset("cd"): False, frozenset("de"): True}
    step = next_step(order, measured, 0, {"c"})
    assert step.found is not None and step.found.hosts == {"c": ["d"]} and step.found.suspects == {"c"}
    assert step.groups and all("c" not in group for group in step.groups)
    # Without that error the search begins.
    assert next_step(order, measured, 0).rung == 0
