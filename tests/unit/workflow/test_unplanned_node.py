# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is by its own variables, before any plan."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.unplanned_node import UnplannedNode, outside_roles, unknown_expectations

HOSTS = ["gpu01", "gpu02", "gpu03"]


def node(name: str, **variables: t.Any) -> UnplannedNode:
    return UnplannedNode.of({"inventory_hostname": name, "groups": {"gpu_hosts": HOSTS}, **variables}, lambda value: value, pod_fabric="infiniband")


def test_kind_and_platform_follow_from_group_and_variables() -> None:
    host, leaf, other = node("gpu01"), node("leaf01"), node("leaf02", pod_platform="eos", ansible_network_os="cisco.nxos.nxos")
    assert [(one.kind, one.platform) for one in (host, leaf, other)] == [("host", "linux"), ("switch", "infiniband"), ("switch", "eos")]
    assert host.values["pod_fabric"] == "infiniband" and node("gpu01", pod_mtu=9000).values["pod_mtu"] == 9000
    assert leaf.asked() == {"platform": "infiniband", "kind": "switch", "values": leaf.values, "items": {"rail": [], "port": []}}


def test_a_platform_of_which_nothing_is_known_is_named() -> None:
    assert node("gpu01").wrong_platform() is None and node("leaf01", pod_platform="frr").wrong_platform() is None
    words = node("leaf01", pod_platform="ffr").wrong_platform() or ""
    assert "not 'ffr': one of eos, nxos, sonic, cumulus, frr, infiniband" in words


@pytest.mark.parametrize(
    ("readers", "devices"),
    [
        ([], [[""], [""], None]),
        (["gpu03"], [None, None, [""]]),
        (["gpu01:mlx5_0", "gpu01:mlx5_3", "gpu03"], [["mlx5_0", "mlx5_3"], None, [""]]),
    ],
)
def test_a_fabric_is_read_by_the_hosts_that_are_named_or_by_the_first_two(readers: list[str], devices: list[t.Any]) -> None:
    assert [node(name, pod_fabric_reader=readers).fabric_devices() for name in HOSTS] == devices


def test_a_misspelled_group_or_variable_is_named() -> None:
    assert outside_roles({"all": ["gpu01", "gpu02", "leaf01", "localhost"], "gpuhosts": ["gpu01", "gpu02"], "leaves": ["leaf01"]}) == [
        "not asked: gpu01, gpu02, in none of the groups gpu_hosts, leaves, spines"
    ]
    assert outside_roles({"all": ["gpu01", "leaf01"], "gpu_hosts": ["gpu01"], "leaves": ["leaf01"]}) == []
    variables = {"gpu01": {"pod_nam": "mypod", "pod_mtu": 9000, "podium": 1}, "leaf01": {"pod_nam": "mypod"}}
    (words,) = unknown_expectations(variables, {"hostvars": variables})
    assert words.startswith("'pod_nam' is not an expectation (near it: pod_name")
