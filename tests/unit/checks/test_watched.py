# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is watched around loads: what grows, what few errors are, and what is not reported."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, Finding, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.watched import behind_leaf, host, network

Rows = list[dict[str, t.Any]]
RAILS = [{"device": "mlx5_0", "netdev": "rail0", "pci": "0000:18:00.0"}, {"device": "mlx5_3", "netdev": "rail1", "pci": "0000:40:00.0"}]
PER_TB = {"pod_load_errors_max_per_tb": 10}
LOSSLESS = {**PER_TB, "pod_drops_max_per_tb": 0, "pod_adaptive_routing": False}
CLASS = {"pod_roce_priority": 3, "pod_other_priorities": [], "pod_other_class_max_percent": 5}
PAUSES = {"pod_roce_priority": 3, "pod_link_gbit_s": 400, "pod_pause_warn_percent": 1, "pod_pause_max_percent": 5}


def nic(one: dict[str, int], other: dict[str, int] | None = None, key: str = "netdev") -> Rows:
    """The counters of both rails; of the second those of the first where nothing is said."""
    both = zip(RAILS, (one, one if other is None else other))
    return [{key: rail[key], "name": name, "value": value} for rail, counters in both for name, value in counters.items()]


def found(findings: t.Iterable[Finding]) -> list[tuple[str, str, str | None]]:
    return [(str(one.where), one.actual, one.severity) for one in findings]


MOVED = {"rx_bytes_phy": 0, "tx_bytes_phy": 0}


@pytest.mark.parametrize(
    ("grown", "severity"),
    [({"rx_crc_errors_phy": 1}, "warn"), ({"rx_crc_errors_phy": 10}, "warn"), ({"rx_crc_errors_phy": 11}, None), ({"rx_symbol_err_phy": 300}, None)],
)
def test_few_errors_of_a_link_warn_and_many_fail(grown: dict[str, int], severity: str | None) -> None:
    before = {"link_down_events_phy": 4, "rx_crc_errors_phy": 0, "rx_symbol_err_phy": 0, **MOVED}
    judged = found(network.links_under_load(nic(before), nic({**before, **grown}, before), RAILS, **PER_TB))
    name, count = next(iter(grown.items()))
    assert judged == [("rail0", f"{name} +{count} in 0 TB", severity)]


def test_errors_are_few_or_many_for_what_a_rail_carried() -> None:
    before = {"link_down_events_phy": 4, "rx_crc_errors_phy": 0, **MOVED}
    after = {**before, "rx_crc_errors_phy": 90, "rx_bytes_phy": 10**13}
    assert found(network.links_under_load(nic(before), nic(after, before), RAILS, **PER_TB)) == [("rail0", "rx_crc_errors_phy +90 in 10 TB", "warn")]


def test_a_lost_link_fails_however_much_was_carried() -> None:
    before = {"link_down_events_phy": 4, "rx_crc_errors_phy": 0, **MOVED}
    after = {**before, "link_down_events_phy": 6, "rx_bytes_phy": 10**15}
    assert found(network.links_under_load(nic(before), nic(before, after), RAILS, **PER_TB)) == [("rail1", "2 link losses", None)]


def test_a_counter_that_one_rail_lacks_is_unknown_and_one_that_all_lack_is_no_pass() -> None:
    whole = {"link_down_events_phy": 4, "rx_crc_errors_phy": 0}
    without = {"link_down_events_phy": 4}
    assert found(network.links_under_load(nic(whole, without), nic(whole, without), RAILS, **PER_TB)) == [
        ("rail1 rx_crc_errors_phy", "not reported", "unknown")
    ]
    with pytest.raises(NotApplicable, match="not reported"):
        list(network.links_under_load(nic(MOVED), nic(MOVED), RAILS, **PER_TB))
    with pytest.raises(NotApplicable, match="not reported"):
        list(network.losses_under_load(nic(MOVED), nic(MOVED), [], [], RAILS, 3, **LOSSLESS))


def test_a_counter_that_went_back_is_no_pass() -> None:
    with pytest.raises(CannotTell, match="went back"):
        list(network.links_under_load(nic({"link_down_events_phy": 4}), nic({"link_down_events_phy": 0}), RAILS, **PER_TB))


def test_losses_name_the_rail_and_what_grew() -> None:
    idle, lost = {"packet_seq_err": 2, "local_ack_timeout_err": 0, "out_of_sequence": 0}, {"packet_seq_err": 2002, "local_ack_timeout_err": 1}
    discards = {"rx_prio3_discards": 0, **MOVED}
    judged = network.losses_under_load(
        nic(discards), nic(discards), nic(idle, key="device"), nic({**idle, **lost}, {**idle, "out_of_sequence": 7}, key="device"), RAILS, 3, **LOSSLESS
    )
    assert found(judged) == [
        ("mlx5_0", "packet_seq_err +2000, local_ack_timeout_err +1 in 0 TB", None),
        ("mlx5_3 out_of_sequence", "7", "warn"),
    ]


def test_a_wrong_icrc_is_no_loss_on_the_way() -> None:
    idle = {"packet_seq_err": 2, "local_ack_timeout_err": 0, "out_of_sequence": 0, "rx_icrc_encapsulated": 1}
    grown = {**idle, "rx_icrc_encapsulated": 41, "out_of_sequence": 40, "packet_seq_err": 3}
    discards = {"rx_prio3_discards": 0, **MOVED}
    judged = list(network.losses_under_load(nic(discards), nic(discards), nic(idle, key="device"), nic(grown, key="device"), RAILS[:1], 3, **LOSSLESS))
    assert found(judged) == [("mlx5_0", "rx_icrc_encapsulated +40 in 0 TB", None)]
    assert "ICRC" in judged[0].cause


def test_more_losses_than_wrong_icrcs_are_losses_too() -> None:
    idle = {"packet_seq_err": 2, "local_ack_timeout_err": 0, "out_of_sequence": 0, "rx_icrc_encapsulated": 1}
    grown = {**idle, "rx_icrc_encapsulated": 3, "out_of_sequence": 2, "packet_seq_err": 40002}
    discards = {"rx_prio3_discards": 0, **MOVED}
    judged = list(network.losses_under_load(nic(discards), nic(discards), nic(idle, key="device"), nic(grown, key="device"), RAILS[:1], 3, **LOSSLESS))
    assert found(judged) == [("mlx5_0", "rx_icrc_encapsulated +2 in 0 TB", "warn"), ("mlx5_0", "packet_seq_err +40000 in 0 TB", None)]


def test_a_lossy_transport_loses_as_much_as_is_planned_and_no_more() -> None:
    idle, lost = {"packet_seq_err": 2, "local_ack_timeout_err": 0, "out_of_sequence": 0}, {"packet_seq_err": 2002, "out_of_sequence": 9}
    discards = {"rx_prio3_discards": 0, **MOVED}
    for most, words in ((2000, []), (1999, [("mlx5_0", "packet_seq_err +2000 in 0 TB", None)])):
        given = {**LOSSLESS, "pod_drops_max_per_tb": most}
        was, now = nic(idle, key="device"), nic({**idle, **lost}, key="device")
        assert found(network.losses_under_load(nic(discards), nic(discards), was, now, RAILS[:1], 3, **given)) == words


def test_a_class_that_no_job_should_use_is_named() -> None:
    idle = {f"{way}_prio{priority}_bytes": 0 for way in ("rx", "tx") for priority in (0, 3)}
    other, right = {**idle, "rx_prio0_bytes": 6 * 10**10, "rx_prio3_bytes": 94 * 10**10}, {**idle, "rx_prio0_bytes": 10**10, "tx_prio3_bytes": 99 * 10**10}
    judged = list(network.class_under_load(nic(idle), nic(other, right), RAILS, **CLASS))
    assert found(judged) == [("rail0", "priority 0 carried 60 GB, 6 % of the rail's data", None)]
    assert list(network.class_under_load(nic(idle), nic(other, right), RAILS, **{**CLASS, "pod_other_priorities": [0]})) == []
    with pytest.raises(NotApplicable, match="no rail carried a load"):
        list(network.class_under_load(nic(idle), nic(idle), RAILS, **CLASS))
    with pytest.raises(NotApplicable, match="not reported"):
        list(network.class_under_load(nic(MOVED), nic(MOVED), RAILS, **CLASS))
    assert found(network.class_under_load(nic(idle, {}), nic(right, {}), RAILS, **CLASS)) == [("rail1 priorities", "not reported", "unknown")]


@pytest.mark.parametrize(("paused_s", "severity"), [(0.1, "none"), (0.3, "warn"), (1.1, None)])
def test_pauses_are_a_share_of_the_time_that_data_takes(paused_s: float, severity: str | None) -> None:
    idle = {"rx_prio3_pause_duration": 0, "tx_bytes_phy": 0}
    # A terabyte takes 20 s at 400 Gb/s.
    after = {"rx_prio3_pause_duration": round(paused_s * 1e6), "tx_bytes_phy": 10**12}
    judged = [one.severity for one in network.pauses_under_load(nic(idle), nic(after, idle), RAILS, **PAUSES)]
    assert judged == ([] if severity == "none" else [severity])


def test_pauses_that_no_nic_counts_are_no_pass() -> None:
    with pytest.raises(NotApplicable, match="not reported"):
        list(network.pauses_under_load(nic(MOVED), nic(MOVED), RAILS, **PAUSES))


def test_a_port_of_infiniband_without_error_counters_is_unknown() -> None:
    port = {"link_downed": 1, "link_error_recovery": 0, "symbol_error": 3}
    rows = nic(port, {"port_xmit_data": 9}, key="device")
    assert found(network.ib_ports_under_load(rows, rows, RAILS, **PER_TB)) == [("mlx5_3 link errors", "not reported", "unknown")]


def logged(event: str, device: str | None = None, time: str = "12:00", **more: t.Any) -> dict[str, t.Any]:
    return {"time": time, "event": event, "device": device, "severity": None, "code": None, "recovery": None, "text": f"{event} {device} {more}", **more}


BOOT = logged("boot", time="08:00")
GPU = {"gpu": 0, "pci": "0000:1b:00.0"}


@pytest.mark.parametrize(
    ("row", "where", "severity"),
    [
        (logged("xid", "0000:1b:00", code=79), "GPU 0", None),
        (logged("xid", "0000:1b:00", code=31), "GPU 0", "warn"),
        (logged("xid", "0000:1b:00", code=154, recovery="Reset"), "GPU 0", None),
        (logged("xid", "0000:1b:00", code=154, recovery="None"), "GPU 0", "warn"),
        (logged("xid", "0000:1b:00", code=154), "GPU 0", "unknown"),
        (logged("sxid", "0000:c1:00.0", code=23001, severity="fatal"), "0000:c1:00.0", None),
        (logged("sxid", "0000:c1:00.0", code=20009, severity="nonfatal"), "0000:c1:00.0", "warn"),
        (logged("pcie_error", "0000:40:00.0", severity="nonfatal"), "mlx5_3", None),
        (logged("pcie_error", "0000:05:00.0", severity="nonfatal"), "0000:05:00.0", "warn"),
        (logged("pcie_error", "0000:40:00.0"), "mlx5_3", "warn"),
        (logged("nic_overheated", "0000:18:00.0"), "mlx5_0", None),
        (logged("nic_power", "0000:18:00.0"), "mlx5_0", "warn"),
        (logged("nic_failed", "0000:18:00.0"), "mlx5_0", None),
        (logged("peermem_error"), "not named", "warn"),
        (logged("ras_error", "0000:1b:00.0", severity="fatal"), "GPU 0", None),
        (logged("gpu_reset", "0000:1b:00.0"), "GPU 0", None),
        (logged("link_down", "rail1"), "rail1", None),
        (logged("link_down", None), "kernel log", "unknown"),
    ],
)
def test_what_the_kernel_logs_under_load_is_judged_by_its_kind(row: dict[str, t.Any], where: str, severity: str | None) -> None:
    judged = list(host.log_under_load([BOOT, row], [BOOT, row, {**row, "time": "12:09"}], RAILS, 10, [GPU]))
    assert [(str(one.where), one.severity) for one in judged] == [(where, severity)]
    assert list(host.log_under_load([BOOT, row], [BOOT, row], RAILS, 10, [GPU])) == [], "it was logged before the load"


def test_single_corrected_errors_are_normal() -> None:
    rows = [logged("pcie_error", "0000:18:00.0", f"12:{minute}", severity="corrected") for minute in range(11)]
    assert list(host.log_under_load([BOOT], [BOOT, *rows[:10]], RAILS, 10)) == []
    assert found(host.log_under_load([BOOT], [BOOT, *rows], RAILS, 10)) == [("mlx5_0", "corrected PCIe error, 11 times", "warn")]


def test_a_log_that_lost_its_first_lines_is_judged_and_one_that_lost_more_is_not() -> None:
    old, late, new = logged("link_up", "rail0", "08:01"), logged("link_up", "rail1", "08:02"), logged("xid", "0000:1b:00", code=79)
    assert found(host.log_under_load([BOOT, old, late], [late, new], RAILS, 10, [GPU])) == [("GPU 0", "Xid 79 (fallen off the bus)", None)]
    with pytest.raises(CannotTell, match="lost lines"):
        list(host.log_under_load([BOOT, old, late], [new], RAILS, 10, [GPU]))


HEALTHY: dict[str, t.Any] = {
    **GPU, "ecc_uncorrected_volatile": 0, "remap_pending": False, "reset_required": False, "pcie_width": 16,
    "hw_thermal_slowdown_us": 0, "sw_thermal_slowdown_us": 5, "hw_power_brake_us": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "judged"),
    [
        ({}, []),
        ({"ecc_uncorrected_volatile": 2}, [("GPU 0", "2 more uncorrected", None)]),
        ({"ecc_uncorrected_volatile": None}, [("GPU 0", "not reported: ECC is off or missing", "unknown")]),
        ({"remap_pending": True}, [("GPU 0", "row remap pending", None)]),
        ({"pcie_width": 8}, [("GPU 0", "x8", None)]),
    ],
)
def test_a_gpu_that_fails_under_load_is_named(change: dict[str, t.Any], judged: list[tuple[str, str, str | None]]) -> None:
    assert found(host.gpus_under_load([HEALTHY], [{**HEALTHY, **change}], 16)) == judged


def test_a_gpu_that_is_gone_after_the_load_is_named() -> None:
    assert found(host.gpus_under_load([HEALTHY], [], 16)) == [("GPU 0", "no longer reported", None)]


@pytest.mark.parametrize(
    ("change", "judged"),
    [
        ({"hw_power_brake_us": 4_000_000}, [("GPU 0", "4 s, slowed down by power brake", None)]),
        ({"sw_thermal_slowdown_us": 900_005}, [("GPU 0", "0.9 s, close to its temperature limit", "warn")]),
        ({"hw_thermal_slowdown_us": None}, [("GPU 0", "not reported", "unknown")]),
        ({"sw_thermal_slowdown_us": 0}, [("GPU 0", "counters were reset: the driver was loaded again", "unknown")]),
    ],
)
def test_a_gpu_that_was_slowed_down_is_named(change: dict[str, t.Any], judged: list[tuple[str, str, str | None]]) -> None:
    assert found(host.gpu_slowdown_under_load([HEALTHY], [{**HEALTHY, **change}], 1)) == judged


def test_a_driver_that_counts_no_slowdown_is_no_pass() -> None:
    silent = {**HEALTHY, "hw_thermal_slowdown_us": None, "sw_thermal_slowdown_us": None, "hw_power_brake_us": None}
    with pytest.raises(NotApplicable, match="not reported by this driver"):
        list(host.gpu_slowdown_under_load([silent], [silent], 1))


def kept(*lost: str, hosts: int = 6, **more: int | None) -> list[Finding]:
    """What leaf1 is found to share where NICs (gpu1, gpu2 ...) lose their links to it; more: of these the count after the load."""
    rails = [
        {"host": f"gpu{host}", "device": f"mlx5_{rail}", "netdev": f"ens{rail}", "leaf": f"leaf{rail}", "index": rail}
        for host in range(1, hosts + 1) for rail in (1, 2)
    ]  # fmt: skip
    readings: list[dict[str, list[dict[str, t.Any]]]] = [{}, {}]
    for rail in rails:
        after = more.get(rail["host"], 5 if rail["host"] in lost else 4) if rail["leaf"] == "leaf1" else 4
        for reading, count in zip(readings, (4, after)):
            rows = [] if count is None else [{"netdev": rail["netdev"], "name": "link_down_events_phy", "value": count}]
            reading.setdefault(rail["host"], []).extend(rows)
    own, others = ([rail for rail in rails if (rail["leaf"] == "leaf1") is there] for there in (True, False))
    cables = [{"port": f"Ethernet{rail['host'][3:]}/1", "peer": rail["host"], "peer_port": rail["netdev"]} for rail in own]
    return list(behind_leaf.hosts_keep_links_under_load(*readings, own, others, cables, "leaf1"))  # type: ignore[arg-type]


def test_links_that_several_hosts_lose_to_one_leaf_under_load() -> None:
    found = kept("gpu1", "gpu2", "gpu3")
    assert [(str(one.where), one.where.peers, one.actual) for one in found] == [
        (f"Ethernet{number}/1", (f"gpu{number}",), f"lost at gpu{number} mlx5_1") for number in (1, 2, 3)
    ]
    assert "leaf1" in str(found[0].cause) and "Ethernet1-3/1" in str(found[0].fix)
    assert kept("gpu1", "gpu2") == [], "two cables may be bad at once"
    # Counters that went back say nothing of their host, and one that lacks them is not counted.
    assert kept("gpu1", "gpu2", gpu3=0) == kept("gpu1", "gpu2", gpu3=None) == []
    with pytest.raises(NotApplicable, match="links_under_load judges"):
        kept(hosts=3, gpu3=None)


def ib_kept(lost: dict[str, dict[str, int]], hosts: int = 6) -> list[Finding]:
    """What leaf1 of InfiniBand is found to share; lost: by host what its port at that leaf counts after the load."""
    rails = [
        {"host": f"gpu{host}", "device": f"mlx5_{rail}", "netdev": None, "leaf": f"leaf{rail}", "index": rail}
        for host in range(1, hosts + 1)
        for rail in (1, 2)
    ]
    before = {"link_downed": 4, "link_error_recovery": 2}
    readings: list[dict[str, list[dict[str, t.Any]]]] = [{}, {}]
    for rail in rails:
        after = lost.get(str(rail["host"]), before) if rail["leaf"] == "leaf1" else before
        for reading, counts in zip(readings, (before, after)):
            rows = [{"device": rail["device"], "name": name, "value": value} for name, value in counts.items()]
            reading.setdefault(str(rail["host"]), []).extend(rows)
    own, others = ([rail for rail in rails if (rail["leaf"] == "leaf1") is there] for there in (True, False))
    cables = [{"port": str(rail["host"])[3:], "peer": rail["host"], "peer_port": rail["device"]} for rail in own]
    return list(behind_leaf.ib_hosts_keep_links_under_load(*readings, own, others, cables, "leaf1"))  # type: ignore[arg-type]


def test_infiniband_links_that_several_hosts_lose_to_one_leaf_under_load() -> None:
    downed, trained = {"link_downed": 5, "link_error_recovery": 2}, {"link_downed": 4, "link_error_recovery": 3}
    found = ib_kept({"gpu1": downed, "gpu2": trained, "gpu3": downed})
    assert [(one.where.port, one.actual) for one in found] == [(str(number), f"lost at gpu{number} mlx5_1") for number in (1, 2, 3)]
    assert "what they share is leaf1" in str(found[0].cause)
    assert ib_kept({"gpu1": downed, "gpu2": downed}) == ib_kept({"gpu1": downed, "gpu2": downed, "gpu3": {"symbol_error": 9}}) == []
    with pytest.raises(NotApplicable, match="ib_ports_under_load judges"):
        ib_kept({"gpu3": {"symbol_error": 9}}, hosts=3)
