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
    run_of_plan,
    slice_pod,
    slices_loaded,
    slices_pinged,
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
    assert sliced.slices == {"slice_1": ["a", "c"], "slice_2": ["b", "d"]} and sliced.shared == [f"spine{number:02}" for number in range(1, 5)]
    assert {sliced.owners[f"leaf{number:02}"] for number in range(1, 17)} == {"slice_1"}
    assert {sliced.owners[f"leaf{number:02}"] for number in range(17, 33)} == {"slice_2"}


def test_a_cluster_is_cut_where_there_are_too_few_and_that_is_shown(tmp_path: Path) -> None:
    whole = plan(tmp_path)
    sliced = slice_pod(whole, 2, "d", "v", TIME)
    assert sliced.shared == [*(f"leaf{number:02}" for number in range(1, 9)), *(f"spine{number:02}" for number in range(1, 5))]
    assert "8 leaves serve more than one slice, such as leaf01" in render_sliced(whole, sliced)


@pytest.mark.parametrize(("racks", "hosts", "number"), [(4, 8, 3), (6, 4, 6), (12, 2, 12), (15, 2, 5)])
def test_the_seams_test_every_pair_of_slices_and_every_rail(racks: int, hosts: int, number: int, tmp_path: Path) -> None:
    whole = plan(tmp_path, racks=racks, hosts_per_rack=hosts, expectations={"pod_ping_peers_max": 4, "pod_ping_peers": 3})
    sliced = slice_pod(whole, number, "d", "v", TIME)
    met = set().union(*(pinged_and_loaded(whole, sliced, groups) for groups in sliced.seams.values()))
    assert met == {frozenset(pair) for pair in itertools.combinations(sliced.slices, 2)}
    assert set().union(*(slices_loaded(whole, sliced, groups)[1] for groups in sliced.seams.values())) == set(range(8))
    assert list(sliced.seams) == [f"seam_{place}" for place in range(1, len(sliced.seams) + 1)]


def test_rails_that_are_not_pinged_need_no_seam_for_each_pair(tmp_path: Path) -> None:
    sliced = slice_pod(plan(tmp_path, fabric="infiniband"), 4, "d", "v", TIME)
    assert list(sliced.seams) == ["seam_1"]


def test_below_routing_nothing_is_tested_between_slices(tmp_path: Path) -> None:
    whole = plan(tmp_path)
    assert slice_pod(whole, 2, "d", "v", TIME, ["preflight", "links"]).seams == {}
    assert slice_pod(whole, 2, "d", "v", TIME, ["preflight", "links", "routing"]).seams == slice_pod(whole, 2, "d", "v", TIME).seams != {}


def test_one_slice_has_no_seam(tmp_path: Path) -> None:
    assert slice_pod(plan(tmp_path), 1, "d", "v", TIME).seams == {}


def test_a_spine_beside_others_is_not_the_one_way(tmp_path: Path) -> None:
    for spines, expected in ((1, {"spine01"}), (2, set())):
        whole = plan(tmp_path / str(spines), racks=2, hosts_per_rack=2, spines=spines)
        assert only_spines(whole, list(whole.groups)) == expected
    leaf = next(node.name for node in whole.nodes.values() if node.role == "leaf")
    without = [cable for cable in whole.cables if {cable.a.node, cable.b.node} != {leaf, "spine02"}]
    assert len(without) < len(whole.cables)
    assert only_spines(Plan(whole.nodes, whole.groups, without), list(whole.groups)) == {"spine01"}, "this leaf reaches the others by spine01 alone"
    rail = whole.nodes["gpu01"].values["pod_rails"][0] | {"leaf": "not_in_the_plan"}
    whole.nodes["gpu01"].values["pod_rails"][0] = rail
    cables = [cable for cable in whole.cables if ("gpu01", rail["netdev"]) not in {(end.node, end.port) for end in (cable.a, cable.b)}]
    unplanned = Plan(whole.nodes, whole.groups, cables)
    assert unplanned.rails()[0]["leaf"] == "not_in_the_plan"
    assert only_spines(unplanned, list(whole.groups)) == set()


def grouped(into: Path, *sizes: int) -> Plan:
    """A pod whose gate groups have so many hosts each, behind the same leaves."""
    whole = plan(into, racks=1, hosts_per_rack=sum(sizes))
    hosts = iter(next(iter(whole.groups.values())))
    groups = {chr(ord("a") + place): list(itertools.islice(hosts, size)) for place, size in enumerate(sizes)}
    return regrouped(whole, groups)


def regrouped(whole: Plan, groups: dict[str, list[str]]) -> Plan:
    nodes = dict(whole.nodes)
    for name, hosts in groups.items():
        nodes |= {host: type(nodes[host])(host, "host", "linux", name, nodes[host].values) for host in hosts}
    return Plan(nodes, groups, whole.cables)


@pytest.mark.parametrize(
    ("sizes", "slices"),
    [
        ((4, 1, 1, 1, 1), ["a", "bcde"]),
        ((1, 1, 1, 1, 4), ["abcd", "e"]),
        ((2, 2, 2), ["ab", "c"]),
        ((1, 2, 3), ["ab", "c"]),
        ((3, 1, 1, 1), ["a", "bc", "d"]),
        ((1, 5, 1, 1, 6), ["ab", "cd", "e"]),
        ((1, 1, 8), ["a", "b", "c"]),
        ((8, 1, 1), ["a", "b", "c"]),
        ((2, 3, 1, 4, 2), ["a", "b", "cd", "e"]),
    ],
)
def test_slices_have_about_as_many_hosts_each(sizes: tuple[int, ...], slices: list[str], tmp_path: Path) -> None:
    whole = grouped(tmp_path, *sizes)
    sliced = slice_pod(whole, len(slices), "d", "v", TIME)
    assert ["".join(groups) for groups in sliced.slices.values()] == slices
    assert sliced.dump()["schema"] == 2 and sliced.owners["spine01"] == "slice_1"


def test_clusters_are_cut_whole_in_the_order_of_their_first_group(tmp_path: Path) -> None:
    """Hosts 1 and 2, 3 and 4 and so on have leaves of their own."""
    two = plan(tmp_path / "two", racks=4, hosts_per_rack=2, leaves_of_racks=True)
    mixed = regrouped(two, {"a": ["gpu01", "gpu03"], "b": ["gpu05", "gpu07"], "c": ["gpu06", "gpu08"], "d": ["gpu02", "gpu04"]})
    assert list(slice_pod(mixed, 2, "d", "v", TIME).slices.values()) == [["a", "d"], ["b", "c"]]
    few = {"a": ["gpu01", "gpu03"], "b": ["gpu02", "gpu04"], "c": ["gpu05"]}
    gone = ("gpu06", "gpu07", "gpu08")
    cables = [cable for cable in two.cables if cable.a.node not in gone and cable.b.node not in gone]
    smaller = regrouped(Plan({name: node for name, node in two.nodes.items() if name not in gone}, few, cables), few)
    assert list(slice_pod(smaller, 2, "d", "v", TIME).slices.values()) == [["a", "b"], ["c"]]


def test_two_slices_have_one_seam_that_loads_in_both_directions(tmp_path: Path) -> None:
    whole = plan(tmp_path, racks=2, hosts_per_rack=4)
    sliced = slice_pod(whole, 2, "d", "v", TIME)
    assert sliced.seams == {"seam_1": ["rack_01", "rack_02"]}
    both = slices_loaded(whole, sliced, ["rack_01", "rack_02"])
    assert both == slices_loaded(whole, sliced, ["rack_02", "rack_01"]) == ({frozenset({"slice_1", "slice_2"})}, set(range(8)))
    assert slices_loaded(whole, sliced, ["rack_01"]) == (set(), set()) and slices_pinged(whole, sliced, ["rack_01"]) == set()


def test_slices_meet_whichever_of_them_sends(tmp_path: Path) -> None:
    """Of one host each: the pairs of a sampled schedule are met once, and in a round the later host may come first."""
    whole = plan(tmp_path, racks=3, hosts_per_rack=1)
    met = slices_loaded(whole, slice_pod(whole, 3, "d", "v", TIME), list(whole.groups))[0]
    assert met == {frozenset(pair) for pair in itertools.combinations(("slice_1", "slice_2", "slice_3"), 2)}


def test_slices_have_met_only_where_they_are_pinged_and_loaded(tmp_path: Path) -> None:
    whole = plan(tmp_path, racks=12, hosts_per_rack=2, expectations={"pod_ping_peers_max": 4, "pod_ping_peers": 3})
    sliced = slice_pod(whole, 12, "d", "v", TIME)
    groups = sliced.seams["seam_1"]
    loaded, pinged = slices_loaded(whole, sliced, groups)[0], slices_pinged(whole, sliced, groups)
    assert loaded - pinged and pinged - loaded
    assert pinged_and_loaded(whole, sliced, groups) == loaded & pinged


def test_slices_are_shown_before_they_are_run(tmp_path: Path) -> None:
    whole = plan(tmp_path, racks=4, hosts_per_rack=2, leaves_of_racks=True, spines=2)
    assert render_sliced(whole, slice_pod(whole, 2, "d", "v", TIME)).splitlines() == [
        f"pod {whole.nodes['gpu01'].values['pod_name']}: 4 gate groups in 2 slices",
        "  slice_1: 4 hosts of rack_01, rack_02; owns 16 leaves and 2 spines",
        "  slice_2: 4 hosts of rack_03, rack_04; owns 16 leaves and 0 spines",
        "  seam_1: 4 hosts of rack_01, rack_03",
    ]


def test_a_plan_is_carried_out_beside_the_pods_runs() -> None:
    assert run_of_plan(Path("/runs/pod/sliced/2026-06-15")) == Path("/runs/pod/sliced-2026-06-15")
