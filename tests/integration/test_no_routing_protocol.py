# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rail-only pod whose leaves run no routing protocol: what only BGP tells is skipped, what the rails must carry is required."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Tool

from .conftest import RACKS, Pod

pytestmark = pytest.mark.exhaustive

RAILS = {"pod_topology": "rail_only", "pod_underlay": "none"}
BY_BGP = {"bgp_established", "ecmp_paths", "kernel_forwards"}
WITHOUT = {"rails_reachable", "path_mtu", "path_carries_full_size"}


def judged(tmp_path: Path, **expectations: str) -> tuple[inprocess.Pods, dict[str, set[str]], dict[str, str]]:
    """A pod of leaves that know of no BGP: its verdicts of layer 2 by check, and its gates."""
    pods = inprocess.Pods(layout.write(tmp_path, racks=2, hosts_per_rack=3, spines=0, expectations={"pod_name": "rails", **expectations}))
    pod = pods.pod()
    for switch in pod.switches.values():
        switch.tools += [Tool("show", "says", arguments=words, stdout="% BGP inactive\n", rc=1) for words in ("bgp", "route")]
    verdicts = inprocess.judge(pods.plan, pod, "routing")
    found: dict[str, set[str]] = {}
    for one in verdicts:
        found.setdefault(one.check, set()).add(one.verdict)
    return pods, found, inprocess.decide(pods.plan, verdicts, "routing")


def test_leaves_without_bgp_are_a_go(tmp_path: Path) -> None:
    _pods, found, gates = judged(tmp_path, **RAILS)
    assert set(gates.values()) == {"open"}
    assert all(found[check] == {"skip"} for check in BY_BGP)
    assert all("pass" in found[check] for check in WITHOUT)


def test_leaves_that_should_run_bgp_and_do_not_are_none(tmp_path: Path) -> None:
    _pods, _found, gates = judged(tmp_path, **{**RAILS, "pod_underlay": "bgp"})
    assert set(gates.values()) == {"closed"}


@pytest.mark.parametrize("check", sorted(WITHOUT))
def test_what_the_rails_must_carry_is_required(check: str, tmp_path: Path) -> None:
    pods, _found, _gates = judged(tmp_path, **RAILS)
    verdicts = [one for one in inprocess.judge(pods.plan, pods.pod(), "routing") if one.check != check]
    assert set(inprocess.decide(pods.plan, verdicts, "routing").values()) == {"closed"}


def test_a_rail_that_loses_full_size_packets_is_found(tmp_path: Path) -> None:
    pods, _found, _gates = judged(tmp_path, **RAILS)
    pod = pods.pod()
    pod.hosts["gpu02"].rails[3].flows_lost = 4
    verdicts = inprocess.judge(pods.plan, pod, "routing")
    assert {(one.check, one.host) for one in verdicts if one.verdict == "fail"} == {("path_carries_full_size", "gpu02")}
    assert inprocess.decide(pods.plan, verdicts, "routing") == {"rack_01": "closed", "rack_02": "open"}


def test_a_climb_of_such_a_pod_is_a_go(tmp_path: Path) -> None:
    climb = Pod(tmp_path, racks=2, hosts_per_rack=3, spines=0, **RAILS).climb()
    assert climb.rc == 0 and climb.report is not None, climb.output
    assert climb.report["verdict"] == "go" and {climb.gate("routing", rack) for rack in RACKS} == {"open"}
