# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What discovery asks a node, and what it says of what was not reported."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.node_survey import survey_node, unreported_words
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.unplanned_node import UnplannedNode

LEAF = {"inventory_hostname": "leaf01", "groups": {"gpu_hosts": ["gpu01"]}, "pod_platform": "sonic"}
SESSION = {"neighbor": "fd00::1", "asn": 65000, "local_asn": 65101}


def test_what_a_tool_says_of_several_readings_is_one_line_without_its_times() -> None:
    missing = {"gpus": "nvidia-smi: not found", "gpu_topology": "nvidia-smi: not found", "lldp_neighbors": "2026-11-25T18:30:19 [WARN/control] no socket"}
    gpus, lldp = "gpu_topology, gpus: nvidia-smi: not found", "lldp_neighbors: [WARN/control] no socket"
    assert unreported_words({"gpu01": missing}) == [f"gpu01: {gpus}", f"gpu01: {lldp}"]
    later = {**missing, "lldp_neighbors": "2026-11-25T19:00:00 [WARN/control] no socket"}
    assert unreported_words({"gpu01": missing, "gpu02": {"": "unreachable"}, "gpu03": {}, "gpu04": later, "gpu05": later}) == [
        f"gpu01, gpu04, gpu05: {gpus}",
        f"gpu01, gpu04, gpu05: {lldp}",
        "gpu02: unreachable",
    ]


@pytest.mark.parametrize(
    ("answers", "names", "left"),
    [
        ({("bgp", "ipv4"): {"bgp_summary": [SESSION]}}, ["bgp_summary"], []),
        ({("bgp", "ipv6"): {"bgp_summary": [SESSION], "arp_table": [{"mac": "aa"}]}}, ["arp_table", "bgp_summary"], []),
        ({("ospf", "ipv4"): {"ospf_neighbors": [{"state": "Full"}]}}, ["arp_table", "ospf_neighbors"], []),
        ({}, [], ["bgp_summary"]),
    ],
)
def test_a_switch_without_bgp_of_ipv4_is_asked_for_ipv6_then_for_ospf(
    answers: dict[tuple[str, str], dict[str, t.Any]], names: list[str], left: list[str]
) -> None:  # fmt: skip
    def ask(node: dict[str, t.Any], wanted: t.Sequence[str]) -> tuple[dict[str, t.Any], dict[str, str]]:
        own = answers.get((node["values"]["pod_underlay"], node["values"]["pod_address_family"]), {})
        return {name: rows for name, rows in own.items() if name in wanted}, {"bgp_summary": "no BGP"} if "bgp_summary" not in own else {}

    reported, missing = survey_node(UnplannedNode.of(LEAF, lambda value: value), "roce", ask)
    assert sorted(reported) == names and list(missing) == left


def test_an_amd_host_is_asked_as_one_and_a_bond_by_its_members() -> None:
    asked = []

    def ask(node: dict[str, t.Any], wanted: t.Sequence[str]) -> tuple[dict[str, t.Any], dict[str, str]]:
        asked.append((list(wanted), node["values"]["pod_gpu_vendor"], list(node["items"]["rail"])))
        rows = {
            "pci_devices": [{"class": "0x120000", "vendor": "0x1002"}],
            "rdma_link": [{"device": "mlx5_bond_0", "netdev": "eth0"}],
            "port_channels": [{"channel": "bond0", "member": name} for name in ("eth0", "eth1")],
        }
        return {name: own for name, own in rows.items() if name in wanted}, {}

    survey_node(UnplannedNode.of({"inventory_hostname": "gpu01", "groups": {"gpu_hosts": ["gpu01"]}}, lambda value: value), "roce", ask)
    (_first, *_rest), (again, vendor, rails), (of_class, *_rest) = asked
    assert vendor == "amd" and "gpus" in again and rails == [{"device": "mlx5_bond_0", "netdev": "bond0", "members": ["eth0", "eth1"]}]
    assert "pfc_priorities" in of_class and "dscp_map" in of_class
