# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which checks explain which: the tables by which ``root_causes.py`` says of a finding what it follows from, and gates name causes before effects."""

from __future__ import annotations

# Checks of rates, times and losses, which anything slow or lossy on the way explains.
RATES = frozenset((
    "rails_reachable", "write_bw_per_rail", "slow_rail", "gpu_write_bw", "write_latency", "fair_share", "incast_fills_link", "across_fair_share",
    "across_fills_uplinks",
    "node_nics_all_reduce", "all_reduce_bandwidth", "rail_all_reduce", "efficiency", "curve_rises", "slow_node", "nccl_tests_bandwidth", "arrivals_even",
    "step_time_stable", "step_outliers", "slow_rank", "step_time_expected", "mfu", "own_steps_steady", "own_step_time_expected",
))  # fmt: skip
# What says of a switch that it marks nothing: what it counts itself, or what its receivers do.
OF_MARKS = ("switch_marks", "receivers_are_marked")
# What slows a path of the network, and what slows a host; a host's own is no explanation of another's rate.
OF_PATHS = frozenset((
    "cable_reach", "crc_clean", "errors_clean", "link_flaps", "nic_link_flaps", "bit_error_rate", "nic_bit_error_rate", "symbol_error_rate", "ib_errors_clean",
    "hosts_receive_cleanly", "hosts_keep_links",
    "host_vlans_alike", "optic_rx_power", "port_speed", "oversubscription", "ecmp_paths", "kernel_forwards", "tree_complete", "rtt_uniform", "rails_in_vrf",
    "path_mtu", "ecmp_balanced", "pfc_brief", "slow_receiver", "no_drops", "switch_drops", "switch_discards", "xmit_discards", "pauses_stay_local",
    "waits_stay_local", "qos_agrees", "dscp_agrees", "ecn_marks_under_load", *OF_MARKS, "spine_marks", "spines_balanced", "dcqcn_backs_off",
    "fair_share", "incast_fills_link", "across_fair_share", "across_fills_uplinks", "write_bw_per_rail", "slow_rail",
    "neighbor_entries", "switch_neighbor_entries", "ib_bit_error_rate", "ib_module_temperature", "adaptive_routing_on",
))  # fmt: skip
OF_HOSTS = frozenset((
    "gpu_throttled", "gpu_clocks_uniform", "pcie_link", "nic_pcie_alike", "nic_gpu_affinity", "numa_balancing_off", "acs_as_expected", "iommu_as_expected",
    "gpudirect_available", "ib_modules", "gpu_write_bw", "node_all_reduce", "dataset_feeds", "hosts_idle", "ib_hosts_idle",
))  # fmt: skip
SWITCHES_IN_LOAD = ("switch_links_under_load", "switch_drops_under_load", "switch_pauses_under_load")
PAUSING = ("dcqcn_backs_off", "slow_receiver", "ecn_marks_under_load", *OF_MARKS, "spine_marks")
# What says of a host, or of a leaf's port, that it lost a link under load.
LOSING_LINKS = ("links_under_load", "ib_ports_under_load", "log_under_load", "switch_links_under_load")
KEEPING_LINKS = ("hosts_keep_links_under_load", "ib_hosts_keep_links_under_load")
SESSIONS = ("bgp_established", "evpn_established", "vteps_reached")
OVERLAY = ("evpn_established", "vni_up", "vteps_reached")
# What follows from another finding of the same layer: of a session that is down, of a sender or receiver that stops the others.
FOLLOWS = {
    "rails_present": ("hosts_have_links",),
    **dict.fromkeys(LOSING_LINKS, KEEPING_LINKS),
    "channel_members": ("port_speed",),
    "bond_members": ("port_speed", "cabling_as_planned"),
    "bgp_established": ("rails_in_vrf",),
    # A leaf whose VNI is not up announces nothing.
    "evpn_established": ("bgp_established", "ospf_full", "vni_up"),
    "vteps_reached": ("bgp_established", "ospf_full"),
    "ecmp_paths": ("bgp_established", "ospf_full", "rails_in_vrf", *OVERLAY),
    "kernel_forwards": ("bgp_established", "ospf_full", "rails_in_vrf"),
    # OSPF compares the MTU of both ends.
    "ospf_full": ("path_mtu", "rails_in_vrf"),
    "prefixes_announced": ("bgp_established", "ospf_full", "rails_in_vrf"),
    "rails_reachable": ("bgp_established", "ospf_full", "ecmp_paths", "prefixes_announced", "rails_in_vrf", *OVERLAY),
    "path_carries_full_size": ("path_mtu", "vxlan_mtu", "bgp_established", "ospf_full", "prefixes_announced", "rails_in_vrf"),
    "pauses_stay_local": PAUSING,
    "pfc_brief": PAUSING,
    "losses_under_load": ("switch_links_under_load", "switch_drops_under_load"),
    "ecn_marks_under_load": OF_MARKS,
    # Notifications that a leaf drops reach no sender on it, and who does not slow down takes the share of others.
    "dcqcn_backs_off": ("other_classes_kept",),
    "fair_share": ("dcqcn_backs_off",),
    # What the hosts sent again, a switch dropped.
    "no_drops": ("switch_drops",),
    "across_fills_uplinks": ("spines_balanced", "spine_marks", "slow_receiver"),
    # A spine that all leaves send less leaves more to the others, as each leaf shows too.
    "ecmp_balanced": ("spines_balanced",),
    # The longest steps are what makes the time of a step vary; their finding names the step.
    "step_time_stable": ("step_outliers", *SWITCHES_IN_LOAD),
    "step_outliers": SWITCHES_IN_LOAD,
    # All ranks wait for the slow one in every step.
    "own_steps_steady": ("own_ranks_keep_up",),
    "own_step_time_expected": ("own_ranks_keep_up",),
    "all_reduce_bandwidth": SWITCHES_IN_LOAD,
    # A rail's run whose ranks ended ill has no rate.
    "rail_all_reduce": ("collectives_correct",),
    "nccl_tests_bandwidth": ("ranks_as_asked",),
    "measures_agree": ("ranks_as_asked",),
}
# What judges the one run of a layer, of all hosts, by the check that says of which host a rank ended it: nothing of any host is measured then.
JUDGE_THE_RUN = {
    "no_nccl_timeouts": frozenset(("step_time_stable", "step_outliers", "step_time_expected", "slow_rank", "mfu", "loss_falls", "ranks_agree")),
}
# What is read just before and after the loads of a layer: what happened to a host's GPUs in them, and on its rails.
GPUS_IN_LOAD = ("gpu_slowdown_under_load", "amd_slowdown_under_load", "gpus_under_load", "amd_gpus_under_load", "log_under_load")
RAILS_IN_LOAD = ("links_under_load", "losses_under_load", "pauses_under_load", "ib_ports_under_load")
IN_LOAD = frozenset((*GPUS_IN_LOAD, *RAILS_IN_LOAD, "gpu_clocks_in_training", "gpu_clocks_in_collectives"))
# What costs a link bits before it loses the link: copper that is too long, and a module that is hot or receives too little light.
OF_LINKS = ("cable_reach", "optic_health", "optic_rx_power")
BITS_LOST = (
    "crc_clean", "bit_error_rate", "nic_bit_error_rate", "symbol_error_rate", "link_flaps", "nic_link_flaps", "switch_link_flaps",
)  # fmt: skip
# And what follows from another finding of the same layer on the same host: a rate of a rank that ended, of a host that is slow with any partner,
# or of a variable that the pod does not list.
FOLLOWS_ON_HOST = {
    "slow_rail": ("write_bw_per_rail",),
    "rails_reachable": ("neighbor_entries",),
    # Where a ping of the same pair is lost, large packets are, too.
    "path_carries_full_size": ("rails_reachable",),
    # A rail that fails from host memory, too.
    "gpu_write_bw": ("write_bw_per_rail",),
    "across_fair_share": ("slow_receiver",),
    "incast_fills_link": ("slow_receiver",),
    "collectives_correct": GPUS_IN_LOAD,
    "no_nccl_timeouts": GPUS_IN_LOAD,
    "own_training_ends": GPUS_IN_LOAD,
    "slow_node": ("collectives_correct", "ranks_as_asked", "gpu_clocks_in_collectives", *GPUS_IN_LOAD, *RAILS_IN_LOAD),
    "container_image_present": ("container_runtime",),
    "container_image_same": ("container_runtime", "container_image_present"),
    "container_starts": ("container_runtime", "container_image_present"),
    "container_environment": ("container_runtime", "container_image_present"),
    **dict.fromkeys(BITS_LOST, OF_LINKS),
    # The kernel's log has the time of a lost link, which the NIC's count has not.
    "nic_link_flaps": (*OF_LINKS, "link_flaps"),
    # Where fans have failed modules are hot.
    "optic_health": ("switch_environment",),
    # The kernel's log says why a port is not up.
    "rails_present": ("hardware_log",),
    # The setting without which it marks nothing.
    **dict.fromkeys((*OF_MARKS, "spine_marks"), ("qos_agrees",)),
    # A setting that was made, and waits for a reset.
    "nic_settings": ("nic_reset_pending",),
    # Another driver has another firmware and another release.
    "software_pinned": ("nic_driver_uniform",),
    "software_uniform": ("nic_driver_uniform",),
    # A NIC under another name is not at the GPU of the rail that has this name.
    "nic_gpu_affinity": ("rails_present",),
    "node_all_reduce": ("nccl_runtime", "gpu_clocks_in_collectives"),
    "all_reduce_bandwidth": ("collectives_correct", "ranks_as_asked", "slow_node", "gpu_clocks_in_collectives", *GPUS_IN_LOAD, *RAILS_IN_LOAD),
    "slow_rank": (*GPUS_IN_LOAD, "gpu_clocks_in_training"),
    "step_outliers": (*GPUS_IN_LOAD, *RAILS_IN_LOAD),
    "step_time_stable": (*GPUS_IN_LOAD, *RAILS_IN_LOAD),
    "efficiency": ("slow_node",),
}
# What is seldom the cause itself: of several reasons for a closed gate these are named last.
# A session that is down, or a VTEP without its paths, is the cause itself where nothing of its port, its VNI or its underlay is.
# So is what is found of a link, where neither its cable nor its module is found to be the cause.
EFFECTS = frozenset((*RATES, *FOLLOWS, *FOLLOWS_ON_HOST)) - {*SESSIONS, *OF_MARKS, *LOSING_LINKS, "prefixes_announced", "optic_health", *BITS_LOST} | {
    "nic_link_flaps"
}
# What others of its layer follow from, and which follows from none of them: named first.
ROOTS = frozenset(("hosts_have_links", *KEEPING_LINKS, "rails_in_vrf", "hosts_receive_cleanly", "hosts_keep_links"))
# Of these only a finding of the whole host explains: a slow path is what is left where no host is named.
OF_WHOLE_HOST = frozenset(("slow_node",))
# Of these it is only what is of the same device.
OF_DEVICES = frozenset(("slow_rail", "incast_fills_link", "rails_reachable", "gpu_write_bw", "nic_gpu_affinity", "rails_present", *BITS_LOST))
# Of these only what is of one part has these causes and effects: what the lasers of a module send arrives at the other end, and PFC marks nothing.
OF_PART = {"optic_health": "temperature", "qos_agrees": "ECN"}
# Of these it is only what is of the same pair of rails.
OF_SAME_PAIR = frozenset(("path_carries_full_size",))
# Of these it is only what is of the same setting of the same device, and of these only what is said of some parts of the software.
OF_SETTINGS = frozenset(("nic_settings",))
OF_SOFTWARE = {"software_pinned": ("firmware", "ofed"), "software_uniform": ("firmware", "ofed")}
OF_SAME_LAYER = frozenset(name for follows in (FOLLOWS, FOLLOWS_ON_HOST) for names in follows.values() for name in names)
# Of these, what is found on a switch explains only the rails on that leaf.
ON_THE_LEAF = frozenset(("rails_present", *LOSING_LINKS, "ecn_marks_under_load", "dcqcn_backs_off"))
EXPLAINING = OF_PATHS | OF_HOSTS | OF_SAME_LAYER
# Of these a finding at a rail is of what this rail sent or received alone.
OF_PAIRS = frozenset(("rails_reachable", "write_bw_per_rail", "slow_rail", "gpu_write_bw", "write_latency", "fair_share", "incast_fills_link"))
