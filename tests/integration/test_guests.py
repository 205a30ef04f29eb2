# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods whose hosts are virtual machines: a healthy one climbs to go, what belongs to the hypervisor is named, and faults are found at their layer."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

from .conftest import ROOT, alike

SIMULATED = ROOT / "tests" / "simulated_pod"
OF_HYPERVISOR = {"iommu_as_expected", "acs_as_expected"}
# Of several layers, as on bare metal.
FAULTS = ["nic_crc_grows", "nic_optic_dark", "cables_swapped", "trust_pcp", "slow_sender", "gpu_slowed_in_training"]


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod of two racks of four virtual machines with whole NICs."""
    expectations = yaml.safe_load((SIMULATED / "variants" / "guests.yml").read_text(encoding="utf-8"))["expectations"]
    return pods_of(tmp_path_factory.mktemp("pod"), expectations)


def pods_of(into: Path, expectations: dict[str, t.Any]) -> inprocess.Pods:
    """A pod of two racks of four hosts."""
    return inprocess.Pods(
        layout.write(into, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small", "pod_to_layer": "training", **expectations})
    )


def test_a_healthy_pod_of_guests_goes_and_names_what_belongs_to_the_hypervisor(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod(["guests"]), tmp_path)
    assert [(one["check"], one["words"], one["findings"]) for one in report["verdicts"] if one["verdict"] not in ("pass", "skip")] == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    skipped = {one["check"]: one["words"] for one in report["verdicts"] if one.get("unavailable")}
    assert set(skipped) == OF_HYPERVISOR and all(words.startswith("not available in a guest: ") for words in skipped.values())
    assert {f"{check} not available on the platform of 8 hosts" for check in OF_HYPERVISOR} <= set(report["stands_on"])
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {"virtualization_as_planned", "nic_settings", "pcie_link", "optic_rx_power", "crc_clean", "cabling_as_planned", "fabric_state"} <= proved


@pytest.mark.parametrize("name", [FAULTS[0], pytest.param(FAULTS[1], marks=pytest.mark.exhaustive), *map(alike, FAULTS[2:])])
def test_a_fault_is_found_in_guests(name: str, pods: inprocess.Pods, tmp_path: Path) -> None:
    must_find(pods, "guests", name, tmp_path)


def must_find(pods: inprocess.Pods, variant: str, name: str, into: Path) -> None:
    """A fault is found at its layer, by the checks and with the cause that it has on bare metal."""
    expected = yaml.safe_load((SIMULATED / "faults" / f"{name}.yml").read_text(encoding="utf-8"))["expect"]
    report = pods.climb(pods.pod([variant, name]), into)
    found = {one["check"]: one for one in report["verdicts"] if one["layer"] == expected["layer"] and one["verdict"] not in ("pass", "skip")}
    assert report["verdict"] == "no_go" and set(found) == set(expected["checks"])
    assert any(expected["cause"] in one["cause"] or expected["cause"] in str(one["findings"]) for one in found.values())
