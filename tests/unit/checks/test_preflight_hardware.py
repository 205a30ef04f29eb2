# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hardware has logged since the boot, modes of GPUs, and parameters of NICs that differ."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import hardware

Rows = list[dict[str, t.Any]]
RAILS = [{"device": "mlx5_0", "netdev": "rail0", "pci": "0000:18:00.0"}]


def found(findings: t.Iterable[Finding]) -> list[tuple[str, str, str | None]]:
    return [(str(one.where), one.actual, one.severity) for one in findings]


def logged(event: str, device: str | None, severity: str | None = None) -> dict[str, t.Any]:
    return {"time": "", "event": event, "device": device, "severity": severity, "code": 23001, "recovery": None, "text": event}


@pytest.mark.parametrize(
    ("row", "severity"),
    [
        (logged("pcie_error", "0000:18:00.0", "fatal"), None),
        (logged("pcie_error", "0000:05:00.0", "fatal"), "warn"),
        (logged("nic_overheated", "0000:18:00.0"), "warn"),
        (logged("module_error", "0000:18:00.0"), "warn"),
        (logged("gpu_reset", "0000:1b:00.0"), "warn"),
        (logged("nic_failed", "0000:18:00.0"), None),
        (logged("sxid", "0000:c1:00.0", "fatal"), None),
        (logged("peermem_error", None), "warn"),
        (logged("dma_refused", "0000:18:00.0"), None),
        (logged("dma_refused", "18:00.0"), None),
        (logged("dma_refused", "0000:03:00.0"), "warn"),
        (logged("queue_timeout", "rail0"), "warn"),
        (logged("neighbors_full", None), "warn"),
        (logged("disk_error", "nvme2"), "warn"),
        (logged("nic_limit", "0000:18:00.0"), "warn"),
        (logged("nic_not_started", "mlx5_0"), None),
        (logged("nic_command_failed", "0000:18:00.0"), "warn"),
        (logged("device_gone", "0000:18:00.0"), None),
        (logged("device_gone", "0000:05:00.0"), "warn"),
        (logged("dma_refused", None), "warn"),
        (logged("uvm_failed", None), None),
        (logged("gpu_without_atomics", None), None),
        (logged("gpu_hung", "0000:1b:00.0"), "warn"),
        (logged("gpu_reset_failed", "0000:1b:00.0"), None),
        (logged("gpu_worn", "0000:1b:00.0"), None),
        (logged("gpu_page_fault", "0000:1b:00.0"), "warn"),
        (logged("memory_error", None, "fatal"), None),
        (logged("memory_page_lost", None), None),
        (logged("kernel_oops", None), "warn"),
        (logged("out_of_memory", None), "warn"),
        (logged("pause_storm", "0000:18:00.0"), "warn"),
    ],
)
def test_what_is_over_warns_and_what_failed_fails(row: dict[str, t.Any], severity: str | None) -> None:
    assert [one.severity for one in hardware.hardware_log([row], RAILS, 10)] == [severity]


@pytest.mark.parametrize(
    ("device", "where"), [("0000:18:00.1", "mlx5_0"), ("18:00.0", "mlx5_0"), ("rail0", "mlx5_0"), ("eno1", "eno1"), ("0000:03:00.0", "0000:03:00.0")]
)
def test_a_rail_is_named_by_its_device_however_the_kernel_calls_it(device: str, where: str) -> None:
    assert [str(one.where) for one in hardware.hardware_log([logged("queue_timeout", device)], RAILS, 10)] == [where]


@pytest.mark.parametrize(
    ("row", "where", "what"),
    [
        (logged("gpu_hung", "0000:1b:00.0"), "GPU 3", "the GPU did not finish what it was given in time"),
        (logged("gpu_hung", None), "GPUs", "the GPU did not finish what it was given in time"),
        (logged("memory_error", None, "fatal"), "memory", "fatal errors of the memory module that is not named"),
        ({**logged("module_error", "0000:18:00.0"), "text": "bnxt_en 0000:18:00.0 rail0: TX is disabled"}, "mlx5_0",
         "error of the module or cable: bnxt_en 0000:18:00.0 rail0: TX is disabled"),
        ({**logged("kernel_oops", None), "text": "Oops: 0000 [#1] SMP"}, "kernel",
         "the kernel crashed within a driver or file system and went on (oops): Oops: 0000 [#1] SMP"),
    ],
)  # fmt: skip
def test_a_gpu_is_named_where_its_line_names_it_and_the_line_is_told(row: dict[str, t.Any], where: str, what: str) -> None:
    assert [(str(one.where), one.actual) for one in hardware.hardware_log([row], RAILS, 10, [{"gpu": 3, "pci": "0000:1b:00.0"}])] == [(where, what)]


def test_an_xid_is_judged_with_the_gpus_alone() -> None:
    assert list(hardware.hardware_log([logged("xid", "0000:1b:00")], RAILS, 10)) == []


def test_a_gpu_in_multi_instance_mode_is_named() -> None:
    gpus = [{"gpu": number, "mig_mode": mode} for number, mode in enumerate(("Disabled", "Enabled", None))]
    assert found(hardware.gpu_whole(gpus)) == [("GPU 1", "Enabled", None), ("GPU 2", "not reported", "unknown")]
    with pytest.raises(NotApplicable, match="not reported"):
        list(hardware.gpu_whole(gpus[2:]))
    with pytest.raises(CannotTell):
        list(hardware.gpu_whole([]))


def fabric(number: int, **values: str | None) -> dict[str, t.Any]:
    return {"gpu": number, "fabric_health": None, **{column: None for column, _words, _sound in hardware.FABRIC_LINES}, **values}


def test_each_line_of_the_health_of_the_fabric_counts() -> None:
    sound = {"fabric_bandwidth": "Full", "fabric_route_unhealthy": "False", "fabric_configuration": "None"}
    assert found(hardware.fabric_health([fabric(0, fabric_health="Healthy", **sound)], "auto")) == []
    assert found(hardware.fabric_health([fabric(0, fabric_health="Healthy", fabric_route_unhealthy="True")], "auto")) == [
        ("GPU 0", "Healthy, Route Unhealthy True", None)
    ]
    # An older driver reports the bandwidth alone; where it is full, it does not report that all is well.
    assert found(hardware.fabric_health([fabric(0, fabric_bandwidth="Degraded")], "auto")) == [("GPU 0", "Bandwidth Degraded", None)]
    with pytest.raises(NotApplicable, match="not reported"):
        list(hardware.fabric_health([fabric(0, **sound)], "auto"))


def test_the_health_of_the_fabric_is_that_of_every_gpu() -> None:
    gpus = [fabric(number, fabric_health=health) for number, health in enumerate(("Healthy", "Limited Capacity", "Unhealthy", "Odd", None))]
    judged = [("GPU 1", "Limited Capacity", "warn"), ("GPU 2", "Unhealthy", None), ("GPU 3", "Odd", None), ("GPU 4", "not reported", "unknown")]
    assert found(hardware.fabric_health(gpus, "auto")) == judged
    with pytest.raises(NotApplicable, match="not reported"):
        list(hardware.fabric_health(gpus[4:], "auto"))


def parameters(value: str | None) -> Rows:
    rows = [("np", "enable", "1"), ("rp", "rpg_time_reset", value)]
    return [{"netdev": "rail0", "role": role, "setting": setting, "priority": None, "value": one} for role, setting, one in rows if one is not None]


def test_a_parameter_of_dcqcn_that_differs_names_host_and_nic() -> None:
    group = {"a": parameters("300"), "b": parameters("300"), "c": parameters("1200"), "d": parameters(None)}
    judged = list(hardware.dcqcn_uniform(group, RAILS))
    assert [(one.host, str(one.where), one.actual, one.severity) for one in judged] == [
        ("c", "rail0 rp rpg_time_reset", "1200", None),
        ("d", "rail0 rp rpg_time_reset", "not reported", "unknown"),
    ]
    with pytest.raises(NotApplicable, match="not reported"):
        list(hardware.dcqcn_uniform({"a": parameters(None), "b": parameters(None)}, RAILS))


def test_a_whole_group_with_other_parameters_of_dcqcn_than_the_other_groups_is_warned_of() -> None:
    groups = {"a": ("a1", "a2"), "b": ("b1", "b2"), "c": ("c1", "c2")}
    dcqcn = {host: parameters("1200" if group == "c" else "300") for group, hosts in groups.items() for host in hosts}
    judged = {
        host: [(str(one.where), one.expected, one.actual) for one in hardware.dcqcn_alike(dcqcn, host, [other for other in hosts if other != host])]
        for hosts in groups.values()
        for host in hosts
    }
    words = [("rp rpg_time_reset", "300, as 4 of 4 hosts of other gate groups", "1200 on 2 hosts of this one")]
    assert judged == {"a1": [], "a2": [], "b1": [], "b2": [], "c1": words, "c2": words}
    # One odd NIC is a finding of dcqcn_uniform, and a host whose NICs differ is compared with nobody.
    mixed = {**dcqcn, "a1": [*parameters("300"), *({**row, "netdev": "rail1", "value": "900"} for row in parameters("300"))]}
    assert list(hardware.dcqcn_alike(mixed, "a1", ["a2"])) == []
    with pytest.raises(NotApplicable, match="no other gate group reports its parameters"):
        list(hardware.dcqcn_alike({host: dcqcn[host] for host in groups["a"]}, "a1", ["a2"]))
    with pytest.raises(NotApplicable, match="not reported by this driver"):
        list(hardware.dcqcn_alike({"a1": parameters(None), "b1": parameters(None)}, "a1", []))


def test_of_gpus_in_racks_the_lines_without_a_summary_are_enough_and_none_are_unknown() -> None:
    lines = {"fabric_bandwidth": "Full", "fabric_route_recovery": "False"}
    assert found(hardware.fabric_health([fabric(0, **lines)], "gate_group")) == []
    assert found(hardware.fabric_health([fabric(0)], "gate_group")) == [("GPU 0", "not reported", "unknown")]
    assert [one[2] for one in found(hardware.fabric_health([fabric(0, **lines), fabric(1)], "gate_group"))] == ["unknown", "unknown"]
