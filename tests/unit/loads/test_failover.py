# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which uplink is shut on request, and which probes cross it."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.planners import PLANNERS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.schedule import Schedule, StepInput
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Plan
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.planned import plan_of


def plan(into: Path, spines: int = 4, **expectations: t.Any) -> Plan:
    return plan_of(layout.write(into, racks=2, hosts_per_rack=2, spines=spines, expectations={"pod_name": "small", **expectations}))


def step(of_pod: Plan, number: int = 0) -> Schedule | None:
    hosts = [name for name, node in of_pod.nodes.items() if node.role == "host"]
    return PLANNERS["routing"](StepInput(of_pod, hosts, number, {}, {}))


def test_nothing_is_shut_unasked(tmp_path: Path) -> None:
    assert step(plan(tmp_path)) is None and step(plan(tmp_path / "b", pod_depth="go_live")) is None
    assert step(plan(tmp_path / "c", pod_failover=True), 1) is None
    assert plan(tmp_path / "d").planned("leaf01")["pod_failover_link"] == {}


def test_a_probe_of_each_host_crosses_the_uplinks_of_the_leaf(tmp_path: Path) -> None:
    of_pod = plan(tmp_path, pod_failover=True, pod_failover_seconds=120)
    link = of_pod.failover_link()
    assert (link["leaf"], link["spine"]) == ("leaf01", "spine01")
    assert of_pod.planned("leaf01")["pod_failover_link"] == of_pod.planned("spine01")["pod_failover_link"] == link
    schedule = step(of_pod)
    assert schedule is not None and schedule.sampled and f"shut leaf01 {link['port']} (to spine01 {link['spine_port']})" in schedule.words[1]
    senders = {host: job for host, jobs in schedule.jobs.items() for job in jobs if job.columns["role"] == "sender"}
    assert list(senders) == ["gpu01", "gpu02", "gpu03", "gpu04"]
    leaves = {(rail["host"], rail["device"]): rail["leaf"] for rail in of_pod.rails()}
    for host, job in senders.items():
        assert leaves[host, job.columns["device"]] == "leaf01" != leaves[job.columns["peer"], job.columns["peer_device"]]
        assert job.columns["peer"] != host and job.at > 0
        assert any(one.columns["role"] == "responder" and one.until >= job.until for one in schedule.jobs[job.columns["peer"]])
    assert 120 < schedule.seconds < 150


def test_a_leaf_with_one_spine_has_no_other_way(tmp_path: Path) -> None:
    of_pod = plan(tmp_path, spines=1, pod_failover=True)
    schedule = step(of_pod)
    assert of_pod.failover_link() == {} and schedule is not None and schedule.jobs == {} and "no uplink is shut" in schedule.words[0]
