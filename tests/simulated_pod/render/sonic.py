# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a SONiC spine prints: tabulate's tables."""

from __future__ import annotations

import json
import typing as t

from ..model import Port, Session, Switch
from .eos import VLAN_OF_VNI, channels, in_vrf, listed, names_of, routes_seen, to_vteps, underlay, vrfs_of

CODES = {"bgp": "B", "ospf": "O", "static": "S"}


def table(header: t.Sequence[str], rows: t.Sequence[t.Sequence[t.Any]], left: t.Container[int] = ()) -> str:
    """A table as tabulate's simple format lays it out."""
    text = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in text) for column in range(len(header))]

    def line(row: list[str]) -> str:
        return "  ".join(cell.ljust(width) if column in left else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths))).rstrip()

    return "\n".join([line(text[0]), "  ".join("-" * width for width in widths), *(line(row) for row in text[1:])]) + "\n"


def status(switch: Switch) -> str:
    """``show interfaces status``."""
    rows = []
    for port in listed(switch):
        oper, admin = ("up", "up") if port.state == "connected" else ("down", "down" if port.state == "disabled" else "up")
        kind = "OSFP 8X Pluggable Transceiver" if port.medium == "optic" else "N/A"
        number = int(port.name.removeprefix("Ethernet"))
        lanes = ",".join(str(number + lane) for lane in range(port.serdes))
        rows.append(
            [
                port.name,
                lanes,
                f"{port.speed_gbit_s}G",
                port.mtu,
                "rs",
                f"etp{number // 8 + 1}",
                port.vlan or port.channel or "routed",
                oper,
                admin,
                kind,
                "off",
            ]
        )
    for name, members in channels(switch).items():
        speed, oper = sum(one.speed_gbit_s for one in members), "up" if any(_selected(one) for one in members) else "down"
        rows.append([name, "N/A", f"{speed}G", members[0].mtu, "N/A", "N/A", "routed" if members[0].address else "trunk", oper, "up", "N/A", "N/A"])
    return table(["Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin", "Type", "Asym PFC"], rows)


def _selected(member: Port) -> bool:
    return member.state == "connected" and not member.unbundled


def port_channels(switch: Switch) -> str:
    """``show interfaces portchannel``."""
    lines = ["Flags: A - active, I - inactive, Up - up, Dw - Down, N/A - not available,", "       S - selected, D - deselected, * - not synced"]
    rows = []
    for name, members in channels(switch).items():
        words = [f"{one.name}({'S' if _selected(one) else 'D'})" for one in members if one.unbundled != "alone"]
        up = "Up" if any("(S)" in word for word in words) else "Dw"
        rows.append([name.removeprefix("PortChannel"), name, f"LACP(A)({up})", " ".join(words) or "N/A"])
    return "\n".join(lines) + "\n" + table(["No.", "Team Dev", "Protocol", "Ports"], rows, left=(1, 2, 3))


def version(switch: Switch) -> str:
    """``show version``."""
    return f"\nSONiC Software Version: {switch.nos or 'SONiC.20231110.08'}\nDistribution: Debian 11.8\nHwSKU: SN5600\n"


def power(switch: Switch) -> str:
    """``show platform psustatus --json``."""
    return json.dumps([{"index": str(n), "name": f"PSU {n}", "presence": "true", "status": switch.parts.get(f"PSU{n}", "OK")} for n in (1, 2)], indent=4) + "\n"


def fans(switch: Switch) -> str:
    """``show platform fan``."""
    rows = [[f"drawer{n}", "green", f"fan{n}", "40%", "intake", "Present", switch.parts.get(f"Fan{n}", "OK"), "20260615 10:00:00"] for n in (1, 2)]
    return table(["Drawer", "LED", "FAN", "Speed", "Direction", "Presence", "Status", "Timestamp"], rows)


def temperature(switch: Switch) -> str:
    """``show platform temperature``."""
    header = ["Sensor", "Temperature", "High TH", "Low TH", "Crit High TH", "Crit Low TH", "Warning", "Timestamp"]
    rows = [["ASIC", f"{switch.celsius:g}", "95.0", "N/A", "105.0", "N/A", "False", "20260615 10:00:00"]]
    if switch.modules_are_sensors:
        celsius = {number: port.module_temperature_c for number, port in enumerate(listed(switch), 1) if port.medium == "optic"}
        rows += [[f"xSFP module {n} Temp", f"{value:g}", "70", "0.0", "75.0", "-5.0", "N/A", "20260615 10:00:00"] for n, value in celsius.items()]
    return table(header, [*rows, ["Fan inlet", "N/A", "N/A", "N/A", "N/A", "N/A", "False", "20260615 10:00:00"]])


def errors(switch: Switch, later: bool, loads: t.Sequence[str] = ()) -> str:
    """``show interfaces counters errors``."""

    def value(port: Port, name: str) -> str:
        added = sum(port.grow_in.get(layer, {}).get(name, 0) for layer in loads)
        return f"{port.counters.get(name, 0) + (port.grow.get(name, 0) if later else 0) + added:,}"

    rows = [
        [port.name, "U" if port.state == "connected" else "D", value(port, "fcs"), value(port, "rx_drops"), 0, value(port, "tx"), 0, 0]
        for port in listed(switch)
    ]  # fmt: skip
    return table(["IFACE", "STATE", "RX_ERR", "RX_DRP", "RX_OVR", "TX_ERR", "TX_DRP", "TX_OVR"], rows)


def links(switch: Switch, later: bool, loads: t.Sequence[str] = ()) -> str:
    """``ip -j -s -s link show``."""
    rows = []
    for port in listed(switch):
        changes = port.counters.get("changes", 2) + (port.grow.get("changes", 0) if later else 0)
        changes += sum(port.grow_in.get(layer, {}).get("changes", 0) for layer in loads)
        rows.append({"ifname": port.name, "mtu": port.mtu, "operstate": "UP", "stats64": {"tx": {"bytes": 0, "carrier_errors": 0, "carrier_changes": changes}}})
    return json.dumps(rows) + "\n"


def fec(switch: Switch, later: bool) -> str:
    """``show interfaces counters fec-stats``."""
    rows = []
    for port in listed(switch):
        uncorrectable = port.counters.get("fec_uncorrectable", 0) + (port.grow.get("fec_uncorrectable", 0) if later else 0)
        corrected = port.counters.get("fec_corrected", 2000017) + (3011 if later else 0)
        state = "U" if port.state == "connected" else "D"
        rows.append([port.name, state, f"{corrected:,}", f"{uncorrectable:,}", 0, f"{port.pre_fec_ber:.2e}", "0.00e+00"])
    return table(["IFACE", "STATE", "FEC_CORR", "FEC_UNCORR", "FEC_SYMBOL_ERR", "FEC_PRE_BER", "FEC_POST_BER"], rows)


def lldp(switch: Switch) -> str:
    """``show lldp table``."""
    rows = [[port.name, port.lldp_peer, port.lldp_port, "BR", switch.name] for port in listed(switch) if port.lldp and port.state == "connected"]
    head = "Capability codes: (R) Router, (B) Bridge, (O) Other\n"
    body = table(["LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr"], rows, left=range(5))
    return head + body + "--------------------------------------------------\n" + f"Total entries displayed:  {len(rows)}\n"


def macs(_switch: Switch) -> str:
    """``show mac`` of a routed switch."""
    return "  No.    Vlan  MacAddress    Port    Type\n-----  ------  ------------  ------  ------\nTotal number of entries 0\n"


def arp(switch: Switch) -> str:
    """``show arp``."""
    known = [port for port in listed(switch) if port.peer_mac and (port.peer_address or port.host_address)]
    lines = ["Address          MacAddress         Iface         Vlan", "---------------  -----------------  ------------  ------"]
    rows = dict.fromkeys(f"{port.peer_address or port.host_address:<15}  {port.peer_mac}  {port.channel or port.name:<12}  -" for port in known)
    return "\n".join([*lines, *rows, f"Total number of entries {len(rows)}"]) + "\n"


def transceivers(switch: Switch) -> str:
    """``show interfaces transceiver eeprom --dom``."""
    lines = []
    for port in listed(switch):
        if port.medium == "dac":
            lines += [
                f"{port.name}: SFP EEPROM detected",
                "        Identifier: OSFP 8X Pluggable Transceiver",
                f"        Length Cable Assembly(m): {port.length_m:.1f}",
            ]
            lines += ["        Media Interface Technology: Copper cable unequalized", "        Vendor Name: NVIDIA", "        Vendor PN: MCP4Y10-N002", ""]
            continue
        if not port.medium:
            lines += [f"{port.name}: SFP EEPROM Not detected", ""]
            continue
        lines += [
            f"{port.name}: SFP EEPROM detected",
            "        CMIS Rev: 5.0",
            "        Connector: MPO 1x12",
            "        Identifier: OSFP 8X Pluggable Transceiver",
        ]
        lines += [
            "        Length Cable Assembly(m): 0.0",
            "        Media Interface Technology: 1310 nm EML",
            "        Media Lane Count: 4",
            "        Vendor Name: NVIDIA",
        ]
        lines += ["        Vendor PN: MMA4Z00-NS400", "        ChannelMonitorValues:"]
        lines += [f"                RX{lane}Power: {power:.3f}dBm" for lane, power in enumerate(port.rx_power_dbm, 1)]
        lines += [f"                TX{lane}Power: {power:.3f}dBm" for lane, power in enumerate(port.tx_power_dbm, 1)]
        lines += ["        ChannelThresholdValues:", "                RxPowerHighAlarm  : 7.000dBm", "                RxPowerHighWarning: 4.000dBm"]
        lines += [
            "                RxPowerLowAlarm   : -8.400dBm",
            "                RxPowerLowWarning : -5.400dBm",
            "        ModuleMonitorValues:",
            f"                Temperature: {port.module_temperature_c:.3f}C",
        ]
        lines += ["                Vcc: 3.280Volts", "        ModuleThresholdValues:", "                TempHighAlarm  : 75.000C", ""]
    return "\n".join(lines) + "\n"


def bgp(switch: Switch) -> str:
    """``show ip bgp summary``."""
    if switch.underlay == "ospf":
        return "% BGP instance not found\n"
    lines = [
        "",
        f"IPv{6 if switch.ipv6 else 4} Unicast Summary:",
        f"BGP router identifier {switch.router_id}, local AS number {switch.asn} vrf-id 0",
        "BGP table version 6405",
    ]
    lines += ["", "Neighbor        V         AS MsgRcvd MsgSent   TblVer  InQ OutQ  Up/Down State/PfxRcd NeighborName"]
    known = [one for one in switch.sessions if one.configured]
    for one in known:
        state = one.prefixes if one.state == "Established" else one.state
        lines.append(f"{one.address or one.port:<15} 4 {one.asn:>10} {3995:>7} {4001:>7} {0:>8} {0:>4} {0:>4} {one.up:>8} {state:>12} {one.peer}")
    return "\n".join([*lines, "", f"Total number of neighbors {len(known)}"]) + "\n"


def vrfs(switch: Switch) -> str:
    """``show vrf``: what is in the default VRF is not listed."""
    rows = [["" if number else vrf, one] for vrf, its in vrfs_of(switch).items() if vrf != "default" for number, one in enumerate(its)]
    return table(["VRF", "Interfaces"], rows, left=(0, 1))


def bgp_of_vrfs(switch: Switch) -> str:
    """``vtysh -c 'show bgp vrf all summary json'``."""
    found = {}
    for vrf in names_of(switch):
        seen = in_vrf(switch, vrf)
        known = [one for one in seen.sessions if one.configured]
        peers = {
            one.address or one.port: {
                "remoteAs": one.asn, "version": 4, "peerUptime": one.up, "pfxRcd": one.prefixes if one.state == "Established" else 0, "state": one.state,
            }
            for one in known
        }  # fmt: skip
        own = {"routerId": switch.router_id, "as": switch.asn, "vrfName": vrf, "peers": peers, "totalPeers": len(peers)}
        found[vrf] = {"ipv6Unicast" if switch.ipv6 else "ipv4Unicast": own} if known else {}
    return json.dumps(found) + "\n"


def routes_of_vrfs(switch: Switch) -> str:
    """``show ip route vrf all``: one legend, and the routes of each VRF."""
    if switch.overlay:
        return f"{routes(underlay(switch)).replace(chr(10) * 2, f'{chr(10) * 2}VRF default:{chr(10)}', 1)}\n{_overlay_routes(switch)}"
    legend, _blank, _routes = routes(switch).partition("\n\n")
    tables = (routes(routes_seen(switch, vrf)).partition("\n\n")[2] for vrf in names_of(switch))
    return legend + "\n\n" + "\n".join(f"VRF {vrf}:\n{one}" for vrf, one in zip(names_of(switch), tables))


def kernel_routes_of_vrf(switch: Switch) -> str:
    """``ip -j -4 route show vrf VRF``, and of an overlay ``ip -j -4 route show``."""
    if switch.overlay:
        return kernel_routes(underlay(switch)).replace("/32", "")
    return kernel_routes(routes_seen(switch, switch.vrf))


def _overlay_routes(switch: Switch) -> str:
    """The routes of the VRF of an overlay, as zebra shows them."""
    if switch.role != "leaf":
        return ""
    lines = [f"VRF {switch.vrf}:", f"C>* {switch.own_prefix} is directly connected, Vlan10, 3d02h11m"]
    lines += [f"B>* {prefix} [20/0] via {vtep}, {VLAN_OF_VNI} onlink, weight 1, 3d02h11m" for prefix, vtep in to_vteps(switch)]
    return "\n".join(lines) + "\n"


def vnis(switch: Switch) -> str:
    """``vtysh -c 'show vrf vni' -c 'show evpn vni detail'``."""
    row = "{:<37} {:<10} {:<20} {:<20} {:<5} {:<18}\n".format
    lines = row("VRF", "VNI", "VxLAN IF", "L3-SVI", "State", "Rmac")
    if switch.role != "leaf" or not switch.overlay or switch.vni is None:
        return lines + "\n"
    device = "None" if "device" in switch.vni_lacks else "VTEP-400"
    svi = "None" if switch.vni_lacks else VLAN_OF_VNI
    mac = "None" if switch.vni_lacks else switch.mac
    vtep = "0.0.0.0" if device == "None" else switch.vteps[switch.name]
    lines += row(switch.vrf, switch.vni, device, svi, switch.vni_state, mac)
    lines += f"VNI: {switch.vni}\n  Type: L3\n  Tenant VRF: {switch.vrf}\n  Local Vtep Ip: {vtep}\n  Vxlan-Intf: {device}\n  SVI-If: {svi}\n"
    return lines + f"  State: {switch.vni_state}\n  VNI Filter: none\n  System MAC: {mac}\n  Router MAC: {mac}\n  L2 VNIs: \n\n"


def evpn(switch: Switch) -> str:
    """``vtysh -c 'show bgp l2vpn evpn summary json'``."""
    peers = {
        one.address or one.port: {
            "hostname": one.peer, "remoteAs": one.asn, "localAs": switch.asn, "version": 4, "peerUptime": one.up,
            "pfxRcd": one.evpn_prefixes if one.state == "Established" else 0, "state": one.state, "idType": "ipv4",
        }
        for one in switch.sessions if one.configured and one.evpn_prefixes is not None
    }  # fmt: skip
    head = {"routerId": switch.router_id, "as": switch.asn, "vrfId": 0, "vrfName": "default", "tableVersion": 0}
    return json.dumps({**head, "peers": peers, "totalPeers": len(peers), "dynamicPeers": 0} if peers else {}) + "\n"


def ospf(switch: Switch) -> str:
    """``show ip ospf vrf all neighbor json``."""
    found: dict[str, list[dict[str, t.Any]]] = {}
    for one in (one for one in switch.sessions if one.configured):
        state = f"{'Full' if one.state == 'Established' else one.state}/-"
        own = {"nbrState": state, "state": state, "ifaceAddress": one.address, "address": one.address, "ifaceName": f"{one.port}:{one.address}"}
        found.setdefault(one.address, []).append(own)
    return json.dumps({"default": {"vrfName": "default", "vrfId": 0, "neighbors": found}}) + "\n"


def routes(switch: Switch) -> str:
    """``show ip route``."""
    lines = [
        "Codes: K - kernel route, C - connected, S - static, R - RIP,",
        "       O - OSPF, I - IS-IS, B - BGP, E - EIGRP, N - NHRP,",
        "       > - selected route, * - FIB route, q - queued, r - rejected, b - backup",
        "",
    ]
    lines += [f"C>* {'fd00:ff::/64' if switch.ipv6 else '10.255.1.0/24'} is directly connected, Loopback0, {'3d02h11m'}"]
    for prefix, hops in _learned(switch):
        for number, one in enumerate(hops):
            head = f"{CODES[switch.underlay]}>* {prefix} [20/0]" if number == 0 else "  *" + " " * (len(prefix) + 8)
            lines.append(f"{head} via {one.next_hop}, {one.port}, weight 1, 3d02h11m")
    return "\n".join(lines) + "\n"


def _learned(switch: Switch) -> list[tuple[str, list[Session]]]:
    """Each prefix with the neighbors that announce it: of a spine each leaf its own, of a leaf every spine those of all other leaves; under super-spines
    the ports that lead there.
    """
    up = [one for one in switch.sessions if one.configured and one.state == "Established"]
    if switch.ways:
        ways = {prefix: [one for one in up if one.port in ports] for prefix, ports in switch.ways.items()}
        return [(prefix, its[: switch.paths.get(prefix, switch.paths.get("*", len(its)))]) for prefix, its in ways.items() if its]
    if switch.role == "leaf":
        return [(prefix, up[: switch.paths.get(prefix, switch.paths.get("*", len(up)))]) for prefix in switch.prefixes if up]
    announced = {leaf: prefix for prefix, leaf in switch.at_leaf.items()}
    return [(announced[one.peer], [one]) for one in up if one.peer in announced]


def kernel_routes(switch: Switch) -> str:
    """``ip -j -4 route show``."""
    rows = []
    for prefix, hops in _learned(switch):
        ways = [{"gateway": one.next_hop, "dev": one.port, "weight": 1, "flags": []} for one in hops]
        several = {"nexthops": ways} if len(ways) > 1 else {"gateway": hops[0].next_hop, "dev": hops[0].port}
        if prefix not in switch.lost_of_kernel:
            rows.append({"dst": "default" if prefix == "0.0.0.0/0" else prefix, **several, "protocol": switch.underlay, "metric": 20, "flags": []})
    docker = [{"dst": "240.127.1.0/24", "dev": "docker0", "protocol": "kernel", "scope": "link", "flags": ["linkdown"]}]
    return json.dumps([*([] if switch.ipv6 else docker), *rows]) + "\n"


def neighbors(switch: Switch) -> str:
    """``ip -j -6 neigh show``."""
    rows = [{"dst": "fd00:ff::fe", "dev": "eth0", "lladdr": "1c:34:da:00:00:fe", "router": None, "state": ["REACHABLE"]}]
    rows += [
        {"dst": port.host_address, "dev": port.name, "lladdr": port.peer_mac, "state": ["STALE"]}
        for port in listed(switch)
        if port.peer_mac and port.host_address
    ]
    return json.dumps(rows) + "\n"
