# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an Arista leaf prints."""

from __future__ import annotations

import ipaddress
import json
import typing as t
from dataclasses import replace

from ..model import Port, Switch

LIMITS = {"Temperature": ("(Celsius)", 75, 70, -5, 0), "Voltage": ("(Volts)", 3.63, 3.46, 2.97, 3.13), "Current": ("(mA)", 90, 85, 20, 25)}
CODES = {"bgp": "B E", "ospf": "O", "static": "S"}
VLAN_OF_VNI = "Vlan400"
LIGHT = {"Optical Tx Power": (7.0, 4.0, -8.4, -5.4), "Optical Rx Power": (7.0, 4.0, -8.4, -5.4)}


def short(name: str) -> str:
    """``Ethernet1/1`` as EOS tables print it."""
    return name.replace("Ethernet", "Et")


def dotted(mac: str) -> str:
    """A MAC address in three groups."""
    plain = mac.replace(":", "")
    return ".".join(plain[i : i + 4] for i in range(0, 12, 4))


def listed(switch: Switch) -> list[Port]:
    """The ports that the switch has, spare ones too."""
    spares = [Port(name, "spare", "", "", switch.mac, state=state, medium="") for name, state in switch.spares.items()]
    return [*(port for port in switch.ports if port.listed), *spares]


def version(switch: Switch) -> str:
    """``show version | json``; the uptime is counted by the connection, since this text is kept for long."""
    response = {"mfgName": "Arista", "modelName": "DCS-7060DX5-64S-F", "version": switch.nos or "4.31.2F", "systemMacAddress": switch.mac}
    return json.dumps({**response, "uptime": 0.0, "bootupTimestamp": switch.booted}) + "\n"


def power(switch: Switch) -> str:
    """``show system environment power | json``."""
    return json.dumps({"powerSupplies": {name[3:]: {"modelName": "PWR-3000", "state": switch.parts.get(name, "ok")} for name in ("PSU1", "PSU2")}}) + "\n"


def cooling(switch: Switch) -> str:
    """``show system environment cooling | json``."""
    trays = [{"status": "ok", "label": name[3:], "fans": [{"status": switch.parts.get(name, "ok"), "label": f"{name[3:]}/1"}]} for name in ("Fan1", "Fan2")]
    return json.dumps({"systemStatus": "coolingOk", "powerSupplySlots": [], "fanTraySlots": trays}) + "\n"


def temperature(switch: Switch) -> str:
    """``show system environment temperature | json``."""
    sensor = {"name": "TempSensor1", "overheatThreshold": 95.0, "criticalThreshold": 105.0, "hwStatus": "ok", "currentTemperature": switch.celsius}
    return json.dumps({"systemStatus": "temperatureOk", "tempSensors": [sensor], "powerSupplySlots": [], "cardSlots": []}) + "\n"


def channels(switch: Switch) -> dict[str, list[Port]]:
    """The members of each port-channel of the plan."""
    found: dict[str, list[Port]] = {}
    for port in listed(switch):
        if port.channel:
            found.setdefault(port.channel, []).append(port)
    return found


def _learned_on(port: Port) -> str:
    return port.channel.replace("Port-Channel", "Po") or short(port.name)


def in_channel(port: Port) -> str:
    """What stands for the VLAN of a member."""
    return f"in {port.channel.replace('Port-Channel', 'Po')}" if port.channel and port.unbundled != "alone" else ""


def port_channels(switch: Switch) -> str:
    """``show port-channel | json``."""
    found: dict[str, dict[str, t.Any]] = {}
    for name, members in channels(switch).items():
        for port in members if name else ():
            own = port.unbundled if port.unbundled.startswith("Port-Channel") else name
            one = found.setdefault(own, {"recircFeature": [], "minLinks": 0, "inactivePorts": {}, "activePorts": {}, "inactiveLag": False})
            if port.state != "connected":
                one["inactivePorts"][port.name] = {"reasonUnconfigured": "link down in LACP negotiation"}
            elif own != name or not port.unbundled:
                one["activePorts"][port.name] = {}
            elif port.unbundled != "alone":
                one["inactivePorts"][port.name] = {"reasonUnconfigured": port.unbundled}
    return json.dumps({"portChannels": found}) + "\n"


def status(switch: Switch) -> str:
    """``show interfaces status``."""
    lines = ["Port       Name           Status       Vlan     Duplex Speed  Type            Flags Encapsulation"]
    for port in listed(switch):
        media = {"optic": "400GBASE-DR4", "dac": "400GBASE-CR8"}.get(port.medium, "Not Present")
        speed = f"{port.speed_gbit_s}G" if port.state == "connected" else "auto"
        vlan = in_channel(port) or port.vlan or ("routed" if port.address else "10")
        lines.append(f"{short(port.name):<10} {port.peer[:12]:<14} {port.state:<12} {vlan:<8} full   {speed:<6} {media}")
    for name, members in channels(switch).items():
        speed = sum(port.speed_gbit_s for port in members if not port.unbundled and port.state == "connected")
        state = "connected" if speed else "notconnect"
        vlan = "routed" if members[0].peer_role != "host" else members[0].vlan or "10"
        lines.append(f"{name.replace('Port-Channel', 'Po'):<10} {members[0].peer[:12]:<14} {state:<12} {vlan:<8} full   {f'{speed}G':<6} N/A")
    lines.append(f"{'Ma1':<10} {'':<14} {'connected':<12} {'routed':<8} a-full {'a-1G':<6} 10/100/1000")
    return "\n".join(lines) + "\n"


def errors(switch: Switch, later: bool, loads: t.Sequence[str] = ()) -> str:
    """``show interfaces counters errors``."""
    lines = [f"{'Port':<10}" + "".join(f"{name:>9}" for name in ("FCS", "Align", "Symbol", "Rx", "Runts", "Giants", "Tx"))]
    for port in listed(switch):
        value = {
            name: port.counters.get(name, 0) + (port.grow.get(name, 0) if later else 0) + sum(port.grow_in.get(layer, {}).get(name, 0) for layer in loads)
            for name in ("fcs", "align", "symbol", "rx", "runts", "giants", "tx")
        }
        value["rx"] += value["fcs"] + value["symbol"]
        lines.append(f"{short(port.name):<10}" + "".join(f"{value[name]:>9}" for name in ("fcs", "align", "symbol", "rx", "runts", "giants", "tx")))
    return "\n".join(lines) + "\n"


def transceivers(switch: Switch) -> str:
    """``show interfaces transceiver detail``: a table a quantity."""
    lines = ["mA: milliamperes, dBm: decibels (milliwatts), NA or N/A: not applicable.", "A2D readouts (if they differ), are reported in parentheses."]
    lines.append("The threshold values are calibrated.")
    for name, (unit, *limits) in LIMITS.items():
        lines += _head(name, unit)
        lines += [_row(port, {"Temperature": port.module_temperature_c, "Voltage": 3.28, "Current": 62.1}[name], limits, "") for port in listed(switch)]
    for name, light in LIGHT.items():
        lines += _head(name, "(dBm)")
        for port in listed(switch):
            powers = port.rx_power_dbm if "Rx" in name else port.tx_power_dbm
            lines += [_row(port, power, light, "") for power in powers[:1]] or [_row(port, None, (), "")]
    return "\n".join(lines) + "\n"


def _head(name: str, unit: str) -> list[str]:
    names = ["", f"{'':30}High Alarm  High Warn   Low Alarm   Low Warn", f"{'':10}{name:<20}Threshold   Threshold   Threshold   Threshold"]
    return [
        *names,
        f"{'Port':<10}{unit:<20}" + "   ".join([f"{unit:<9}"] * 4).rstrip(),
        "-------   ------------------  ----------  ---------   ---------   ---------",
    ]


def _row(port: Port, value: float | None, limits: t.Sequence[float], lane: str) -> str:
    if value is None or port.medium != "optic":
        return f"{short(port.name):<10} {'N/A':<20}" + "".join(f"{'N/A':<12}" for _limit in range(4)).rstrip()
    return f"{short(port.name) + lane:<10} {value:<20.2f}" + "".join(f"{limit:<12.2f}" for limit in limits).rstrip()


def lldp(switch: Switch) -> str:
    """``show lldp neighbors``."""
    lines = ["Last table change time   : 3 days, 4:05:06 ago", "Number of table inserts  : 40", "Number of table deletes  : 0", "Number of table drops    : 0"]
    lines += [
        "Number of table age-outs : 0",
        "",
        "Port          Neighbor Device ID       Neighbor Port ID    TTL",
        "---------- ------------------------ ---------------------- ---",
    ]
    lines += [f"{short(port.name):<13} {port.lldp_peer:<24} {port.lldp_port:<19} 120" for port in listed(switch) if port.lldp and port.state == "connected"]
    return "\n".join(lines) + "\n"


def macs(switch: Switch) -> str:
    """``show mac address-table``."""
    lines = ["          Mac Address Table", "------------------------------------------------------------------", ""]
    lines += ["Vlan    Mac Address       Type        Ports      Moves   Last Move", "----    -----------       ----        -----      -----   ---------"]
    hosts = [port for port in listed(switch) if port.peer_role == "host" and port.learned]
    # Both members of a port-channel to one leaf have learned the same.
    learned = dict.fromkeys(f"  10    {dotted(port.peer_mac)}    DYNAMIC     {_learned_on(port):<10} 1       3 days, 0:10:21 ago" for port in hosts)
    lines += [*learned, f"Total Mac Addresses for this criterion: {len(learned)}", "", "          Multicast Mac Address Table"]
    lines += [
        "------------------------------------------------------------------",
        "",
        "Vlan    Mac Address       Type        Ports",
        "----    -----------       ----        -----",
    ]
    return "\n".join([*lines, "Total Mac Addresses for this criterion: 0"]) + "\n"


def arp(switch: Switch) -> str:
    """``show ip arp``: hosts behind the VLAN's interface, with the port that each was learned on."""
    lines = ["Address         Age (sec)  Hardware Addr   Interface"]
    # A leaf that routes its ports learns no MAC address on any.
    bridged = any(port.learned for port in listed(switch) if port.peer_role == "host")
    for port in listed(switch):
        if port.peer_role == "host":
            learned_on = (port.channel or port.name) if port.learned or not bridged else "not learned"
            lines.append(f"{port.host_address:<16} 0:02:11  {dotted(port.peer_mac)}  Vlan10, {learned_on}")
        elif port.peer_mac:
            lines.append(f"{port.peer_address:<16} 0:01:07  {dotted(port.peer_mac)}  {port.channel or port.name}")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def bgp(switch: Switch, vrf: str = "default") -> str:
    """``show ip bgp summary vrf all``."""
    if switch.underlay == "ospf":
        return "% BGP inactive\n"
    lines = [f"BGP summary information for VRF {vrf}", f"Router identifier {switch.router_id}, local AS number {switch.asn}"]
    lines += ["Neighbor Status Codes: m - Under maintenance", "  Neighbor         V  AS           MsgRcvd   MsgSent  InQ OutQ  Up/Down State  PfxRcd PfxAcc"]
    for one in switch.sessions:
        if one.configured:
            ends = f"{one.up:>8} Estab  {one.prefixes:<6} {one.prefixes}" if one.state == "Established" else f"{one.up:>8} {one.state}"
            lines.append(f"  {one.address:<16} 4  {one.asn:<12} {4021:>7}   {4019:>7}    0    0 {ends}")
    return "\n".join(lines) + "\n"


def vrfs_of(switch: Switch) -> dict[str, list[str]]:
    """The routed interfaces of each VRF: ports to switches and hosts' ports that route, and the VLAN of the other hosts' ports."""
    found: dict[str, list[str]] = {"default": ["Loopback0"]}
    for port in listed(switch):
        if port.peer_role not in ("host", "") or port.vrf:
            found.setdefault(port.vrf or of_links(switch), []).append(port.channel or port.name)
    if switch.overlay and switch.role == "leaf" and switch.vni and not switch.vni_lacks:
        found.setdefault(switch.vrf, []).append(VLAN_OF_VNI)
    if switch.role == "leaf":
        found.setdefault(switch.vlan_vrf or switch.vrf, []).append("Vlan10")
    return {vrf or "default": list(dict.fromkeys(its)) for vrf, its in found.items()}


def of_links(switch: Switch) -> str:
    """The VRF of links between switches, and of the sessions over them."""
    return "default" if switch.overlay else switch.vrf


def underlay(switch: Switch) -> Switch:
    """A switch with the routes of its underlay: those to the VTEPs of other leaves."""
    vteps = {leaf: f"{address}/32" for leaf, address in switch.vteps.items() if leaf != switch.name}
    ports = {leaf: [one.port for one in switch.sessions if one.peer == leaf] for leaf in vteps}
    ways = {prefix: switch.ways.get(prefix, ports[leaf]) for leaf, prefix in vteps.items()} if switch.role != "leaf" else {}
    return replace(switch, prefixes=list(vteps.values()), ways=ways, own_prefix="")


def to_vteps(switch: Switch) -> list[tuple[str, str]]:
    """Each prefix of other leaves' rails in the VRF of the overlay with the VTEP that it is behind, which the underlay must reach."""
    if switch.role != "leaf" or not switch.vni or switch.vni_state != "Up":
        return []
    up = any(one.state == "Established" and one.configured and one.evpn_prefixes for one in switch.sessions)
    return [(one, switch.vteps[switch.at_leaf[one]]) for one in switch.prefixes if up and switch.at_leaf[one] in switch.vteps]


def in_vrf(switch: Switch, vrf: str) -> Switch:
    """A switch as one of its VRFs sees it: its sessions and routes there."""
    prefixes = [one for one in switch.prefixes if switch.routes_in.get(one, switch.routes_in.get("*", switch.vrf)) == vrf]
    own = switch.own_prefix if vrf == (switch.vlan_vrf or switch.vrf) else ""
    return replace(switch, sessions=[one for one in switch.sessions if (one.vrf or of_links(switch)) == vrf], prefixes=prefixes, own_prefix=own)


def routes_seen(switch: Switch, vrf: str) -> Switch:
    """A switch with the routes of one of its VRFs, over the sessions that brought them: those of its own VRF, or the ones of a VRF that has its own."""
    seen = in_vrf(switch, vrf)
    if vrf == "default" and switch.default_paths:
        return replace(seen, sessions=switch.sessions, prefixes=list(switch.default_paths), paths=dict(switch.default_paths))
    moved = vrf in switch.routes_in.values()
    return replace(seen, sessions=switch.sessions) if moved else seen


def vrfs(switch: Switch) -> str:
    """``show vrf | json``."""
    found = {vrf: {"routeDistinguisher": "", "vrfState": "up", "interfaces": its} for vrf, its in vrfs_of(switch).items()}
    return json.dumps({"vrfs": found}) + "\n"


def names_of(switch: Switch) -> list[str]:
    """The VRFs that have an interface, a session or a route, the default one first."""
    others = (*vrfs_of(switch), *(one.vrf for one in switch.sessions), *switch.routes_in.values())
    return list(dict.fromkeys(name for name in ("default", *others) if name))


def bgp_of_vrfs(switch: Switch) -> str:
    """``show ip bgp summary vrf all`` where the rails are in a VRF."""
    return "".join(bgp(in_vrf(switch, vrf), vrf) for vrf in names_of(switch))


def routes_of_vrfs(switch: Switch) -> str:
    """``show ip route vrf all``."""
    if switch.overlay:
        return routes(underlay(switch)) + _overlay_routes(switch)
    return "".join(routes(routes_seen(switch, vrf), vrf) for vrf in names_of(switch))


def _overlay_routes(switch: Switch) -> str:
    """The routes of the VRF of an overlay."""
    lines = routes(replace(switch, prefixes=[]), switch.vrf).rstrip("\n").splitlines()
    for prefix, vtep in to_vteps(switch):
        mac = f"00:1c:73:00:{int(vtep.rpartition('.')[2]):02x}:01"
        lines.append(f" B E      {prefix} [200/0] via VTEP {vtep} VNI {switch.vni} router-mac {mac} local-interface Vxlan1")
    return "\n".join([*lines, ""]) + "\n"


def vnis(switch: Switch) -> str:
    """``show vxlan vni | json``."""
    if switch.role != "leaf" or not switch.overlay:
        return '{\n  "vxlanIntfs": {}\n}\n'
    of_vrf = {str(switch.vni): {"vrfName": switch.vrf, "vlan": 4097, "source": "evpn"}} if switch.vni else {}
    return json.dumps({"vxlanIntfs": {"Vxlan1": {"vniBindings": {}, "vniBindingsToVrf": of_vrf}}}) + "\n"


def evpn(switch: Switch) -> str:
    """``show bgp evpn summary``."""
    known = [replace(one, prefixes=one.evpn_prefixes) for one in switch.sessions if one.evpn_prefixes is not None]
    return bgp(replace(switch, sessions=known))


def bgp_of_ipv6(switch: Switch) -> str:
    """``show ipv6 bgp summary vrf all | json``; an unnumbered neighbor is called by its link-local address and its port."""
    peers = {
        one.address or f"{one.via}%{short(one.port)}": {
            "peerState": one.state, "asn": str(one.asn), "prefixReceived": one.prefixes if one.state == "Established" else 0, "version": 4,
        }
        for one in switch.sessions if one.configured
    }  # fmt: skip
    return json.dumps({"vrfs": {"default": {"routerId": switch.router_id, "asn": str(switch.asn), "vrf": "default", "peers": peers}}}) + "\n"


def neighbors(switch: Switch) -> str:
    """``show ipv6 neighbors | json``."""
    rows = [
        {"address": port.host_address, "age": 131, "hwAddress": dotted(port.peer_mac), "interface": f"Vlan10, {port.name}"}
        for port in listed(switch)
        if port.peer_role == "host"
    ]
    return json.dumps({"ipV6Neighbors": rows}) + "\n"


def routes_of_ipv6(switch: Switch) -> str:
    """``show ipv6 route vrf all | json``."""
    up = [one for one in switch.sessions if one.state == "Established" and one.configured]
    routes = {switch.own_prefix: {"routeType": "connected", "hardwareProgrammed": True, "routeAction": "forward", "vias": [{"interface": "Vlan10"}]}}
    for prefix in switch.prefixes:
        hops = up[: switch.paths.get(prefix, switch.paths.get("*", len(up)))]
        vias = [{"nexthopAddr": one.next_hop, "interface": one.port} for one in hops]
        routes[prefix] = {"routeType": "eBGP", "hardwareProgrammed": True, "routeAction": "forward", "vias": vias}
    return json.dumps({"vrfs": {"default": {"routes": {prefix: route for prefix, route in routes.items() if prefix}}}}) + "\n"


def ospf(switch: Switch) -> str:
    """``show ip ospf neighbor | json``."""
    words = {"Established": "full", "Init": "init", "ExStart": "exStart", "2-Way": "2Ways"}
    found = [
        {"routerId": one.address, "priority": 0, "drState": "P2P", "interfaceName": one.port, "adjacencyState": words[one.state],
         "interfaceAddress": one.address}
        for one in switch.sessions if one.configured
    ]  # fmt: skip
    return json.dumps({"vrfs": {"default": {"instList": {"1": {"ospfNeighborEntries": found}}}}}) + "\n"


def routes(switch: Switch, vrf: str = "default") -> str:
    """``show ip route``: each remote rail's network over every uplink."""
    lines = ["", f"VRF: {vrf}", "Codes: C - connected, S - static, K - kernel, ", "       O - OSPF, B - Other BGP Routes, B I - iBGP, B E - eBGP,", ""]
    lines += ["Gateway of last resort is not set", ""]
    if switch.own_prefix:
        network = ipaddress.ip_network(switch.own_prefix)
        lines.append(f" C        {network} is directly connected, Vlan10")
    up = [one for one in switch.sessions if one.state == "Established" and one.configured]
    for prefix in switch.prefixes:
        hops = up[: switch.paths.get(prefix, switch.paths.get("*", len(up)))]
        for number, hop in enumerate(hops):
            first = f" {CODES[switch.underlay]:<8} {prefix} [{'200/0' if switch.underlay == 'bgp' else '110/20'}] "
            head = first if number == 0 else " " * len(first)
            lines.append(f"{head}via {hop.next_hop}, {hop.port}")
    return "\n".join([*lines, ""]) + "\n"


def phys(switch: Switch, later: bool) -> str:
    """``show interfaces phy detail | json``."""
    known = {}
    for port in listed(switch):
        uncorrectable = port.counters.get("fec_uncorrectable", 0) + (port.grow.get("fec_uncorrectable", 0) if later else 0)
        corrected = port.counters.get("fec_corrected", 2000017) + (3011 if later else 0)
        fec = {"correctedCodewords": {"value": corrected, "changes": 9}, "uncorrectedCodewords": {"value": uncorrectable, "changes": 0}}
        known[port.name] = {
            "phyStatuses": [{"description": {"phyChipName": "BCM78900", "location": "line"}, "fec": fec, "preFecBer": {"value": port.pre_fec_ber}}]
        }
    return json.dumps({"interfacePhyStatuses": known}) + "\n"


def interfaces(switch: Switch, later: bool, loads: t.Sequence[str] = ()) -> str:
    """``show interfaces``."""
    lines = []
    for port in listed(switch):
        up = port.state == "connected"
        admin = "administratively down" if port.state == "disabled" else "up" if up else "down"
        lines += [f"{port.name} is {admin}, line protocol is {'up' if up else 'down'} ({port.state})"]
        lines += [f"  Hardware is Ethernet, address is {dotted(port.mac)} (bia {dotted(port.mac)})", f"  Description: {port.peer}"]
        lines += [f"  IP MTU {port.mtu} bytes, Ethernet MTU {port.mtu} bytes , BW {port.speed_gbit_s}000000 kbit"]
        lines += [f"  Full-duplex, {port.speed_gbit_s}Gb/s, auto negotiation: off, uni-link: disabled", "  Up 3 days, 4 hours, 5 minutes, 6 seconds"]
        changes = port.counters.get("changes", 2) + (port.grow.get("changes", 0) if later else 0)
        changes += sum(port.grow_in.get(layer, {}).get("changes", 0) for layer in loads)
        lines += [f"  {changes} link status changes since last clear", '  Last clearing of "show interface" counters never', "     0 runts, 0 giants"]
        lines += ["     0 input errors, 0 CRC, 0 alignment, 0 symbol, 0 input discards", "     0 output errors, 0 collisions"]
    return "\n".join(lines) + "\n"
