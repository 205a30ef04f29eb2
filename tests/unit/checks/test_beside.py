# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ends of a load counted, as words beside its bandwidth."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import _beside

RAILS = [{"device": "mlx5_0", "netdev": "ens0"}, {"device": "mlx5_1", "netdev": "ens1"}]
NIC = {"ens0": {"rx_prio3_pause_duration": 0, "tx_bytes_phy": 10}, "ens1": {"rx_prio3_pause_duration": 1_000_000, "tx_bytes_phy": 150_000_000_000}}
RDMA = {
    "mlx5_0": {"packet_seq_err": 2, "local_ack_timeout_err": 1, "rp_cnp_handled": 0, "np_ecn_marked_roce_packets": 40},
    "mlx5_1": {"packet_seq_err": 0, "local_ack_timeout_err": 0, "rp_cnp_handled": 0, "np_ecn_marked_roce_packets": 50},
}


def rows(key: str, counters: dict[str, dict[str, int]], share: int) -> list[dict[str, t.Any]]:
    return [{key: nic, "name": name, "value": 100 + value * share} for nic, its in counters.items() for name, value in its.items()]


def node(nic: dict[str, dict[str, int]] | None = None, rdma: dict[str, dict[str, int]] | None = None) -> _beside.Counted:
    nic, rdma = nic or NIC, rdma or RDMA
    return _beside.of_node("a", (rows("netdev", nic, 0), rows("netdev", nic, 1), rows("device", rdma, 0), rows("device", rdma, 1)), 3, 400.0)


def test_the_rails_of_a_host_are_summed_and_the_most_paused_one_is_named():
    assert node().of_host("a", RAILS) == (
        "; counters of its rails over all loads of this layer: retransmissions 3 (most at mlx5_0), paused 25 % at most (most at mlx5_1), CNPs handled "
        "0, ECN marks 90 (most at mlx5_1)"
    )


def test_what_a_driver_counts_by_one_name_is_counted_once():
    assert "retransmissions 7," in node(rdma={"mlx5_0": {"RetransSegs": 7}}).of_rail("a", RAILS[0])
    assert "retransmissions 9," in node(rdma={"mlx5_0": {"RetransSegs": 7, "RTO": 2}}).of_rail("a", RAILS[0])


def test_a_kind_that_no_rail_reports_is_named_and_not_zero():
    reduced = {device: {name: count for name, count in its.items() if name != "rp_cnp_handled"} for device, its in RDMA.items()}
    no_duration = {netdev: {"tx_bytes_phy": 1} for netdev in NIC}
    words = node(no_duration, reduced).of_host("a", RAILS)
    assert "paused not reported, CNPs handled not reported" in words


def test_frames_without_a_duration_are_no_share_of_the_time():
    frames = {netdev: {"tx_bytes_phy": 1, "rx_prio3_pause": count} for netdev, count in (("ens0", 0), ("ens1", 9))}
    assert "paused 0 %" in node(frames).of_rail("a", RAILS[0]) and "paused not reported" in node(frames).of_rail("a", RAILS[1])


def test_nothing_is_reported_of_a_host_that_reported_no_counter():
    empty = _beside.of_node("a", (None, None, None, None), 3, 400.0)
    assert empty.of_host("a", RAILS) == empty.of_rail("a", RAILS[0]) == empty.of_devices("a") == ""
    assert node().of_host("b", RAILS) == ""


def test_the_receiver_of_an_incast_and_its_senders_are_apart():
    tables = {host: rows("device", RDMA, share) for host, share in (("a", 1), ("b", 2), ("c", 3))}
    idle = {host: rows("device", RDMA, 0) for host in tables}
    counted = _beside.Counted((None, None, idle, tables))
    assert counted.of_incast(("a", "mlx5_0"), [("b", "mlx5_0"), ("c", "mlx5_0")], {}) == (
        "; counters of the receiver over all loads of this layer: retransmissions 3, CNPs handled 0, ECN marks 40; "
        "counters of the senders over all loads of this layer: retransmissions 15 (most at c mlx5_0), CNPs handled 0, ECN marks 200 (most at c mlx5_0)"
    )


def test_counters_that_went_back_are_reset():
    back = _beside.of_node("a", (None, None, rows("device", RDMA, 1), rows("device", RDMA, 0)), 3, 400.0)
    assert back.of_devices("a") == "; counters of its rails over all loads of this layer: reset"
