# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each remedy heals its fault now and for the next boot, says in check mode what it would do, and leaves a healthy host alone."""

from __future__ import annotations

import typing as t
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.modules import dcqcn, kernel_module, memlock, nic_firmware, roce_gids, roce_qos
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import state

from .conftest import HOST, Machine

TASKS = Path(__file__).parents[3] / "roles" / "remedy" / "tasks"
MODULES = {"kernel_module": kernel_module, "mlxconfig": nic_firmware, "roce_qos": roce_qos, "dcqcn": dcqcn, "memlock": memlock, "gid": roce_gids}
# The fault, the check that finds it, its remedy, and something that has to be among the changes.
CASES = [
    ("peermem_missing", "gpudirect_available", "kernel_module", "nvidia_peermem = loaded (was not loaded)"),
    ("peermem_not_registered", "gpudirect_available", "kernel_module", "nvidia_peermem = loaded (was loaded, not registered)"),
    ("prio_mask_lost", "nic_settings", "mlxconfig", "0000:4f:00.0 ROCE_CC_PRIO_MASK_P1 (next boot) = 8 (was 0)"),
    ("nic_reset_pending", "nic_reset_pending", "mlxconfig", "0000:4f:00.0 was reset"),
    ("dcqcn_off", "dcqcn_running", "dcqcn", "enp79s0np0 roce_rp priority 3 = 1 (was 0)"),
    ("trust_pcp", "roce_qos", "roce_qos", "enp79s0np0 trust = dscp (was pcp)"),
    ("pfc_on_two_priorities", "roce_qos", "roce_qos", "enp79s0np0 PFC = 0,0,0,1,0,0,0,0 (was"),
    ("link_pause_on", "roce_qos", "roce_qos", "enp79s0np0 link pause = rx off tx off (was rx on tx on)"),
    ("memlock_limited", "job_limits", "memlock", "slurmd.service LimitMEMLOCK = infinity (was 8388608)"),
    ("gid_missing", "gid_index", "gid", "mlx5_4 GID of 10.53.0.3 = RoCE v2 (was absent)"),
]
IDS = [case[0] for case in CASES]


def arguments(machine: Machine, remedy: str) -> dict[str, t.Any]:
    """As the role gives them, with a reset allowed."""
    netdevs = [rail["netdev"] for rail in machine.rails]
    qos = {"netdevs": netdevs, "priority": 3}
    return {
        "kernel_module": {"name": "nvidia_peermem", "registered": "sys/kernel/mm/memory_peers/nv*"},
        "mlxconfig": {"devices": [rail["device"] for rail in machine.rails], "priority": 3, "reset": True},
        "roce_qos": {**qos, "dscp": 26, "cnp_dscp": 48},
        "dcqcn": qos,
        "memlock": {"services": ["slurmd.service", "containerd.service", "docker.service"]},
        "gid": {"rails": machine.rails},
    }[remedy]


def test_checks_and_tasks_name_the_same_remedies() -> None:
    named = {check.remedy for layer in REGISTRY.values() for check in layer.values() if check.remedy}
    tasks = {path.stem for path in TASKS.glob("*.yml")} - {"main"}
    choices = yaml.safe_load((TASKS.parent / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"]["remedy_names"]["choices"]
    assert named == tasks == set(choices) == set(MODULES)


def test_every_remedy_has_a_fault_of_every_check_of_the_preflight_that_names_it() -> None:
    """A check above it names a remedy for what the preflight's check of that remedy sees on an idle host."""
    named = {(check.id, check.remedy) for check in REGISTRY["preflight"].values() if check.remedy}
    assert named == {(check, remedy) for _fault, check, remedy, _words in CASES}


@pytest.mark.parametrize(("fault", "check", "remedy", "words"), CASES, ids=IDS)
def test_a_remedy_heals_its_fault(fault: str, check: str, remedy: str, words: str, machine) -> None:
    one: Machine = machine(fault)
    module: ModuleType = MODULES[remedy]
    assert one.verdicts()[check] in ("fail", "warn"), "the fault is not in force"
    before = one.files()

    would = one.run(module, check=True, **arguments(one, remedy))
    assert would["changed"] and one.files() == before and one.verdicts()[check] in ("fail", "warn"), "check mode changed something"

    did = one.run(module, **arguments(one, remedy))
    assert did["changed"] and any(output.startswith(words) for output in did["changes"]), did
    assert {output.replace("would be", "was") for output in would["changes"]} >= {output for output in did["changes"] if output.startswith(words)}
    assert did["diff"]["before"] != did["diff"]["after"] or fault == "nic_reset_pending"
    assert check not in one.verdicts()

    again = one.run(module, **arguments(one, remedy))
    assert not again["changed"] and again["changes"] == []


@pytest.mark.parametrize("remedy", MODULES)
def test_a_remedy_leaves_a_healthy_host_alone(remedy: str, machine) -> None:
    one: Machine = machine()
    assert one.verdicts() == {}
    before = one.files()
    output = one.run(MODULES[remedy], **arguments(one, remedy))
    assert not output["changed"] and one.files() == before


@pytest.mark.exhaustive
@pytest.mark.parametrize(("fault", "check", "remedy"), [case[:3] for case in CASES if case[2] in ("kernel_module", "roce_qos", "dcqcn", "memlock")])
def test_what_a_remedy_made_is_there_after_the_next_boot(fault: str, check: str, remedy: str, machine) -> None:
    one: Machine = machine(fault)
    # A DCQCN that firmware does not serve is off after a boot unless somebody switches it on.
    with state.host_of(one.pod, HOST) as host:
        for rail in host.rails:
            rail.settings["ROCE_CC_PRIO_MASK_P1"] = "0" if remedy == "dcqcn" else "255"
    one.run(MODULES[remedy], **arguments(one, remedy))
    assert check not in one.verdicts()
    state.boot(one.pod, HOST)
    assert check not in one.verdicts()


@pytest.mark.exhaustive
def test_where_roce_is_lossy_no_priority_keeps_pfc_and_the_boot_sets_none(machine) -> None:
    one: Machine = machine("pfc_on_two_priorities")
    given = {**arguments(one, "roce_qos"), "pfc": False}
    assert [rail.pfc for rail in one.host.rails if rail.pfc != [3]] == [[3, 4]]
    assert "enp79s0np0 PFC = 0,0,0,0,0,0,0,0 (was 0,0,0,1,1,0,0,0)" in one.run(roce_qos, **given)["changes"]
    assert not any(rail.pfc for rail in one.host.rails) and not one.run(roce_qos, **given)["changed"]
    state.boot(one.pod, HOST)
    assert not any(rail.pfc for rail in one.host.rails) and "enp79s0np0 trust = dscp (was pcp)" not in one.run(roce_qos, **given)["changes"]


def test_a_module_that_stays_loaded_works_where_the_kernel_lists_no_clients(machine) -> None:
    one: Machine = machine("peers_not_listed")
    assert one.verdicts() == {} and not one.run(kernel_module, **arguments(one, "kernel_module"))["changed"]
    with state.host_of(one.pod, HOST) as host:
        host.modules, host.memory_peer = [], False
    assert one.verdicts()["gpudirect_available"] == "fail"
    assert one.run(kernel_module, **arguments(one, "kernel_module"))["changed"] and one.verdicts() == {}


def test_without_the_remedy_the_next_boot_loses_it_all(machine) -> None:
    one: Machine = machine("memlock_limited")
    state.boot(one.pod, HOST)
    assert {"roce_qos", "job_limits"} <= set(one.verdicts())


def test_a_reset_that_is_not_allowed_is_left_pending(machine) -> None:
    one: Machine = machine("prio_mask_lost")
    output = one.run(nic_firmware, **{**arguments(one, "mlxconfig"), "reset": False})
    assert output["pending"] == {"0000:4f:00.0": ["ROCE_CC_PRIO_MASK_P1"]} and output["reset"] == []
    assert one.verdicts() == {"nic_settings": "fail", "nic_reset_pending": "fail"}
    assert one.host.rails[2].next_boot == {"ROCE_CC_PRIO_MASK_P1": "8"}
    again = one.run(nic_firmware, **{**arguments(one, "mlxconfig"), "reset": False})
    assert not again["changed"] and again["pending"] == output["pending"]


def test_only_the_nic_that_waits_is_reset_and_it_loses_what_runs(machine) -> None:
    one: Machine = machine("prio_mask_lost")
    output = one.run(nic_firmware, **arguments(one, "mlxconfig"))
    assert output["reset"] == ["0000:4f:00.0"] and output["pending"] == {}
    assert [rail.trust for rail in one.host.rails] == ["dscp", "dscp", "pcp", "dscp", "dscp", "dscp", "dscp", "dscp"]
    assert one.verdicts() == {"roce_qos": "fail"}


@pytest.mark.parametrize(("state", "virtual", "reset"), [("up", False, False), ("down", False, True), ("up", True, True)])
def test_a_card_with_somebody_elses_port_is_not_reset(state: str, virtual: bool, reset: bool, machine) -> None:
    one: Machine = machine("prio_mask_lost")
    port = one.root / "sys/bus/pci/devices/0000:4f:00.1/net/storage1"
    port.mkdir(parents=True)
    (port / "operstate").write_text(f"{state}\n")
    if virtual:
        (port.parents[1] / "physfn").symlink_to("../0000:4f:00.0")
    output = one.run(nic_firmware, **arguments(one, "mlxconfig"))
    assert output.get("reset") == (["0000:4f:00.0"] if reset else None)
    if not reset:
        assert output["failed"] and "0000:4f:00.0 is not reset: storage1 of the same card is up and no rail" in output["msg"]
        assert {rail.trust for rail in one.host.rails} == {"dscp"}


def test_settings_of_the_site_are_set_by_word_or_by_number(machine) -> None:
    one: Machine = machine()
    devices = [one.rails[0]["device"]]
    assert not one.run(nic_firmware, devices=devices, settings={"SRIOV_EN": "False", "LINK_TYPE_P1": 2})["changed"]
    output = one.run(nic_firmware, devices=devices, settings={"SRIOV_EN": 1})
    assert output["changes"] == ["0000:18:00.0 SRIOV_EN (next boot) = 1 (was False(0))"] and one.host.rails[0].next_boot == {"SRIOV_EN": "True(1)"}


@pytest.mark.parametrize(
    ("remedy", "given", "words"),
    [
        ("mlxconfig", {"settings": {"NO_SUCH_KEY": 1}}, "the firmware has no setting NO_SUCH_KEY"),
        ("mlxconfig", {"devices": ["mlx5_77"]}, "mlx5_77 cannot be read"),
        ("dcqcn", {"netdevs": ["enp99s0"]}, "this driver has no switch for DCQCN"),
        ("dcqcn", {"priority": 9}, "argument 'priority' must be from 0 to 7, not 9"),
        ("roce_qos", {"netdevs": ["enp99s0"]}, "enp99s0 cannot be read"),
        ("kernel_module", {"name": "no_such"}, "no_such cannot be loaded"),
        ("gid", {"rails": [{"device": "mlx5_77", "netdev": "x", "address": "10.0.0.1/24"}]}, "no RDMA device mlx5_77"),
    ],
)
def test_what_cannot_be_repaired_says_why(remedy: str, given: dict, words: str, machine) -> None:
    one: Machine = machine()
    output = one.run(MODULES[remedy], **{**arguments(one, remedy), **given})
    assert output["failed"] and words in output["msg"] and not output.get("changed")


@pytest.mark.parametrize("remedy", ["mlxconfig", "roce_qos", "memlock"])
def test_a_missing_tool_says_so(remedy: str, machine, monkeypatch, tmp_path) -> None:
    one: Machine = machine()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr("ansible_collections.gpufabric.pyramid.plugins.module_utils.repairing.BESIDE", ())
    output = one.run(MODULES[remedy], **arguments(one, remedy))
    assert output["failed"] and output["msg"].endswith("not found on PATH")


def test_a_netdev_that_nobody_configures_is_not_touched(machine) -> None:
    one: Machine = machine("gid_missing")
    (one.root / "etc/systemd/network/50-rails.network").unlink()
    output = one.run(roce_gids, rails=one.rails)
    assert output["failed"] and "configures enp79s0np0" in output["msg"] and one.verdicts()["gid_index"] == "fail"


def test_an_address_that_does_not_come_back_says_so(machine) -> None:
    one: Machine = machine("gid_missing")
    with state.host_of(one.pod, HOST) as host:
        host.rails[2].address = ""
    output = one.run(roce_gids, rails=one.rails, timeout=1)
    assert output["failed"] and "is the address configured?" in output["msg"]
