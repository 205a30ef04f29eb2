# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy pod from an inventory's wiring; a seed decides its noise."""

from __future__ import annotations

import copy
import ipaddress
import itertools
import random
import re
import typing as t
import uuid
import zlib
from dataclasses import replace

from .model import Gpu, Host, Pod, Port, Rail, Session, Switch
from .wiring import Place, Wiring

GPU_PCI = ["1b", "43", "52", "61", "9d", "c3", "d1", "df"]
FIRMWARE = "28.39.1002"
# How the addresses of switches begin, by role.
MACS = {"leaf": "00:1c:73", "spine": "1c:34:da", "super_spine": "1c:34:db"}
# What differs on hosts with Instinct GPUs.
OF_AMD: dict[str, t.Any] = {"vendor": "amd", "driver": "6.12.12", "driver_flavour": "open", "gpu_link": "XGMI", "modules": ["amdgpu"], "modules_load": []}
OF_AMD |= {"fabric_manager": "inactive", "dmabuf": True, "stack": {"gdr": True, "device": "AMD Instinct MI300X OAM", "node_gbyte_s": 325.0, "nccl": "2.22.3"}}
# And on trays of a GB200 NVL72: the buses of the two Grace CPUs are PCI domains of their own.
OF_TRAY: dict[str, t.Any] = {"driver": "580.95.05", "cuda": "13.0", "driver_flavour": "open", "kernel": "6.8.0-1032-nvidia-64k", "nccl": "2.28.9"}
OF_TRAY |= {"dmabuf": True, "stack": {"gdr": True, "device": "NVIDIA GB200", "node_gbyte_s": 673.0}}
TRAY_PCI = ["0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0"]
# Of the 1,024 entries that a kernel keeps unless it is told otherwise (net.ipv4.neigh.default.gc_thresh3), those of one of eight rails.
MOST_NEIGHBORS = 128
NIC_SETTINGS = {
    "ROCE_CC_PRIO_MASK_P1": "255",
    "ROCE_CC_SHAPER_COALESCE_P1": "DEVICE_DEFAULT(0)",
    "CNP_DSCP_P1": "48",
    "SRIOV_EN": "False(0)",
    "NUM_OF_VFS": "0",
}
NIC_SETTINGS |= {"LINK_TYPE_P1": "ETH(2)", "PCI_WR_ORDERING": "per_mkey(0)", "ATS_ENABLED": "False(0)", "ADVANCED_PCI_SETTINGS": "True(1)"}


def pod(wiring: Wiring, seed: int) -> Pod:
    """The healthy pod; the same wiring and seed are always the same pod."""
    hosts = {place.name: _host(place, number, wiring, seed) for number, place in enumerate(wiring.named("host"), 1)}
    switches = {place.name: _switch(place, wiring, hosts, seed) for place in wiring.places.values() if place.role != "host"}
    for switch in switches.values():
        for port in switch.ports:
            far = switches.get(port.peer)
            port.peer_mac = far.mac if far else port.peer_mac
    _meet(list(hosts.values()))
    vteps = {name: switch.router_id for name, switch in switches.items() if switch.role == "leaf"}
    for switch in switches.values():
        switch.vteps = dict(vteps)
        switch.at_leaf = {one.own_prefix: name for name, one in switches.items() if one.own_prefix and one is not switch}
    if wiring.named("super_spine"):
        _lead_over_tiers(switches, wiring)
    return Pod(hosts, switches, wiring.groups, seed, wiring.fabric)


def _meet(hosts: list[Host]) -> None:
    """Give each rail the MAC addresses of those in its own network; of a large one those that come after it, as many as a kernel keeps for eight rails."""
    networks: dict[str, list[Rail]] = {}
    for rail in (rail for host in hosts for rail in host.rails if rail.address):
        networks.setdefault(str(ipaddress.ip_interface(f"{rail.address}/{rail.prefix_length}").network), []).append(rail)
    for rails in networks.values():
        for number, rail in enumerate(rails):
            others = [*rails[number + 1 :], *rails[:number]][:MOST_NEIGHBORS]
            rail.neighbors = {other.address: other.mac for other in others if other.address}


def _lead_over_tiers(switches: dict[str, Switch], wiring: Wiring) -> None:
    """Give spines and super-spines the ports that lead to each leaf's network: down where the leaf is below, else up."""
    tiers = ("host", "leaf", "spine", "super_spine")
    below: dict[str, set[str]] = {}
    for role in tiers[1:]:
        for place in wiring.named(role):
            lower = [port.peer for port in switches[place.name].ports if tiers.index(port.peer_role) < tiers.index(role) and port.peer in switches]
            below[place.name] = {place.name} if role == "leaf" else set().union(*(below[one] for one in lower))
    for name, leaves in below.items():
        switch = switches[name]
        for leaf in (place.name for place in wiring.named("leaf") if switch.role != "leaf"):
            down = [port.channel or port.name for port in switch.ports if leaf in below[port.peer] and tiers.index(port.peer_role) < tiers.index(switch.role)]
            up = [port.channel or port.name for port in switch.ports if tiers.index(port.peer_role) > tiers.index(switch.role)]
            switch.ways[switches[leaf].own_prefix] = down if leaf in leaves else up


def number_of(name: str) -> int:
    """The number that a node's name ends in."""
    found = re.search(r"\d+$", name)
    return int(found[0]) if found else 0


def _host(place: Place, number: int, wiring: Wiring, seed: int) -> Host:
    noise = random.Random(f"{seed}/{place.name}")
    rails = [_rail(place, index, raw, number, wiring, noise) for index, raw in enumerate(place.rails)]
    gpus = [_gpu(index, noise, wiring.gpus) for index in range(wiring.gpus)]
    own = OF_AMD if wiring.vendor == "amd" else OF_TRAY if wiring.trays else {}
    for gpu in gpus if wiring.trays else ():
        gpu.pci, gpu.product, gpu.clique, gpu.cluster = TRAY_PCI[gpu.index], "NVIDIA GB200", 32766, str(uuid.uuid5(uuid.NAMESPACE_DNS, place.group))
    day, hour = noise.randint(1, 9), noise.randint(0, 23)
    return Host(
        place.name, place.group, rails, gpus, f"b8:3f:d2:f0:{number // 256:02x}:{number % 256:02x}",
        **copy.deepcopy(own), management_address=f"10.0.254.{number}" if wiring.trays else "10.0.255.1",
        environment={"NCCL_IB_TC": str(4 * wiring.dscp + 2)},
        boot=f"2026-06-{day:02}T{hour:02}:12:07+0000", uptime_seconds=noise.randint(10, 90) * 86400 + noise.randint(0, 86399),
    )  # fmt: skip


def _rail(place: Place, index: int, raw: dict[str, t.Any], number: int, wiring: Wiring, noise: random.Random) -> Rail:
    if not raw.get("members"):
        return _port_of(place, index, raw, number, wiring, noise)
    legs = [
        _port_of(place, index, {**raw, "netdev": member, "pci": f"{raw['pci'][:-1]}{place_of}", "address": ""}, number, wiring, noise)
        for place_of, member in enumerate(raw["members"])
    ]
    leaves = sorted(leg.leaf for leg in legs)
    for place_of, leg in enumerate(legs):
        leg.master, leg.lacp_partner, leg.mac = raw["netdev"], f"02:1c:73:00:00:{number_of(leaves[0]):02x}", f"{leg.mac[:12]}{place_of:x}{leg.mac[13:]}"
    address, _slash, prefix = str(raw.get("address") or "").partition("/")
    speed = sum(leg.speed_gbit_s for leg in legs)
    rates = {name: sum(getattr(leg, name) for leg in legs) for name in ("sends_gbit_s", "receives_gbit_s", "from_gpu_gbit_s")}
    return replace(
        legs[0], netdev=raw["netdev"], address=address, gid_address=address, prefix_length=int(prefix or 24), speed_gbit_s=speed, legs=legs, leaves=leaves,
        leaf=leaves[0], master="", settings=dict(NIC_SETTINGS), counters={}, rdma_counters=dict(legs[0].rdma_counters), **rates,
    )  # fmt: skip


def _port_of(place: Place, index: int, raw: dict[str, t.Any], number: int, wiring: Wiring, noise: random.Random) -> Rail:
    cable = next(
        one
        for one in wiring.at[place.name]
        if {(one.a.node, one.a.port), (one.b.node, one.b.port)} & {(place.name, raw["netdev"]), (place.name, raw["device"])}
    )
    far = cable.seen_from(place.name)[1]
    address, _slash, prefix = str(raw.get("address") or "").partition("/")
    optic = "optic" in cable.medium
    return Rail(
        index, raw["device"], raw["netdev"], raw["pci"], raw["gpu"], numa=0 if 2 * raw["gpu"] < wiring.gpus else 1, leaf=far.node, leaf_port=far.port,
        address=address, prefix_length=int(prefix or 24), mac=f"b8:3f:d2:{index:02x}:{number // 256:02x}:{number % 256:02x}", firmware=FIRMWARE,
        gid_address=address, settings=dict(NIC_SETTINGS), counters=_nic_counters(noise, wiring.priority), medium=cable.medium, length_m=cable.length_m or 0,
        rdma_counters=_rdma_counters(noise), priority=wiring.priority, pfc=[wiring.priority], dcqcn_np=[wiring.priority], dcqcn_rp=[wiring.priority],
        rx_power_dbm=_light(noise) if optic else [], tx_power_dbm=_light(noise, 1.2) if optic else [], optic_part="MMA4Z00-NS400" if optic else "MCP4Y10-N002",
        sends_gbit_s=round(noise.uniform(376, 382), 2), receives_gbit_s=round(noise.uniform(377, 383), 2), from_gpu_gbit_s=round(noise.uniform(368, 374), 2),
        latency_us=round(noise.uniform(1.9, 2.2), 2), pre_fec_ber=f"{noise.randint(1, 9)}E-{noise.randint(8, 9)}",
        lldp_peer=far.node, lldp_port=far.port, rtt_ms=round(noise.uniform(0.02, 0.09), 3),
        link_layer="InfiniBand" if wiring.fabric == "infiniband" else "Ethernet",
    )  # fmt: skip


def _light(noise: random.Random, middle: float = 0.4) -> list[float]:
    return [round(middle + noise.uniform(-0.6, 0.6), 2) for _lane in range(4)]


def _nic_counters(noise: random.Random, priority: int) -> dict[str, int]:
    """Lifetime counters: some are large, and nothing but traffic grows."""
    bytes_in, packets = noise.randint(10**12, 10**14), noise.randint(10**9, 10**10)
    moving = {"rx_bytes_phy": bytes_in, "tx_bytes_phy": bytes_in + noise.randint(0, 10**9), "rx_packets_phy": packets, "tx_packets_phy": packets}
    moving |= {"rx_vport_rdma_unicast_bytes": bytes_in // 2, "tx_vport_rdma_unicast_bytes": bytes_in // 2, f"rx_prio{priority}_bytes": bytes_in // 3}
    moving |= {"rx_prio0_bytes": bytes_in // 9, "tx_prio0_bytes": bytes_in // 9, f"tx_prio{priority}_bytes": bytes_in // 3}
    prio = f"prio{priority}"
    moving |= {f"rx_{prio}_pause": noise.randint(0, 900), f"rx_{prio}_pause_duration": noise.randint(0, 9000), f"tx_{prio}_pause": 0}
    moving |= {f"tx_{prio}_pause_duration": 0, f"rx_{prio}_discards": 0}
    errors = {"rx_crc_errors_phy": noise.choice([0, 0, 0, 3]), "rx_symbol_err_phy": noise.choice([0, 0, 12]), "rx_undersize_pkts_phy": 0}
    return moving | errors | {"rx_oversize_pkts_phy": 0, "rx_discards_phy": noise.choice([0, 410]), "link_down_events_phy": noise.randint(1, 6)}


def _rdma_counters(noise: random.Random) -> dict[str, int]:
    """hw_counters: a fabric that has seen congestion, and has lost a packet once."""
    marked = noise.randint(10**6, 10**9)
    seen = {"np_cnp_sent": marked // 90, "np_ecn_marked_roce_packets": marked, "rp_cnp_handled": marked // 80, "rp_cnp_ignored": 0}
    lost = {"packet_seq_err": noise.choice([0, 0, 2]), "local_ack_timeout_err": 0, "out_of_sequence": noise.choice([0, 0, 2]), "out_of_buffer": 0}
    return {"duplicate_request": 0, **seen, **lost, "rx_read_requests": noise.randint(0, 10**6)}


def _gpu(index: int, noise: random.Random, gpus: int = 8) -> Gpu:
    name = f"GPU-{noise.getrandbits(32):08x}-{noise.getrandbits(16):04x}-{noise.getrandbits(16):04x}-{noise.getrandbits(16):04x}-{noise.getrandbits(48):012x}"
    return Gpu(
        index, f"0000:{GPU_PCI[index]}:00.0", name, numa=0 if 2 * index < gpus else 1, serial=str(noise.randint(1650000000000, 1659999999999)),
        temperature=noise.randint(24, 36), power_w=round(noise.uniform(65, 78), 2), clock_mhz=noise.choice([345, 345, 1980]),
    )  # fmt: skip


def _switch(place: Place, wiring: Wiring, hosts: dict[str, Host], seed: int) -> Switch:
    noise = random.Random(f"{seed}/{place.name}")
    number = number_of(place.name)
    mac = f"{MACS[place.role]}:00:{number:02x}:01"
    ports = [_port(place, cable, wiring, hosts, mac, noise) for cable in wiring.at[place.name]]
    sessions = list({one.port: one for one in (_session(port, wiring, noise) for port in ports if port.peer_role != "host")}.values())
    rails = [rail for host in hosts.values() for rail in host.rails if rail.address]
    networks = {leaf: str(ipaddress.ip_interface(f"{rail.address}/{rail.prefix_length}").network) for rail in rails for leaf in rail.leaves or [rail.leaf]}
    own = networks.get(place.name, "")
    index = next((rail.index for host in hosts.values() for rail in host.rails if rail.leaf == place.name), 0)
    return Switch(
        place.name, place.role, place.platform, place.asn, index, f"10.255.{list(MACS).index(place.role)}.{number}", mac, ports, sessions,
        list(dict.fromkeys(network for network in networks.values() if network != own)), own_prefix=own,
        ipv6=any(":" in network for network in networks.values()), priority=wiring.priority, lossless=[wiring.priority], underlay=wiring.underlay,
        dscp_maps={"AZURE": {dscp: {wiring.dscp: wiring.priority, 48: 6}.get(dscp, 0) for dscp in range(64)}},
        spares={_spare(place, {port.name for port in ports}): "disabled"},
    )  # fmt: skip


def _spare(place: Place, used: set[str]) -> str:
    """A port without a cable."""
    names = (f"Ethernet{number}/1" if place.platform == "eos" else f"Ethernet{8 * number + 128}" for number in itertools.count(47))
    return next(name for name in names if name not in used)


def _session(port: Port, wiring: Wiring, noise: random.Random) -> Session:
    up = f"{noise.randint(1, 6)}d{noise.randint(0, 23):02}h{noise.randint(0, 59):02}m"
    return Session(
        port.peer, port.peer_address, wiring.places[port.peer].asn, port.channel or port.name, up=up, prefixes=noise.randint(8, 12), via=_link_local(port)
    )


def _link_local(port: Port) -> str:
    """The address by which a switch without addresses of its own is a next hop."""
    return f"fe80::{zlib.crc32(f'{port.peer} {port.peer_port}'.encode()) % 65536:x}:{port.peer_port.count('/') + 1}"


def _port(place: Place, cable: t.Any, wiring: Wiring, hosts: dict[str, Host], mac: str, noise: random.Random) -> Port:
    near, far = cable.seen_from(place.name)
    rails = hosts[far.node].rails if far.node in hosts else []
    rail = next((one for one in rails if far.port in (one.netdev, one.device, *(leg.netdev for leg in one.legs))), None)
    optic = "optic" in cable.medium
    moving = {"rx_bytes": noise.randint(10**12, 10**14), "tx_bytes": noise.randint(10**12, 10**14)}
    return Port(
        near.port, far.node, far.port, wiring.places[far.node].role, mac=mac, address=near.address or "", peer_address=far.address or "",
        peer_mac=rail.mac if rail else "", host_address=rail.address if rail else "", medium=cable.medium, length_m=cable.length_m or 0,
        rx_power_dbm=_light(noise) if optic else [], tx_power_dbm=_light(noise, 1.2) if optic else [], pfc=[wiring.priority],
        channel=near.channel or "",
        counters=moving | {"fcs": noise.choice([0, 0, 5]), "rx_drops": noise.choice([0, 4]), "LinkDownedCounter": 2},
        lldp_peer=far.node, lldp_port=far.port,
    )  # fmt: skip
