# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each node of the lab is told: FRR's configuration, its addresses and routes, sshd's and ssh's settings."""

from __future__ import annotations

from pathlib import Path

from .shape import Node, Plan, Port

CONTROLLER_HOST_NUMBER = 254


def frr_conf(plan: Plan, node: Node) -> str:
    """A switch's frr.conf: eBGP (or OSPF) with every switch it is cabled to; short timers, so that a fault shows in seconds."""
    lines = ["frr defaults datacenter", f"hostname {node.name}", "log file /run/frr/frr.log informational", "service integrated-vtysh-config", "!"]
    # Kernel nexthop groups lose a port that goes down and do not get it back when it is up again before zebra has built
    # another group (FRR 8.4): the kernel then spreads over fewer paths than zebra says. Routes of their own recover.
    lines += ["no zebra nexthop kernel enable", "!"]
    # Only the fabric is announced: the management network is connected everywhere.
    ip, fabric = ("ipv6", "fd00:10::/32 le 128") if plan.shape.ipv6 else ("ip", "10.0.0.0/8 le 32")
    lines += [f"{ip} prefix-list FABRIC seq 5 permit {fabric}", "route-map CONNECTED permit 10", f" match {ip} address prefix-list FABRIC", "!"]
    for own, _far, _asn in plan.peers(node.name) if plan.shape.ipv6 else ():
        lines += [f"interface {own.name}", " ipv6 nd ra-interval msec 500", " no ipv6 nd suppress-ra", "!"]
    if plan.shape.ospf:
        return "\n".join([*lines, *_ospf(plan, node), "!", ""])
    lines += [f"router bgp {node.asn}", f" bgp router-id {node.loopback}", " no bgp ebgp-requires-policy", " bgp bestpath as-path multipath-relax"]
    lines += [" no bgp default ipv4-unicast"] * plan.shape.ipv6
    for own, far, asn in plan.peers(node.name):
        name = neighbor(own, far)
        lines.append(f" neighbor {name} {'' if far.address else 'interface '}remote-as {asn}")
        lines += [f" neighbor {name} {words}" for words in ("timers 3 9", "timers connect 2", "advertisement-interval 0")]
    lines += [f" address-family {family(plan)} unicast", "  redistribute connected route-map CONNECTED", "  maximum-paths 64"]
    lines += [f"  neighbor {own.name} activate" for own, _far, _asn in plan.peers(node.name)] * plan.shape.ipv6
    return "\n".join([*lines, " exit-address-family", "!", ""])


def _ospf(plan: Plan, node: Node) -> list[str]:
    """One area; the rails are announced as they are by BGP, since they are connected."""
    timers = [" ip ospf network point-to-point", " ip ospf hello-interval 1", " ip ospf dead-interval 4", " ip ospf area 0"]
    lines = [line for own, _far, _asn in plan.peers(node.name) for line in (f"interface {own.name}", *timers, "!")]
    return [*lines, "router ospf", f" ospf router-id {node.loopback}", " redistribute connected route-map CONNECTED", " maximum-paths 64"]


def family(plan: Plan) -> str:
    """The address family that is routed, in FRR's words."""
    return "ipv6" if plan.shape.ipv6 else "ipv4"


def neighbor(own: Port, far: Port) -> str:
    """What a switch calls the neighbor at the far end of its port: by its address, or by the port."""
    return far.address or own.name


def addresses(plan: Plan, node: Node) -> str:
    """A node's ports and addresses, for ``ip -batch``. The far end is each port's alias, as a description is on a switch."""
    lines = ["link set dev lo up", f"addr add {node.management}/24 dev eth0", "link set dev eth0 up"]
    lines += [f"addr add {node.loopback}/32 dev lo"] if node.loopback else []
    for own, far, mtu in plan.ports(node.name):
        lines.append(f"link set dev {own.name} mtu {mtu} alias {far.node}:{far.name}")
        lines += [f"addr add {own.address}/{plan.prefix_length} dev {own.name}"] if own.address else []
        lines.append(f"link set dev {own.name} up")
    return "\n".join([*lines, ""])


def sources(plan: Plan, node: Node) -> str:
    """A host's routes by source, for ``ip -batch`` of their family: what a rail's address sends leaves by that rail; else all would share the main table's."""
    fabric = "fd00:10::/32" if plan.shape.ipv6 else "10.0.0.0/8"
    lines = []
    for rail, (own, far) in enumerate(plan.rails(node.name)) if node.role == "host" else ():
        lines += [f"route add {fabric} via {far.address} dev {own.name} table {100 + rail}", f"rule add from {own.address} table {100 + rail}"]
    return "\n".join([*lines, ""])


def links(plan: Plan, process: dict[str, int], bridge: int) -> str:
    """Every cable as a veth pair between the namespaces of two processes, and each node's management port on the bridge."""
    lines = []
    for node in plan.nodes.values():
        lines.append(f"link add name eth0 netns {process[node.name]} type veth peer name {node.name} netns {bridge}")
    for cable in plan.cables:
        lines.append(f"link add name {cable.a.name} netns {process[cable.a.node]} type veth peer name {cable.b.name} netns {process[cable.b.node]}")
    return "\n".join([*lines, ""])


def bridge_ports(plan: Plan) -> str:
    """The management bridge, for ``ip -batch`` in its own namespace; ``up`` is its port to the machine."""
    lines = ["link add name management type bridge", "link set dev management up"]
    return "\n".join([*lines, *(f"link set dev {name} master management up" for name in ["up", *plan.nodes]), ""])


def sshd_config(directory: Path, node: Node) -> str:
    """sshd for keys only, with nothing of the machine's own sshd."""
    return f"""Port 22
ListenAddress {node.management}
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
MaxStartups 100
MaxSessions 100
PidFile /run/sshd/sshd.pid
"""


def ssh_config(directory: Path) -> str:
    """ssh to the lab, with nothing of the user's own keys and known hosts."""
    return f"""Host *
User root
IdentityFile {directory}/key
IdentitiesOnly yes
UserKnownHostsFile {directory}/known_hosts
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
PreferredAuthentications publickey
ConnectTimeout 10
ServerAliveInterval 5
"""
