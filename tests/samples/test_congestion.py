# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What genuine outputs about pauses, marks and drops must come to; the facts are those of the samples' index."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse

Rows = list[dict[str, t.Any]]


def read(samples: Path, name: str, platform: str, file: str, item: str | None = None) -> Rows:
    return parse(name, platform, (samples / file).read_text(encoding="utf-8"), item)


@pytest.mark.parametrize(
    ("name", "file", "count", "column"),
    [
        ("pfc_counters", "sonic/show_pfc_counters_zero.txt", 32, "rx_frames"),
        ("pfc_counters", "sonic/show_pfc_counters_zero.txt", 32, "tx_frames"),
        ("ingress_drops", "sonic/show_pg_drop_counters_zero.txt", 32, "dropped_packets"),
        ("queue_drops", "sonic/show_queue_counters_zero.txt", 40, "dropped_packets"),
        ("interface_bytes", "sonic/show_queue_counters_zero.txt", 40, "tx_bytes"),
        ("ecn_counters", "sonic/show_queue_wredcounters_zero.txt", 40, "marked_packets"),
    ],
)
def test_an_idle_sonic_switch_counts_nothing_in_every_row(samples: Path, name: str, file: str, count: int, column: str) -> None:
    rows = read(samples, name, "sonic", file)
    assert len(rows) == count and {row[column] for row in rows} == {0}


def test_nxos_counts_the_pauses_of_all_priorities(samples: Path) -> None:
    rows = read(samples, "pfc_counters", "nxos", "nxos/show_interface_priority_flow_control_n5k.txt")
    assert [(row["port"], row["rx_frames"], row["tx_frames"]) for row in rows[:2]] == [("Ethernet1/47", 7316, 762946), ("Ethernet1/48", 7428, 761362)]
    assert len(rows) == 4 and {row["priority"] for row in rows} == {None}
    on = [(row["port"], row["priority"]) for row in read(samples, "pfc_priorities", "nxos", "nxos/show_interface_priority_flow_control_ucs.txt") if row["pfc"]]
    assert on == [("Ethernet1/1/1", 3)]


def test_cumulus_tells_its_sections_apart(samples: Path) -> None:
    file = "cumulus/nv_show_interface_qos_roce_counters.txt"
    assert [row["dropped_packets"] for row in read(samples, "queue_drops", "cumulus", file, "swp16")] == [663060754115]
    assert [row["dropped_packets"] for row in read(samples, "ingress_drops", "cumulus", file, "swp16")] == [0]
    assert [row["marked_packets"] for row in read(samples, "ecn_counters", "cumulus", file, "swp16")] == [693777677344]
    assert [(row["port"], row["rx_frames"], row["tx_frames"]) for row in read(samples, "pfc_counters", "cumulus", file, "swp16")] == [("swp16", 0, 0)]


def test_cumulus_tells_its_settings(samples: Path) -> None:
    file = "cumulus/nv_show_interface_qos_roce_status.txt"
    (row,) = read(samples, "ecn_settings", "cumulus", file, "swp16")
    assert (row["marking"], row["min_bytes"], row["traffic_classes"]) == (True, 153 * 1024, [0, 3])
    assert [row["priority"] for row in read(samples, "pfc_priorities", "cumulus", file, "swp16") if row["pfc"]] == [3]
    assert [(row["port"], row["dscp"], row["traffic_class"]) for row in read(samples, "dscp_classes", "cumulus", file, "swp16")] == [
        ("swp16", [48], 6), ("swp16", [26], 3)
    ]  # fmt: skip


def test_rdma_statistic_is_a_row_a_counter(samples: Path) -> None:
    rows = read(samples, "rdma_counters", "linux", "softroce/rdma_statistic.out", "mlx5_0")
    assert len(rows) == 15 and rows[0] == {"device": "mlx5_0", "name": "sent_pkts", "value": 8000}
