# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of other NICs and drivers than ConnectX with OFED: a healthy one climbs to go, and faults are found at their layer."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.reported import not_passed

from .conftest import ROOT, alike, more

pytestmark = pytest.mark.exhaustive

VARIANTS = ROOT / "tests" / "simulated_pod" / "variants"
FAULTS = ROOT / "tests" / "simulated_pod" / "faults"
# Of several layers, as the vendor's driver has them.
OF_INBOX = ["trust_pcp", "prio_mask_lost", "pfc_on_two_priorities", "cables_swapped", "dcqcn_deaf", "slow_path"]


OF_THOR2 = ["trust_pcp", "pfc_on_two_priorities", "cables_swapped", "dcqcn_deaf", "dcqcn_mute"]
OF_IONIC = ["trust_pcp", "pfc_on_two_priorities", "cables_swapped", "dcqcn_deaf", "dcqcn_mute", "slow_sender"]


def first_alone(names: list[str]) -> list[t.Any]:
    """Faults as cases of a test: the second is exhaustive and stands for the others, since each is found on the usual pod in every run of the tests."""
    return [names[0], more(names[1]), *map(alike, names[2:])]


def pods_of(into: Path, **more: object) -> inprocess.Pods:
    """A pod of two racks of four hosts."""
    expectations = {"pod_name": "small", "pod_to_layer": "training", **more}
    return inprocess.Pods(layout.write(into, racks=2, hosts_per_rack=4, spines=4, expectations=expectations))


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod whose rails are called as with OFED."""
    return pods_of(tmp_path_factory.mktemp("pod"))


@pytest.fixture(scope="module")
def thor2(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod whose rails are called as Thor2's are."""
    return pods_of(tmp_path_factory.mktemp("thor2"), **yaml.safe_load((VARIANTS / "thor2.yml").read_text(encoding="utf-8"))["expectations"])


@pytest.fixture(scope="module")
def ionic(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    """A pod whose rails are called as Pollara's are."""
    return pods_of(tmp_path_factory.mktemp("ionic"), **yaml.safe_load((VARIANTS / "ionic.yml").read_text(encoding="utf-8"))["expectations"])


def test_a_healthy_pod_of_the_kernels_own_mlx5_goes(pods: inprocess.Pods, tmp_path: Path) -> None:
    report = pods.climb(pods.pod(["inbox_mlx5"]), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    skipped = {one["check"]: one["words"] for one in report["verdicts"] if one.get("unavailable")}
    assert set(skipped) == {"dcqcn_running"} and skipped["dcqcn_running"].startswith("not available on this platform: the kernel's own mlx5_core")
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {"roce_qos", "nic_settings", "nic_driver_uniform", "dcqcn_uniform", "dcqcn_backs_off"} <= proved


@pytest.mark.parametrize("name", first_alone(OF_INBOX))
def test_a_fault_is_found_with_the_kernels_own_mlx5(name: str, pods: inprocess.Pods, tmp_path: Path) -> None:
    must_find(pods, "inbox_mlx5", name, tmp_path)


def test_a_healthy_pod_of_thor2_goes_and_names_what_it_cannot_prove(thor2: inprocess.Pods, tmp_path: Path) -> None:
    report = thor2.climb(thor2.pod(["thor2"]), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    assert "nic_settings not available on the platform of 8 hosts" in report["stands_on"]
    skipped = {one["check"]: one["words"] for one in report["verdicts"] if one.get("unavailable")}
    assert set(skipped) == {"nic_settings", "nic_reset_pending", "nic_settings_alike", "dcqcn_running", "dcqcn_uniform", "dcqcn_alike"}
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {"nic_link_flaps", "roce_qos", "pfc_brief", "no_drops", "dcqcn_backs_off", "links_under_load", "losses_under_load", "class_under_load"} <= proved


def test_thor2_is_read_by_niccli_where_there_is_no_dcb(thor2: inprocess.Pods, tmp_path: Path) -> None:
    """A rail without a mapped DSCP trusts none, as by dcb."""
    pod = thor2.pod(["thor2"])
    for host in pod.hosts.values():
        host.lacks = ["mlnx_qos", "dcb", "nicctl_qos"]
    pod.hosts["gpu06"].rails[4].trust = "pcp"
    judged = [one for one in thor2.climb(pod, tmp_path)["verdicts"] if one["layer"] == "preflight"]
    assert [(one["check"], finding["host"], finding["where"]) for one in judged for finding in one["findings"]] == [("roce_qos", "gpu06", "enp154s0np0 trust")]


@pytest.mark.parametrize("name", first_alone(OF_THOR2))
def test_a_fault_is_found_with_thor2(name: str, thor2: inprocess.Pods, tmp_path: Path) -> None:
    must_find(thor2, "thor2", name, tmp_path)


def test_a_healthy_pod_of_ionic_goes_and_names_what_it_cannot_prove(ionic: inprocess.Pods, tmp_path: Path) -> None:
    report = ionic.climb(ionic.pod(["ionic"]), tmp_path)
    assert not_passed(report) == []
    assert (report["verdict"], report["up_to_layer"]) == ("go", "training"), report["reasons"]
    assert report["stands_on"][:2] == [f"{check} not available on the platform of 8 hosts" for check in ("nic_settings", "right_class")]
    skipped = {one["check"] for one in report["verdicts"] if one.get("unavailable")}
    assert skipped == {
        "nic_settings",
        "nic_reset_pending",
        "nic_settings_alike",
        "dcqcn_running",
        "dcqcn_uniform",
        "dcqcn_alike",
        "right_class",
        "links_under_load",
        "nic_link_flaps",
        "class_under_load",
    }
    proved = {one["check"] for one in report["verdicts"] if one["verdict"] == "pass"}
    assert {"roce_qos", "pfc_brief", "no_drops", "dcqcn_backs_off", "losses_under_load", "pauses_under_load"} <= proved


@pytest.mark.parametrize("name", first_alone(OF_IONIC))
def test_a_fault_is_found_with_ionic(name: str, ionic: inprocess.Pods, tmp_path: Path) -> None:
    must_find(ionic, "ionic", name, tmp_path)


def test_a_port_of_ionic_that_does_not_pause_by_pfc_is_no_lossless_one(ionic: inprocess.Pods, tmp_path: Path) -> None:
    pod = ionic.pod(["ionic"])
    pod.hosts["gpu03"].rails[2].pfc_paused = False
    report = ionic.climb(pod, tmp_path)
    judged = [one for one in report["verdicts"] if one["layer"] == "preflight"]
    found = [(one["check"], finding["host"], finding["where"], finding["actual"]) for one in judged for finding in one["findings"]]
    assert (report["verdict"], found) == ("no_go", [("roce_qos", "gpu03", "benic3p1 PFC", "on none")])


def must_find(pods: inprocess.Pods, variant: str, name: str, into: Path) -> None:
    """A fault is found at its layer, by the checks and with the cause that it has on other pods."""
    expected = yaml.safe_load((FAULTS / f"{name}.yml").read_text(encoding="utf-8"))["expect"]
    report = pods.climb(pods.pod([variant, name]), into)
    found = {one["check"]: one for one in report["verdicts"] if one["layer"] == expected["layer"] and one["verdict"] not in ("pass", "skip")}
    assert report["verdict"] == "no_go" and set(found) == set(expected["checks"])
    assert any(expected["cause"] in one["cause"] or expected["cause"] in str(one["findings"]) for one in found.values())
