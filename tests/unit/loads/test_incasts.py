# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Incasts: who loads whom, whether it congests, and what each port faces."""

from __future__ import annotations

import dataclasses
import typing as t
from collections import Counter

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incast_expectations import incast_expectations, incasts_by_host
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.incasts import Incasts, flows_needed, plan_incasts
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan
from hypothesis import given
from hypothesis import strategies as st

from ..conftest import small_plan


def pod(sizes: t.Sequence[int], rails: int = 8, topology: str = "rail_optimised", uplinks: int = 4, **values: t.Any) -> tuple[dict[str, list[str]], Incasts]:
    """Groups of hosts of those sizes, each host with its rails, and their incasts."""
    values = {**DEFAULTS, "pod_topology": topology, **values}
    groups = {f"rack_{g}": [f"gpu_{g}_{h}" for h in range(size)] for g, size in enumerate(sizes)}
    nodes = {host: Node(host, "host", "linux", group, values) for group, hosts in groups.items() for host in hosts}
    leaf = {"top_of_rack": lambda group, rail, host: f"leaf{group}_{host % 2}"}.get(topology, lambda group, rail, host: f"leaf{rail}")
    all_rails = [
        {
            "host": f"gpu_{g}_{h}", "index": rail, "device": f"mlx5_{rail}", "netdev": f"ens{rail}", "leaf": leaf(g, rail, h), "address": f"10.{rail}.{g}.{h}",
        }
        for g, size in enumerate(sizes) for h in range(size) for rail in range(rails)
    ]  # fmt: skip
    return groups, plan_incasts(groups, all_rails, nodes, {rail["leaf"]: uplinks for rail in all_rails})


def nic(rail: dict[str, t.Any]) -> tuple[str, str]:
    return rail["host"], rail["device"]


SHAPES = st.tuples(st.lists(st.integers(3, 40), min_size=1, max_size=3), st.sampled_from([1, 2, 3, 4, 8]))


@given(SHAPES)
def test_every_nic_sends_every_host_receives_and_no_nic_does_both_at_once(shape: tuple[list[int], int]) -> None:
    groups, planned = pod(*shape)
    assert not planned.refused
    everyone = {host for hosts in groups.values() for host in hosts}
    assert {pair["receiver"]["host"] for pair in planned.pairs} == everyone
    assert {nic(pair["sender"]) for pair in planned.pairs} == {(host, f"mlx5_{rail}") for host in everyone for rail in range(shape[1])}
    for number in range(1, planned.rounds + 1):
        senders = Counter(nic(pair["sender"]) for pair in planned.pairs if pair["round"] == number)
        receivers = Counter(nic(pair["receiver"]) for pair in planned.pairs if pair["round"] == number)
        assert not senders.keys() & receivers.keys() and set(senders.values()) <= {1}
        assert min(receivers.values(), default=2) >= 2 and max(receivers.values(), default=2) <= 8
    assert all(pair["sender"]["host"] != pair["receiver"]["host"] for pair in planned.pairs)


@given(SHAPES)
def test_receivers_are_swapped_in_sets_of_at_most_nine_of_one_group(shape: tuple[list[int], int]) -> None:
    groups, planned = pod(*shape)
    group_of = {host: group for group, hosts in groups.items() for host in hosts}
    meets: dict[str, set[str]] = {}
    receives: dict[tuple[str, int], set[int]] = {}
    for pair in planned.pairs:
        assert pair["group"] == group_of[pair["sender"]["host"]] == group_of[pair["receiver"]["host"]]
        meets.setdefault(pair["receiver"]["host"], set()).add(pair["sender"]["host"])
        receives.setdefault(nic(pair["receiver"]), set()).add(pair["round"])
    assert max(len(hosts) for hosts in meets.values()) <= 8
    assert all(not {one, one + 1} <= rounds for rounds in receives.values() for one in rounds), "a NIC that receives in two rounds on end has not been swapped"


@given(SHAPES)
def test_at_go_live_every_nic_has_sent_and_received(shape: tuple[list[int], int]) -> None:
    groups, planned = pod(*shape, pod_depth="go_live")
    everything = {(host, f"mlx5_{rail}") for hosts in groups.values() for host in hosts for rail in range(shape[1])}
    assert {nic(pair["receiver"]) for pair in planned.pairs} == {nic(pair["sender"]) for pair in planned.pairs} == everything


def test_full_sets_of_nine_load_with_eight_senders_in_two_rounds() -> None:
    _groups, planned = pod([36])
    assert planned.rounds == 2
    counts = Counter((pair["round"], nic(pair["receiver"])) for pair in planned.pairs)
    assert set(counts.values()) == {8} and len(counts) == 2 * 4 * 8


def test_odd_rounds_stay_on_the_rail_and_even_rounds_cross_every_spine() -> None:
    _groups, planned = pod([9, 5])
    for pair in planned.pairs:
        assert (pair["sender"]["index"] != pair["receiver"]["index"]) == pair["cross"] == (pair["round"] % 2 == 0)
    sources = {pair["sender"]["leaf"] for pair in planned.pairs if pair["cross"] and pair["receiver"]["leaf"] == "leaf3"}
    assert len(sources) >= 4, "an incast over the spines comes from many leaves"


@pytest.mark.parametrize(("topology", "crosses"), [("rail_only", False), ("top_of_rack", True)])
def test_other_topologies_stay_on_the_rail(topology: str, crosses: bool) -> None:
    _groups, planned = pod([6], topology=topology)
    assert all(pair["sender"]["index"] == pair["receiver"]["index"] for pair in planned.pairs)
    assert any(pair["cross"] for pair in planned.pairs) == crosses


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_group_too_small_to_congest_is_refused_in_words(hosts: int) -> None:
    _groups, planned = pod([hosts, 4])
    assert planned.refused == {"rack_0": f"rack_0 has {hosts} hosts that take part: an incast needs 3, two senders and a receiver"}
    assert {pair["group"] for pair in planned.pairs} == {"rack_1"}


def test_too_little_offered_load_is_refused_in_words() -> None:
    """As 8 senders of 40 Gb/s on a receiver of 400: slow senders do not congest it."""
    rails = [{"host": f"gpu{h}", "index": 0, "device": "mlx5_0", "netdev": "ens0", "leaf": "leaf0", "address": f"10.0.0.{h}"} for h in range(9)]
    nodes = {f"gpu{h}": Node(f"gpu{h}", "host", "linux", "rack", {**DEFAULTS, "pod_link_gbit_s": 400 if h == 0 else 40}) for h in range(9)}
    planned = plan_incasts({"rack": list(nodes)}, rails, nodes, {})
    assert planned.pairs == []
    assert planned.refused["rack"] == ("gpu0 mlx5_0 would be offered 80 Gb/s in round 1, 0.20 of its link, which does not congest it: 1.5 is needed")


def test_flows_are_enough_to_judge_the_balance_of_uplinks() -> None:
    assert [flows_needed(uplinks) for uplinks in (0, 1, 2, 4, 16)] == [0, 1, 128, 512, 4096]
    _groups, planned = pod([9])
    for leaf in {pair["sender"]["leaf"] for pair in planned.pairs}:
        flows = sum(pair["qps"] for pair in planned.pairs if pair["cross"] and pair["sender"]["leaf"] == leaf)
        assert flows >= 512
    _groups, few = pod([9], pod_incast_qps_max=8)
    assert {pair["qps"] for pair in few.pairs} <= {4, 8}
    assert {pair["qps"] for pair in pod([9])[1].pairs if not pair["cross"]} == {4}


def larger_plan(hosts: int = 4) -> Plan:
    """The small plan with both racks as one, so that it congests."""
    plan = small_plan()
    names = [f"gpu0{number}" for number in range(1, hosts + 1)]
    nodes = {name: dataclasses.replace(node, group="rack_01" if node.group else None) for name, node in plan.nodes.items()}
    return Plan(nodes, {"rack_01": names}, plan.cables)


def test_hosts_and_ports_know_what_they_face() -> None:
    plan = larger_plan()
    rows = incast_expectations(plan, ["gpu01", "gpu02", "gpu03", "gpu04"])
    for number in (1, 2):
        of_leaf = {row["port"]: row for row in rows["leaf01"]["pod_incasts"] if row["round"] == number}
        of_hosts = {
            host: {row["role"] for row in rows[host]["pod_incasts"] if row["round"] == number and row["device"] == "mlx5_0"} for host in plan.groups["rack_01"]
        }
        assert {of_leaf[f"Ethernet{i}"]["role"] for i in range(1, 5)} == {"receiver", "sender"}
        assert {frozenset({of_leaf[f"Ethernet{i}"]["role"]}) for i in (1,)} == {frozenset(of_hosts["gpu01"])}
        uplink = of_leaf["Ethernet33"]
        assert (uplink["role"], uplink["flows"] > 0) == (("idle", False) if number == 1 else ("uplink", True))
    assert {row["role"] for row in rows["spine01"]["pod_incasts"] if row["round"] == 2} == {"downlink"}
    assert {row["role"] for row in rows["spine01"]["pod_incasts"] if row["round"] == 1} == {"idle"}


def test_a_host_that_does_not_climb_is_idle_and_a_pod_without_incasts_says_why() -> None:
    plan = larger_plan()
    rows = incast_expectations(plan, ["gpu01", "gpu02", "gpu03"])
    assert rows["gpu04"]["pod_incasts"] == [] and {row["role"] for row in rows["leaf01"]["pod_incasts"] if row["port"] == "Ethernet4"} == {"idle"}
    refused = incast_expectations(plan, ["gpu01"])
    assert "an incast needs 3" in refused["gpu01"]["pod_incast_refused"] and "an incast needs 3" in refused["leaf01"]["pod_incast_refused"]
    assert refused["leaf01"]["pod_incasts"] == []


def test_both_ends_of_a_test_agree() -> None:
    _groups, planned = pod([9])
    rows = incasts_by_host(planned)
    assert set(rows) == {pair["sender"]["host"] for pair in planned.pairs}
    for host, own in rows.items():
        for row in own:
            mirrored = {
                "device": row["peer_device"],
                "peer": host,
                "peer_device": row["device"],
                "peer_leaves": [f"leaf{row['device'].removeprefix('mlx5_')}"],
                "role": {"sender": "receiver", "receiver": "sender"}[row["role"]],
            }
            assert {**row, **mirrored} in rows[row["peer"]]
