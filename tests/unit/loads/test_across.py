# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Incasts across gate groups: who loads whom, what the uplinks of a leaf are offered, and how long it takes."""

from __future__ import annotations

import typing as t
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.across import plan_across
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incast_expectations import incast_expectations
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incasts import ACROSS, INCAST, Incasts, incasts_among, plan_incasts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import Schedule, StepInput
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout, planned
from hypothesis import given
from hypothesis import strategies as st

PROMISED_SECONDS = 30 * 60
OF_TIME = ("pod_incast_seconds", "pod_write_bw_seconds", "pod_load_setup_seconds", "pod_training_steps", "pod_collective_seconds")


def pod(sizes: t.Sequence[int], rails: int = 8, own_leaves: bool = False, uplinks: int = 4, **values: t.Any) -> tuple[dict[str, list[str]], Incasts]:
    """Groups of hosts of those sizes and their incasts; own_leaves: each group has leaves of its own; uplinks: of each leaf, one to each spine."""
    values = {**DEFAULTS, "pod_topology": "rail_optimised", **values}
    groups = {f"rack_{g}": [f"gpu_{g}_{h}" for h in range(size)] for g, size in enumerate(sizes)}
    nodes = {host: Node(host, "host", "linux", group, values) for group, hosts in groups.items() for host in hosts}
    own = [f"_{g}" if own_leaves else "" for g in range(len(sizes))]
    all_rails = [
        {"host": host, "index": rail, "device": f"mlx5_{rail}", "netdev": f"ens{rail}", "leaf": f"leaf{rail}{own[g]}", "address": "10.0.0.1"}
        for g, hosts in enumerate(groups.values()) for host in hosts for rail in range(rails)
    ]  # fmt: skip
    spines = {rail["leaf"]: {f"spine{number}": 400.0 for number in range(uplinks)} for rail in all_rails}
    return groups, plan_incasts(groups, all_rails, nodes, dict.fromkeys(spines, uplinks), spines)


def nic(rail: dict[str, t.Any]) -> tuple[str, str]:
    return rail["host"], rail["device"]


@given(st.lists(st.integers(3, 12), min_size=2, max_size=5), st.sampled_from([1, 2, 3, 4, 8]), st.booleans())
def test_senders_are_in_other_groups_and_behind_spines(sizes: list[int], rails: int, own_leaves: bool) -> None:
    groups, incasts = pod(sizes, rails, own_leaves)
    group_of = {host: group for group, hosts in groups.items() for host in hosts}
    across = [pair for pair in incasts.pairs if pair["across"]]
    inside = max(pair["round"] for pair in incasts.pairs if not pair["across"])
    assert across or rails == 1 or not own_leaves or incasts.not_across
    for pair in across:
        assert group_of[pair["sender"]["host"]] != group_of[pair["receiver"]["host"]] == pair["group"]
        assert pair["cross"] and pair["sender"]["leaf"] != pair["receiver"]["leaf"] and pair["round"] > inside
    for number in {pair["round"] for pair in across}:
        senders = Counter(nic(pair["sender"]) for pair in across if pair["round"] == number)
        receivers = Counter(nic(pair["receiver"]) for pair in across if pair["round"] == number)
        assert set(senders.values()) == {1} and not senders.keys() & receivers.keys()
        assert min(receivers.values()) >= 2 and max(receivers.values()) <= 8
    rounds = sorted({pair["round"] for pair in incasts.pairs})
    assert rounds == list(range(1, incasts.rounds + 1)) and len(rounds) <= inside + 5


@pytest.mark.parametrize(("sizes", "own_leaves"), [([4, 4], False), ([8] * 4, False), ([8] * 4, True), ([3, 3, 3], True)])
def test_every_rail_receives_once_in_its_group_or_across(sizes: list[int], own_leaves: bool) -> None:
    groups, incasts = pod(sizes, own_leaves=own_leaves)
    senders = Counter((pair["round"], nic(pair["receiver"])) for pair in incasts.pairs if pair["across"])
    assert len({number for number, _nic in senders}) == 4
    assert min(senders.values()) >= 3 and max(senders.values()) <= 8
    # What the first receivers of a group count as marked was marked at their leaf, so they receive nothing over spines.
    first = {nic(pair["receiver"]) for pair in incasts.pairs if pair["round"] == 1}
    everything = {(host, f"mlx5_{rail}") for hosts in groups.values() for host in hosts for rail in range(8)}
    assert {end for _number, end in senders} == everything - first


@pytest.mark.parametrize("sizes", [[6, 6], [4, 4, 4], [4] * 5])
def test_hosts_of_one_rail_take_turns_by_group(sizes: list[int]) -> None:
    groups, incasts = pod(sizes, rails=1, own_leaves=True)
    across = [pair for pair in incasts.pairs if pair["across"]]
    first = {pair["receiver"]["host"] for pair in incasts.pairs if pair["round"] == 1}
    assert {pair["receiver"]["host"] for pair in across} == {host for hosts in groups.values() for host in hosts} - first


def test_a_leaf_is_offered_more_than_its_uplinks_carry() -> None:
    """Six receivers of 400 Gb/s behind four uplinks of 400: each gets two thirds of its link, and 24 senders offer six times what the uplinks carry."""
    _groups, incasts = pod([4, 4])
    of_across = [pair for pair in incasts.pairs if pair["across"]]
    assert {(round(pair["share"]), pair["offered"], len(pair["beside"])) for pair in of_across} == {(267, 6.0, 6)}
    # More uplinks than receivers are not filled: the receivers are, which the rounds of a group test.
    _groups, wide = pod([4, 4], uplinks=16)
    assert {(pair["share"], pair["offered"]) for pair in wide.pairs if pair["across"]} == {(400.0, 0.0)}


def test_one_group_alone_has_none_and_says_nothing() -> None:
    assert not [pair for pair in pod([9])[1].pairs if pair["across"]]
    assert pod([9])[1].not_across == ""
    # A group that cannot congest by itself takes no part.
    groups, incasts = pod([9, 2])
    assert not {pair["sender"]["host"] for pair in incasts.pairs} & set(groups["rack_1"])
    assert not [pair for pair in incasts.pairs if pair["across"]]


def test_leaves_without_spines_are_reported() -> None:
    assert plan_across({}, [], {}, {}) == ([], "")
    _groups, incasts = pod([4, 4], uplinks=0)
    assert incasts.not_across == "the leaves of fewer than two gate groups have uplinks to spines"


def test_planes_that_do_not_meet_are_not_crossed() -> None:
    """Rails on planes of their own: only the same rail of another group can be reached."""
    values = {**DEFAULTS, "pod_topology": "rail_optimised"}
    groups = {f"rack_{g}": [f"gpu_{g}_{h}" for h in range(4)] for g in range(4)}
    nodes = {host: Node(host, "host", "linux", group, values) for group, hosts in groups.items() for host in hosts}
    rails = [
        {"host": host, "index": rail, "device": f"mlx5_{rail}", "netdev": f"ens{rail}", "leaf": f"leaf{rail}_{g}", "address": None}
        for g, hosts in enumerate(groups.values()) for host in hosts for rail in range(4)
    ]  # fmt: skip
    pairs, words = plan_across(groups, rails, nodes, {rail["leaf"]: {f"spine{rail['index']}": 1600.0} for rail in rails})
    assert not words and {pair["round"] for pair in pairs} == {1, 2, 3, 4}
    assert all(pair["sender"]["index"] == pair["receiver"]["index"] for pair in pairs)


def plan(directory: Path, racks: int = 2, hosts: int = 4, **expectations: t.Any) -> Plan:
    return planned.plan_of(layout.write(directory, racks, hosts, expectations=expectations))


def test_a_group_that_did_not_climb_is_not_loaded(tmp_path: Path) -> None:
    of_pod = plan(tmp_path, racks=3)
    standing = [*of_pod.groups["rack_01"], *of_pod.groups["rack_03"]]
    incasts = incasts_among(of_pod, of_pod.rails(standing))
    assert {pair["group"] for pair in incasts.pairs if pair["across"]} == {"rack_01", "rack_03"}
    assert {pair[end]["host"] for pair in incasts.pairs for end in ("sender", "receiver")} == set(standing)
    alone = incasts_among(of_pod, of_pod.rails(of_pod.groups["rack_02"]))
    assert not [pair for pair in alone.pairs if pair["across"]] and alone.not_across == ""


def test_spines_know_what_their_ports_face(tmp_path: Path) -> None:
    of_pod = plan(tmp_path)
    rows = incast_expectations(of_pod, list(of_pod.nodes))
    filled = [row for row in rows["spine02"]["pod_incasts"] if row["offered"]]
    assert {(row["peer"], row["offered"], row["role"]) for row in filled} == {(f"leaf{number:02}", 6.0, "downlink") for number in range(1, 9)}
    assert all(len(row["beside"]) == 6 and row["flows"] >= 512 for row in filled)
    receivers = [row for row in rows["leaf03"]["pod_incasts"] if row["share"]]
    assert {(row["role"], round(row["share"])) for row in receivers} == {("receiver", 267)} and len(receivers) == 6
    own = [row for row in rows["gpu01"]["pod_incasts"] if row["across"]]
    assert len([row for row in own if row["role"] == "sender"]) == 24 and all(row["beside"] for row in own if row["role"] == "receiver")


def schedules(of_pod: Plan) -> dict[str, Schedule]:
    """The first step of each layer's loads on all hosts."""
    hosts = [name for name, node in of_pod.nodes.items() if node.role == "host"]
    found = {layer: planner(StepInput(of_pod, hosts, 0, {}, {})) for layer, planner in PLANNERS.items()}
    return {layer: schedule for layer, schedule in found.items() if schedule is not None}


def test_rounds_across_groups_are_announced_and_are_shorter(tmp_path: Path) -> None:
    congestion = schedules(plan(tmp_path, 4, 8, pod_incast_seconds=30, pod_load_setup_seconds=15))["congestion"]
    assert [line.partition(",")[0] for line in congestion.words] == ["incasts in 4 gate groups", "incasts across 4 gate groups"]
    assert "768 tests in 4 rounds of 10 s" in congestion.words[1]
    assert congestion.seconds == 2 * (15 + 30) + 4 * (15 + 10)
    kinds = Counter(job.columns["kind"] for jobs in congestion.jobs.values() for job in jobs)
    assert kinds == {INCAST: 2 * 448, ACROSS: 2 * 768}
    lasting = schedules(plan(tmp_path / "b", 4, 8, pod_incast_seconds=30, pod_load_setup_seconds=15, pod_depth="go_live"))["congestion"]
    assert "in 4 rounds of 30 s" in lasting.words[1]


def test_the_loads_of_32_hosts_take_half_an_hour_at_most(tmp_path: Path) -> None:
    of_time = {name: DEFAULTS[name] for name in OF_TIME if name in DEFAULTS}
    planned_loads = schedules(plan(tmp_path, 4, 8, **of_time))
    # A later step of the collectives begins when the one before has ended; the plan says how long all of them take at most.
    later = next(line for line in planned_loads["collectives"].words if "launches of at most 90 s, 12 min 0 s together" in line)
    assert later
    others = sum(schedule.seconds for layer, schedule in planned_loads.items() if layer != "collectives")
    assert others + 12 * 60 <= PROMISED_SECONDS
