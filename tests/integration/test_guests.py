# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods whose hosts are virtual machines: a healthy one climbs to go, what belongs to the hypervisor is named, and faults are found at their layer."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.tests.cases import name_of_fault
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Host, Tool
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed

from .conftest import ROOT, alike, more

pytestmark = pytest.mark.exhaustive

SIMULATED = ROOT / "tests" / "simulated_pod"
OF_HYPERVISOR = {"iommu_as_expected", "acs_as_expected"}
# Of several layers, as on bare metal.
FAULTS = ["nic_crc_grows", "nic_optic_dark", "cables_swapped", "trust_pcp", "slow_sender", "gpu_slowed_in_training"]


# What is found although the NICs are virtual functions, and by which checks alone where a physical port would tell as well.
OF_FUNCTIONS = ["crc_grows", "cables_swapped", "retransmits_in_all_reduce", "rail_down", "optic_dark", "slow_sender", "gpu_slowed_in_training", "ping_lost"]
NOT_OF_FUNCTIONS = {
    "preflight": {
        "nic_settings", "nic_reset_pending", "nic_settings_alike", "dcqcn_running", "dcqcn_uniform", "dcqcn_alike", "roce_qos", "nic_pcie_alike",
        *OF_HYPERVISOR,
    },
    "links": {
        "crc_clean", "errors_clean", "nic_bit_error_rate", "symbol_error_rate", "nic_link_flaps", "optic_rx_power", "optic_health", "laser_bias",
        "optics_uniform",
    },
    "congestion": {"idle_quiet", "right_class", "pfc_brief", "slow_receiver", "links_under_load"},
    "rdma": {"right_class", "links_under_load", "pauses_under_load"},
    "collectives": {"class_under_load", "links_under_load", "pauses_under_load"},
    "training": {"class_under_load", "links_under_load", "pauses_under_load"},
}  # fmt: skip


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod of two racks of four virtual machines with whole NICs."""
    expectations = yaml.safe_load((SIMULATED / "variants" / "guests.yml").read_text(encoding="utf-8"))["expectations"]
    return pods_of(tmp_path_factory.mktemp("pod"), expectations)


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """The same with virtual functions."""
    expectations = yaml.safe_load((SIMULATED / "variants" / "virtual_functions.yml").read_text(encoding="utf-8"))["expectations"]
    return pods_of(tmp_path_factory.mktemp("functions"), expectations)


def pods_of(into: Path, expectations: dict[str, t.Any]) -> inprocess.Pods:
    """A pod of two racks of four hosts."""
    return inprocess.Pods(
        layout.write(into, racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small", "pod_to_layer": "training", **expectations})
    )


def test_a_healthy_pod_of_guests_goes_and_names_what_belongs_to_the_hypervisor(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod(["guests"]), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    skipped = {one["check"]: one["words"] for one in report["verdicts"] if one.get("unavailable")}
    assert set(skipped) == {*OF_HYPERVISOR, "nic_pcie_alike"} and all(words.startswith("not available in a guest: ") for words in skipped.values())
    assert {f"{check} not available on the platform of 8 hosts" for check in OF_HYPERVISOR} <= set(report["stands_on"])
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {"virtualization_as_planned", "nic_settings", "pcie_link", "optic_rx_power", "crc_clean", "cabling_as_planned", "fabric_state"} <= proved


@pytest.mark.parametrize("name", [more(FAULTS[0]), *map(alike, FAULTS[1:])])
def test_a_fault_is_found_in_guests(name: str, pods: inprocess.Pods, tmp_path: Path) -> None:
    must_find(pods, "guests", name, tmp_path)


def test_a_healthy_pod_of_virtual_functions_goes_and_names_what_it_cannot_prove(functions: inprocess.Pods, tmp_path: Path) -> None:
    report = functions.climb(functions.pod(["virtual_functions"]), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    skipped: dict[str, set[str]] = {}
    for one in report["verdicts"]:
        if one.get("unavailable"):
            skipped.setdefault(one["layer"], set()).add(one["check"])
    assert skipped == NOT_OF_FUNCTIONS
    required = {"nic_settings", *OF_HYPERVISOR, "crc_clean", "idle_quiet", "right_class", "pfc_brief"}
    assert {f"{check} not available on the platform of 8 hosts" for check in required} <= set(report["stands_on"])
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    of_hosts = {"virtualization_as_planned", "pcie_link", "port_speed", "no_drops", "dcqcn_backs_off", "losses_under_load", "hosts_idle"}
    assert of_hosts | {"crc_clean", "optic_rx_power", "qos_agrees", "cabling_as_planned"} <= proved


@pytest.mark.parametrize("name", [more(OF_FUNCTIONS[0]), *map(alike, OF_FUNCTIONS[1:])])
def test_a_fault_is_found_behind_virtual_functions(name: str, functions: inprocess.Pods, tmp_path: Path) -> None:
    must_find(functions, "virtual_functions", name, tmp_path)


def whole_nics(host: Host) -> None:
    for rail in host.rails:
        rail.virtual, rail.part_id = False, 4129


def old_functions(host: Host) -> None:
    for rail in host.rails:
        rail.part_id = 4116


def mute(host: Host) -> None:
    host.tools.append(Tool("find", "missing", arguments="/sys/class/net"))


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        (whole_nics, {"nic_driver_uniform": "fail"}),
        (old_functions, {"adapters_capable": "fail"}),
        # Functions that are not known to be virtual excuse nothing.
        (
            mute,
            {
                "nic_driver_uniform": "fail",
                "nic_settings": "unknown",
                "nic_reset_pending": "unknown",
                "nic_settings_alike": "unknown",
                "dcqcn_running": "unknown",
                "roce_qos": "unknown",
            },
        ),
    ],
    ids=name_of_fault,
)
def test_an_odd_guest_is_found(fault: t.Callable[[Host], None], wanted: dict[str, str], functions: inprocess.Pods) -> None:
    pod = functions.pod(["virtual_functions"])
    fault(pod.hosts["gpu03"])
    its = [one for one in inprocess.judge(functions.plan, pod, "preflight") if one.verdict not in ("pass", "skip")]
    assert {(one.check, one.verdict) for one in its if one.host == "gpu03" or one.group == "rack_01"} >= set(wanted.items())
    assert {str(finding.host or one.host) for one in its for finding in one.findings} <= {"gpu03"}


def test_a_guest_in_a_plan_of_bare_metal_is_one_cause_and_no_heap_of_unknowns(tmp_path: Path) -> None:
    bare = pods_of(tmp_path / "pod", {})
    pod = bare.pod()
    pod.hosts["gpu03"].hypervisor, pod.hosts["gpu03"].iommu_groups = "kvm", False
    for rail in pod.hosts["gpu03"].rails:
        rail.virtual, rail.part_id = True, 4126
    its = [one for one in inprocess.judge(bare.plan, pod, "preflight") if one.verdict not in ("pass", "skip")]
    assert {(one.check, one.verdict) for one in its} == {("virtualization_as_planned", "fail"), ("nic_driver_uniform", "fail")}


def must_find(pods: inprocess.Pods, variant: str, name: str, into: Path) -> None:
    """A fault is found at its layer, by the checks and with the cause that it has on bare metal."""
    expected = yaml.safe_load((SIMULATED / "faults" / f"{name}.yml").read_text(encoding="utf-8"))["expect"]
    report = pods.climb(pods.pod([variant, name]), into)
    found = {one["check"]: one for one in report["verdicts"] if one["layer"] == expected["layer"] and one["verdict"] not in ("pass", "skip")}
    assert report["verdict"] == "no_go" and set(found) == set(expected["checks"])
    assert any(expected["cause"] in one["cause"] or expected["cause"] in str(one["findings"]) for one in found.values())
