# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What genuine outputs of newer GPU families must come to; the facts are those of the second collection's index."""

from __future__ import annotations

import collections
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse

SAMPLES = Path(__file__).parents[3] / "shared" / "samples2"
Rows = list[dict[str, t.Any]]


@pytest.fixture(scope="module")
def read() -> t.Callable[[str, str], Rows]:
    """The rows of a sample by a reading."""
    if not SAMPLES.is_dir():
        pytest.skip(f"no genuine outputs in {SAMPLES}")
    return lambda reading, sample: parse(reading, "linux", (SAMPLES / sample).read_text(encoding="utf-8"))


Read = t.Callable[[str, str], Rows]


@pytest.mark.parametrize(("number", "name", "mode"), [(1, "NVIDIA H200", "Disabled"), (2, "NVIDIA H200", "Enabled"), (3, "NVIDIA L40S", None)])
def test_fabric_of_boards_without_nvlink_between_hosts(read: Read, number: int, name: str, mode: str | None) -> None:
    (gpu,) = read("gpus", f"nvidia_smi/nvidia_smi_q_{number}.txt")
    assert (gpu["name"], gpu["mig_mode"], gpu["attached"], gpu["recovery_action"]) == (name, mode, 1, "None")
    nowhere = (0, "00000000-0000-0000-0000-000000000000", "Completed", "Success") if name == "NVIDIA H200" else (None,) * 4
    assert (gpu["fabric_clique"], gpu["fabric_uuid"], gpu["fabric_state"], gpu["fabric_status"]) == nowhere
    assert gpu["fabric_health"] is gpu["fabric_bandwidth"] is gpu["fabric_route_unhealthy"] is None


def test_nvlinks_with_and_without_multi_instance_mode(read: Read) -> None:
    links = read("nvlinks", "nvidia_smi/nvidia_smi_nvlink_s_1.txt")
    assert [row["link"] for row in links] == list(range(18)) and {(row["state"], row["speed_gbyte_s"]) for row in links} == {("active", 26.562)}
    assert [(row["link"], row["state"]) for row in read("nvlinks", "nvidia_smi/nvidia_smi_nvlink_s_2.txt")] == [(None, "unsupported")]


def test_an_imex_domain_in_text_and_in_json(read: Read) -> None:
    nodes = read("imex_domain", "imex/nvidia_imex_ctl_N_1.txt")
    assert [row["node"] for row in nodes] == list(range(18))
    assert {(row["domain"], row["state"], row["version"]) for row in nodes} == {("UP", "READY", "570.172")}
    links = read("imex_links", "imex/nvidia_imex_ctl_N_1.txt")
    assert collections.Counter(row["state"] for row in links) == {"CONNECTED": 324}
    nodes = read("imex_domain", "imex/nvidia_imex_ctl_N_j_1.json")
    assert {(row["node"], row["domain"], row["state"], row["host_name"]) for row in nodes} == {(1, "DEGRADED", "READY", None), (3, "DEGRADED", "READY", None)}
    assert {(row["node"], row["peer"]) for row in read("imex_links", "imex/nvidia_imex_ctl_N_j_1.json")} == {(1, 0), (1, 1), (3, 1), (3, 6)}


def test_nccl_on_a_tray(read: Read) -> None:
    rows = read("nccl_log", "nccl/nccl_log_mnnvl_1.txt")
    assert [row["value"] for row in rows if row["event"] == "version"] == ["2.30.7+cuda13.3"]
    assert [row["name"] for row in rows if row["event"] == "channel"] == ["P2P/MNNVL"]
    # A health mask of 0xaa is healthy, and no warning.
    assert not [row for row in rows if row["event"] == "warning"]


def test_correctable_errors_of_amd_gpus_are_no_uncorrectable_ones(read: Read) -> None:
    rows = [row for row in read("kernel_log", "dmesg/amdgpu_ras_1.txt") if row["event"] == "ras_error"]
    assert [(row["device"], row["severity"]) for row in rows] == [("0000:3d:00.0", "corrected")]


def test_xids_of_the_kernels_messages(read: Read) -> None:
    rows = read("kernel_log", "dmesg/xid_kmsg_1.txt")
    assert [(row["device"], row["code"]) for row in rows] == [("0000:00:16", 119), ("0000:01:00", 43), ("0000:2a:00", 79)]


def test_amd_gpus_and_their_links(read: Read) -> None:
    assert [(row["gpu"], row["pci"]) for row in read("gpus", "amd_smi/rocm_smi_json_1.json")] == [
        (0, "0000:83:00.0"), (1, "0000:a3:00.0"), (2, "0000:c3:00.0"), (3, "0000:e3:00.0"),
    ]  # fmt: skip
    rows = read("gpu_topology", "amd_smi/amd_smi_topology_json_2.json")
    assert [(row["device"], row["peer"], row["connection"]) for row in rows] == [("GPU0", "GPU1", "PCIE DISABLED"), ("GPU1", "GPU0", "PCIE DISABLED")]
