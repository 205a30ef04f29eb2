# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check may ask of a node's place in the pod, beside the expectations that a site sets."""

from __future__ import annotations

# What a node's place in the pod adds to its expectations; built by plan.py.
PLANNED = {
    "pod_node": "The node's name.",
    "pod_role": "host, leaf, spine or super_spine.",
    "pod_same_role": "The other switches of a switch's role and platform, with which its settings and versions are compared.",
    "pod_same_group": "The other hosts of a host's gate group.",
    "pod_not_asked": "The nodes that do not take part in the layer, such as hosts of a gate group that a layer below has closed: nothing is read of them.",
    "pod_closed_switches": "The switches all of whose gate groups a layer below has closed, or are out of scope: none of them takes part in the layer.",
    "pod_host_addresses": "By address, the host and the RDMA device of the rail that has it, of every host; no device of ansible_host, pod_bootstrap_address.",
    "pod_cables": "The node's cables by the wiring plan: port, peer, peer_port, peer_role, medium, length_m, gbit_s, channel, peer_channel (None: not stated).",
    "pod_neighbors": "The neighbors of a switch by the wiring plan: port (or port-channel), peer, address (None where the plan has none), asn.",
    "pod_asn": "The AS of a switch, as bgp_asn of the inventory has it; None of other nodes, and where it has none.",
    "pod_rail_gbit_s": "By host and RDMA device, the Gb/s of every rail of the pod: its cable's by the wiring plan, else its host's pod_link_gbit_s.",
    "pod_remote_rails": "Rails on other leaves: host, device, address, leaf; what the ECMP routes of a leaf, and of any switch below super-spines, lead to.",
    "pod_leaf_rails": "The rails on a leaf that have an address (on InfiniBand all), as pod_remote_rails has those of others.",
    "pod_plane_spines": "The spines of a leaf's plane on an InfiniBand pod, over any number of leaves by the wiring plan; of a spine the super-spines.",
    "pod_uplinks": "How many cables of a switch lead to the next tier: of a leaf to spines, of a spine to super-spines.",
    "pod_ways": "By other leaf, the ports and port-channels of a leaf (with super-spines: of any switch) that lead to it over the fewest switches.",
    "pod_failover_link": "Of a switch where pod_failover is set, the uplink that the operator shuts: leaf, port, spine, spine_port; empty where there is none.",
    "pod_tier_cables": "Of a spine all cables of leaves to spines, of a super-spine of spines: lower, lower_port, upper, upper_port, upper_address, gbit_s.",
    "pod_pings": "The pings planned from a host: source, target, peer, device, peer_device, cross (over the spines).",
    "pod_path_probes": "The full-size probes planned from a host: source, target, peer, device, peer_device, cross.",
    "pod_incasts": "The incasts: of a host a row for each test it takes part in (round, role, device, peer, peer_device, peer_leaves, cross, across, "
    "qps, seconds), "
    "of a switch a row for each port and round (role, peer, flows, offered, share).",
    "pod_incast_refused": "Why no incast is planned for the node, in words; empty where one is.",
}
