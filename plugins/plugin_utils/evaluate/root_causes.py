# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roots: which findings of a lower layer, or of the same one, explain others."""

from __future__ import annotations

import typing as t

from ..checks import LAYERS
from ..pod.plan import Plan
from .origins import SPREADING, name_beginning, name_origins, name_shared_origins
from .verdicts import ExplainingRecord, FindingRecord, VerdictRecord, place_of, touched_groups

# Checks of rates, times and losses, which anything slow or lossy on the way explains.
RATES = frozenset((
    "rails_reachable", "write_bw_per_rail", "slow_rail", "gpu_write_bw", "write_latency", "fair_share", "incast_fills_link", "across_fair_share",
    "across_fills_uplinks",
    "node_nics_all_reduce", "all_reduce_bandwidth", "rail_all_reduce", "efficiency", "curve_rises", "slow_node", "nccl_tests_bandwidth", "arrivals_even",
    "step_time_stable", "step_outliers", "slow_rank", "step_time_expected", "mfu", "own_steps_steady", "own_step_time_expected",
))  # fmt: skip
# What slows a path of the network, and what slows a host; a host's own is no explanation of another's rate.
OF_PATHS = frozenset((
    "cable_reach", "crc_clean", "errors_clean", "link_flaps", "nic_link_flaps", "bit_error_rate", "nic_bit_error_rate", "symbol_error_rate", "ib_errors_clean",
    "host_vlans_alike", "optic_rx_power", "port_speed", "oversubscription", "ecmp_paths", "kernel_forwards", "tree_complete", "rtt_uniform", "rails_in_vrf",
    "path_mtu", "ecmp_balanced", "pfc_brief", "slow_receiver", "no_drops", "switch_drops", "switch_discards", "xmit_discards", "pauses_stay_local",
    "waits_stay_local", "qos_agrees", "dscp_agrees", "ecn_marks_under_load", "switch_marks", "spine_marks", "spines_balanced", "dcqcn_backs_off",
    "fair_share", "incast_fills_link", "across_fair_share", "across_fills_uplinks", "write_bw_per_rail", "slow_rail",
    "neighbor_entries", "switch_neighbor_entries", "ib_bit_error_rate", "ib_module_temperature", "adaptive_routing_on",
))  # fmt: skip
OF_HOSTS = frozenset((
    "gpu_throttled", "gpu_clocks_uniform", "pcie_link", "nic_gpu_affinity", "numa_balancing_off", "acs_as_expected", "iommu_as_expected",
    "gpudirect_available", "ib_modules", "gpu_write_bw", "node_all_reduce", "dataset_feeds",
))  # fmt: skip
SWITCHES_IN_LOAD = ("switch_links_under_load", "switch_drops_under_load", "switch_pauses_under_load")
PAUSING = ("dcqcn_backs_off", "slow_receiver", "ecn_marks_under_load", "switch_marks", "spine_marks")
SESSIONS = ("bgp_established", "evpn_established", "vteps_reached")
OVERLAY = ("evpn_established", "vni_up", "vteps_reached")
# What follows from another finding of the same layer: of a session that is down, of a sender or receiver that stops the others.
FOLLOWS = {
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
    "ecn_marks_under_load": ("switch_marks",),
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
    "all_reduce_bandwidth": SWITCHES_IN_LOAD,
    # A rail's run whose ranks ended ill has no rate.
    "rail_all_reduce": ("collectives_correct",),
    "nccl_tests_bandwidth": ("ranks_as_asked",),
    "measures_agree": ("ranks_as_asked",),
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
    "collectives_correct": GPUS_IN_LOAD,
    "no_nccl_timeouts": GPUS_IN_LOAD,
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
EFFECTS = frozenset((*RATES, *FOLLOWS, *FOLLOWS_ON_HOST)) - {*SESSIONS, "prefixes_announced", "optic_health", *BITS_LOST} | {"nic_link_flaps"}
# What others of its layer follow from, and which follows from none of them: named first.
ROOTS = frozenset(("rails_in_vrf",))
# Of these only a finding of the whole host explains: a slow path is what is left where no host is named.
OF_WHOLE_HOST = frozenset(("slow_node",))
# Of these it is only what is of the same device.
OF_DEVICES = frozenset(("slow_rail", "rails_reachable", "gpu_write_bw", "nic_gpu_affinity", "rails_present", *BITS_LOST))
# Of a module only its temperature has these causes and effects: what its lasers send arrives at the other end.
OF_HEAT = "temperature"
# Of these it is only what is of the same pair of rails.
OF_SAME_PAIR = frozenset(("path_carries_full_size",))
# Of these it is only what is of the same setting of the same device, and of these only what is said of some parts of the software.
OF_SETTINGS = frozenset(("nic_settings",))
OF_SOFTWARE = {"software_pinned": ("firmware", "ofed"), "software_uniform": ("firmware", "ofed")}
OF_SAME_LAYER = frozenset(name for follows in (FOLLOWS, FOLLOWS_ON_HOST) for names in follows.values() for name in names)
# Of these, what is found on a switch explains only the rails on that leaf.
ON_THE_LEAF = frozenset(("ecn_marks_under_load", "dcqcn_backs_off"))
EXPLAINING = OF_PATHS | OF_HOSTS | OF_SAME_LAYER
FOUND = ("fail", "warn")
NOT_USED = (
    "gpu_write_bw passes on {host}: its NICs reach GPU memory at their rate, so module, driver and PCIe are in order, and NCCL does not use them: "
    "a variable or topology file forbids it, its container does not see the module, or its version cannot detect it."
)
NOT_USED_FIX = (
    "Look at NCCL_NET_GDR_LEVEL, NCCL_DMABUF_ENABLE and NCCL_TOPO_FILE of the job, at what its container mounts of /sys, and at the NCCL version (2.23 or "
    "later finds nvidia_peermem without memory_peers); leave the host's modules as they are."
)
# Of these a finding at a rail is of what this rail sent or received alone.
OF_PAIRS = frozenset(("rails_reachable", "write_bw_per_rail", "slow_rail", "gpu_write_bw", "write_latency", "fair_share", "incast_fills_link"))
_Explaining = tuple[ExplainingRecord, FindingRecord]
MOST_EXPLAINING = 5


def add_places(plan: Plan, records: t.Iterable[VerdictRecord]) -> None:
    """Name in each recorded finding what it is on: of a host's rail the ``rail`` (its RDMA device) and its ``leaf``, of a switch's
    port the ``peer``, the host behind it.

    Findings of many hosts that share a leaf have one root. What is of a bond as a whole is on none of its leaves, what is of its member on the member's.
    """
    rails = {(rail["host"], name): rail for rail in plan.rails() for name in (rail["device"], rail["netdev"], *rail.get("members", ())) if name}
    ends = [pair for cable in plan.cables for pair in ((cable.a, cable.b), (cable.b, cable.a))]
    far = {(near.node, near.port): end.node for near, end in ends}
    peers: dict[tuple[str, str | None], str] = {(near.node, near.port): end.node for near, end in ends if plan.nodes[end.node].kind == "host"}
    for record in records:
        for finding in record["findings"]:
            place, host = place_of(finding), finding["host"] or ""
            rail = rails.get((host, place.interface or ""))
            one_leaf = far.get((host, place.interface or "")) if rail and "members" in rail else rail["leaf"] if rail else None
            finding["leaf"], finding["rail"] = one_leaf, rail["device"] if rail else None
            finding["peer"] = peers.get((host, place.port))


def add_explanations(records: t.Sequence[VerdictRecord]) -> None:
    """Name in each recorded finding of a rate or a time what a lower layer found on the same host, or on a switch that serves its group,
    and in what follows from a check of the same layer that check's findings in the same groups or on the same host. Blame the library where a lower
    layer proves that it is not the host.

    ``explained_by`` of a finding: at most ``MOST_EXPLAINING`` of these, those of its own layer first and then from the lowest layer up, each as
    ``layer``, ``check``, ``host``, ``where``, ``severity`` and ``actual``.
    """
    _blame_library(records)
    name_origins(records)
    of_host: dict[str, list[_Explaining]] = {}
    of_group: dict[str, list[_Explaining]] = {}
    in_layer: dict[tuple[str, str], list[_Explaining]] = {}
    on_host: dict[tuple[str, str | None], list[_Explaining]] = {}
    for record in records:
        for finding in record["findings"] if record["check"] in EXPLAINING else ():
            stated: ExplainingRecord = {
                "layer": record["layer"], "check": record["check"], "host": finding["host"], "where": finding["where"],
                "severity": finding["severity"], "actual": finding["actual"],
            }  # fmt: skip
            if finding["severity"] in FOUND or finding.get("judged"):
                for group in touched_groups(record):
                    in_layer.setdefault((record["layer"], group), []).append((stated, finding))
            if finding["severity"] in FOUND:
                for group in touched_groups(record):
                    of_group.setdefault(group, []).extend([(stated, finding)] if record["group"] is None and record["check"] in OF_PATHS else [])
                of_host.setdefault(finding["host"] or "", []).extend([(stated, finding)] if record["check"] in OF_PATHS | OF_HOSTS else [])
            if finding["severity"] in FOUND or finding.get("judged"):
                on_host.setdefault((record["layer"], finding["host"]), []).append((stated, finding))
    behind: list[tuple[FindingRecord, list[tuple[str, FindingRecord]]]] = []
    for record in records:
        for finding in record["findings"] if record["check"] in RATES else ():
            near = [*of_host.get(finding["host"] or "", ()), *(one for group in record["affects"] for one in of_group.get(group, ()))]
            below = [one for one, its in near if LAYERS.index(one["layer"]) < LAYERS.index(record["layer"]) and _on_its_way(record["check"], finding, its)]
            finding["explained_by"] = _first(sorted(below, key=lambda one: LAYERS.index(one["layer"])))
        follows, follows_on_host = FOLLOWS.get(record["check"], ()), FOLLOWS_ON_HOST.get(record["check"], ())
        for finding in record["findings"] if follows or follows_on_host else ():
            beside = [pair for group in record["affects"] for pair in in_layer.get((record["layer"], group), ()) if pair[0]["check"] in follows]
            beside = [(one, its) for one, its in beside if one["severity"] in FOUND or finding.get("judged")]
            beside = [pair for pair in beside if record["check"] not in ON_THE_LEAF or pair[0]["host"] == finding.get("leaf")]
            known = [(one, its) for one, its in on_host.get((record["layer"], finding["host"]), ()) if one["check"] in follows_on_host]
            known = [(one, its) for one, its in known if _at_its_place(record["check"], one["check"], its, finding)]
            same = [*beside, *((one, its) for one, its in known if _may_explain(one, its, finding))]
            below = finding.get("explained_by", [])
            of_its_nodes = _of_its_nodes(finding, same)
            finding["follows"] = _explains_all(finding, of_its_nodes)
            same = of_its_nodes if finding["follows"] else same
            if finding["follows"] or (same and record["check"] in SPREADING):
                behind.append((finding, [(one["check"], its) for one, its in same]))
                name_beginning(record["check"], *behind[-1])
            finding["explained_by"] = _first([*below[: MOST_EXPLAINING - bool(same)], *(one for one, _its in same)])
    name_shared_origins(behind)


def _at_its_place(check: str, explaining_check: str, its: FindingRecord, finding: FindingRecord) -> bool:
    """Whether a finding on the same host, of another check, is where it may explain one of a check."""
    explaining, place = place_of(its), place_of(finding)
    if (check == "optic_health" and place.of != OF_HEAT) or (explaining_check == "optic_health" and explaining.of != OF_HEAT):
        return False
    if check in OF_SAME_PAIR:
        return explaining == place
    if check in OF_SETTINGS:
        return (explaining.interface, explaining.of) == (place.interface, place.of)
    if check in OF_SOFTWARE:
        return place.of in OF_SOFTWARE[check]
    # A rail has a device and a netdev, and checks name it by either.
    same_rail = finding.get("rail") is not None and finding.get("rail") == its.get("rail")
    return check not in OF_DEVICES or same_rail or explaining.interface == place.interface


def _nodes(finding: FindingRecord) -> set[str]:
    """The nodes that a finding is about: its own, its rail's leaf, and those that it names."""
    return {node for node in (finding["host"], finding.get("leaf"), *place_of(finding).peers) if node}


def _of_its_nodes(finding: FindingRecord, explaining: t.Sequence[_Explaining]) -> list[_Explaining]:
    """Of the findings that may explain another one of their layer those about the same nodes, which weigh as much."""
    own = _nodes(finding)
    return [(one, its) for one, its in explaining if one["severity"] in ("fail", finding["severity"]) and own & _nodes(its)]


def _explains_all(finding: FindingRecord, explaining: t.Sequence[_Explaining]) -> bool:
    """Whether findings about the same nodes leave nothing of another one unexplained: each node that is missing in it is in one of them."""
    return bool(explaining) and set(place_of(finding).missing) <= {node for _one, its in explaining for node in _nodes(its)}


def _blame_library(records: t.Sequence[VerdictRecord]) -> None:
    """Name the library in a finding of GPUDirect that a job does not use, on a host whose NICs reach GPU memory at their rate without it."""
    fast = {record["host"] for record in records if record["check"] == "gpu_write_bw" and record["verdict"] == "pass"}
    for record in records:
        for finding in record["findings"] if record["check"] == "gpudirect_used" else ():
            if finding["host"] in fast and finding["severity"] == "fail" and not finding.get("cause"):
                finding["cause"], finding["fix"] = NOT_USED.format(host=finding["host"]), NOT_USED_FIX


def _on_its_way(check: str, finding: FindingRecord, below: FindingRecord) -> bool:
    """Whether what a rail sent passes where a lower layer found something: on the same rail, at its leaf's port or between switches.

    A run over many hosts passes everywhere.
    """
    rail = finding.get("rail")
    if check not in OF_PAIRS or rail is None:
        return True
    if below["host"] == finding["host"]:
        return below.get("rail") in (None, rail)
    at_host = below.get("peer")
    # The port to a spine, or a setting of the whole switch, is on the way of many.
    return at_host is None or at_host in place_of(finding).peers or (at_host == finding["host"] and below["host"] == finding.get("leaf"))


def _first(found: t.Iterable[ExplainingRecord]) -> list[ExplainingRecord]:
    """The first few of them, each once."""
    return list({tuple(one.values()): one for one in found}.values())[:MOST_EXPLAINING]


def _may_explain(one: ExplainingRecord, its: FindingRecord, finding: FindingRecord) -> bool:
    """Whether one of the same host may: what is unknown explains no failure, and a failure with another cause of its own needs no explanation."""
    if one["check"] in OF_WHOLE_HOST and not place_of(its).whole:
        return False
    if one["check"] in IN_LOAD | {"hardware_log"}:
        # The finding's own cause says which part of a step was late, and this why.
        return one["severity"] in FOUND
    if finding["severity"] == "unknown":
        return one["severity"] in FOUND or bool(finding.get("judged"))
    return one["severity"] in FOUND and finding.get("cause") in (None, "", its.get("cause"))
