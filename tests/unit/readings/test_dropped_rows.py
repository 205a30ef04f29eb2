# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A line that is dropped from a tool's text: noticed by the parser, or listed here with what vouches for the row instead."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, catalogue, parse

from .test_properties import PAIRS, texts

# Every line of these is a row of its own, and nothing in the text says how many there are.
PLANNED = [
    "arp_table",
    "bgp_summary",
    "bonds",
    "dcqcn",
    "dscp_classes",
    "dscp_map",
    "ecmp_routes",
    "ecn_settings",
    "evpn_sessions",
    "fec_counters",
    "gids",
    "headroom_lengths",
    "imex_domain",
    "interface_errors",
    "interface_mtu",
    "interface_status",
    "iommu_devices",
    "kernel_symbols",
    "link_changes",
    "link_quality",
    "lldp_neighbors",
    "lsmod",
    "mac_table",
    "memory_peers",
    "mlxconfig",
    "modules_load",
    "nvlinks",
    "ospf_neighbors",
    "pause_settings",
    "pfc_priorities",
    "pkeys",
    "port_channels",
    "port_vrfs",
    "rdma_link",
    "software",
    "sysctl",
    "transceivers",
    "vnis",
]
"""A check looks for each planned port, rail, neighbor, prefix, module, symbol or key, and a missing one is a finding."""
TRUSTED = [
    "acs_control",
    "collective_hangs",
    "collective_ranks",
    "collective_rates",
    "collective_results",
    "collective_timeouts",
    "ecn_counters",
    "fabric_diagnosis",
    "fabric_errors",
    "fabric_links",
    "fabric_topology",
    "fans",
    "gpu_clocks",
    "gpu_copies",
    "ibdev2netdev",
    "ingress_drops",
    "interface_bytes",
    "iommu_groups",
    "kernel_log",
    "meminfo",
    "nccl_environment",
    "nccl_log",
    "nccl_tests",
    "nic_counters",
    "pfc_counters",
    "pfc_watchdog",
    "port_counters",
    "power_supplies",
    "queue_drops",
    "rdma_counters",
    "rdma_port_counters",
    "service_units",
    "straggler_reports",
    "subnet_managers",
    "temperatures",
    "tensor_activity",
    "training_agreement",
    "training_log",
    "training_ranks",
    "training_steps",
    "write_bw",
    "write_lat",
]
"""Only the command's exit status and an end that is not cut vouch for them; whoever adds a check over one of these looks for what must be there."""


def loses_a_row(name: str, platform: str) -> bool:
    """Whether some line can be dropped from a recording so that fewer rows come of it, and no error."""
    for text in texts(name, platform):
        whole, lines = len(parse(name, platform, text)), text.split("\n")
        for number in range(len(lines)):
            try:
                if len(parse(name, platform, "\n".join(lines[:number] + lines[number + 1 :]))) < whole:
                    return True
            except ParseError:
                continue
    return False


@pytest.mark.parametrize(("name", "platform"), PAIRS)
def test_a_dropped_row_is_noticed_or_listed(name: str, platform: str) -> None:
    listed = name in PLANNED or name in TRUSTED
    assert listed or not loses_a_row(name, platform), f"a dropped row of {name} on {platform} is noticed by nobody: let the parser notice it, or list it here"


def test_what_is_listed_is_so() -> None:
    listed = [*PLANNED, *TRUSTED]
    assert len(listed) == len(set(listed)) and set(listed) <= set(catalogue())
    platforms = {name: [platform for one, platform in PAIRS if one == name] for name in listed}
    assert [name for name in listed if not any(loses_a_row(name, platform) for platform in platforms[name])] == []
