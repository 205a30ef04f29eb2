# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What genuine outputs of the RDMA and NIC tools must come to; the facts are those of the samples' index."""

from __future__ import annotations

import collections
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, parse

Rows = list[dict[str, t.Any]]


def pick(rows: Rows, *columns: str) -> list[tuple[t.Any, ...]]:
    """Some columns of each row."""
    return [tuple(row[column] for column in columns) for row in rows]


def settings(rows: Rows, column: str) -> dict[str, t.Any]:
    """One column of each row by the row's name."""
    return {row["name"]: row[column] for row in rows}


ROWS = [
    ("ibstat", "ibstat/h100_ib_8xNDR_3eth_down.txt", 12),
    ("ibstat", "ibstat/h100_roce_8x400_4x100.txt", 12),
    ("ibstat", "ibstat/h100_roce_polling_DERIVED.txt", 12),
    ("ibstat", "ibstat/mlx4_fdr_2port.txt", 2),
    ("ibstat", "ibstat/mlx4_ddr_port2_polling.txt", 2),
    ("ibstat", "softroce/ibstat.out", 8),
    ("ibstat", "softroce/ibstat_one.out", 1),
    ("ibstat", "softroce/k72_ns_ibstat_mlx5_0.out", 1),
    ("ibstat", "ibsim/healthy8/ibstat.txt", 1),
    ("ibstat", "ibsim/healthy32/ibstat.txt", 1),
    ("ibstat", "ibsim/ndr_ibsim012/ibstat.txt", 1),
    ("ibstat", "ibsim/fault_no_sm/ibstat.txt", 1),
    ("ibstat", "ibsim/fault_unlink/ibstat_on_unlinked_host.txt", 1),
    ("ibstat", "ibsim/fault_degraded/ibstat_node003_mlx5_0.txt", 1),
    ("ibstat", "ibsim/fault_degraded/ibstat_node005_mlx5_4.txt", 1),
    ("devinfo", "ibv_devinfo/cx4lx_4hca_one_down.txt", 4),
    ("devinfo", "softroce/ibv_devinfo.out", 8),
    ("devinfo", "softroce/ibv_devinfo_v_one.out", 1),
    ("gids", "show_gids/roce_4dev_12gids.txt", 12),
    ("gids", "softroce/ibv_devinfo_v_one.out", 2),
    ("rdma_link", "rdma_link/bf3_2ports_down.txt", 4),
    ("rdma_link", "softroce/rdma_link.out", 8),
    ("rdma_link", "softroce/rdma_link_json.out", 8),
    ("rdma_link", "softroce/k72_nohca_rdma__j_link.out", 0),
    ("ibdev2netdev", "ibdev2netdev/mlx4_2port.txt", 2),
    ("ibdev2netdev", "ibdev2netdev/bf3_2ports_down.txt", 4),
    ("ibdev2netdev", "ibdev2netdev/cx4lx_4ports_one_down.txt", 4),
    ("mlxconfig", "mlxconfig/cx4lx_next_boot_full.txt", 161),
    ("mlxconfig", "mlxconfig/cx3_mstconfig_query.txt", 20),
    ("mlxconfig", "mlxconfig/cx3_mstconfig_set.txt", 1),
    ("link_quality", "mlxlink/cx7_ndr_copper_show_module.txt", 31),
    ("qos_trust", "mlnx_qos/cx_dscp_pfc3.txt", 1),
    ("pfc_priorities", "mlnx_qos/cx_dscp_pfc3.txt", 8),
    ("dscp_map", "mlnx_qos/cx_dscp_pfc3.txt", 8),
    ("interface_status", "ethtool/cx4lx_25g_dac.txt", 1),
    ("interface_status", "ethtool/eth0_1g_node_exporter.txt", 1),
    ("interface_status", "softroce/ethtool_eth1.out", 1),
    ("interface_status", "softroce/k72_ns_ethtool_ens0np0.out", 1),
    ("interface_status", "softroce/k72_ns_ethtool___json_ens0np0.out", 1),
    ("interface_status", "frr/healthy/leaf01_ethtool_swp1.txt", 1),
    ("interface_status", "frr/fault_spine_down/leaf01_ethtool_swp2.txt", 1),
    ("interface_status", "frr/fault_ifdown/gpu01_ethtool_rail0.txt", 1),
    ("interface_errors", "ethtool_S/eth0_node_exporter.txt", 1),
    ("interface_errors", "ethtool_S/igb_full.txt", 1),
    ("nic_counters", "ethtool_S/eth0_node_exporter.txt", 16),
    ("nic_counters", "ethtool_S/igb_full.txt", 82),
    ("nic_counters", "ethtool_S/mlx5_rdma_vport.txt", 6),
    ("nic_counters", "softroce/ethtool_S.out", 14),
    ("nic_counters", "softroce/k72_ns_ethtool__S_ens0np0.out", 21),
    ("nic_counters", "frr/healthy/leaf01_ethtool_S_swp1.txt", 10),
    ("rdma_counters", "show_counters/mlx5_bond_congested.txt", 30),
    ("transceivers", "ethtool_m/qsfpdd_cmis_lowpwr_no_light.txt", 8),
    ("ip_link", "softroce/ip_j_link.out", 1),
    ("ip_link", "frr/healthy/leaf01_ip_s_j_link.json", 10),
    ("ip_link", "frr/fault_ifdown/gpu01_ip_s_j_link.json", 6),
    ("ip_address", "frr/healthy/leaf01_ip_j_addr.json", 21),
    ("interface_mtu", "frr/fault_mtu/spine01_ip_s_j_link.json", 6),
]


@pytest.mark.parametrize(("reading", "sample", "count"), ROWS)
def test_sample_has_its_rows(samples: Path, reading: str, sample: str, count: int) -> None:
    assert len(parse(reading, "linux", (samples / sample).read_text(), item="ens1np0")) == count


def of(reading: str, sample: str, *columns: str) -> t.Callable[[Path], t.Any]:
    return lambda samples: pick(parse(reading, "linux", (samples / sample).read_text(), item="ens1np0"), *columns)


def not_up(samples: Path, sample: str) -> list[str]:
    return [row["device"] for row in parse("ibstat", "linux", (samples / sample).read_text()) if (row["state"], row["physical_state"]) != ("Active", "LinkUp")]


def kinds(samples: Path, sample: str) -> dict[tuple[t.Any, ...], int]:
    rows = parse("ibstat", "linux", (samples / sample).read_text())
    return dict(collections.Counter(pick(rows, "ca_type", "state", "physical_state", "rate_gbit_s", "link_layer")))


def named(reading: str, sample: str, column: str, *names: str) -> t.Callable[[Path], t.Any]:
    def values(samples: Path) -> list[t.Any]:
        output = settings(parse(reading, "linux", (samples / sample).read_text(), item="ens1np0"), column)
        return [output[name] for name in names]

    return values


def usable_gids(samples: Path) -> list[tuple[t.Any, ...]]:
    rows = parse("gids", "linux", (samples / "show_gids/roce_4dev_12gids.txt").read_text())
    return pick([row for row in rows if row["version"] == "v2" and row["ipv4"]], "device", "index", "ipv4")


NDR8, CX6 = ("MT4129", "Active", "LinkUp", 400.0, "InfiniBand"), ("MT4125", "Active", "LinkUp", 100.0, "Ethernet")
CX7, FULL = ("MT4129", "Active", "LinkUp", 400.0, "Ethernet"), "mlxconfig/cx4lx_next_boot_full.txt"
CX3, MLXLINK, CONGESTED = "mlxconfig/cx3_mstconfig_query.txt", "mlxlink/cx7_ndr_copper_show_module.txt", "show_counters/mlx5_bond_congested.txt"
STATES = ("device", "state", "physical_state", "netdev")
FACTS: list[tuple[str, t.Callable[[Path], t.Any], t.Any]] = [
    ("ib node", lambda s: kinds(s, "ibstat/h100_ib_8xNDR_3eth_down.txt"), {NDR8: 8, CX6: 1, ("MT4125", "Down", "Disabled", 40.0, "Ethernet"): 3}),
    ("ib node's dead ports", lambda s: not_up(s, "ibstat/h100_ib_8xNDR_3eth_down.txt"), ["mlx5_2", "mlx5_7", "mlx5_8"]),
    ("roce node", lambda s: kinds(s, "ibstat/h100_roce_8x400_4x100.txt"), {CX7: 8, CX6: 4}),
    ("polling", lambda s: not_up(s, "ibstat/h100_roce_polling_DERIVED.txt"), ["mlx5_11", "mlx5_5"]),
    (
        "two ports",
        of("ibstat", "ibstat/mlx4_ddr_port2_polling.txt", "device", "port", "state", "physical_state", "rate_gbit_s"),
        [("mlx4_0", 1, "Active", "LinkUp", 20.0), ("mlx4_0", 2, "Down", "Polling", 10.0)],
    ),
    ("no adapter type", of("ibstat", "softroce/ibstat_one.out", "ca_type", "firmware", "rate_gbit_s"), [(None, None, 2.5)]),
    ("rate with its name", of("ibstat", "softroce/k72_ns_ibstat_mlx5_0.out", "rate_gbit_s"), [(10.0,)]),
    ("no subnet manager", of("ibstat", "ibsim/fault_no_sm/ibstat.txt", "state", "base_lid", "sm_lid", "link_layer"), [("Init", 0, 0, "InfiniBand")]),
    ("unlinked", of("ibstat", "ibsim/fault_unlink/ibstat_on_unlinked_host.txt", "state", "physical_state"), [("Down", "Polling")]),
    ("degraded", of("ibstat", "ibsim/fault_degraded/ibstat_node003_mlx5_0.txt", "rate_gbit_s"), [(26.0,)]),
    (
        "devinfo",
        of("devinfo", "ibv_devinfo/cx4lx_4hca_one_down.txt", "device", "state", "active_mtu", "max_mtu", "vendor_part_id", "firmware"),
        [
            ("mlx5_0", "Active", 1024, 4096, 4117, "14.28.2006"),
            ("mlx5_1", "Down", 1024, 4096, 4117, "14.28.2006"),
            ("mlx5_2", "Active", 1024, 4096, 4117, "14.32.1010"),
            ("mlx5_3", "Active", 1024, 4096, 4117, "14.32.1010"),
        ],
    ),
    (
        "rdma link",
        of("rdma_link", "rdma_link/bf3_2ports_down.txt", *STATES),
        [
            ("mlx5_0", "Down", "Disabled", "ens7f0np0"),
            ("mlx5_1", "Active", "LinkUp", "ens7f1np1"),
            ("mlx5_2", "Down", "Disabled", "ens10f0np0"),
            ("mlx5_3", "Active", "LinkUp", "ens10f1np1"),
        ],
    ),
    ("netdevs", of("ibdev2netdev", "ibdev2netdev/mlx4_2port.txt", "port", "netdev", "netdev_state"), [(1, "ib0", "Up"), (2, "ib1", "Up")]),
    ("netdevs down", of("ibdev2netdev", "ibdev2netdev/bf3_2ports_down.txt", "netdev_state"), [("Down",), ("Up",), ("Down",), ("Up",)]),
    ("gids", usable_gids, [("mlx5_0", 3, "10.108.164.36"), ("mlx5_2", 3, "192.20.28.1")]),
    ("gids of rdma-core", of("gids", "softroce/ibv_devinfo_v_one.out", "index", "version", "ipv4"), [(0, "v2", None), (1, "v2", "172.16.0.1")]),
    ("masks", named("mlxconfig", FULL, "next_boot_number", "ROCE_CC_PRIO_MASK_P1", "ROCE_CC_PRIO_MASK_P2", "NUM_OF_VFS", "CNP_DSCP_P1"), [255, 255, 8, 48]),
    ("words", named("mlxconfig", FULL, "next_boot", "SRIOV_EN", "ROCE_CONTROL", "PCI_WR_ORDERING"), ["False", "ROCE_ENABLE", "per_mkey"]),
    ("numbers", named("mlxconfig", FULL, "next_boot_number", "SRIOV_EN", "ROCE_CONTROL", "PCI_WR_ORDERING", "PCI_DOWNSTREAM_PORT_OWNER"), [0, 2, 0, None]),
    ("one value says nothing of others", named("mlxconfig", FULL, "differs", "SRIOV_EN"), [None]),
    ("ConnectX-3", named("mlxconfig", CX3, "next_boot", "LINK_TYPE_P1", "LINK_TYPE_P2", "SRIOV_EN", "NUM_OF_VFS"), ["IB", "ETH", "True", "8"]),
    ("set dialogue", of("mlxconfig", "mlxconfig/cx3_mstconfig_set.txt", "pci", "next_boot", "new", "new_number"), [("0000:09:00.0", "IB", "ETH", 2)]),
    ("trust", of("qos_trust", "mlnx_qos/cx_dscp_pfc3.txt", "netdev", "trust"), [("ens1np0", "dscp")]),
    ("pfc", of("pfc_priorities", "mlnx_qos/cx_dscp_pfc3.txt", "priority", "pfc"), [(priority, priority == 3) for priority in range(8)]),
    ("dscp", of("dscp_map", "mlnx_qos/cx_dscp_pfc3.txt", "priority", "dscp"), [(p, list(range(8 * p + 7, 8 * p - 1, -1))) for p in range(8)]),
    ("25G", of("interface_status", "ethtool/cx4lx_25g_dac.txt", "port", "state", "speed_gbit_s"), [("enp1s0f0np0", "connected", 25.0)]),
    ("1G", of("interface_status", "ethtool/eth0_1g_node_exporter.txt", "port", "state", "speed_gbit_s"), [("eth0", "connected", 1.0)]),
    ("unknown speed", of("interface_status", "softroce/ethtool_eth1.out", "state", "speed_gbit_s"), [("connected", None)]),
    ("link down", of("interface_status", "frr/fault_ifdown/gpu01_ethtool_rail0.txt", "port", "state"), [("rail0", "notconnect")]),
    ("json", of("interface_status", "softroce/k72_ns_ethtool___json_ens0np0.out", "port", "state", "speed_gbit_s"), [("ens0np0", "connected", 10.0)]),
    ("igb", of("interface_errors", "ethtool_S/igb_full.txt", "fcs_errors", "symbol_errors", "runts", "giants", "tx_drops"), [(0, None, 0, 0, None)]),
    ("absent is not zero", of("interface_errors", "ethtool_S/eth0_node_exporter.txt", "fcs_errors", "rx_drops"), [(None, 12028)]),
    (
        "vport",
        named("nic_counters", "ethtool_S/mlx5_rdma_vport.txt", "value", "rx_vport_rdma_unicast_packets", "tx_vport_rdma_unicast_bytes"),
        [439107945, 147370719852],
    ),
    ("congested", named("rdma_counters", CONGESTED, "value", "np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled"), [1052612505, 21278189006, 0]),
    ("lost", named("rdma_counters", CONGESTED, "value", "out_of_buffer", "out_of_sequence", "resp_cqe_error"), [0, 1811101, 3293504]),
    (
        "no light",
        of("transceivers", "ethtool_m/qsfpdd_cmis_lowpwr_no_light.txt", "lane", "rx_power_dbm", "tx_power_dbm"),
        [(n, -40.0, -40.0) for n in range(1, 9)],
    ),
    ("mlxlink", named("link_quality", MLXLINK, "value", "State", "Physical state", "Speed", "Width"), ["Active", "LinkUp", "IB-NDR", "4x"]),
    ("fec", named("link_quality", MLXLINK, "value", "FEC", "Recommendation"), ["Ethernet_Consortium_LL_50G_RS_FEC_PLR -(272,257+1)", "No issue was observed"]),
    ("copper", named("link_quality", MLXLINK, "value", "Identifier", "Cable Type", "Transfer Distance [m]"), ["OSFP", "Passive copper cable", "1"]),
    ("ip link", of("ip_link", "softroce/ip_j_link.out", "netdev", "state", "mtu", "mac", "parent_pci"), [("eth1", "UP", 4200, "02:00:00:00:00:00", None)]),
]


@pytest.mark.parametrize(("result", "expected"), [fact[1:] for fact in FACTS], ids=[fact[0] for fact in FACTS])
def test_sample_tells_its_facts(samples: Path, result: t.Callable[[Path], t.Any], expected: t.Any) -> None:
    assert result(samples) == expected


ERRORS = [
    ("ibstat", "ibstat/a100_azure_hdr_ibpanic.txt", "stat of IB device 'mlx5_8' failed: No such file or directory", 8),
    ("ibstat", "softroce/k72_nohca_ibstat.out", "printed nothing", 0),
    ("ibstat", "softroce/ibstat_nosuch.out", "printed nothing", 0),
    ("ibstat", "softroce/ibstat_l.out", "no row", 0),
    ("ibstat", "ibsim/healthy32/ibstat_s.txt", "a row lacks its port", 0),
    ("ibstat", "ibsim/healthy32/ibstatus.txt", "no row", 0),
    ("devinfo", "softroce/k72_nohca_ibv_devinfo.out", "printed nothing", 0),
    ("devinfo", "softroce/k72_nohca_ibv_devinfo.err", "No IB devices found", 0),
    ("devinfo", "softroce/ibv_devinfo_nosuch.err", "wasn't found", 0),
    ("rdma_link", "softroce/k72_nohca_rdma_link.out", "printed nothing", 0),
    ("ibdev2netdev", "softroce/ibdev2netdev.err", "command not found", 0),
    ("mlxconfig", "softroce/nohw_mstconfig_q.out", "Failed to get devices", 0),
    ("mlxconfig", "softroce/nohw13_mstconfig_q_bdf.out", "Failed to open the device", 0),
    ("link_quality", "softroce/nohw13_mstlink.out", "printed nothing", 0),
    # One line tells a speed and not whether there is a link: it is no status.
    ("interface_status", "ethtool/cx4_100g_grep.txt", "a row lacks its state", 0),
    ("interface_status", "ethtool/spectrum_400g_lanes.txt", "a row lacks its state", 0),
    ("interface_status", "softroce/ethtool_nosuch.out", "No data available", 0),
    ("interface_errors", "ethtool_S/mlx5_rdma_vport.txt", "no row", 0),
    ("interface_errors", "softroce/ethtool_S.out", "no row", 0),
    ("pause_settings", "softroce/ethtool_a.out", "printed nothing", 0),
    ("pause_settings", "softroce/ethtool_a.err", "Operation not supported", 0),
    ("transceivers", "frr/healthy/leaf01_ethtool_m_swp1.txt.stderr", "Operation not supported", 0),
]


@pytest.mark.parametrize(("reading", "sample", "words", "kept"), ERRORS)
def test_sample_is_an_error_with_the_tools_words(samples: Path, reading: str, sample: str, words: str, kept: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(reading, "linux", (samples / sample).read_text(), item="ens1np0")
    assert words in str(caught.value)
    assert len(caught.value.rows) == kept


def test_two_spellings_of_rdma_link_agree(samples: Path) -> None:
    text, document = ((samples / "softroce" / name).read_text() for name in ("rdma_link.out", "rdma_link_json.out"))
    assert parse("rdma_link", "linux", text) == parse("rdma_link", "linux", document)


@pytest.mark.parametrize("node", ["gpu-node-01", "gpu-node-02"])
def test_links_without_a_netdev(samples: Path, node: str) -> None:
    after = (samples / "softroce/ansible_rdma_link.out").read_text().split(f"{node} | CHANGED | rc=0 >>\n")[1]
    rows = parse("rdma_link", "linux", after.split("\n]")[0] + "]")
    assert len(rows) == 16
    assert sum(row["netdev"] is not None for row in rows) == 8


def test_sysfs_counters_of_soft_roce(samples: Path) -> None:
    lines = (samples / "softroce/sysfs_hw_counters.out").read_text().splitlines()
    output = settings(parse("rdma_counters", "linux", "\n".join(line for line in lines if line.startswith("hw_counters/")), item="mlx5_0"), "value")
    assert len(output) == 16
    assert (output["rcvd_pkts"], output["sent_pkts"]) == (500, 8000)


def test_mtu_of_the_faulty_end(samples: Path) -> None:
    rows = parse("interface_mtu", "linux", (samples / "frr/fault_mtu/spine01_ip_s_j_link.json").read_text())
    assert {row["port"]: row["mtu"] for row in rows}["swp1"] == 1500


def test_numbered_addresses_of_a_leaf(samples: Path) -> None:
    rows = parse("ip_address", "linux", (samples / "frr/healthy/leaf01_ip_j_addr.json").read_text())
    assert ("swp1", "inet", "172.16.0.0", 31) in pick(rows, "netdev", "family", "address", "prefix_length")
