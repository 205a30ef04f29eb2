# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Genuine outputs of Arista EOS and Cisco NX-OS: how many rows, and what their facts are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse

UNREAD = ("priority_flow_control",)
# file: reading, rows, the column that is counted, how often its values occur
COUNTS: dict[str, tuple[str, int, str, dict]] = {
    "eos/show_interfaces_status_modular": ("interface_status", 6, "state", {"connected": 1, "inactive": 1, "notconnect": 1, "errdisabled": 1, "disabled": 2}),
    "eos/show_interfaces_status_po": ("interface_status", 6, "state", {"disabled": 2, "notconnect": 2, "connected": 2}),
    "eos/show_interfaces_status_no_names": ("interface_status", 4, "state", {"connected": 3, "disabled": 1}),
    "nxos/show_interface_status_n5k_n9k": (
        "interface_status",
        73,
        "state",
        {"connected": 3, "disabled": 4, "absent": 52, "notconnect": 4, "noOperMem": 3, "down": 7},
    ),
    "nxos/show_interface_status3": ("interface_status", 15, "state", {"connected": 11, "channelDo": 4}),
    "nxos/show_interface_status_oddities": ("interface_status", 14, "state", {"connected": 14}),
    "nxos/show_interface_status_linkflap": ("interface_status", 1, "state", {"errdisabled": 1}),
    "eos/show_interfaces_counters_errors": ("interface_errors", 4, "fcs_errors", {0: 3, 7846661: 1}),
    "nxos/show_interface_counters_errors_stomped": ("interface_errors", 1, "stomped_crc", {13450: 1}),
    "eos/show_interfaces": ("interface_mtu", 7, "mtu", {1500: 4, 9214: 2, 65535: 1}),
    "eos/show_interfaces_transceiver": ("transceivers", 5, "rx_power_dbm", {-2.39: 1, -0.1: 1, -0.2: 1, -0.72: 1, None: 1}),
    "nxos/show_interface_transceiver_400g": ("transceivers", 2, "media", {"QSFP-DD-400G-FR4": 2}),
    "nxos/show_interface_transceiver_details": ("transceivers", 5, "port", {"Ethernet3/1": 1, "Ethernet3/2": 1, "Ethernet3/3": 1, "Ethernet4/1": 2}),
    "nxos/show_interface_transceiver_details_rx_na": ("transceivers", 1, "tx_power_dbm", {-2.54: 1}),
    "eos/show_ip_bgp_summary_bad_peers": ("bgp_summary", 3, "state", {"Active": 1, "Idle (NoIf)": 1, "Established": 1}),
    "eos/show_ip_bgp_summary_old": ("bgp_summary", 2, "prefixes_received", {7: 2}),
    "eos/show_ip_bgp_summary_3vrf": ("bgp_summary", 4, "vrf", {"RED": 1, "WHITE": 1, "BLUE": 2}),
    "nxos/show_ip_bgp_summary": ("bgp_summary", 13, "state", {"Idle": 2, "Idle (Admin)": 1, "Established": 10}),
    "nxos/show_ip_bgp_summary_vrf": ("bgp_summary", 12, "vrf", {"RED": 1, "WHITE": 1, "BLUE": 2, "PURPLE": 8}),
    "nxos/show_bgp_vrf_all_all_summary": ("bgp_summary", 31, "state", {"Established": 19, "Established (No Cap)": 8, "Idle": 4}),
    "eos/show_ip_route_ebgp_singlepath": ("ecmp_routes", 19, "protocol", {"bgp": 15, "connected": 4}),
    "eos/show_ip_route_ecmp2": ("ecmp_routes", 2, "next_hop", {"199.229.255.31": 1, "199.229.255.35": 1}),
    "eos/show_ip_route_vrf": ("ecmp_routes", 38, "protocol", {"bgp": 30, "connected": 8}),
    "nxos/show_ip_route": ("ecmp_routes", 37, "vrf", {"default": 37}),
    "nxos/show_ip_route_vrf3": ("ecmp_routes", 5, "selected", {True: 3, False: 2}),
    "nxos/show_ip_route_ospf_fabric": ("ecmp_routes", 14, "vrf", {"ndi-fabric": 14}),
}
# file: reading, the row that has the first values, its other values
FACTS: list[tuple[str, str, dict, dict]] = [
    ("eos/show_interfaces_status_no_names", "interface_status", {"port": "Et6"}, {"state": "connected", "speed_gbit_s": 0.1}),
    ("eos/show_interfaces_status_no_names", "interface_status", {"port": "Et52"}, {"speed_gbit_s": 10.0, "media": "10GBASE-SR"}),
    ("nxos/show_interface_status_linkflap", "interface_status", {"port": "Eth1/15"}, {"reason": "linkFlapE", "speed_gbit_s": None, "media": "QSFP-100G-CR4"}),
    ("eos/show_interfaces_counters_errors", "interface_errors", {"port": "Et6"}, {"symbol_errors": 7831865, "rx_errors": 9687745, "runts": 1841084}),
    ("eos/show_interfaces", "interface_errors", {"port": "Port-Channel1"}, {"rx_errors": 0, "fcs_errors": None}),
    ("eos/show_interfaces", "interface_mtu", {"port": "Ethernet49/1"}, {"mtu": 9214}),
    (
        "nxos/show_interface_counters_errors_stomped",
        "interface_errors",
        {"port": "Eth1/1"},
        {"tx_errors": 230, "fcs_errors": 0, "rx_drops": 0, "symbol_errors": 0},
    ),
    ("eos/show_interfaces_transceiver", "transceivers", {"port": "Et3/1/1"}, {"present": True, "tx_power_dbm": None, "temperature_c": 27.92}),
    ("eos/show_interfaces_transceiver", "transceivers", {"port": "Et5/29/1"}, {"present": None, "temperature_c": None}),
    ("nxos/show_interface_transceiver_details", "transceivers", {"port": "Ethernet3/1"}, {"rx_power_dbm": -30.45, "rx_low_alarm_dbm": -13.9}),
    ("nxos/show_interface_transceiver_details", "transceivers", {"lane": 3}, {"rx_power_dbm": -1.57, "rx_low_warning_dbm": -10.59, "temperature_c": 40.44}),
    ("nxos/show_interface_transceiver_details_rx_na", "transceivers", {"port": "Ethernet1/26"}, {"rx_power_dbm": None, "rx_low_alarm_dbm": -13.97}),
    ("nxos/show_interface_transceiver_400g", "transceivers", {"port": "Ethernet1/36"}, {"vendor": "CISCO-INNOLIGHT", "part_number": "T-DQ4CNT-NC2"}),
    ("eos/show_ip_bgp_summary_3vrf", "bgp_summary", {"neighbor": "192.168.3.3"}, {"asn": 65023, "prefixes_received": 18, "local_asn": 65021}),
    ("eos/show_ip_bgp_summary_bad_peers", "bgp_summary", {"neighbor": "10.106.0.153"}, {"asn": 64832, "prefixes_received": None}),
    ("nxos/show_ip_bgp_summary", "bgp_summary", {"neighbor": "10.0.0.11"}, {"asn": 65010, "prefixes_received": 4452, "state": "Established"}),
    ("nxos/show_ip_bgp_summary_vrf", "bgp_summary", {"neighbor": "10.101.1.4"}, {"asn": 4255544594, "prefixes_received": 0, "vrf": "PURPLE"}),
    ("nxos/show_ip_route", "ecmp_routes", {"prefix": "0.0.0.0/0"}, {"next_hop": "10.1.100.1", "interface": None, "protocol": "static"}),
    ("nxos/show_ip_route", "ecmp_routes", {"prefix": "10.71.0.0/21"}, {"next_hop": None, "interface": "Null0"}),
    ("nxos/show_ip_route", "ecmp_routes", {"prefix": "10.151.0.0/16"}, {"next_hop": "172.24.0.240", "protocol": "bgp"}),
]
# file: prefixes, next hops in use of the widest prefix
WIDEST = {
    "eos/show_ip_route_ebgp_singlepath": (19, 1),
    "eos/show_ip_route_ecmp2": (1, 2),
    "eos/show_ip_route_vrf": (38, 1),
    "nxos/show_ip_route": (23, 3),
    "nxos/show_ip_route_vrf3": (3, 1),
    "nxos/show_ip_route_ospf_fabric": (13, 2),
}


def rows_of(samples: Path, name: str, reading: str) -> list[dict]:
    return parse(reading, name.split("/")[0], (samples / f"{name}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", COUNTS)
def test_every_row_is_read(samples: Path, name: str) -> None:
    reading, rows, column, counts = COUNTS[name]
    found = rows_of(samples, name, reading)
    assert (len(found), Counter(row[column] for row in found)) == (rows, counts)


@pytest.mark.parametrize(("name", "reading", "which", "facts"), FACTS)
def test_the_facts_of_a_row(samples: Path, name: str, reading: str, which: dict, facts: dict) -> None:
    found = [row for row in rows_of(samples, name, reading) if which.items() <= row.items()]
    assert [{column: row[column] for column in facts} for row in found] == [facts]


@pytest.mark.parametrize("name", WIDEST)
def test_the_widest_route(samples: Path, name: str) -> None:
    hops = Counter((row["vrf"], row["prefix"]) for row in rows_of(samples, name, "ecmp_routes") if row["selected"])
    assert (len(hops), max(hops.values())) == WIDEST[name]


def test_every_sample_is_read(samples: Path) -> None:
    files = {f"{path.parent.name}/{path.stem}" for path in samples.glob("*/*.txt") if path.parent.name in ("eos", "nxos")}
    assert {name for name in files if not any(word in name for word in UNREAD)} == set(COUNTS)
