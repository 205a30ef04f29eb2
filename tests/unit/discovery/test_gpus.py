# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is proposed of GPUs: by their vendor, their links and their NVLink clusters; nothing where hosts differ."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.gpus import gpu_proposals, vendor_of

RAILS = {host: [{"device": "mlx5_0", "gpu": 0}] for host in ("gpu01", "gpu02")}
NVIDIA = [{"class": "0x030200", "vendor": "0x10de"}, {"class": "0x020000", "vendor": "0x15b3"}]


def topology(nic="PXB", gpus="NV18"):
    return [{"device": "GPU0", "peer": "GPU1", "connection": gpus}, {"device": "GPU0", "peer": "mlx5_0", "connection": nic}]


def gpu(name="NVIDIA H100 80GB HBM3", state="Completed", cluster=None):
    return {"name": name, "fabric_state": state, "fabric_uuid": cluster}


def proposed(first, second=None):
    found = gpu_proposals({"gpu01": first, "gpu02": second or first}, RAILS)
    return {one.name: one.value for one in found if one.name != "pod_gpus_per_host"}


@pytest.mark.parametrize(
    ("devices", "vendor"),
    [
        (NVIDIA, "nvidia"),
        ([{"class": "0x120000", "vendor": "0x1002"}], "amd"),
        ([{"class": "0x030000", "vendor": "0x1a03"}], None),
        ([*NVIDIA, {"class": "0x120000", "vendor": "0x1002"}], None),
        ([], None),
    ],
)
def test_the_vendor_is_that_of_the_pci_devices(devices, vendor):
    assert vendor_of(devices) == vendor


def test_the_longest_path_to_a_rail_is_proposed_where_it_is_beyond_the_default_on_all_hosts():
    assert proposed({"gpu_topology": topology()}) == {"pod_gpu_interconnect": "NV18"}
    assert proposed({"gpu_topology": topology("NODE")})["pod_gpu_nic_distance"] == "NODE"
    assert "pod_gpu_nic_distance" not in proposed({"gpu_topology": topology("NODE")}, {"gpu_topology": topology()})
    assert "pod_gpu_interconnect" not in proposed({"gpu_topology": topology()}, {"gpu_topology": topology(gpus="NV12")})


def test_boards_without_nvswitch_are_those_that_report_no_fabric_and_are_not_all_connected_by_nvlink():
    boards = {"gpu_topology": topology(gpus="SYS"), "gpus": [gpu(state=None)], "pci_devices": NVIDIA}
    assert proposed(boards) == {"pod_nvswitch": False}
    assert "pod_nvswitch" not in proposed({**boards, "gpu_topology": topology(gpus="NV12")})
    assert "pod_nvswitch" not in proposed(boards, {**boards, "gpus": [gpu(state="In Progress")]})
    assert "pod_nvswitch" not in proposed({**boards, "pci_devices": [{"class": "0x120000", "vendor": "0x1002"}]})


def test_nvlink_reaches_as_far_as_its_clusters():
    racks = {"gpus": [gpu("NVIDIA GB200", cluster="aa")]}
    assert proposed(racks) == {"pod_nvlink_domain": "gate_group"}
    assert proposed(racks, {"gpus": [gpu("NVIDIA GB200", cluster="bb")]}) == {}
    alone = {"gpus": [gpu("NVIDIA GB200", cluster="00000000-0000-0000-0000-000000000000")]}
    assert proposed(alone) == {"pod_nvlink_domain": "host"} and proposed(racks, alone) == {}
    assert proposed({"gpus": [gpu(cluster="aa")]}) == {}


def counted(first, second):
    found = gpu_proposals({"gpu01": first, "gpu02": second}, RAILS)
    return [(one.value, one.read) for one in found if one.name == "pod_gpus_per_host"]


def test_gpus_are_counted_where_no_topology_is_reported():
    boards = {"gpus": [gpu(state=None)] * 8, "pci_devices": NVIDIA}
    assert counted(boards, boards) == [(8, "of all hosts")]
    assert counted(boards, {}) == [(8, "of the 1 host that reports it, of 2")]
    assert counted({"gpu_topology": topology()}, boards) == [] and counted({}, {}) == []
    # Nothing tells whether they are connected by NVLink, and so with an NVSwitch.
    assert proposed(boards) == {} and proposed({**boards, "gpu_topology": topology(gpus="SYS")}, boards) == {}
