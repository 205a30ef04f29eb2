# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as an inventory: two hosts joined rail by rail, and no switch."""

from __future__ import annotations

import csv
import io
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE

from .shape import HOSTS, RAIL_MTU, RAILS, address, device, netdev, peer

COLUMNS = ["a_node", "a_port", "b_node", "b_port", "medium", "length_m"]
# What a rail is shaped to by the tests: eight of them are well below what emulated processors carry.
RAIL_MBIT_S = 1.0


def write(directory: Path, private: Path) -> None:
    """Write the inventory; private: where the lab's ssh settings and keys are."""
    files: dict[str, t.Any] = {
        "hosts.yml": {"all": {"children": {"gpu_hosts": {"children": {"rack_01": {"hosts": {host: {"pod_rails": rails(host)} for host in HOSTS}}}}}}},
        "group_vars/all/connection.yml": _connection(private),
        "group_vars/all/pod.yml": pod(),
    }
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n" + yaml.safe_dump(content, sort_keys=False))
    (directory / PLACE).write_text(cabling_csv())


def cabling_csv() -> str:
    """The wiring plan: a cable a rail, from host to host."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows([HOSTS[0], netdev(rail), HOSTS[1], netdev(rail), "dac", 1] for rail in range(RAILS))
    return text.getvalue()


def rails(host: str) -> list[dict[str, t.Any]]:
    """The rails of a host, as ``pod_rails``."""
    return [{"device": device(rail), "netdev": netdev(rail), "gpu": rail, "leaf": peer(host), "address": f"{address(host, rail)}/24"} for rail in range(RAILS)]


def _connection(private: Path) -> dict[str, t.Any]:
    return {
        "ansible_user": "root",
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_common_args": f"-F {private}/ssh_config",
        # Kept connections end with the lab: they are found in its own directory.
        "ansible_control_path_dir": f"{private}/cp",
        # An emulated processor takes a second for a key exchange.
        "ansible_timeout": 60,
        "ansible_pipelining": True,
    }


def pod() -> dict[str, t.Any]:
    """What the pod was built to be."""
    return {
        "pod_name": "softroce_lab",
        "pod_fabric": "roce",
        "pod_topology": "rail_only",
        "pod_gate_groups": ["rack_01"],
        "pod_link_gbit_s": RAIL_MBIT_S / 1000,
        "pod_mtu": RAIL_MTU,
        "pod_gpus_per_host": 0,
        "pod_gpudirect": "none",
        "pod_virtualization": "guest",
        "pod_soak_seconds": 1,
        # Emulated processors answer later than silicon does, and eight pings at once starve one another.
        "pod_ping_count": 5,
        "pod_ping_interval_seconds": 0.2,
        "pod_ping_rtt_max_ms": 5000,
        **LOADS,
    }


LOADS = {
    # virtio has no counter of bytes to tell an idle NIC by.
    "pod_load_busy_hosts": True,
    "pod_idle_seconds": 1,
    "pod_load_setup_seconds": 24,
    "pod_perftest_ack_timeout": 20,
    "pod_gid_index": 1,
    "pod_gpu_write_bw": "never",
    # 4 KiB are a thirtieth of a second of such a rail, and eight of them are under way.
    "pod_write_bw_bytes": 4096,
    "pod_write_bw_qps": 1,
    "pod_write_bw_tx_depth": 8,
    "pod_write_bw_seconds": 6,
    "pod_write_bw_min_percent": 50,
    "pod_write_bw_warn_percent": 55,
    "pod_slow_rail_percent": 50,
    "pod_write_lat_max_us": 1_000_000,
    "pod_hop_us": 1_000_000,
}
