# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Genuine outputs of SONiC, Cumulus, VyOS and of an FRR fabric, healthy and with faults."""

from __future__ import annotations

import collections
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import ParseError, parse

Rows = list[dict[str, t.Any]]


def read(samples: Path, name: str, platform: str, file: str) -> Rows:
    return parse(name, platform, (samples / file).read_text(encoding="utf-8"))


def by(rows: Rows, key: str, *columns: str) -> dict[t.Any, t.Any]:
    return {row[key]: row[columns[0]] if len(columns) == 1 else tuple(row[column] for column in columns) for row in rows}


# file: neighbors that are not Established and their state; the four captures of a fault agree on the rest
BGP_DOWN = {
    "healthy/leaf01": {},
    "healthy/spine01": {},
    "healthy8/leaf01": {},
    "healthy8/spine01": {},
    "unnumbered/leaf01": {},
    "unnumbered/spine01": {},
    "fault_maxpaths1/leaf02": {},
    "fault_mtu/leaf01": {},
    "fault_neighbor_shutdown/leaf01": {"172.16.0.1": {"Idle (Admin)"}},
    "fault_neighbor_shutdown/spine01": {"172.16.0.0": {"Idle", "Active"}},
    "fault_spine_daemon_dead/leaf01": {"172.16.0.3": {"Idle"}},
    "fault_spine_down/leaf01": {"172.16.0.3": {"Active"}},
    "fault_spine_down/spine02": {f"172.16.{leaf}.2": {"Active"} for leaf in range(4)},
    "fault_stuck_active/leaf01": {"172.16.0.5": {"Active"}},
    "fault_stuck_active/spine03": {"172.16.0.4": {"Active"}},
    "fault_tcp179_blocked/leaf01": {"172.16.0.5": {"Idle", "Connect", "Active"}},
    "fault_tcp179_blocked/spine03": {"172.16.0.4": {"Idle", "Connect", "Active"}},
    "fault_wrong_as/leaf03": {"172.16.2.1": {"Idle"}},
    "fault_wrong_as/spine01": {"172.16.2.0": {"Idle", "Active"}},
}


@pytest.mark.parametrize("kind", ["json", "txt"])
@pytest.mark.parametrize("node", BGP_DOWN)
def test_bgp_sessions_of_the_fabric(samples: Path, node: str, kind: str) -> None:
    file = samples / "frr" / f"{node}_show_ip_bgp_summary.{kind}"
    if not file.exists():
        pytest.skip(f"{node} was captured in one form only")
    for platform in ("frr", "cumulus"):
        rows = parse("bgp_summary", platform, file.read_text(encoding="utf-8"))
        assert len(rows) == (8 if node == "healthy8/spine01" else 4)
        down = {row["neighbor"]: row["state"] for row in rows if row["state"] != "Established"}
        assert down.keys() == BGP_DOWN[node].keys()
        assert all(state in BGP_DOWN[node][neighbor] for neighbor, state in down.items())
        spine = "/spine" in node
        assert {row["local_asn"] for row in rows} == ({65000} if spine else {65100 + int(node[-1])})
        assert all(row["asn"] > 65100 if spine else row["asn"] in (65000, 65999) for row in rows)
        assert {row["vrf"] for row in rows} == {"default"}
        assert all(row["prefixes_received"] > 0 for row in rows if row["state"] == "Established")


def test_bgp_neighbor_with_the_wrong_as(samples: Path) -> None:
    rows = read(samples, "bgp_summary", "frr", "frr/fault_wrong_as/leaf03_show_ip_bgp_summary.json")
    assert by(rows, "neighbor", "asn")["172.16.2.1"] == 65999


def test_bgp_unnumbered_neighbors_are_ports(samples: Path) -> None:
    for file in ("leaf01_show_ip_bgp_summary.json", "leaf01_show_ip_bgp_summary.txt"):
        assert set(by(read(samples, "bgp_summary", "frr", f"frr/unnumbered/{file}"), "neighbor", "asn")) == {f"swp{port}" for port in (1, 2, 3, 4)}


def test_bgp_other_commands_of_frr(samples: Path) -> None:
    healthy = read(samples, "bgp_summary", "frr", "frr/healthy/leaf01_show_ip_bgp_summary.json")
    for file in ("show_bgp_summary", "show_bgp_vrf_all_summary", "show_ip_bgp_summary_established"):
        rows = read(samples, "bgp_summary", "frr", f"frr/healthy/leaf01_{file}.json")
        assert by(rows, "neighbor", "vrf", "asn", "state", "router_id") == by(healthy, "neighbor", "vrf", "asn", "state", "router_id")


@pytest.mark.parametrize(
    ("reading", "file"),
    [
        ("bgp_summary", "healthy/leaf01_show_ip_bgp_summary_failed.json"),
        ("bgp_summary", "healthy/leaf01_show_ip_bgp_summary_failed.txt"),
        ("bgp_summary", "fault_spine_down/leaf01_show_ip_bgp_summary_failed.json"),
        ("bgp_summary", "fault_spine_down/leaf01_show_ip_bgp_summary_failed.txt"),
        ("bgp_summary", "fault_wrong_as/leaf03_show_ip_bgp_summary_failed.json"),
        ("bgp_summary", "fault_wrong_as/leaf03_show_ip_bgp_summary_failed.txt"),
        ("bgp_summary", "fault_spine_daemon_dead/spine02_show_ip_bgp_summary.json"),
        ("bgp_summary", "fault_spine_daemon_dead/spine02_show_ip_bgp_summary.json.stderr"),
        ("bgp_summary", "healthy/leaf01_show_bgp_neighbors_one.json"),
        ("bgp_summary", "healthy/leaf01_show_ip_route.json"),
        ("ecmp_routes", "healthy/leaf01_show_ip_bgp_summary.json"),
        ("ecmp_routes", "healthy/leaf01_show_ip_route_summary.json"),
        ("ecmp_routes", "healthy/leaf01_show_ip_route_summary.txt"),
        ("ecmp_routes", "healthy/leaf01_show_ip_route_one.txt"),
        ("interface_status", "healthy/leaf01_show_interface_brief.json"),
        ("interface_mtu", "healthy/leaf01_show_interface_brief.json"),
        ("interface_errors", "healthy/leaf01_ip_j_addr.json"),
        ("arp_table", "healthy/leaf01_ip_j_route.json"),
    ],
)
def test_what_is_no_answer(samples: Path, reading: str, file: str) -> None:
    with pytest.raises(ParseError):
        read(samples, reading, "frr", f"frr/{file}")


# file: rows, next hops in the forwarding table that the prefixes beyond other leaves have
ROUTES = {
    "healthy/leaf01_show_ip_route.json": (74, 4),
    "healthy/leaf01_show_ip_route.txt": (74, 4),
    "healthy/leaf01_show_ip_route_bgp.json": (64, 4),
    "healthy/leaf01_show_ip_route_bgp.txt": (64, 4),
    "healthy/leaf01_show_ip_route_one.json": (4, 4),
    "unnumbered/leaf01_show_ip_route.json": (70, 4),
    "unnumbered/leaf01_show_ip_route_bgp.txt": (64, 4),
    "fault_maxpaths1/leaf02_show_ip_route.json": (29, 1),
    "fault_maxpaths1/leaf02_show_ip_route_bgp.txt": (19, 1),
    "fault_spine_daemon_dead/leaf01_show_ip_route.json": (58, 3),
    "fault_spine_daemon_dead/leaf01_show_ip_route_bgp.txt": (48, 3),
    "fault_spine_down/leaf01_show_ip_route.json": (57, 3),
    "fault_spine_down/leaf01_show_ip_route_bgp.txt": (48, 3),
    "fault_ifdown/leaf02_show_ip_route_bgp.txt": (60, 4),
}


@pytest.mark.parametrize("file", ROUTES)
def test_width_of_ecmp(samples: Path, file: str) -> None:
    rows = read(samples, "ecmp_routes", "frr", f"frr/{file}")
    count, width = ROUTES[file]
    assert len(rows) == count
    assert all(row["installed"] and row["selected"] for row in rows)
    # The host prefixes of other leaves; loopbacks of spines have one next hop each.
    widths = collections.Counter(row["prefix"] for row in rows if row["protocol"] == "bgp" and row["prefix"].startswith("10.1"))
    assert set(widths.values()) == {width}
    hops = [row for row in rows if row["protocol"] == "bgp"]
    assert all(row["next_hop"].startswith("fe80::" if "unnumbered" in file else "172.16.") and re.fullmatch(r"swp[1-4]", row["interface"]) for row in hops)


def test_prefix_of_a_host_link_that_is_down_is_gone(samples: Path) -> None:
    for file in ("leaf02_show_ip_route.json", "leaf02_show_ip_route_bgp.txt"):
        assert "10.10.0.0/31" not in by(read(samples, "ecmp_routes", "frr", f"frr/fault_ifdown/{file}"), "prefix", "installed")


def test_text_and_json_tell_the_same_routes(samples: Path) -> None:
    text, json = (read(samples, "ecmp_routes", "frr", f"frr/healthy/leaf01_show_ip_route.{kind}") for kind in ("txt", "json"))
    columns = ("prefix", "protocol", "next_hop", "interface", "selected", "installed")
    assert {tuple(row[column] for column in columns) for row in text} == {tuple(row[column] for column in columns) for row in json}


@pytest.mark.parametrize(
    ("file", "down"),
    [
        ("healthy/leaf01", {}),
        ("fault_mtu/spine01", {}),
        ("fault_ifdown/leaf01", {"swp5": "disabled"}),
        ("fault_spine_down/leaf01", {"swp2": "notconnect"}),
    ],
)
def test_ports_of_the_fabric(samples: Path, file: str, down: dict[str, str]) -> None:
    for platform in ("frr", "cumulus"):
        status = read(samples, "interface_status", platform, f"frr/{file}_show_interface.json")
        assert {row["port"]: row["state"] for row in status if row["state"] != "connected"} == down
        assert by(status, "port", "speed_gbit_s")["lo"] is None
        mtus = by(read(samples, "interface_mtu", platform, f"frr/{file}_show_interface.json"), "port", "mtu")
        assert mtus.keys() == by(status, "port", "state").keys()
        small = {port for port, mtu in mtus.items() if mtu < 9216}
        assert small == ({"eth0", "swp1"} if file == "fault_mtu/spine01" else {"eth0"})


def test_counters_of_the_kernel(samples: Path) -> None:
    for file in ("healthy/leaf01", "fault_ifdown/leaf01", "fault_ifdown/gpu01", "fault_spine_down/leaf01", "fault_loss20/gpu01", "fault_mtu/spine01"):
        for platform in ("frr", "cumulus"):
            rows = read(samples, "interface_errors", platform, f"frr/{file}_ip_s_j_link.json")
            assert len(rows) == (10 if "leaf" in file else 6)
            assert all(row["rx_errors"] == row["tx_errors"] == row["rx_drops"] == 0 for row in rows)
            assert {row["port"]: row["tx_drops"] for row in rows if row["tx_drops"]} == ({"swp1": 13} if file == "fault_ifdown/leaf01" else {})
            assert all(row["fcs_errors"] is None for row in rows)


def test_arp_of_the_fabric(samples: Path) -> None:
    rows = read(samples, "arp_table", "frr", "frr/healthy/leaf01_ip_j_neigh.json")
    assert by(rows, "address", "mac", "interface")["172.16.0.1"] == ("b2:72:e6:0a:65:ea", "swp1")
    assert len(rows) == 5


def test_bgp_of_others(samples: Path) -> None:
    sonic = read(samples, "bgp_summary", "sonic", "sonic/show_ip_bgp_summary_neighborname.txt")
    assert by(sonic, "neighbor", "asn", "state", "prefixes_received") == {f"10.0.0.{last}": (64600, "Established", 6400) for last in (57, 59, 61, 63)}
    cumulus = read(samples, "bgp_summary", "cumulus", "cumulus/net_show_bgp_summary.txt")
    assert by(cumulus, "neighbor", "asn", "state", "prefixes_received") == {
        "10.34.38.0": (65034, "Established", 4),
        "10.35.38.0": (65035, "Established", 4),
        "10.36.38.0": (65036, "Established", 4),
    }
    for platform in ("frr", "cumulus", "sonic"):
        vyos = read(samples, "bgp_summary", platform, "vyos/show_ip_bgp_summary.txt")
        assert by(vyos, "neighbor", "asn", "state", "prefixes_received", "up_seconds") == {
            "10.10.10.10": (1234, "Established", 0, 479400.0),
            "123.123.123.123": (345612, "Established", 0, 87480.0),
            "193.189.82.105": (12365, "Active", None, None),
        }


def test_sonic_routes(samples: Path) -> None:
    rows = read(samples, "ecmp_routes", "sonic", "sonic/show_ip_route.txt")
    assert by(rows, "prefix", "protocol", "next_hop", "interface", "selected", "installed") == {
        "0.0.0.0/0": ("static", "192.168.111.3", "eth0", True, True),
        "1.2.3.4/32": ("static", "30.0.0.7", None, True, False),
        "10.0.0.18/31": ("connected", None, "Ethernet36", True, True),
        "10.0.0.20/31": ("connected", None, "Ethernet40", True, True),
    }


def test_sonic_ports(samples: Path) -> None:
    rows = read(samples, "interface_status", "sonic", "sonic/show_interfaces_status.txt")
    assert len(rows) == 15
    assert {row["port"] for row in rows if row["state"] == "notconnect"} == {"Ethernet0", "PortChannel0001"}
    assert {row["port"] for row in rows if row["state"] != "connected"} == {"Ethernet0", "PortChannel0001", "PortChannel1001"}
    speeds = by(rows, "port", "speed_gbit_s")
    assert [speeds[f"Ethernet{number}"] for number in (0, 16, 24, 28, 32, 36)] == [25, 0.1, 1, 1, 40, 0.01]
    media = by(rows, "port", "media")
    assert (media["Ethernet0"], media["Ethernet24"], media["Ethernet32"]) == ("QSFP28 or later", "DPU-NPU Data Port", None)
    mtus = read(samples, "interface_mtu", "sonic", "sonic/show_interfaces_status.txt")
    assert [row["mtu"] for row in mtus] == [9100] * 15


def test_sonic_counters(samples: Path) -> None:
    errors = read(samples, "interface_errors", "sonic", "sonic/show_interfaces_counters_errors.txt")
    assert by(errors, "port", "rx_errors", "rx_drops") == {"Ethernet0": (0, 4), "Ethernet4": (0, 0), "Ethernet8": (0, 1), "Ethernet12": (0, 0)}
    busy = read(samples, "interface_errors", "sonic", "sonic/show_interfaces_counters_busy.txt")
    assert len(busy) == 7 and by(busy, "port", "rx_errors", "rx_drops")["Ethernet0"] == (0, 18682)
    fec = read(samples, "fec_counters", "sonic", "sonic/show_interfaces_counters_fec.txt")
    assert by(fec, "port", "corrected", "uncorrectable", "symbol_errors", "pre_fec_ber") == {
        "Ethernet0": (130402, 3, 4, None),
        "Ethernet4": (110412, 1, 0, None),
        "Ethernet8": (100317, 0, 0, None),
        "Ethernet9": (0, 0, 0, None),
    }


def test_sonic_optics(samples: Path) -> None:
    rows = read(samples, "transceivers", "sonic", "sonic/show_interfaces_transceiver_eeprom_dom.txt")
    assert [row["lane"] for row in rows] == list(range(1, 9))
    assert {(row["port"], row["present"], row["media_lanes"], row["temperature_c"], row["length_m"]) for row in rows} == {("Ethernet0", True, 1, 51.055, None)}
    assert (rows[0]["rx_power_dbm"], rows[0]["tx_power_dbm"]) == (-8.729, -8.492)
    limits = ("rx_low_alarm_dbm", "rx_low_warning_dbm", "rx_high_warning_dbm", "rx_high_alarm_dbm")
    assert {tuple(row[limit] for limit in limits) for row in rows} == {(-21.024, -18.013, 0.0, 2.0)}
    # The medium has one lane: the others have no light, and need none.
    assert {row["rx_power_dbm"] for row in rows[1:]} == {-40.0}
