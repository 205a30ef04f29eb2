# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy pod of which less is asked than a whole climb: nothing is held against it, and what was not proved is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS

from .conftest import RACKS, SMALLEST, Pod, alike
from .test_whole_climb import SHORT

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("how", [alike({"pod_mode": "passive", "pod_depth": "quick"}), {"pod_mode": "passive"}, alike({"pod_depth": "quick"})], ids=str)
@pytest.mark.long
def test_a_healthy_pod_that_may_not_be_loaded_is_no_no_go(how: dict[str, str], tmp_path: Path) -> None:
    climb = Pod(tmp_path, **SMALLEST, pod_to_layer="training").climb(**how)
    assert climb.rc == 0 and climb.report is not None, climb.output
    assert (climb.report["verdict"], climb.not_well()) == ("no_fault_seen", {}), climb.output
    gates = {layer: {climb.gate(layer, rack) for rack in RACKS} for layer in LAYERS}
    # Whatever layer it ends at: nothing below or at it is closed.
    assert gates == {layer: {"open" if layer in LAYERS[:3] else "not_run"} for layer in LAYERS}
    assert "congestion, rdma, collectives, training were not run" in climb.report["reasons"]


@pytest.mark.long
def test_a_pod_of_one_host_names_what_it_cannot_prove(tmp_path: Path) -> None:
    climb = Pod(tmp_path, racks=1, hosts_per_rack=1, spines=2, pod_to_layer="training", **SHORT).climb()
    assert climb.rc == 0 and climb.report is not None, climb.output
    assert (climb.report["verdict"], climb.not_well()) == ("no_fault_seen", {})
    small = ("routing", "congestion", "rdma", "collectives")
    assert {layer: climb.gate(layer, "rack_01") for layer in LAYERS} == {layer: "not_proved" if layer in small else "open" for layer in LAYERS}
    assert "routing does not prove rails_reachable: it takes 2 hosts, and 1 took part" in climb.report["reasons"]
    assert "collectives does not prove all_reduce_bandwidth: it takes 2 hosts, and 1 took part" in climb.report["reasons"]
    assert len(climb.report["reasons"]) == 4


@pytest.mark.long
@pytest.mark.parametrize("only", ["gpu02", "collectives"])
def test_one_host_that_nobody_can_help_is_no_no_go(only: str, tmp_path: Path) -> None:
    pod = Pod(tmp_path, racks=1, hosts_per_rack=2 if only == "gpu02" else 1, spines=2, pod_to_layer="collectives", **SHORT)
    climb = pod.climb(pod_only=only)
    assert climb.rc == 0 and climb.report is not None, climb.output
    assert (climb.report["verdict"], climb.not_well()) == ("no_fault_seen", {})


def test_a_fault_of_a_pod_of_one_host_is_still_a_no_go(tmp_path: Path) -> None:
    climb = Pod(tmp_path, racks=1, hosts_per_rack=1, spines=2).climb(simulated_faults="port_at_100g@gpu01")
    assert climb.rc == 2 and climb.report is not None and climb.report["verdict"] == "no_go", climb.output


def test_a_host_that_does_not_answer_is_not_out_of_the_question(tmp_path: Path) -> None:
    """Of two hosts one is down: that is unknown, not a pod of one."""
    climb = Pod(tmp_path, racks=1, hosts_per_rack=2, spines=2, pod_only="routing").climb(simulated_faults="host_unreachable@gpu02")
    assert climb.rc == 2 and climb.report is not None and climb.gate("routing", "rack_01") == "closed", climb.output
