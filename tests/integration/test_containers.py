# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods whose torch and nccl-tests run in containers: a healthy one climbs to go, and faults of loads are found as elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed

from .conftest import ROOT

EXPECTATIONS = yaml.safe_load((ROOT / "tests" / "simulated_pod" / "variants" / "containers.yml").read_text(encoding="utf-8"))["expectations"]


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod of two racks of four hosts with docker."""
    expectations = {"pod_name": "small", "pod_to_layer": "training", **EXPECTATIONS}
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=4, spines=4, expectations=expectations))


@pytest.mark.exhaustive
def test_a_healthy_pod_with_containers_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    """Its hosts have neither torch nor NCCL, whose version is pinned and found in the image."""
    report = pods.climb(pods.pod(["containers"]), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {"container_runtime", "container_image_present", "container_image_same", "container_starts", "container_environment"} <= proved
    assert {"software_pinned", "software_uniform", "nccl_tests_bandwidth", "measures_agree"} <= proved


@pytest.mark.exhaustive
@pytest.mark.parametrize(("runtime", "name"), [("containers", "slow_sender"), ("containers_of_enroot", "gpu_slowed_in_training")])
def test_a_fault_is_found_where_loads_run_in_containers(pods: inprocess.Pods, runtime: str, name: str, tmp_path: Path) -> None:
    expected = yaml.safe_load((ROOT / "tests" / "simulated_pod" / "faults" / f"{name}.yml").read_text(encoding="utf-8"))["expect"]
    report = pods.climb(pods.pod([runtime, name]), tmp_path)
    found = {one["check"] for one in report["verdicts"] if one["layer"] == expected["layer"] and one["verdict"] not in ("pass", "skip")}
    assert report["verdict"] == "no_go" and found == set(expected["checks"])
