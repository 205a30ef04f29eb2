# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the plan for each node, and which gate groups a finding touches."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for, query_commands
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import Cable, read_cabling
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.meshes import ping_mesh
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.uplink_to_shut import failover_link
from hypothesis import given, settings
from hypothesis import strategies as st

from ..conftest import small_plan

BOTH = {"rack_01", "rack_02"}


@pytest.mark.parametrize(
    ("node", "port", "groups"),
    [
        ("leaf01", "Ethernet1", {"rack_01"}),
        ("leaf01", "Ethernet4", {"rack_02"}),
        ("leaf01", "Ethernet33", BOTH),
        ("leaf01", "Ethernet17", BOTH),
        ("leaf01", None, BOTH),
        ("spine01", "Ethernet1", BOTH),
        ("gpu03", "ens0", {"rack_02"}),
        ("gpu03", None, {"rack_02"}),
    ],
)
def test_a_finding_touches_the_groups_behind_its_port(plan, node, port, groups) -> None:
    assert plan.affects(node, port) == groups


def test_a_switch_that_nothing_is_cabled_to_touches_all(plan) -> None:
    plan.at["spine02"] = []
    assert plan.affects("spine02") == BOTH


def test_what_is_planned_for_a_leaf_and_a_host(plan) -> None:
    leaf, host = plan.planned("leaf01"), plan.planned("gpu01")
    assert (leaf["pod_role"], leaf["pod_uplinks"], len(leaf["pod_cables"])) == ("leaf", 2, 6)
    assert leaf["pod_neighbors"] == [
        {"port": f"Ethernet{32 + spine}", "peer": f"spine0{spine}", "address": f"10.0.{spine}.3", "asn": 65000} for spine in (1, 2)
    ]
    assert {rail["leaf"] for rail in leaf["pod_remote_rails"]} == {"leaf02"} and len(leaf["pod_remote_rails"]) == 4
    assert host["pod_neighbors"] == [] and [cable["peer"] for cable in host["pod_cables"]] == ["leaf01", "leaf02"]


def rail(host: int, index: int) -> dict:
    return {"host": f"h{host}", "index": index, "device": f"d{index}", "netdev": f"n{index}", "leaf": f"l{index}", "address": f"10.{index}.0.{host}"}


def rails(hosts: int, each: int) -> list[dict]:
    return [rail(host, index) for host in range(hosts) for index in range(each)]


class Values(dict):
    """Every host's values are these."""

    def __missing__(self, _host):
        return type("Node", (), {"values": dict(self)})


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 17), st.integers(1, 8), st.sampled_from(["rail_optimised", "rail_only"]))
def test_every_pair_of_a_rail_meets_once(hosts: int, each: int, topology: str) -> None:
    values = Values(
        pod_ping_peers_max=64,
        pod_ping_peers=8,
        pod_depth="standard",
        pod_topology=topology,
        pod_ping_count=20,
        pod_ping_interval_seconds=0.02,
        pod_mtu=None,
        pod_path_probe_flows=16,
    )
    plans = ping_mesh(rails(hosts, each), values)
    same = [(host, ping["peer"], ping["device"]) for host, own in plans.items() for ping in own["ping"] if not ping["cross"]]
    met = [(frozenset((a, b)), device) for a, b, device in same]
    assert len(set(met)) == each * hosts * (hosts - 1) // 2
    assert len(met) == len(set(met)) * (2 if hosts == 2 else 1)
    assert hosts == 1 or {host for host, _peer, _device in same} == set(plans)
    assert {pair for pair, _device in met} == {frozenset(pair) for pair in itertools.combinations([f"h{host}" for host in range(hosts)], 2)}
    cross = [(host, ping) for host, own in plans.items() for ping in own["ping"] if ping["cross"]]
    assert all(ping["peer"] != host and ping["peer_device"] != ping["device"] for host, ping in cross)
    assert len(cross) == (hosts * each if topology == "rail_optimised" and hosts > 1 and each > 1 else 0)
    probes = [(host, probe) for host, own in plans.items() for probe in own["path_probe"]]
    # Where nothing is routed across rails, or there is one rail, each rail is probed by itself.
    assert len(probes) == (hosts * each if hosts > 1 else 0)
    assert all(probe["cross"] == (topology == "rail_optimised" and each > 1) and probe["peer"] != host for host, probe in probes)
    assert topology == "rail_optimised" or len({(probe["peer"], probe["peer_device"]) for _host, probe in probes}) == len(probes)


def test_a_large_pod_is_sampled_and_every_rail_still_pings() -> None:
    values = Values(
        pod_ping_peers_max=64,
        pod_ping_peers=8,
        pod_depth="standard",
        pod_topology="rail_only",
        pod_ping_count=20,
        pod_ping_interval_seconds=0.02,
        pod_mtu=None,
        pod_path_probe_flows=16,
    )
    plans = ping_mesh(rails(200, 2), values)
    assert {len(own["ping"]) for own in plans.values()} == {14}
    values["pod_depth"] = "go_live"
    assert sum(len(own["ping"]) for own in ping_mesh(rails(70, 1), values).values()) == 70 * 69 // 2


def test_rails_without_an_address_are_not_pinged() -> None:
    assert ping_mesh([{**one, "address": None} for one in rails(3, 2)], Values()) == {}


def test_the_settings_that_a_site_names_are_asked_for() -> None:
    """A card that has all the usual ones would answer with those alone."""
    plan = small_plan(pod_nic_settings={"SRIOV_EN": True, "ATS_ENABLED": False})
    (ask,), _apart = queries_for(["mlxconfig"], {"platform": "linux", "values": plan.nodes["gpu01"].values, "items": plan.items("gpu01")})
    named = [one["argv"] for one in query_commands([ask])[0]["alternatives"] if "ROCE_CC_PRIO_MASK_P1" in one["argv"]]
    assert [(argv[0], argv.count("ATS_ENABLED"), argv.count("SRIOV_EN")) for argv in named] == [("mlxconfig", 1, 1), ("mstconfig", 1, 1)]
    assert not any("*" in word for argv in named for word in argv)


def test_a_pair_that_both_ends_ping_is_not_pinged_twice_from_one() -> None:
    plan = small_plan()
    own = plan.meshes(["gpu01", "gpu02"], ["gpu02"])["gpu02"]["ping"]
    assert len({ping["item"] for ping in own}) == len(own) > 0


def test_a_host_alone_pings_its_partners_from_its_own_end() -> None:
    plan = small_plan()
    own = plan.meshes(["gpu01", "gpu02", "gpu03", "gpu04"], ["gpu04"])
    assert set(own) == {"gpu04"} and own["gpu04"]["path_probe"] == []
    assert {ping["peer"] for ping in own["gpu04"]["ping"]} == {"gpu01", "gpu02", "gpu03"}
    # The kernel would choose by which rail a ping leaves, were it told the address alone.
    ends = {(ping["source"], ping["netdev"], ping["device"]) for ping in own["gpu04"]["ping"]}
    assert ends == {("10.50.0.4", "ens0", "mlx5_0"), ("10.51.0.4", "ens1", "mlx5_1")}


CHANNELS = """a_node,a_port,b_node,b_port,medium,length_m,a_address,b_address,a_channel,b_channel
leaf01,Ethernet33/1,spine01,Ethernet0,optic,50,10.0.1.0,10.0.1.1,Port-Channel1,PortChannel0001
leaf01,Ethernet34/1,spine01,Ethernet8,optic,50,,,Port-Channel1,PortChannel0001
leaf01,Ethernet35/1,spine02,Ethernet0,optic,50,10.0.2.0,10.0.2.1,,
leaf02,Ethernet33/1,spine01,Ethernet16,optic,50,10.0.1.2,10.0.1.3,,
leaf02,Ethernet34/1,spine02,Ethernet16,optic,50,10.0.2.2,10.0.2.3,,
"""
SWITCHES = {name: name[:-2] for name in ("leaf01", "leaf02", "spine01", "spine02")}


def test_a_port_channel_is_one_neighbor_and_one_way() -> None:
    cables, wrong = read_cabling(CHANNELS, SWITCHES)
    plan = Plan({name: Node(name, role, "eos", None, {**DEFAULTS}, 65000) for name, role in SWITCHES.items()}, {}, cables)
    assert wrong == [] and [Cable.of_cells(one.cells) for one in cables] == cables
    leaf = plan.planned("leaf01")
    assert [(one["port"], one["address"]) for one in leaf["pod_neighbors"]] == [("Port-Channel1", "10.0.1.1"), ("Ethernet35/1", "10.0.2.1")]
    assert leaf["pod_ways"] == {"leaf02": ["Port-Channel1", "Ethernet35/1"]}
    assert [cable["peer_channel"] for cable in leaf["pod_cables"]] == ["PortChannel0001", "PortChannel0001", None]
    assert plan.items("leaf01")["channels"] and not plan.items("leaf02")["channels"]
    # What is shut under load is an uplink of its own.
    rails = [{"leaf": name, "address": f"10.50.0.{number}"} for number, name in enumerate(("leaf01", "leaf02"), 1)]
    assert failover_link(rails, {"leaf01": leaf["pod_cables"]})["port"] == "Ethernet35/1"
    assert failover_link(rails, {"leaf01": leaf["pod_cables"][:2]}) == {}


@pytest.mark.parametrize("odd", ["spine02,Ethernet8,optic,50,,,Port-Channel1,PortChannel0001", "spine01,Ethernet24,optic,50,,,Port-Channel1,"])
def test_a_port_channel_ends_at_one_port_channel(odd: str) -> None:
    _cables, wrong = read_cabling(f"{CHANNELS}leaf01,Ethernet36/1,{odd}\n", SWITCHES)
    assert wrong[0].startswith("line 7: Port-Channel1 of leaf01 leads to spine01 PortChannel0001 and to spine0")
