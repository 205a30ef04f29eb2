# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expectations that must have one value for the whole pod, or for all of its GPU hosts."""

from __future__ import annotations

import json
import typing as t

from ..text.counting import some_nodes

Values = t.Mapping[str, t.Any]

# Who steers a run does not change what it proves.
STEERING = (
    "pod_from_layer", "pod_to_layer", "pod_only", "pod_runs_dir", "pod_textfile_dir", "pod_baseline", "pod_baseline_file", "pod_replay_from",
    "pod_gate_max_age_minutes", "pod_read_timeout_seconds", "pod_shared_readings_wait_seconds",
    "pod_shared_readings_max_age_seconds", "pod_publish", "pod_publish_link", "pod_publish_endpoint", "pod_history", "pod_history_days",
    "pod_docs_url",
)  # fmt: skip
# Values that are the run's, not a node's: all nodes must agree.
SAME_FOR_ALL_NODES = (
    "pod_name",
    "pod_fabric",
    "pod_fabric_reader",
    "pod_topology",
    "pod_underlay",
    "pod_address_family",
    "pod_rail_vrf",
    "pod_overlay",
    "pod_rail_vni",
    "pod_gate_groups",
    "pod_depth",
    "pod_mode",
    "pod_gate_policy",
    "pod_waivers",
    *STEERING,
)

# With these one load runs on all hosts: a host with another value would be tested by the first one's, and evaluated by its own.
SAME_FOR_ALL_HOSTS = (
    "pod_soak_seconds", "pod_idle_seconds", "pod_load_tick_seconds", "pod_load_setup_seconds", "pod_load_lead_seconds", "pod_pairing",
    "pod_write_bw_seconds", "pod_write_bw_bytes", "pod_write_bw_qps", "pod_write_bw_tx_depth", "pod_write_bw_bidirectional", "pod_perftest_ack_timeout",
    "pod_incast_seconds", "pod_incast_hosts", "pod_incast_qps", "pod_collective_backend", "pod_collective_sizes", "pod_collective_iterations",
    "pod_collective_timeout_seconds", "pod_collective_run_seconds", "pod_launcher", "pod_training_strategy", "pod_training_size", "pod_training_steps",
    "pod_training_warmup_steps", "pod_training_run_seconds", "pod_training_command", "pod_go_live_training_seconds", "pod_collective_port", "pod_sharp",
    "pod_mpirun_arguments", "pod_perftest_port", "pod_rdma_mtu", "pod_traffic_class", "pod_write_bw_min_percent", "pod_gpu_vendor", "pod_gpu_write_bw",
    "pod_gpu_write_bw_percent", "pod_incast_qps_max", "pod_failover", "pod_failover_seconds", "pod_path_probe_flows",
    "pod_container_runtime", "pod_container_image",
)  # fmt: skip


def disagreements(values: t.Mapping[str, Values], hosts: t.Iterable[str]) -> list[str]:
    """Why expectations do not agree, in words; values: by node; hosts: which of the nodes are GPU hosts."""
    of_hosts = {node: values[node] for node in hosts}
    return _of(SAME_FOR_ALL_NODES, values, "the whole pod") + _of(SAME_FOR_ALL_HOSTS, of_hosts, "all GPU hosts, which are loaded together")


def _of(names: t.Iterable[str], values: t.Mapping[str, Values], whole: str) -> list[str]:
    """Which expectations have several values among some nodes; whole: what they are together."""
    wrong = []
    for name in names:
        stated: dict[str, list[str]] = {}
        for node, own in values.items():
            stated.setdefault(json.dumps(own.get(name), sort_keys=True, default=str), []).append(node)
        if len(stated) > 1:
            values_of = " and ".join(f"{value} ({some_nodes(nodes)})" for value, nodes in stated.items())
            wrong.append(f"argument {name!r} must be one value for {whole}, not {values_of}")
    return wrong
