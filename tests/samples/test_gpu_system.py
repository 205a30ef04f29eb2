# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What genuine outputs of GPU hosts must come to; the facts are those of the samples' index."""

from __future__ import annotations

import collections
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, parse

Rows = list[dict[str, t.Any]]

ROWS = [
    ("lsmod", "lsmod/centos_no_peermem.txt", 16),
    ("lsmod", "lsmod/gpu_node_peermem_loaded.txt", 7),
    ("lsmod", "softroce/lsmod.out", 35),
    ("lsmod", "softroce/lsmod_rdma.out", 10),
    ("lsmod", "softroce/lsmod_ib_mlx.out", 7),
    ("lsmod", "softroce/k72_lsmod_mlx5_loaded.out", 31),
    ("lsmod", "softroce/k72_nohca_lsmod___grep_rdma.out", 7),
    ("meminfo", "meminfo/hugepages_8x1g_one_used.txt", 7),
    ("meminfo", "meminfo/rhel7_no_hugepages.txt", 43),
    ("kernel_cmdline", "proc_cmdline/rhel7_grub2.txt", 9),
    ("kernel_log", "dmesg_iommu/intel_dmar_enabled.txt", 2),
    ("kernel_log", "dmesg_iommu/amd_vi_enabled.txt", 1),
    ("kernel_log", "dmesg_gpu/xid_119.txt", 5),
    ("gpu_topology", "nvidia_smi_topo/a100_dgx_nv12.txt", 56),
    ("gpu_topology", "nvidia_smi_topo/h100_hgx_numa_split.txt", 56),
    ("gpu_topology", "nvidia_smi_topo/a100pcie_2gpu_4nic_sys.txt", 30),
    ("gpu_topology", "nvidia_smi_topo/hopper_2gpu_10nic_node_sys.txt", 132),
    ("gpu_topology", "nccl_h200x8/nvidia_smi_topo.txt", 56),
    ("gpu_topology", "nccl_h200x8/nvidia_smi_topo_ansi.txt", 56),
    ("gpu_topology", "rocm_smi_topo/4gpu_xgmi.txt", 12),
    ("gpu_affinity", "nvidia_smi_topo/a100_dgx_nv12.txt", 8),
    ("gpu_affinity", "nvidia_smi_topo/h100_hgx_numa_split.txt", 8),
    ("gpu_affinity", "nvidia_smi_topo/a100pcie_2gpu_4nic_sys.txt", 2),
    ("gpu_affinity", "nvidia_smi_topo/hopper_2gpu_10nic_node_sys.txt", 2),
    ("gpu_affinity", "nccl_h200x8/nvidia_smi_topo_ansi.txt", 8),
    ("gpu_affinity", "rocm_smi_topo/4gpu_xgmi.txt", 4),
    ("gpus", "nvidia_smi_q/driver535_a10.txt", 1),
    ("gpus", "nvidia_smi_q/driver560_1gpu.txt", 1),
    ("nvlinks", "nvidia_smi_nvlink/a100_8gpu.txt", 96),
    ("nvlinks", "nccl_h200x8/nvidia_smi_nvlink_s.txt", 144),
    ("pings", "frr/fault_mtu/e2e_matrix_ping_8972.txt", 36),
]


@pytest.mark.parametrize(("reading", "sample", "count"), ROWS)
def test_every_row_is_there(samples: Path, reading: str, sample: str, count: int) -> None:
    assert len(read(samples, reading, sample)) == count


def read(samples: Path, reading: str, sample: str) -> Rows:
    return parse(reading, "linux", (samples / sample).read_text(encoding="utf-8"))


def by(rows: Rows, key: str, column: str) -> dict[t.Any, t.Any]:
    """One column of each row by another."""
    return {row[key]: row[column] for row in rows}


def connections(samples: Path, sample: str) -> dict[tuple[str, str], str]:
    return {(row["device"], row["peer"]): row["connection"] for row in read(samples, "gpu_topology", sample)}


def test_module_is_loaded_where_it_is_the_first_word(samples: Path) -> None:
    loaded = by(read(samples, "lsmod", "lsmod/gpu_node_peermem_loaded.txt"), "module", "used_count")
    assert loaded["nvidia_peermem"] == 0
    assert "ib_core" not in loaded
    assert not {"nvidia_peermem", "mlx5_core"} & by(read(samples, "lsmod", "lsmod/centos_no_peermem.txt"), "module", "used_count").keys()
    users = by(read(samples, "lsmod", "lsmod/gpu_node_peermem_loaded.txt"), "module", "used_by")
    assert "nvidia_peermem" in users["ib_uverbs"]
    assert "nvidia_peermem" in users["nvidia"]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("meminfo/hugepages_8x1g_one_used.txt", {"HugePages_Total": 8, "HugePages_Free": 7, "Hugepagesize": 1048576, "AnonHugePages": 0}),
        ("meminfo/rhel7_no_hugepages.txt", {"HugePages_Total": 0, "Hugepagesize": 2048, "AnonHugePages": 135168}),
    ],
)
def test_hugepages_are_not_anonymous_ones(samples: Path, sample: str, expected: dict[str, int]) -> None:
    values = by(read(samples, "meminfo", sample), "name", "value")
    assert {name: values[name] for name in expected} == expected
    assert by(read(samples, "meminfo", sample), "name", "unit")["HugePages_Total"] is None


def test_command_line_has_neither_iommu_nor_hugepages(samples: Path) -> None:
    names = [row["name"] for row in read(samples, "kernel_cmdline", "proc_cmdline/rhel7_grub2.txt")]
    assert not {"iommu", "intel_iommu", "hugepages"} & set(names)
    assert names.count("rd.lvm.lv") == 2


def test_log_tells_the_iommu_and_the_xid(samples: Path) -> None:
    assert {row["event"] for row in read(samples, "kernel_log", "dmesg_iommu/intel_dmar_enabled.txt")} == {"iommu_enabled"}
    assert [row["text"] for row in read(samples, "kernel_log", "dmesg_iommu/amd_vi_enabled.txt")] == ["AMD-Vi: Interrupt remapping enabled"]
    xids = read(samples, "kernel_log", "dmesg_gpu/xid_119.txt")
    assert {(row["event"], row["device"], row["code"]) for row in xids} == {("xid", "0000:9b:00", 119)}
    assert xids[0]["time"] == "Sun Feb 23 16:24:18 2025"


@pytest.mark.parametrize(
    ("sample", "counts"),
    [
        ("nvidia_smi_topo/a100_dgx_nv12.txt", {"NV12": 56}),
        ("nvidia_smi_topo/h100_hgx_numa_split.txt", {"NV18": 56}),
        ("nccl_h200x8/nvidia_smi_topo.txt", {"NV18": 56}),
        ("nccl_h200x8/nvidia_smi_topo_ansi.txt", {"NV18": 56}),
        ("rocm_smi_topo/4gpu_xgmi.txt", {"XGMI": 12}),
    ],
)
def test_all_gpus_are_connected_alike(samples: Path, sample: str, counts: dict[str, int]) -> None:
    assert collections.Counter(connections(samples, sample).values()) == counts


def test_nics_have_their_device_names(samples: Path) -> None:
    cells = connections(samples, "nvidia_smi_topo/a100pcie_2gpu_4nic_sys.txt")
    assert cells["GPU0", "GPU1"] == "SYS"
    assert [cells["GPU0", f"mlx5_{n}"] for n in range(4)] == ["PIX", "PIX", "SYS", "SYS"]
    assert [cells["GPU1", f"mlx5_{n}"] for n in range(4)] == ["SYS", "SYS", "PIX", "PIX"]


def test_hand_aligned_columns_stay_in_place(samples: Path) -> None:
    cells = connections(samples, "nvidia_smi_topo/hopper_2gpu_10nic_node_sys.txt")
    assert cells["GPU0", "GPU1"] == "NV18"
    assert [cells["GPU0", f"mlx5_{n}"] for n in range(10)] == ["NODE"] * 5 + ["PIX"] + ["SYS"] * 4
    assert [cells["GPU1", f"mlx5_{n}"] for n in range(10)] == ["SYS"] * 6 + ["PIX"] + ["NODE"] * 3
    assert cells["mlx5_0", "mlx5_1"] == "PIX"
    assert all(cells[pair[::-1]] == connection for pair, connection in cells.items())


@pytest.mark.parametrize(
    ("sample", "cpus", "nodes"),
    [
        ("nvidia_smi_topo/a100_dgx_nv12.txt", ["0-23"] * 4 + ["24-47"] * 4, [0] * 4 + [1] * 4),
        ("nvidia_smi_topo/h100_hgx_numa_split.txt", ["0-51,104-155"] * 4 + ["52-103,156-207"] * 4, [0] * 4 + [1] * 4),
        ("nvidia_smi_topo/a100pcie_2gpu_4nic_sys.txt", ["0-31,64-95", "32-63,96-127"], [0, 1]),
        ("nccl_h200x8/nvidia_smi_topo_ansi.txt", ["0-127"] * 8, [0] * 8),
        ("rocm_smi_topo/4gpu_xgmi.txt", [None] * 4, [0, 1, 2, 3]),
    ],
)
def test_affinity_of_each_gpu(samples: Path, sample: str, cpus: list[str | None], nodes: list[int]) -> None:
    rows = read(samples, "gpu_affinity", sample)
    assert [row["gpu"] for row in rows] == list(range(len(nodes)))
    assert [row["cpu_affinity"] for row in rows] == cpus
    assert [row["numa_node"] for row in rows] == nodes


GPUS = [
    (
        "nvidia_smi_q/driver535_a10.txt",
        {
            "name": "NVIDIA A10",
            "pci": "0000:07:00.0",
            "driver": "535.129.03",
            "runtime": "12.2",
            "ecc_uncorrected_volatile": 0,
            "remap_pending": True,
            "remap_failed": False,
            "sm_clock_mhz": 225,
            "max_sm_clock_mhz": 1695,
            "pcie_width": 16,
            "max_pcie_width": 16,
            "hardware_slowdown": False,
            "thermal_slowdown": False,
            "power_cap": False,
            "fabric_state": None,
            "processes": 0,
        },
    ),
    (
        "nvidia_smi_q/driver560_1gpu.txt",
        {
            "name": "NVIDIA TITAN V",
            "pci": "0000:01:00.0",
            "driver": "560.35.03",
            "runtime": "12.6",
            "ecc_uncorrected_volatile": None,
            "remap_pending": None,
            "sm_clock_mhz": 135,
            "max_sm_clock_mhz": 1912,
            "fabric_status": None,
            # Three of type G, which only draw.
            "processes": 0,
        },
    ),
]


@pytest.mark.parametrize(("sample", "expected"), GPUS)
def test_gpu_facts(samples: Path, sample: str, expected: dict[str, t.Any]) -> None:
    (gpu,) = read(samples, "gpus", sample)
    assert {column: gpu[column] for column in expected} == expected
    assert (gpu["gpu"], gpu["attached"]) == (0, 1)


@pytest.mark.parametrize(("sample", "speed", "links"), [("nvidia_smi_nvlink/a100_8gpu.txt", 25.0, 12), ("nccl_h200x8/nvidia_smi_nvlink_s.txt", 26.562, 18)])
def test_links_of_each_gpu(samples: Path, sample: str, speed: float, links: int) -> None:
    rows = read(samples, "nvlinks", sample)
    assert {(row["state"], row["speed_gbyte_s"]) for row in rows} == {("active", speed)}
    assert collections.Counter(row["gpu"] for row in rows) == dict.fromkeys(range(8), links)


PINGS = [
    ("frr/healthy/gpu01_ping_same_rail.txt", ("10.10.0.3", "10.10.0.1", 5, 5, None, 0.0, 0.134)),
    ("frr/healthy/gpu01_ping_q_jumbo_df.txt", ("10.13.0.3", "10.10.0.1", 10, 10, None, 0.0, 0.113)),
    ("frr/healthy/gpu01_ping_too_big_local.txt", ("10.13.0.3", "10.10.0.1", 2, 0, 2, 100.0, None)),
    ("frr/fault_loss20/gpu01_ping_c50.txt", ("10.10.0.3", "10.10.0.1", 50, 38, None, 24.0, 0.094)),
    ("frr/fault_loss20/gpu01_ping_q_c200.txt", ("10.13.0.3", "10.10.0.1", 200, 163, None, 18.5, 0.167)),
    ("frr/fault_loss20/gpu01_ping_q_c1000_i0.002.txt", ("10.13.0.3", "10.10.0.1", 1000, 782, None, 21.8, 0.146)),
    ("frr/fault_loss_deterministic/gpu01_ping_q_c50.txt", ("10.10.0.3", "10.10.0.1", 50, 40, None, 20.0, 0.166)),
    ("frr/fault_loss100/gpu01_ping.txt", ("10.10.0.3", "10.10.0.1", 5, 0, None, 100.0, None)),
    ("frr/fault_ifdown/gpu02_ping_to_gpu01_rail0.txt", ("10.10.0.1", "10.10.0.3", 3, 0, 2, 100.0, None)),
    ("frr/fault_mtu/spine01_ping_8972_direct.txt", ("172.16.0.0", None, 4, 0, 4, 100.0, None)),
    ("frr/fault_mtu/leaf01_ping_8972_direct.txt", ("172.16.0.1", None, 4, 0, None, 100.0, None)),
]


@pytest.mark.parametrize(("sample", "expected"), PINGS)
def test_ping_facts(samples: Path, sample: str, expected: tuple[t.Any, ...]) -> None:
    (row,) = read(samples, "pings", sample)
    assert tuple(row[column] for column in ("target", "source", "sent", "received", "errors", "loss_percent", "rtt_max_ms")) == expected


@pytest.mark.parametrize(
    ("reading", "sample"),
    [("pings", "softroce/ansible_ping.out"), ("pings", "ibsim/healthy32/ibping_1.txt"), ("kernel_log", "lsmod/centos_no_peermem.txt")],
)
def test_another_tools_output_is_refused(samples: Path, reading: str, sample: str) -> None:
    with pytest.raises(ParseError):
        read(samples, reading, sample)
