# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated pod as plain data: what its tools would find if it stood in a room."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field


@dataclass
class Tool:
    """How a tool (or, by the name ``*``, every tool of a node) behaves when it does not simply answer.

    how: hangs, hangs_hard (TERM is ignored), dies_halfway, missing, says (stdout, stderr and rc instead of its answer).
    arguments: only where the command's arguments hold these words.
    """

    name: str
    how: str
    arguments: str = ""
    stdout: str = ""
    stderr: str = ""
    rc: int = 0


@dataclass
class Rail:
    """One fabric NIC of a host, with its netdev and its cable's end."""

    index: int
    device: str
    netdev: str
    pci: str
    gpu: int
    numa: int
    leaf: str
    leaf_port: str
    address: str
    prefix_length: int
    mac: str
    firmware: str
    # What ip tells of its address besides (tentative, dadfailed).
    address_flags: list[str] = field(default_factory=list)
    distance: str = "PXB"
    part: str = "MT4129"
    part_id: int = 4129
    vendor_id: str = "0x02c9"
    transport: str = "InfiniBand (0)"
    state: str = "Active"
    physical_state: str = "LinkUp"
    netdev_state: str = "UP"
    speed_gbit_s: int = 400
    mtu: int = 9000
    rdma_mtu: int = 4096
    gid_address: str = ""
    gid_first_index: int = 0
    pcie_width: int = 16
    pcie_speed: str = "32.0 GT/s PCIe"
    iommu: str = "identity"
    sriov_vfs: int = 0
    # Whether its host has a virtual function of it alone.
    virtual: bool = False
    trust: str = "dscp"
    priority: int = 3
    pfc: list[int] = field(default_factory=lambda: [3])
    dscp_moved: dict[int, int] = field(default_factory=dict)
    pause: bool = False
    # Of a NIC of AMD: whether its port pauses by PFC at all.
    pfc_paused: bool = True
    driver: str = "mlx5_core"
    driver_version: str = "24.10-0.7.0"
    dcqcn_np: list[int] = field(default_factory=lambda: [3])
    dcqcn_rp: list[int] = field(default_factory=lambda: [3])
    dcqcn_parameters: dict[str, str] = field(default_factory=lambda: {"rpg_time_reset": "300", "rpg_ai_rate": "5"})
    pkeys: list[str] = field(default_factory=lambda: ["0xffff"])
    settings: dict[str, str] = field(default_factory=dict)
    next_boot: dict[str, str] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    grow: dict[str, int] = field(default_factory=dict)
    medium: str = "optic"
    length_m: float = 30
    rx_power_dbm: list[float] = field(default_factory=list)
    tx_power_dbm: list[float] = field(default_factory=list)
    # The current of each laser; of those that are left out it is that of a new one.
    tx_bias_ma: list[float] = field(default_factory=list)
    optic_part: str = "MMA4Z00-NS400"
    pre_fec_ber: str = "2E-9"
    symbol_ber: str = "15E-255"
    temperature_c: int = 45
    module_temperature_c: float = 42.5
    link_layer: str = "Ethernet"
    # Whether the module that makes an RDMA device of it is loaded; without it there is the netdev alone.
    rdma: bool = True
    # What an InfiniBand fabric calls it, where it is not its host and device.
    node_description: str = ""
    lanes: int = 4
    lane_gbit_s: float = 106.25
    cleared_minutes: float = 10000.0
    ats: bool = False
    # What its function's control says of PCIe, in lspci's words.
    max_payload: int = 256
    max_read_request: int = 4096
    relaxed_ordering: str = "+"
    ten_bit_tags: str = "+"
    aspm: str = ""
    lldp_peer: str = ""
    lldp_port: str = ""
    lldp: bool = True
    loss_percent: int = 0
    loss_to: dict[str, int] = field(default_factory=dict)
    # What ping says instead of sending, by the beginning of the target's address.
    ping_errors: dict[str, str] = field(default_factory=dict)
    # The MAC addresses that its host has for those that it reaches without a router.
    neighbors: dict[str, str] = field(default_factory=dict)
    rtt_ms: float = 0.0
    flows_lost: int = 0
    sends_gbit_s: float = 0.0
    receives_gbit_s: float = 0.0
    from_gpu_gbit_s: float = 0.0
    sends_to: dict[str, float] = field(default_factory=dict)
    first_gbit_s: float = 0.0
    latency_us: float = 0.0
    counts_class: bool = True
    measures_mtu: int = 0
    takes_gbit_s: float = 0.0
    reacts: bool = True
    notifies: bool = True
    rdma_counters: dict[str, int] = field(default_factory=dict)
    rdma_grow: dict[str, int] = field(default_factory=dict)
    grow_loaded: dict[str, int] = field(default_factory=dict)
    # What the loads of a layer add to its counters, by layer, and the priority in which their traffic is counted, where it is not its own.
    grow_in: dict[str, dict[str, int]] = field(default_factory=dict)
    priority_in: dict[str, int] = field(default_factory=dict)
    # Of a bond: its ports, and the leaves that they lead to; how it bundles them, and by what it chooses one for a packet.
    legs: list[Rail] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    bond_mode: str = "IEEE 802.3ad Dynamic link aggregation"
    hash_policy: str = "layer3+4 (1)"
    # Of a port of a bond: the bond (none where it was taken out), and what LACP has agreed with which system.
    master: str = ""
    aggregator: int = 1
    lacp_partner: str = ""
    lacp_states: tuple[int, int] = (63, 61)
    churned: bool = False

    @property
    def ports(self) -> list[Rail]:
        """Its own port, or those of a bond."""
        return self.legs or [self]


@dataclass
class Gpu:
    """One GPU of a host."""

    index: int
    pci: str
    uuid: str
    numa: int
    serial: str
    temperature: int
    power_w: float
    clock_mhz: int
    ecc_uncorrected: int = 0
    remap_pending: str = "No"
    pcie_width: int = 16
    nvlinks: int = 18
    max_clock_mhz: int = 1980
    hw_slowdown: bool = False
    thermal_slowdown: bool = False
    power_brake: bool = False
    fabric_state: str = "Completed"
    fabric_status: str = "Success"
    fabric_health: str = "Healthy"
    fabric_bandwidth: str = "Full"
    fabric_route_unhealthy: str = "False"
    product: str = "NVIDIA H100 80GB HBM3"
    clique: int = 0
    cluster: str = "00000000-0000-0000-0000-000000000000"
    mig: str = "Disabled"
    iommu: str = "identity"
    present: bool = True
    working: bool = False
    # Another container's process works on it, which the tool does not list here.
    working_unlisted: bool = False
    # What the loads of a layer add, by layer and name: ``lost``, ``ecc_uncorrected``, or one of SLOWDOWNS in microseconds.
    grow_in: dict[str, dict[str, int]] = field(default_factory=dict)
    reports_slowdowns: bool = True


@dataclass
class Host:
    """One GPU host with what its kernel and its tools know.

    boots_after: after how many of its responses in a run it has booted, 0 for before the first; None where it does not.
    """

    name: str
    group: str
    rails: list[Rail]
    gpus: list[Gpu]
    management_mac: str
    boot: str
    uptime_seconds: int
    boots_after: int | None = None
    tools: list[Tool] = field(default_factory=list)
    # Parts of command lines that it has no answer for, such as a missing tool: the next form of the command is asked.
    lacks: list[str] = field(default_factory=list)
    unreachable: str = ""
    vendor: str = "nvidia"
    driver: str = "550.90.07"
    cuda: str = "12.4"
    driver_flavour: str = "closed"
    kernel: str = "5.15.0-1053-nvidia"
    ofed: str = "24.04-0.6.6"
    nccl: str = "2.21.5"
    modules: list[str] = field(default_factory=lambda: ["nvidia_peermem"])
    memory_peer: bool = True
    # Whether the kernel lists the clients of peer memory at all.
    memory_peers_listed: bool = True
    # What modprobe says of a module that it cannot load.
    refused_modules: dict[str, str] = field(default_factory=dict)
    modules_load: list[str] = field(default_factory=lambda: ["nvidia-peermem"])
    dmabuf: bool = False
    gpu_link: str = "NV18"
    # Of AMD: into how many devices the compute partition splits each GPU (SPX: 1, CPX of an MI300X: 8).
    partitions: int = 1
    # systemd's word for it where it is a virtual machine; the bridges above its cards and their IOMMU are the machine's below then.
    hypervisor: str = ""
    iommu_groups: bool = True
    hugepages_1g: int = 0
    numa_balancing: int = 0
    acs: list[str] = field(default_factory=list)
    # What the container runtime, or the image, is not as it should be, by column of its reading.
    container: dict[str, t.Any] = field(default_factory=dict)
    # The services that start jobs, by their own names, of which the first gives jobs this limit.
    job_services: list[str] = field(default_factory=lambda: ["slurmd.service", "containerd.service"])
    memlock: str = "infinity"
    memlock_running: str = ""
    # Whether pod_load_busy_hosts is true of it.
    loaded_at_work: bool = False
    gpu_users: list[str] = field(default_factory=list)
    fabric_manager: str = "active"
    management_address: str = "10.0.255.1"
    # Its node of the IMEX domain of its group, as every tray sees it; imex_lost: the trays with which it has no connection.
    imex_state: str = "READY"
    imex_version: str = "580.95.05"
    imex_lost: list[str] = field(default_factory=list)
    imex_domain: str = ""
    environment: dict[str, str] = field(default_factory=lambda: {"NCCL_IB_TC": "106"})
    log: list[str] = field(default_factory=list)
    log_later: list[str] = field(default_factory=list)
    # Lines that the kernel logs during the loads of a layer, by layer.
    log_in: dict[str, list[str]] = field(default_factory=dict)
    beside_gbit_s: float = 0.0
    # Whether its tools are run by root, to whom alone the kernel tells what LACP has agreed.
    by_root: bool = True
    perftest_gpu: bool = True
    # Ports at which somebody else listens, so that no server of perftest can.
    taken_ports: list[int] = field(default_factory=list)
    stack: dict[str, t.Any] = field(default_factory=dict)

    kind = "host"


@dataclass
class Port:
    """One port of a switch and its cable's end."""

    name: str
    peer: str
    peer_port: str
    peer_role: str
    mac: str
    address: str = ""
    peer_address: str = ""
    peer_mac: str = ""
    host_address: str = ""
    # The port-channel that it is a member of, and why it carries nothing there: one of LACP's reasons, ``alone`` (a member of none) or another channel.
    channel: str = ""
    unbundled: str = ""
    state: str = "connected"
    speed_gbit_s: int = 400
    # As `show interfaces status` prints it, where it is another than that of a leaf's ports.
    vlan: str = ""
    mtu: int = 9000
    medium: str = "optic"
    length_m: float = 30
    rx_power_dbm: list[float] = field(default_factory=list)
    tx_power_dbm: list[float] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    grow: dict[str, int] = field(default_factory=dict)
    grow_loaded: dict[str, int] = field(default_factory=dict)
    # What the loads of a layer add to its counters, by layer.
    grow_in: dict[str, dict[str, int]] = field(default_factory=dict)
    lldp_peer: str = ""
    lldp_port: str = ""
    lldp: bool = True
    learned: bool = True
    listed: bool = True
    pre_fec_ber: float = 1.1e-9
    module_temperature_c: float = 41.2
    # For which length its headroom is; None: for that of its cable.
    headroom_m: float | None = None
    lanes: int = 4
    lane_gbit_s: float = 106.25
    pfc: list[int] = field(default_factory=lambda: [3])
    # How many lanes of its switch's ASIC SONiC lists for it.
    serdes: int = 8
    # The VRF that it is in, where it is another than its switch's; of a leaf's port to a host it routes by itself then.
    vrf: str = ""


@dataclass
class Session:
    """One BGP session of a switch; without an address it is that of its port, and ``via`` is the next hop."""

    peer: str
    address: str
    asn: int
    port: str
    state: str = "Established"
    up: str = "3d02h"
    prefixes: int = 8
    configured: bool = True
    via: str = ""
    # The VRF that it is configured in, where it is another than its switch's.
    vrf: str = ""
    # How many routes of EVPN it brings, None where it is not activated for that family at this end.
    evpn_prefixes: int | None = 14

    @property
    def next_hop(self) -> str:
        """The address of its routes."""
        return self.address or self.via


@dataclass
class Switch:
    """One leaf, spine or super-spine; spares are ports without a cable, with the state they are in.

    boots_after: as of a host.
    """

    name: str
    role: str
    platform: str
    asn: int
    rail: int
    router_id: str
    mac: str
    ports: list[Port]
    sessions: list[Session]
    prefixes: list[str]
    own_prefix: str = ""
    # As pod_underlay; its sessions are adjacencies where that is ospf.
    underlay: str = "bgp"
    # Whether it routes IPv6 alone.
    ipv6: bool = False
    # The VRF of its ports, its VLANs and its sessions, as pod_rail_vrf; empty where that is the default one.
    vrf: str = ""
    # The VRF of its VLANs, and by prefix that of routes (``*``: of all), where it is another one.
    vlan_vrf: str = ""
    routes_in: dict[str, str] = field(default_factory=dict)
    # By prefix, how many next hops the default VRF has of it besides.
    default_paths: dict[str, int] = field(default_factory=dict)
    # Whether the rails' VRF is routed by EVPN over VXLAN, so that uplinks and sessions are in the default one; by leaf the address of its VTEP as the underlay
    # routes it, of the leaf's own as it reports it, and by remote prefix the leaf that it is at.
    overlay: bool = False
    vteps: dict[str, str] = field(default_factory=dict)
    at_leaf: dict[str, str] = field(default_factory=dict)
    # The VNI of that VRF, None where it has none; its state, and what it lacks (device, vlan_interface).
    vni: int | None = 4001
    vni_state: str = "Up"
    vni_lacks: list[str] = field(default_factory=list)
    booted: float = 1700000000.0
    boots_after: int | None = None
    paths: dict[str, int] = field(default_factory=dict)
    # Under super-spines, by prefix the ports that lead to it; else all sessions of a leaf lead to every one.
    ways: dict[str, list[str]] = field(default_factory=dict)
    lost_of_kernel: list[str] = field(default_factory=list)
    unreachable: str = ""
    tools: list[Tool] = field(default_factory=list)
    spares: dict[str, str] = field(default_factory=dict)
    priority: int = 3
    marking: bool = True
    # Whether its queue has thresholds of ECN at all, and whether it counts what it marks.
    thresholds: bool = True
    counts_marks: bool = True
    ecn_mode_told: bool = True
    ecn_min_bytes: int = 150_000
    ecn_max_bytes: int = 1_500_000
    lossless: list[int] = field(default_factory=lambda: [3])
    dscp_maps: dict[str, dict[int, int]] = field(default_factory=lambda: {"AZURE": {dscp: {26: 3, 48: 6}.get(dscp, 0) for dscp in range(64)}})
    nos: str = ""
    # States of power supplies and fans that do not work, by name (PSU2, Fan1).
    parts: dict[str, str] = field(default_factory=dict)
    celsius: float = 52.5
    # Of SONiC: whether its modules are among the sensors of temperature, where those of SFF-8636 have no warning.
    modules_are_sensors: bool = False
    # The traffic class of CNPs where it is not that of the maps.
    cnp_class: int | None = None
    pause_bytes: int = 2_500_000
    headroom_bytes: int = 12_000_000
    drop_bytes: int = 20_000_000
    hashes_over: int = 0
    # How much of what crosses goes to a spine, beside 1 of each other.
    uplink_weights: dict[str, float] = field(default_factory=dict)
    # Leaves to which a spine sends nothing, though its link to them is up.
    unused: list[str] = field(default_factory=list)
    storms: bool = False
    # Of InfiniBand; None: ibdiagnet does not name it among the switches that can do it.
    adaptive_routing: bool | None = True

    kind = "switch"


@dataclass
class Pod:
    """The whole pod; groups hold the names of their hosts, managers the states of an InfiniBand fabric's subnet managers.

    failover: when the operator shuts the uplink that a run asks for (None: never) and brings it up again, in seconds since the probes began, for
    how long flows have no answer then and again when it is back, and whether flows wait for it to be up again.
    loaded: the hosts among which a run's loads are; None where that is all of them.
    """

    hosts: dict[str, Host]
    switches: dict[str, Switch]
    groups: dict[str, list[str]]
    seed: int
    fabric: str = "roce"
    managers: list[str] = field(default_factory=lambda: ["master", "standby"])
    # Nodes of InfiniBand, by their descriptions or names, that do not answer when their counters are asked for.
    no_counters: list[str] = field(default_factory=list)
    # Adapters of InfiniBand that the plan does not know, by their descriptions, and the port of a switch that each is at.
    outside: dict[str, str] = field(default_factory=dict)
    diagnosed: dict[str, int] = field(default_factory=lambda: {"Discovery": 0, "Speed / Width checks": 0, "Partitions": 0, "Routing": 0})
    loaded: list[str] | None = None
    moved: t.Any = None
    failover: dict[str, t.Any] = field(default_factory=lambda: {"shut": 40, "back": 100, "longest_ms": 180, "again_ms": 0, "waits": False})

    def seen_by_imex(self, name: str) -> str:
        """All that decides what a tray's IMEX daemon sees of the others of its group."""
        host = self.hosts.get(name)
        trays = [self.hosts[one] for one in self.groups.get(host.group, ())] if host is not None else []
        return repr([(one.imex_state, one.imex_version, one.imex_lost, one.imex_domain) for one in trays])

    def port(self, switch: str, name: str) -> Port:
        """A port of a switch."""
        return next(one for one in self.switches[switch].ports if one.name == name)

    def loadable(self) -> list[str]:
        """The hosts among which a run's loads are."""
        return [name for name in self.hosts if self.loaded is None or name in self.loaded]

    @property
    def nodes(self) -> dict[str, t.Any]:
        """Hosts and switches by name."""
        return {**self.hosts, **self.switches}
