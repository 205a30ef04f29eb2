# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of a pod and the seams between them, as they are planned."""

from __future__ import annotations

import itertools
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import (
    only_spines,
    pinged_and_loaded,
    render_sliced,
    slice_pod,
    slices_loaded,
)
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of

TIME = "2026-06-15T12:00:00Z"


def plan(into: Path, **size: t.Any) -> Plan:
    return plan_of(layout.write(into, **size))


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_every_gate_group_is_in_one_slice_and_every_switch_has_one_owner(number: int, tmp_path: Path) -> None:
    whole = plan(tmp_path)
    sliced = slice_pod(whole, number, "d", "v", TIME)
    assert len(sliced.slices) == number and all(sliced.slices.values())
    assert [group for groups in sliced.slices.values() for group in groups] == list(whole.groups)
    assert sliced.owners.keys() == {node.name for node in whole.nodes.values() if node.group is None}
    assert set(sliced.owners.values()) <= set(sliced.slices)


def test_more_slices_than_gate_groups_are_refused(tmp_path: Path) -> None:
    for number in (0, 5):
        with pytest.raises(Refused, match="argument 'number' must be from 1 to the number of gate groups, which is 4"):
            slice_pod(plan(tmp_path / str(number)), number, "d", "v", TIME)


def test_racks_that_share_leaves_stay_together(tmp_path: Path) -> None:
    """The racks of a pair of racks have leaves of their own, and the pairs have hosts in turn: 1 and 3, 2 and 4."""
    whole = plan(tmp_path, racks=4, hosts_per_rack=2, leaves_of_racks=True)
    moved = Plan(whole.nodes, {"a": ["gpu01", "gpu03"], "b": ["gpu05", "gpu07"], "c": ["gpu02", "gpu04"], "d": ["gpu06", "gpu08"]}, whole.cables)
    for name, hosts in moved.groups.items():
        for host in hosts:
            moved.nodes[host] = type(moved.nodes[host])(host, "host", "linux", name, moved.nodes[host].values)
    sliced = slice_pod(moved, 2, "d", "v", TIME)
    assert sliced.slices == {"slice_1": ["a", "c"], "slice_2": ["b", "d"]} and sliced.shared_leaves == []
    assert {sliced.owners[f"leaf{number:02}"] for number in range(1, 17)} == {"slice_1"}
    assert {sliced.owners[f"leaf{number:02}"] for number in range(17, 33)} == {"slice_2"}


def test_a_cluster_is_cut_where_there_are_too_few_and_that_is_shown(tmp_path: Path) -> None:
    whole = plan(tmp_path)
    sliced = slice_pod(whole, 2, "d", "v", TIME)
    assert sliced.shared_leaves == [f"leaf{number:02}" for number in range(1, 9)]
    assert "8 leaves are read by more than one slice, such as leaf01" in render_sliced(whole, sliced)


@pytest.mark.parametrize(("racks", "hosts", "number"), [(4, 8, 3), (6, 4, 6), (12, 2, 12), (15, 2, 5)])
def test_the_seams_test_every_pair_of_slices_and_every_rail(racks: int, hosts: int, number: int, tmp_path: Path) -> None:
    whole = plan(tmp_path, racks=racks, hosts_per_rack=hosts, expectations={"pod_ping_peers_max": 4, "pod_ping_peers": 3})
    sliced = slice_pod(whole, number, "d", "v", TIME)
    met = set().union(*(pinged_and_loaded(whole, sliced, groups) for groups in sliced.seams.values()))
    assert met == {frozenset(pair) for pair in itertools.combinations(sliced.slices, 2)}
    assert set().union(*(slices_loaded(whole, sliced, groups)[1] for groups in sliced.seams.values())) == set(range(8))


def test_rails_that_are_not_pinged_need_no_seam_for_each_pair(tmp_path: Path) -> None:
    sliced = slice_pod(plan(tmp_path, fabric="infiniband"), 4, "d", "v", TIME)
    assert list(sliced.seams) == ["seam_1"]


def test_one_slice_has_no_seam(tmp_path: Path) -> None:
    assert slice_pod(plan(tmp_path), 1, "d", "v", TIME).seams == {}


def test_a_spine_beside_others_is_not_the_one_way(tmp_path: Path) -> None:
    for spines, expected in ((1, {"spine01"}), (2, set())):
        whole = plan(tmp_path / str(spines), racks=2, hosts_per_rack=2, spines=spines)
        assert only_spines(whole, list(whole.groups)) == expected
