# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every answer of a node: which command prints what."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, replace

from ...plugins.plugin_utils.checks import LAYERS
from ...plugins.plugin_utils.checks.needed_readings import needed_readings
from ...plugins.plugin_utils.collect.queries import queries_for, query_commands
from ...plugins.plugin_utils.collect.transports import UPTIME
from ...plugins.plugin_utils.collect.types import Query
from ...plugins.plugin_utils.pod.plan import Plan
from . import congested
from .model import Host, Pod, Rail, Switch, Tool
from .render import amd, containers, eos, gpu, ib, inbox, nic, perftest, queues, sonic

Later = tuple[str, str]


@dataclass
class Printed:
    """What a command prints: first, and where it is asked again in a run; its exit status and standard error.

    asked_below: a lower layer asks it too, so that the second asking is the first of the layer with a soak.
    incast: what it prints once the run has congested the pod; loaded: once it has loaded it rail by rail; collectives, training: once it has run those.
    """

    stdout: str
    later: str | None = None
    stderr: str = ""
    rc: int = 0
    how: str = ""
    asked_below: bool = False
    incast: str | None = None
    loaded: str | None = None
    collectives: str | None = None
    training: str | None = None

    def after(self, loads: t.Sequence[str]) -> str | None:
        """What it prints once the loads of some layers have run; None where they change nothing."""
        return next((text for layer in reversed(loads) if (text := getattr(self, LOADS[layer])) is not None), None)


# The layers with loads, and how what is printed after each is called.
LOADS = {"congestion": "incast", "rdma": "loaded", "collectives": "collectives", "training": "training"}


def _after_loads(text: t.Callable[[t.Sequence[str]], str]) -> dict[str, str]:
    """What a command prints after the loads of each layer; text: what it prints once those of some layers have run."""
    layers = list(LOADS)
    return {name: text(layers[: number + 1]) for number, name in enumerate(LOADS.values())}


WHOLE: dict[str, t.Callable[[Host], str]] = {
    "ibstat": nic.ibstat, "rdma_link": nic.rdma_link, "devinfo": nic.devinfo, "gids": nic.gids, "ip_link": nic.ip_link, "interface_mtu": nic.ip_link,
    "port_channels": nic.ip_link, "ip_address": nic.ip_address, "lldp_neighbors": nic.lldp,
    "gpus": gpu.nvidia_smi_q, "gpu_topology": gpu.topology, "gpu_affinity": gpu.topology,
    "nvlinks": gpu.nvlinks, "gpu_driver": gpu.driver, "pci_devices": gpu.pci_devices, "iommu_groups": gpu.iommu_groups, "iommu_devices": gpu.iommu_devices,
    "acs_control": gpu.acs, "lsmod": gpu.lsmod, "kernel_symbols": gpu.kernel_symbols, "memory_peers": gpu.memory_peers, "modules_load": gpu.modules_load,
    "host_clock": gpu.clock,
    "hugepages": gpu.hugepages, "software": gpu.software, "service_units": gpu.service_units, "service_limits": gpu.service_limits,
    "nic_functions": gpu.nic_functions, "neighbor_table": nic.neighbors, "sysctl": gpu.sysctl, "nccl_environment": gpu.nccl_environment,
}  # fmt: skip
WHOLE_OF_AMD: dict[str, t.Callable[[Host], str]] = {
    "gpus": amd.rocm_smi, "gpu_topology": amd.topology, "gpu_affinity": amd.topology, "gpu_driver": amd.driver, "lsmod": amd.lsmod,
    "memory_peers": amd.memory_peers, "software": amd.software,
}  # fmt: skip
OF_RAIL = {"dcqcn": nic.ecn, "qos_trust": nic.mlnx_qos, "pfc_priorities": nic.mlnx_qos, "dscp_map": nic.mlnx_qos}
OF_RAIL |= {
    "nic_driver": nic.driver,
    "nic_pcie_control": gpu.pcie_control,
    "pause_settings": nic.pause,
    "interface_status": nic.settings,
    "transceivers": nic.module,
    "link_quality": nic.link_quality,
    "pkeys": nic.pkeys,
}
OF_EOS: dict[str, t.Callable[[Switch], str]] = {
    "interface_status": eos.status, "transceivers": eos.transceivers, "lldp_neighbors": eos.lldp, "mac_table": eos.macs,
    "arp_table": eos.arp, "port_channels": eos.port_channels, "ospf_neighbors": eos.ospf, "bgp_summary": eos.bgp, "ecmp_routes": eos.routes,
    "pfc_priorities": queues.eos_lossless, "uptime": eos.version, "nos_version": eos.version,
    "power_supplies": eos.power, "fans": eos.cooling, "temperatures": eos.temperature,
    "dscp_classes": queues.eos_maps, "ecn_settings": queues.eos_thresholds, "vnis": eos.vnis, "port_vrfs": eos.vrfs, "evpn_sessions": eos.evpn,
}  # fmt: skip
OF_SONIC: dict[str, t.Callable[[Switch], str]] = {
    "nos_version": sonic.version, "power_supplies": sonic.power, "fans": sonic.fans, "temperatures": sonic.temperature,
    "interface_status": sonic.status, "transceivers": sonic.transceivers, "lldp_neighbors": sonic.lldp, "mac_table": sonic.macs,
    "arp_table": sonic.arp, "bgp_summary": sonic.bgp, "ecmp_routes": sonic.routes, "kernel_routes": sonic.kernel_routes, "interface_mtu": sonic.status,
    "pfc_priorities": queues.sonic_lossless, "ecn_settings": queues.sonic_thresholds, "dscp_classes": queues.sonic_maps,
    "headroom_lengths": queues.sonic_lengths, "port_channels": sonic.port_channels, "ospf_neighbors": sonic.ospf, "vnis": sonic.vnis,
    "evpn_sessions": sonic.evpn,
    "port_vrfs": sonic.vrfs,
}  # fmt: skip
OF_IPV6: dict[str, dict[str, t.Callable[[Switch], str]]] = {
    "eos": {"bgp_summary": eos.bgp_of_ipv6, "ecmp_routes": eos.routes_of_ipv6, "arp_table": eos.neighbors},
    "sonic": {"arp_table": sonic.neighbors},
}  # fmt: skip
OF_VRF: dict[str, dict[str, t.Callable[[Switch], str]]] = {
    "eos": {"bgp_summary": eos.bgp_of_vrfs, "ecmp_routes": eos.routes_of_vrfs},
    "sonic": {"bgp_summary": sonic.bgp_of_vrfs, "ecmp_routes": sonic.routes_of_vrfs, "kernel_routes": sonic.kernel_routes_of_vrf},
}  # fmt: skip
COUNTED_BY_EOS: dict[str, t.Callable[[Switch, queues.Value], str]] = {
    "pfc_counters": queues.eos_pauses, "ecn_counters": queues.eos_marks, "queue_drops": queues.eos_discards, "ingress_drops": queues.eos_discards,
    "interface_bytes": queues.eos_bytes,
}  # fmt: skip
COUNTED_BY_SONIC: dict[str, t.Callable[[Switch, queues.Value], str]] = {
    "pfc_counters": queues.sonic_pauses, "pfc_watchdog": queues.sonic_watchdog,
    "ecn_counters": queues.sonic_marks, "queue_drops": queues.sonic_queues, "ingress_drops": queues.sonic_groups,
    "interface_bytes": queues.sonic_queues,
}  # fmt: skip
OF_FABRIC: dict[str, t.Callable[[Pod], str]] = {"fabric_links": ib.iblinkinfo, "fabric_topology": ib.ibnetdiscover, "fabric_diagnosis": ib.ibdiagnet}
FABRIC_TABLES = {"fabric_bit_errors": "links", "fabric_media": "media", "fabric_modules": "modules", "fabric_routing": "routing"}
MANAGED: dict[str, t.Callable[[Pod], tuple[str, int]]] = {"sminfo": ib.sminfo, "subnet_managers": ib.saquery}
LAUNCHERS = ("mpirun", "srun")
# Whom they ask depends on who climbs, so they answer for any target.
SCRIPTED = ("pings", "path_probes")
# What they do beyond answering is done by a program, where the pod keeps its state.
CHANGING = ("mlxconfig", "mlxfwreset", "mlnx_qos", "ethtool", "modprobe", "systemctl", "networkctl")
CHANGE = 'exec "$SIMULATED_PYTHON" "${0%/*}/../=change" "${0##*/}" "$@"\n'
# Where nothing is a file or a line, grep and find say so by their status.
NOTHING = {"iommu_groups": 2, "iommu_devices": 1, "modules_load": 1, "nccl_environment": 1, "kernel_symbols": 1}


def of_node(pod: Pod, plan: Plan, name: str, readings: t.Iterable[str] | None = None) -> dict[tuple[str, ...], Printed]:
    """Every command that a climb asks of a node (or that some readings are), and what it prints."""
    place = plan.nodes[name]
    every = (one for layer in LAYERS for phase in ("before", "idle", "during", "now") for one in needed_readings(layer, place.kind, place.values, phase))
    items = plan.items(name)
    names = dict.fromkeys(every if readings is None else readings)
    if readings is None and place.platform == "eos":
        names[UPTIME] = None
    if readings is None and place.platform in ("eos", "sonic"):
        # Discovery asks it of every switch.
        names["port_channels"], items = None, {**items, "channels": [{"item": "port-channels"}]}
    asks, _apart = queries_for(names, {"platform": place.platform, "values": place.values, "items": items})
    answers = of_queries(pod, plan, name, asks)
    if place.kind == "host":
        answers |= {argv: _bent(pod.nodes[name].tools, argv, printed) for argv, printed in _by_hand(pod.hosts[name]).items()}
    return answers


def of_queries(pod: Pod, plan: Plan, name: str, asks: t.Iterable[Query]) -> dict[tuple[str, ...], Printed]:
    """Every command of some queries of a node, and what it prints; scripted ones have texts of their own."""
    answers = {}
    for ask in asks:
        if ask.reading.name in SCRIPTED:
            continue
        for command, item in zip(query_commands([ask]), ask.items):
            argv = tuple(command["alternatives"][form_asked(pod, name, command)]["argv"])
            answers[argv] = _bent(pod.nodes[name].tools, argv, _printed(pod, plan, name, ask.reading.name, item, argv))
    return answers


def form_asked(pod: Pod, name: str, command: dict[str, t.Any]) -> int:
    """Which form of a command a node answers: the first of which it lacks no part."""
    lacks = pod.hosts[name].lacks if name in pod.hosts else []
    lines = [" ".join(form["argv"]) for form in command["alternatives"]]
    return next((number for number, line in enumerate(lines) if not any(part in line for part in lacks)), 0)


def scripts(host: Host) -> dict[str, str]:
    """Tools that answer by a shell text of their own, unless they misbehave."""
    bent = {tool.name for tool in host.tools if tool.how != "missing"}
    texts = {"ping": nic.ping(host), "path_probe": nic.probe(host), **{tool: perftest.script(host, tool) for tool in perftest.TABLES}}
    # The ranks of simulated GPUs meet by themselves: what a launcher does besides is to start them, or to fail.
    texts |= dict.fromkeys(LAUNCHERS, "exit 0\n")
    return {name: text for name, text in {**dict.fromkeys(CHANGING, CHANGE), **texts}.items() if not {name, "*"} & bent}


def _by_hand(host: Host) -> dict[tuple[str, ...], Printed]:
    """What a person, or a repair, asks besides."""
    result = {("ibstat", "-l"): Printed("".join(f"{rail.device}\n" for rail in host.rails))}
    result |= {("mlxconfig", "-d", rail.pci, "-e", "query"): Printed(nic.mlxconfig(rail, tuple(rail.settings))) for rail in host.rails}
    users = ("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader")
    units = ("slurmd.service", "containerd.service", "docker.service")
    result |= {("systemctl", "show", "-p", "LoadState,LimitMEMLOCK,MainPID", unit): Printed(gpu.service_unit(host, unit)) for unit in units}
    return result | {users: Printed(gpu.compute_apps(host))}


def moved(pod: Pod, plan: Plan) -> congested.Moved:
    """What the incasts of a run move in the pod, worked out once."""
    if pod.moved is None:
        pod.moved = congested.moved(pod, plan)
    return t.cast(congested.Moved, pod.moved)


def _printed(pod: Pod, plan: Plan, name: str, reading: str, item: dict[str, t.Any], argv: tuple[str, ...] = ()) -> Printed:
    if name in pod.switches:
        return _of_switch(pod, plan, pod.switches[name], reading)
    host = pod.hosts[name]
    if reading in OF_FABRIC:
        return Printed(OF_FABRIC[reading](pod))
    if reading in FABRIC_TABLES:
        return Printed(ib.tables(pod, FABRIC_TABLES[reading]))
    if reading in MANAGED:
        text, rc = MANAGED[reading](pod)
        return Printed(text, rc=rc, stderr="" if rc == 0 else "Query SA failed: Connection timed out\n")
    if reading == "fabric_errors":
        loaded = ib.ibqueryerrors(pod, True, moved(pod, plan).ports)
        return Printed(ib.ibqueryerrors(pod, False), ib.ibqueryerrors(pod, True), incast=loaded, rc=1, stderr=ib.ibqueryerrors_beside(pod))
    if reading == "gpu_health":
        return Printed(amd.metric(host), **_after_loads(lambda loads: amd.metric(host, loads)))
    if reading == "gpus" and host.vendor == "nvidia" and any(gpu.grow_in for gpu in host.gpus):
        return Printed(gpu.nvidia_smi_q(host), **_after_loads(lambda loads: gpu.nvidia_smi_q(host, loads)))
    if reading == "virtualization":
        return Printed(f"{host.hypervisor or 'none'}\n", rc=0 if host.hypervisor else 1)
    if reading in ("imex_domain", "imex_links"):
        return Printed(gpu.imex(pod, host))
    if reading in WHOLE:
        text = ({**WHOLE, **WHOLE_OF_AMD} if host.vendor == "amd" else WHOLE)[reading](host)
        return Printed(text, rc=0 if text else NOTHING.get(reading, 0))
    if reading == "kernel_log":
        during = _after_loads(lambda loads: gpu.kernel_log(host, True, loads)) if host.log_in else {}
        return Printed(gpu.kernel_log(host, False), gpu.kernel_log(host, True), asked_below=True, **during)
    if reading == "container_image":
        return Printed(containers.container_image(host, item))
    if reading == "path_responder":
        return Printed('{"port": 4792, "pid": 4711, "seconds": 120}\n')
    ports = [port for one in host.rails for port in one.ports]
    rail = next((port for port in ports if port.netdev == item.get("item")), None) or next((one for one in host.rails if one.netdev == item["netdev"]), None)
    if rail is None:
        # Its netdev has another name on this host.
        return Printed("", rc=1, stderr="netlink error: No such device\n")
    if reading == "bonds":
        return Printed(_to_user(nic.bond(rail)) if not host.by_root else nic.bond(rail))
    if (form := inbox.OF_FORM.get((reading, argv[argv[0] == "python3"]))) and not (argv[0] == "grep" and "/debug/" not in argv[-1]):
        text = form(rail)
        return Printed(text or "", rc=0 if text is not None else 1, stderr="" if text is not None else "Attribute read: Operation not supported")
    if rail.driver != "mlx5_core" and reading == "dcqcn":
        return Printed("", rc=2)
    if rail.virtual and reading in nic.REFUSED_TO_FUNCTIONS:
        return Printed("", rc=1, stderr=nic.REFUSED_TO_FUNCTIONS[reading])
    if reading == "rdma_port_counters":
        return Printed(nic.port_counters(rail), **_after_loads(lambda loads: nic.port_counters(rail, loads)))
    if reading in ("rdma_counters", "interface_errors", "nic_counters"):
        return _counted(pod, plan, name, reading, rail)
    if reading == "mlxconfig":
        return Printed(nic.mlxconfig(rail, tuple(dict.fromkeys((*nic.NAMED, *item.get("settings", ()))))))
    return Printed(OF_RAIL[reading](rail))


def _to_user(text: str) -> str:
    """``/proc/net/bonding/BOND`` as the kernel shows it to others than root: without what LACP has agreed."""
    told = re.sub(r"(?m)^(?:System priority|System MAC address|Active Aggregator Info).*\n(?:\t.*\n)*", "", text)
    return re.sub(r"(?m)^details .*\n(?:    .*\n)*", "", told)


def _counted(pod: Pod, plan: Plan, name: str, reading: str, rail: Rail) -> Printed:
    """The counters of a rail, by the names of its driver."""
    if rail.driver != "mlx5_core":
        as_mlx5 = _counted(pod, plan, name, reading, replace(rail, driver="mlx5_core"))
        texts = {one: getattr(as_mlx5, one) for one in ("stdout", "later", *LOADS.values())}
        return replace(as_mlx5, **{one: inbox.renamed(text, rail.driver) for one, text in texts.items() if text})
    if reading == "rdma_counters":
        own = moved(pod, plan).rdma.get((name, rail.device), {})
        return Printed(nic.hw_counters(rail, False, {}), nic.hw_counters(rail, True, {}), **_after_loads(lambda loads: nic.hw_counters(rail, True, own, loads)))
    own = moved(pod, plan).nic.get((name, rail.netdev if rail.master else rail.device), {})
    return Printed(nic.counters(rail, False, {}), nic.counters(rail, True, {}), **_after_loads(lambda loads: nic.counters(rail, True, own, loads)))


def _of_switch(pod: Pod, plan: Plan, switch: Switch, reading: str) -> Printed:
    speaker = eos if switch.platform == "eos" else sonic
    in_loads = any(port.grow_in for port in switch.ports)
    if reading == "interface_errors":
        after = _after_loads(lambda loads: speaker.errors(switch, True, loads)) if in_loads else {}
        return Printed(speaker.errors(switch, False), speaker.errors(switch, True), **after)
    if reading == "link_changes" or (reading == "interface_mtu" and speaker is eos):
        of_links = eos.interfaces if speaker is eos else sonic.links
        after = _after_loads(lambda loads: of_links(switch, True, loads)) if in_loads else {}
        return Printed(of_links(switch, False), of_links(switch, True), **after)
    counted = (COUNTED_BY_EOS if speaker is eos else COUNTED_BY_SONIC).get(reading)
    if counted is not None:
        was, later = (queues.at(switch, grows, {}) for grows in (False, True))
        after = _after_loads(lambda loads: counted(switch, queues.at(switch, True, moved(pod, plan).ports, loads)))
        return Printed(counted(switch, was), counted(switch, later), **(after if in_loads else {"incast": after["incast"]}))
    if reading == "fec_counters":
        of_phys = eos.phys if speaker is eos else sonic.fec
        return Printed(of_phys(switch, False), of_phys(switch, True))
    name = "eos" if speaker is eos else "sonic"
    other = {**(OF_IPV6[name] if switch.ipv6 else {}), **(OF_VRF[name] if switch.vrf else {})}
    return Printed({**(OF_EOS if speaker is eos else OF_SONIC), **other}[reading](switch))


def _bent(tools: list[Tool], argv: tuple[str, ...], printed: Printed) -> Printed:
    """The answer as a tool that does not behave gives it."""
    for tool in tools:
        if tool.name not in ("*", argv[0]) or tool.arguments not in " ".join(argv):
            continue
        if tool.how == "says":
            return Printed(tool.stdout, stderr=tool.stderr, rc=tool.rc)
        if tool.how == "dies_halfway":
            half = printed.stdout[: len(printed.stdout) * 3 // 5]
            return Printed(half, how="kill -SEGV $$")
        if tool.how in ("hangs", "hangs_hard"):
            return Printed("", how=("trap '' TERM; " if tool.how == "hangs_hard" else "") + "exec /bin/sleep 600")
    return printed
