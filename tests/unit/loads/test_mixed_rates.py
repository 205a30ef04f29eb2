# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 4 of a pod whose hosts are linked at 400 and at 200 Gb/s: what a test must reach follows from the slower of its two ends."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.of_run import entry_of_run
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.measured import measured
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of
from ansible_collections.gpufabric.pyramid.tests.unit.loads.test_layer_4 import Pod, Rate, Running, words

# The hosts at 200 Gb/s of a pod of two racks of four hosts: a rack, every other one, two of a rack, all but three.
MIXED = {"a rack": "5678", "alternate": "2468", "some of a rack": "34", "most": "23468"}
PART = 0.95


@pytest.fixture(scope="module")
def uniform(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    place = tmp_path_factory.mktemp("pod")
    return plan_of(layout.write(place, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small", "pod_idle_seconds": 1}))


def mixed(plan: Plan, slow: str) -> Plan:
    """The plan with some hosts, by their numbers, at 200 Gb/s."""
    names = {f"gpu0{number}" for number in slow}
    return Plan({name: replace(node, values={**node.values, "pod_link_gbit_s": 200.0 if name in names else 400.0}) for name, node in plan.nodes.items()},
                plan.groups, plan.cables)  # fmt: skip


def link(plan: Plan, host: str) -> float:
    return float(plan.nodes[host].values["pod_link_gbit_s"])


def carried(plan: Plan) -> Rate:
    """Each test at most of what its slower end's link carries."""
    return lambda one: PART * min(link(plan, one.sender), link(plan, one.receiver))


@pytest.mark.parametrize("slow", MIXED.values(), ids=MIXED)
def test_a_healthy_mixed_pod_has_no_finding_and_nothing_to_repeat(uniform: Plan, slow: str) -> None:
    plan = mixed(uniform, slow)
    pod = Pod(plan, carried(plan))
    assert pod.bandwidth() == pod.gpu_memory() == {} and pod.slow_rails() == [] and len(pod.steps) == 1


@pytest.mark.parametrize("way", ["sender", "receiver"])
@pytest.mark.parametrize("bad", ["gpu01", "gpu03", "gpu04", "gpu06", "gpu08"])
@pytest.mark.parametrize("slow", MIXED.values(), ids=MIXED)
def test_a_slow_rail_of_either_kind_is_found_and_its_host_named_alone(uniform: Plan, slow: str, bad: str, way: str) -> None:
    plan = mixed(uniform, slow)

    def rate(one: Running) -> float:
        device = one.device if way == "sender" else one.peer_device
        bad_one = getattr(one, way) == bad and device == "mlx5_4"
        return min(carried(plan)(one), 0.75 * link(plan, bad) if bad_one else 400.0)

    pod = Pod(plan, rate)
    found = pod.bandwidth()
    assert set(found) == {bad} and {str(one.where) for one in found[bad]} == {"mlx5_4"}, found
    assert f"mlx5_4: expected {0.875 * link(plan, bad):g} Gb/s or more" in words(found, bad)
    assert set(pod.slow_rails()) <= {bad}


def test_a_fast_rail_without_a_partner_as_fast_is_not_proved(uniform: Plan) -> None:
    plan = mixed(uniform, "2345678")
    found = Pod(plan, carried(plan)).bandwidth()
    assert set(found) == {"gpu01"} and len(found["gpu01"]) == 8 and {one.severity for one in found["gpu01"]} == {"unknown"}
    assert "mlx5_0: expected a test with a rail of 400 Gb/s or more, got tests with rails of 200 Gb/s at most" in words(found, "gpu01")


def test_a_path_that_is_slow_between_fast_rails_is_no_hosts_fault(uniform: Plan) -> None:
    """Both ends carry their slower partners' rate with others, and with each other no more than that."""
    plan = mixed(uniform, "5678")
    jobs = Pod(plan, carried(plan)).done["load_jobs"]["gpu01"]
    other = next(
        row["peer"] for row in jobs if row["kind"] == "write_bw" and row["device"] == row["peer_device"] == "mlx5_0" and link(plan, row["peer"]) == 400
    )
    fast = {"gpu01", other}
    found = Pod(plan, lambda one: 200.0 if {one.sender, one.receiver} == fast and one.device == "mlx5_0" else carried(plan)(one)).bandwidth()
    assert set(found) == fast and all("the path" in words(found, host) for host in fast), found


def test_the_rated_speed_of_a_cable_counts(uniform: Plan) -> None:
    cables = [replace(cable, gbit_s=200.0) if "gpu03" in (cable.a.node, cable.b.node) else cable for cable in uniform.cables]
    plan = Plan(uniform.nodes, uniform.groups, cables)
    rate: t.Callable[[Running], float] = lambda one: 190.0 if "gpu03" in (one.sender, one.receiver) else 380.0  # noqa: E731
    assert Pod(plan, rate).bandwidth() == {}


def test_report_and_history_hold_each_rail_to_its_own_rate(tmp_path: Path) -> None:
    """A whole layer 4 of a pod whose second rack is at 200 Gb/s, with a slow rail of the first."""
    directory = layout.write(tmp_path / "pod", racks=2, hosts_per_rack=4, spines=2, expectations={"pod_name": "mixed", "pod_to_layer": "rdma"})
    (directory / "group_vars" / "rack_02.yml").write_text("---\npod_link_gbit_s: 200\n", encoding="utf-8")
    pods = inprocess.Pods(directory)
    pod = pods.pod()
    for name in pods.plan.groups["rack_02"]:
        for rail in pod.hosts[name].rails:
            rail.sends_gbit_s, rail.receives_gbit_s, rail.from_gpu_gbit_s = rail.sends_gbit_s / 2, rail.receives_gbit_s / 2, rail.from_gpu_gbit_s / 2
    pod.hosts["gpu02"].rails[0].sends_gbit_s = 300.0
    report = pods.climb(pod, tmp_path / "run", from_layer="rdma")
    accused = {finding["host"] or one["host"] for one in report["verdicts"] if one["verdict"] not in ("pass", "skip") for finding in one["findings"]}
    assert accused == {"gpu02"} and next(one["groups"]["rack_02"]["gate"] for one in report["layers"] if one["layer"] == "rdma") == "open"
    store = RunStore(tmp_path / "run")
    own = measured(store)["rdma/write_bw_per_rail"]
    assert (own["place"], own["limit"]) == ("gpu02 mlx5_0", 350.0) and 299 < own["worst"] < 301, "the slower rack's 188 Gb/s are not the worst"
    entry = entry_of_run(t.cast("t.Any", report), pods.plan, store.state(), store)
    low = {(one.node, one.low) for one in entry.numbers if one.metric == "write_bandwidth" and one.low is not None}
    assert {node for node, least in low if least == 175.0} == set(pods.plan.groups["rack_02"])
    assert {least for node, least in low if node in pods.plan.groups["rack_01"]} >= {350.0}
