# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What RDMA and NIC tools print on a simulated host."""

from __future__ import annotations

import ipaddress
import json
import typing as t
from collections import Counter

from ..model import Host, Rail

LOADED_BYTES = 10**14
MANAGEMENT = ["mlx5_1", "mlx5_2", "mlx5_7", "mlx5_8"]


def guid(mac: str) -> str:
    """The port GUID that a MAC address makes."""
    return "0x" + (mac[:8] + ":ff:fe:" + mac[9:]).replace(":", "")


def with_rdma(host: Host) -> list[Rail]:
    """The rails of which there is an RDMA device."""
    return [rail for rail in host.rails if rail.rdma]


def ibstat(host: Host) -> str:
    """``ibstat``: rails, and the NICs of storage and management between them, in alphabetical order."""
    blocks = {
        rail.device: _ca(rail.device, rail.part, rail.firmware, rail.state, rail.physical_state, rail.speed_gbit_s, guid(rail.mac), rail.link_layer)
        for rail in with_rdma(host)
    }
    for number, device in enumerate(MANAGEMENT):
        up = number == 0
        mac = host.management_mac[:-2] + f"{number:02x}"
        blocks[device] = _ca(device, "MT4125", "22.39.1002", "Active" if up else "Down", "LinkUp" if up else "Disabled", 100 if up else 40, guid(mac))
    return "".join(blocks[device] for device in sorted(blocks))


def _ca(device: str, part: str, firmware: str, state: str, physical: str, rate: int, port_guid: str, layer: str = "Ethernet") -> str:
    node = port_guid if layer == "InfiniBand" else port_guid[:-1] + "0"
    lid = int(layer == "InfiniBand" and state == "Active")
    lines = [f"CA '{device}'", f"\tCA type: {part}", "\tNumber of ports: 1", f"\tFirmware version: {firmware}", "\tHardware version: 0"]
    lines += [f"\tNode GUID: {node}", f"\tSystem image GUID: {node}", "\tPort 1:", f"\t\tState: {state}", f"\t\tPhysical state: {physical}"]
    lines += [
        f"\t\tRate: {rate if state == 'Active' else 40}",
        f"\t\tBase lid: {100 * lid}",
        "\t\tLMC: 0",
        f"\t\tSM lid: {lid}",
        "\t\tCapability mask: 0x00010000",
    ]
    return "\n".join([*lines, f"\t\tPort GUID: {port_guid}", f"\t\tLink layer: {layer}"]) + "\n"


def rdma_link(host: Host) -> str:
    """``rdma -j link show``."""
    words = {"LinkUp": "LINK_UP", "Disabled": "DISABLED", "Polling": "POLLING"}
    rows = [
        {"ifindex": 3 + rail.index, "ifname": rail.device, "port": 1, "state": "ACTIVE" if rail.state == "Active" else "DOWN",
         "physical_state": words[rail.physical_state], "netdev": rail.ports[0].netdev, "netdev_index": 4 + rail.index}
        for rail in with_rdma(host)
    ]  # fmt: skip
    return json.dumps(rows) + "\n"


def devinfo(host: Host) -> str:
    """``ibv_devinfo``."""
    return "\n".join(_hca(rail) for rail in with_rdma(host)) + "\n"


def _hca(rail: Rail) -> str:
    up, sizes = rail.state == "Active", {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
    port = guid(rail.mac)[2:]
    dotted = ":".join(port[i : i + 4] for i in range(0, 16, 4))
    lines = [f"hca_id:\t{rail.device}", f"\ttransport:\t\t\t{rail.transport}", f"\tfw_ver:\t\t\t\t{rail.firmware}", f"\tnode_guid:\t\t\t{dotted}"]
    lines += [f"\tsys_image_guid:\t\t\t{dotted}", f"\tvendor_id:\t\t\t{rail.vendor_id}", f"\tvendor_part_id:\t\t\t{rail.part_id}", "\thw_ver:\t\t\t\t0x0"]
    lines += ["\tboard_id:\t\t\tMT_0000000838", "\tphys_port_cnt:\t\t\t1", "\t\tport:\t1", f"\t\t\tstate:\t\t\t{'PORT_ACTIVE (4)' if up else 'PORT_DOWN (1)'}"]
    lines += ["\t\t\tmax_mtu:\t\t4096 (5)", f"\t\t\tactive_mtu:\t\t{rail.rdma_mtu} ({sizes[rail.rdma_mtu]})", "\t\t\tsm_lid:\t\t\t0", "\t\t\tport_lid:\t\t0"]
    return "\n".join([*lines, "\t\t\tport_lmc:\t\t0x00", f"\t\t\tlink_layer:\t\t{rail.link_layer}"]) + "\n"


def gids(host: Host) -> str:
    """``show_gids`` of MLNX_OFED."""
    lines = ["DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV", "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---"]
    number = 0
    for rail in with_rdma(host):
        raw = "fe80" + "0" * 12 + guid(rail.mac)[2:]
        local = ":".join(raw[i : i + 4] for i in range(0, 32, 4))
        entries = [(local, ""), (local, "")]
        if rail.gid_address:
            address = ipaddress.ip_address(rail.gid_address)
            of_ipv4 = address.version == 4
            gid = ipaddress.IPv6Address(int(address) + (0xFFFF << 32 if of_ipv4 else 0)).exploded
            entries += [(gid, rail.gid_address if of_ipv4 else "")] * 2
        for index, (gid, address) in enumerate(entries, rail.gid_first_index):
            version = "v2" if (index - rail.gid_first_index) % 2 else "v1"
            lines.append(f"{rail.device}\t1\t{index}\t{gid}\t{address + '  ' if address else ''}\t{'' if address else chr(9)}{version}\t{rail.netdev}")
            number += 1
    return "\n".join([*lines, f"n_gids_found={number}"]) + "\n"


# What a virtual function is not told, and what its tools say then.
OF_PHYSICAL_FUNCTION = "-E- Failed to open device"
REFUSED_TO_FUNCTIONS = {
    "mlxconfig": OF_PHYSICAL_FUNCTION, "link_quality": OF_PHYSICAL_FUNCTION, "transceivers": "netlink error: Operation not supported", "dcqcn": "",
    **dict.fromkeys(("qos_trust", "pfc_priorities", "dscp_map"), "Netlink error: Operation not supported"),
}  # fmt: skip
NAMED = ("ROCE_CC_PRIO_MASK_P1", "LINK_TYPE_P1", "SRIOV_EN", "NUM_OF_VFS", "PCI_WR_ORDERING")


def mlxconfig(rail: Rail, names: tuple[str, ...] = NAMED) -> str:
    """``mlxconfig -e query`` of one NIC's named keys."""
    lines = ["", "Device #1:", "----------", "", "Device type:        ConnectX7", "Name:               MCX75310AAS-NEA_Ax"]
    lines += ["Description:        NVIDIA ConnectX-7 HHHL adapter card; 400GbE", f"Device:             {rail.pci}", ""]
    lines.append(f"{'Configurations:':<48}{'Default':>20}{'Current':>20}{'Next Boot':>20}")
    for name in names:
        if name in rail.settings:
            current = rail.settings[name]
            later = rail.next_boot.get(name, current)
            mark = "*" if current != later else " "
            lines.append(f"{mark}       {name:<40}{current:>20}{current:>20}{later:>20}")
    return "\n".join(lines) + "\n"


def ecn(rail: Rail) -> str:
    """``grep`` over the ecn directory that MLNX_OFED gives each netdev."""
    lines = []
    for role, enabled in (("np", rail.dcqcn_np), ("rp", rail.dcqcn_rp)):
        lines += [f"/sys/class/net/{rail.netdev}/ecn/roce_{role}/enable/{priority}:{int(priority in enabled)}" for priority in range(8)]
    lines.append(f"/sys/class/net/{rail.netdev}/ecn/roce_np/cnp_dscp:48")
    lines += [f"/sys/class/net/{rail.netdev}/ecn/roce_rp/{name}:{value}" for name, value in rail.dcqcn_parameters.items()]
    return "\n".join(lines) + "\n"


def mlnx_qos(rail: Rail) -> str:
    """``mlnx_qos -i``."""
    lines = ["DCBX mode: OS controlled", f"Priority trust state: {rail.trust}"]
    if rail.trust == "dscp":
        lines.append("dscp2prio mapping:")
        of_priority: dict[int, list[int]] = {priority: [] for priority in range(8)}
        for dscp in range(63, -1, -1):
            of_priority[rail.dscp_moved.get(dscp, dscp // 8)].append(dscp)
        for priority, values in of_priority.items():
            for start in range(0, len(values), 8):
                lines.append(f"\tprio:{priority} dscp:" + "".join(f"{value:02}," for value in values[start : start + 8]))
    lines += ["default priority:", "Receive buffer size (bytes): 20016,156096,0,0,0,0,0,0,max_buffer_size=1027728", "Cable len: 7", "PFC configuration:"]
    lines += ["\tpriority    0   1   2   3   4   5   6   7", "\tenabled     " + "".join(f"{int(one in rail.pfc)}   " for one in range(8))]
    lines.append("\tbuffer      " + "".join(f"{int(one in rail.pfc)}   " for one in range(8)))
    for number in range(8):
        lines += [f"tc: {number} ratelimit: unlimited, tsa: vendor", f"\t priority:  {(number ^ 1) if number < 2 else number}"]
    return "\n".join(lines) + "\n"


def pause(rail: Rail) -> str:
    """``ethtool -a``."""
    word = "on" if rail.pause else "off"
    return f"Pause parameters for {rail.netdev}:\nAutonegotiate:\toff\nRX:\t\t{word}\nTX:\t\t{word}\n\n"


def driver(rail: Rail) -> str:
    """``ethtool -i``."""
    lines = [f"driver: {rail.driver}", f"version: {rail.driver_version}", f"firmware-version: {rail.firmware} (MT_0000000838)", "expansion-rom-version:"]
    lines += [f"bus-info: {rail.pci}", "supports-statistics: yes", "supports-test: yes", "supports-eeprom-access: no", "supports-register-dump: no"]
    return "\n".join([*lines, "supports-priv-flags: yes"]) + "\n"


def settings(rail: Rail) -> str:
    """``ethtool`` of a netdev."""
    up = rail.state == "Active"
    speed, duplex = (f"{rail.speed_gbit_s * 1000}Mb/s", "Full") if up else ("Unknown!", "Unknown! (255)")
    lines = [
        f"Settings for {rail.netdev}:",
        "\tSupported ports: [ Backplane ]",
        "\tSupported link modes:   100000baseKR4/Full",
        "\t                        400000baseKR4/Full",
    ]
    lines += [
        "\tSupported pause frame use: Symmetric",
        "\tSupports auto-negotiation: Yes",
        "\tSupported FEC modes: RS",
        "\tAdvertised link modes:  400000baseKR4/Full",
    ]
    lines += ["\tAdvertised pause frame use: No", "\tAdvertised auto-negotiation: Yes", "\tAdvertised FEC modes: RS", f"\tSpeed: {speed}", "\tLanes: 4"]
    lines += [
        f"\tDuplex: {duplex}",
        "\tAuto-negotiation: on",
        f"\tPort: {'FIBRE' if rail.medium == 'optic' else 'Direct Attach Copper'}",
        "\tPHYAD: 0",
        "\tTransceiver: internal",
    ]
    lines += ["\tSupports Wake-on: d", "\tWake-on: d", "        Current message level: 0x00000004 (4)", "                               link"]
    return "\n".join([*lines, f"\tLink detected: {'yes' if up else 'no'}"]) + "\n"


def counters(rail: Rail, later: bool, moved: t.Mapping[str, int], loads: t.Sequence[str] = ()) -> str:
    """``ethtool -S``; what moves has moved on when it is asked again, and more has once the pod was congested and loaded.

    moved: what the run's incasts add; loads: the layers whose loads have run.
    """
    grown = {name: rail.grow.get(name, 1000003 if name.endswith(("bytes_phy", "packets_phy", "_bytes")) else 0) for name in {*rail.counters, *rail.grow}}
    values = {name: rail.counters.get(name, 0) + (grown.get(name, 0) if later else 0) for name in dict.fromkeys((*rail.counters, *rail.grow))}
    for name, growth in moved.items():
        values[name] = values.get(name, 0) + growth
    for layer in (one for one in loads if one != "congestion"):
        priority = rail.priority_in.get(layer, rail.priority if rail.counts_class else 0)
        for name in (f"{direction}_{what}" for direction in ("rx", "tx") for what in (f"prio{priority}_bytes", "bytes_phy")):
            values[name] = values.get(name, 0) + LOADED_BYTES
    for name, growth in _of_loads(rail, loads).items():
        if name in values or name not in {*rail.rdma_counters, *PORT_COUNTERS}:
            values[name] = values.get(name, 0) + growth
    if rail.virtual:
        values = _of_function(values)
    return "NIC statistics:\n" + "".join(f"     {name}: {value}\n" for name, value in values.items())


def _of_function(values: t.Mapping[str, int]) -> dict[str, int]:
    """The counters of a virtual function: those of the physical port stand still at 0, and what its virtual port moved is counted."""
    own = {f"{direction}_vport_rdma_unicast_bytes": values.get(f"{direction}_bytes_phy", 0) for direction in ("rx", "tx")}
    return {name: own.get(name, 0 if name.endswith("_phy") or "_prio" in name else value) for name, value in values.items()}


def module(rail: Rail) -> str:
    """``ethtool -m``: an OSFP optic with its limits, or passive copper without any light."""
    head = ["\tIdentifier                                : 0x19 (OSFP)", "\tPower class                               : 5"]
    names = [
        f"\tVendor name                               : {'NVIDIA' if rail.rx_power_dbm else 'Mellanox'}",
        f"\tVendor PN                                 : {rail.optic_part}",
    ]
    if not rail.rx_power_dbm:
        copper = [
            "\tConnector                                 : 0x23 (No separable connector)",
            f"\tCable assembly length                     : {rail.length_m:.2f}m",
        ]
        return "\n".join([*head, *copper, "\tTransmitter technology                    : 0x0a (Copper cable, unequalized)", *names]) + "\n"
    lines = ["\tConnector                                 : 0x28 (MPO 1x12)", "\tTransmitter technology                    : 0x00 (850 nm VCSEL)"]
    lines += [
        *names,
        f"\tModule temperature                        : {rail.module_temperature_c:.2f} degrees C / {rail.module_temperature_c * 1.8 + 32:.2f} degrees F",
        "\tModule voltage                            : 3.2900 V",
    ]
    for lane, (rx, tx) in enumerate(zip(rail.rx_power_dbm, rail.tx_power_dbm), 1):
        lines.append(f"\tTransmit avg optical power (Channel {lane})    : {10 ** (tx / 10):.4f} mW / {tx:.2f} dBm")
        lines.append(f"\tRcvr signal avg optical power (Channel {lane}) : {10 ** (rx / 10):.4f} mW / {rx:.2f} dBm")
    for lane in range(1, len(rail.tx_power_dbm) + 1):
        lines.append(f"\tLaser tx bias current (Channel {lane})         : {_current(rail, lane - 1):.3f} mA")
    for name, limit in (("high alarm", 13.0), ("low alarm", 3.0), ("high warning", 11.0), ("low warning", 4.0)):
        words = f"Laser bias current {name} threshold"
        lines.append(f"\t{words:<42}: {limit:.3f} mA")
    for name, limit in (("high alarm", 7.0), ("low alarm", -8.4), ("high warning", 4.0), ("low warning", -5.4)):
        words = f"Laser rx power {name} threshold"
        lines.append(f"\t{words:<42}: {10 ** (limit / 10):.4f} mW / {limit:.2f} dBm")
    return "\n".join([*head, *lines]) + "\n"


def link_quality(rail: Rail) -> str:
    """``mlxlink -m -c``."""
    blocks = {
        "Operational Info": {"State": "Active", **_speed(rail)},
        "Troubleshooting Info": {"Status Opcode": "0", "Group Opcode": "N/A", "Recommendation": "No issue was observed"},
        "Physical Counters and BER Info": {
            "Time Since Last Clear [Min]": f"{rail.cleared_minutes:.1f}",
            "Effective Physical Errors": "0" if rail.symbol_ber == "15E-255" else "41",
            "Effective Physical BER": rail.symbol_ber,
            "Raw Physical Errors Per Lane": "102,88,97,120",
            "Raw Physical BER": rail.pre_fec_ber,
            "Symbol Errors": "0" if rail.symbol_ber == "15E-255" else "41",
            "Symbol BER": rail.symbol_ber,
        },
        "Module Info": {"Vendor Name": "NVIDIA", "Vendor Part Number": rail.optic_part, **_module(rail)},
    }
    lines = [line for title, values in blocks.items() for line in ["", title, "-" * len(title), *(f"{name:<35}: {value} " for name, value in values.items())]]
    return "\n".join(lines[1:]) + "\n"


def _speed(rail: Rail) -> dict[str, str]:
    if rail.link_layer == "InfiniBand":
        return {"Physical state": "LinkUp", "Speed": "IB-NDR", "Width": f"{rail.lanes}x"}
    return {"Physical state": "ETH_AN_FSM_ENABLE", "Speed": f"{rail.speed_gbit_s}G", "Width": "4x"}


def _current(rail: Rail, lane: int) -> float:
    """The current of a laser in mA, lanes from 0 on."""
    return rail.tx_bias_ma[lane] if lane < len(rail.tx_bias_ma) else 7.5


def _module(rail: Rail) -> dict[str, str]:
    if not rail.rx_power_dbm:
        dark = dict.fromkeys(("Bias Current [mA]", "Rx Power Current [dBm]", "Tx Power Current [dBm]"), "0,0,0,0 [0..0]")
        return {"Temperature [C]": "0 [0..0]", **dark, "Cable Technology": "Copper cable, passive, unequalized"}
    rx, tx = (",".join(f"{power:g}" for power in powers) for powers in (rail.rx_power_dbm, rail.tx_power_dbm))
    bias = ",".join(f"{_current(rail, lane):.3f}" for lane in range(len(rail.tx_power_dbm)))
    measured = {"Bias Current [mA]": f"{bias} [3..13]", "Rx Power Current [dBm]": f"{rx} [-8.4..6]", "Tx Power Current [dBm]": f"{tx} [-8.5..6]"}
    return {"Temperature [C]": f"{rail.temperature_c} [-10..80]", **measured, "Cable Technology": "850 nm VCSEL"}


def neighbors(host: Host) -> str:
    """``ip -j neigh show``; one partner has not answered."""
    found = [(rail.netdev, address, mac) for rail in host.rails for address, mac in rail.neighbors.items()]
    rows: list[dict[str, t.Any]] = [{"dst": address, "dev": netdev, "lladdr": mac, "state": ["STALE"]} for netdev, address, mac in found]
    return json.dumps([*rows, {"dst": "192.0.2.9", "dev": "eno1", "state": ["FAILED"]}]) + "\n"


def ip_link(host: Host) -> str:
    """``ip -j -d link show``."""
    rows = [
        {
            "ifindex": 1,
            "ifname": "lo",
            "flags": ["LOOPBACK", "UP"],
            "mtu": 65536,
            "operstate": "UNKNOWN",
            "link_type": "loopback",
            "address": "00:00:00:00:00:00",
        }
    ]
    rows.append(
        {
            "ifindex": 2,
            "ifname": "eno1",
            "flags": ["UP"],
            "mtu": 1500,
            "operstate": "UP",
            "link_type": "ether",
            "address": host.management_mac,
            "parentdev": "0000:05:00.0",
        }
    )
    for rail in host.rails:
        state = rail.netdev_state if rail.state == "Active" else "DOWN"
        row = {"ifindex": 4 + rail.index, "ifname": rail.netdev, "flags": ["UP"], "mtu": rail.mtu, "operstate": state, "link_type": "ether"}
        if not rail.legs:
            rows.append({**row, "address": rail.mac, "parentbus": "pci", "parentdev": rail.pci})
            continue
        rows.append({**row, "flags": ["MASTER", "UP"], "address": rail.mac, "linkinfo": {"info_kind": "bond", "info_data": {"mode": "802.3ad"}}})
        for number, leg in enumerate(rail.legs):
            own = {"ifindex": 104 + 8 * number + rail.index, "ifname": leg.netdev, "operstate": leg.netdev_state if leg.state == "Active" else "DOWN"}
            own |= {"parentbus": "pci", "parentdev": leg.pci, "address": rail.mac if leg.master else leg.mac}
            # The kernel tells the address from the factory where the netdev has another one.
            own |= {"permaddr": leg.mac} if leg.mac != own["address"] else {}
            as_member = {"state": "ACTIVE", "mii_status": "UP" if leg.state == "Active" else "DOWN"}
            own |= {"master": leg.master, "linkinfo": {"info_slave_kind": "bond", "info_slave_data": as_member}} if leg.master else {}
            rows.append({**row, **own})
    return json.dumps(rows) + "\n"


def bond(rail: Rail) -> str:
    """``/proc/net/bonding/BOND`` as the kernel shows it to root."""
    legs = [leg for leg in rail.legs if leg.master == rail.netdev]
    lacp = "802.3ad" in rail.bond_mode
    lines = ["Ethernet Channel Bonding Driver: v5.15.0-1053-nvidia", "", f"Bonding Mode: {rail.bond_mode}"]
    lines += [f"Transmit Hash Policy: {rail.hash_policy}"] if lacp else ["Primary Slave: None", f"Currently Active Slave: {legs[0].netdev if legs else 'None'}"]
    lines += [f"MII Status: {'up' if any(leg.state == 'Active' for leg in legs) else 'down'}", "MII Polling Interval (ms): 100", "Up Delay (ms): 0"]
    lines += ["Down Delay (ms): 0", "Peer Notification Delay (ms): 0", ""]
    if lacp:
        lines += ["802.3ad info", "LACP active: on", "LACP rate: fast", "Min links: 0", "Aggregator selection policy (ad_select): stable"]
        used = [leg for leg in legs if leg.aggregator == 1]
        lines += ["System priority: 65535", f"System MAC address: {rail.mac}", "Active Aggregator Info:", "\tAggregator ID: 1"]
        lines += [f"\tNumber of ports: {len(used)}", "\tActor Key: 21", "\tPartner Key: 11"]
        lines += [f"\tPartner Mac Address: {used[0].lacp_partner if used else '00:00:00:00:00:00'}", ""]
    for number, leg in enumerate(legs, 1):
        lines += _slave(rail, leg, number, lacp)
    return "\n".join(lines) + "\n"


def _slave(rail: Rail, leg: Rail, number: int, lacp: bool) -> list[str]:
    up = leg.state == "Active"
    lines = [f"Slave Interface: {leg.netdev}", f"MII Status: {'up' if up else 'down'}", f"Speed: {f'{leg.speed_gbit_s}000 Mbps' if up else 'Unknown'}"]
    lines += [f"Duplex: {'full' if up else 'Unknown'}", "Link Failure Count: 0", f"Permanent HW addr: {leg.mac}", "Slave queue ID: 0"]
    if lacp:
        churn = "churned" if leg.churned else "none"
        lines += [f"Aggregator ID: {leg.aggregator}", f"Actor Churn State: {churn}", f"Partner Churn State: {churn}", "Actor Churned Count: 0"]
        lines += [
            "Partner Churned Count: 0",
            "details actor lacp pdu:",
            "    system priority: 65535",
            f"    system mac address: {rail.mac}",
            "    port key: 21",
        ]
        lines += ["    port priority: 255", f"    port number: {number}", f"    port state: {leg.lacp_states[0]}", "details partner lacp pdu:"]
        lines += ["    system priority: 32768", f"    system mac address: {leg.lacp_partner}", "    oper key: 11", "    port priority: 32768"]
        lines += [f"    port number: {number}", f"    port state: {leg.lacp_states[1]}"]
    return [*lines, ""]


def ip_address(host: Host) -> str:
    """``ip -j address show``."""
    rows = [{"ifindex": 2, "ifname": "eno1", "operstate": "UP", "addr_info": [{"family": "inet", "local": host.management_address, "prefixlen": 16}]}]
    for rail in host.rails:
        inet = "inet6" if ":" in rail.address else "inet"
        family = (
            [{"family": inet, "local": rail.address, "prefixlen": rail.prefix_length, "scope": "global", **dict.fromkeys(rail.address_flags, True)}]
            if rail.address
            else []
        )
        if inet == "inet6":
            family.append({"family": "inet6", "local": f"fe80::{rail.mac[9:].replace(':', '')[:4]}:{rail.index + 1:x}", "prefixlen": 64, "scope": "link"})
        rows.append({"ifindex": 4 + rail.index, "ifname": rail.netdev, "operstate": "UP", "addr_info": family})
    return json.dumps(rows) + "\n"


def lldp(host: Host) -> str:
    """``lldpctl -f json``."""
    rows = [
        {rail.netdev: {"via": "LLDP", "rid": "1", "chassis": {rail.lldp_peer: {"id": {"type": "mac", "value": "00:1c:73:00:00:01"}}},
                       "port": {"id": {"type": "ifname", "value": rail.lldp_port}, "ttl": "120"}}}
        for rail in (port for one in host.rails for port in one.ports)
        if rail.lldp
    ]  # fmt: skip
    # An agent that hears nobody lists no interface.
    return json.dumps({"lldp": {"interface": rows} if rows else {}}) + "\n"


def ping(host: Host) -> str:
    """The shell text that answers ``ping -n -q -c N -i S -W 1 -I NETDEV -I SOURCE TARGET`` for any target."""
    lines = ["count=$4; netdev=${10}; source=${12}; target=${13}; loss=0; rtt=0.050", 'case "$netdev $source" in']
    lines += [f'"{rail.netdev} {rail.address}") loss={rail.loss_percent}; rtt={rail.rtt_ms:.3f} ;;' for rail in host.rails]
    lines += ['*) echo "ping: bind: Cannot assign requested address" >&2; exit 2 ;;', "esac", 'case "$source>$target" in']
    lines += [f'"{rail.address}>{target}") loss={loss} ;;' for rail in host.rails for target, loss in rail.loss_to.items()]
    lines += [f'"{rail.address}>{begin}"*) echo "{words}" >&2; exit 2 ;;' for rail in host.rails for begin, words in rail.ping_errors.items()]
    lines += ["esac", "received=$((count - count * loss / 100))"]
    lines.append(
        'printf \'PING %s (%s) from %s %s: 56(84) bytes of data.\\n\\n--- %s ping statistics ---\\n\' "$target" "$target" "$source" "$netdev" "$target"'
    )
    lines.append('printf \'%s packets transmitted, %s received, %s%% packet loss, time %sms\\n\' "$count" "$received" "$loss" "$((count * 20))"')
    lines.append('if [ "$received" = 0 ]; then echo; exit 1; fi')
    return "\n".join([*lines, 'printf \'rtt min/avg/max/mdev = %s/%s/%s/0.004 ms\\n\\n\' "$rtt" "$rtt" "$rtt"', "exit 0"]) + "\n"


def probe(host: Host) -> str:
    """The shell text that answers ``path_probe probe --source SOURCE --target TARGET --size BYTES --flows N …`` for any target."""
    lines = ["source=$3; target=$5; size=$7; flows=$9; lost=0; mtu=9000", 'case "$source" in']
    lines += [f"{rail.address}) lost={rail.flows_lost}; mtu={rail.mtu} ;;" for rail in host.rails]
    lines += ['*) echo "cannot probe from $source to $target: Cannot assign requested address" >&2; exit 1 ;;', "esac"]
    refused = [(rail.address, begin, words.rpartition(": ")[2]) for rail in host.rails for begin, words in rail.ping_errors.items()]
    cases = [f'"{address}>{begin}"*) echo "cannot probe from $source to $target: {words}" >&2; exit 1 ;;' for address, begin, words in refused]
    lines += ['case "$source>$target" in', *cases, "esac"] if cases else []
    lines.append('if [ "$size" = 0 ]; then size=$mtu; fi')
    lines.append('printf \'{"source": "%s", "target": "%s", "size_bytes": %s, \' "$source" "$target" "$size"')
    return "\n".join([*lines, 'printf \'"flows": %s, "answered": %s}\\n\' "$flows" "$((flows - lost))"', "exit 0"]) + "\n"


def _of_loads(rail: Rail, loads: t.Sequence[str]) -> Counter[str]:
    """What the loads of some layers add to a rail's counters."""
    grown: Counter[str] = Counter()
    for layer in loads:
        grown.update(rail.grow_in.get(layer, {}))
    return grown


def hw_counters(rail: Rail, later: bool, moved: t.Mapping[str, int], loads: t.Sequence[str] = ()) -> str:
    """``grep -rs . /sys/class/infiniband/DEVICE/ports/1/hw_counters``; loads: as of ``counters``."""
    place, grown = f"/sys/class/infiniband/{rail.device}/ports/1/hw_counters", _of_loads(rail, loads)
    values = {name: value + (rail.rdma_grow.get(name, 0) if later else 0) + moved.get(name, 0) + grown[name] for name, value in rail.rdma_counters.items()}
    return "".join(f"{place}/{name}:{value}\n" for name, value in values.items())


# Those of an RDMA port, as the kernel names them.
PORT_COUNTERS = {"port_xmit_data": 4711, "port_rcv_data": 4711, "port_xmit_wait": 12, "port_xmit_discards": 0}
PORT_COUNTERS |= {"symbol_error": 3, "link_error_recovery": 0, "link_downed": 1, "port_rcv_errors": 0, "local_link_integrity_errors": 0}


def port_counters(rail: Rail, loads: t.Sequence[str] = ()) -> str:
    """``grep -rs .`` over the counters of an RDMA port; nothing of an idle port moves. loads: as of ``counters``."""
    place, grown = f"/sys/class/infiniband/{rail.device}/ports/1/counters", _of_loads(rail, loads)
    return "".join(f"{place}/{name}:{value + (rail.grow_loaded.get(name, 0) if loads else 0) + grown[name]}\n" for name, value in PORT_COUNTERS.items())


def pkeys(rail: Rail) -> str:
    """``grep -rs .`` over the partition keys of an RDMA port; grep lists a directory as it comes."""
    table = dict.fromkeys(range(128), "0x0000") | dict(enumerate(rail.pkeys))
    place = f"/sys/class/infiniband/{rail.device}/ports/1/pkeys"
    return "".join(f"{place}/{index}:{table[index]}\n" for index in sorted(table, key=str))
