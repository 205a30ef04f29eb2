# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each node of the lab is told: FRR's configuration, its addresses and routes, sshd's and ssh's settings."""

from __future__ import annotations

from pathlib import Path

from .shape import Node, Plan

CONTROLLER_HOST_NUMBER = 254


def frr_conf(plan: Plan, node: Node) -> str:
    """A switch's frr.conf: eBGP with every switch it is cabled to; short timers, so that a fault shows in seconds."""
    lines = ["frr defaults datacenter", f"hostname {node.name}", "log file /run/frr/frr.log informational", "service integrated-vtysh-config", "!"]
    # Kernel nexthop groups lose a port that goes down and do not get it back when it is up again before zebra has built
    # another group (FRR 8.4): the kernel then spreads over fewer paths than zebra says. Routes of their own recover.
    lines += ["no zebra nexthop kernel enable", "!"]
    # Only the fabric is announced: the management network is connected everywhere.
    lines += ["ip prefix-list FABRIC seq 5 permit 10.0.0.0/8 le 32", "route-map CONNECTED permit 10", " match ip address prefix-list FABRIC", "!"]
    lines += [f"router bgp {node.asn}", f" bgp router-id {node.loopback}", " no bgp ebgp-requires-policy", " bgp bestpath as-path multipath-relax"]
    for _own, far, asn in plan.peers(node.name):
        lines += [f" neighbor {far.address} {words}" for words in (f"remote-as {asn}", "timers 3 9", "timers connect 2", "advertisement-interval 0")]
    return "\n".join(
        [*lines, " address-family ipv4 unicast", "  redistribute connected route-map CONNECTED", "  maximum-paths 64", " exit-address-family", "!", ""]
    )


def addresses(plan: Plan, node: Node) -> str:
    """A node's ports, addresses and routes, for ``ip -batch``. The far end is each port's alias, as a description is on a switch."""
    lines = ["link set dev lo up", f"addr add {node.management}/24 dev eth0", "link set dev eth0 up"]
    lines += [f"addr add {node.loopback}/32 dev lo"] if node.loopback else []
    for own, far, mtu in plan.ports(node.name):
        lines += [f"link set dev {own.name} mtu {mtu} alias {far.node}:{far.name}", f"addr add {own.address}/31 dev {own.name}", f"link set dev {own.name} up"]
    if node.role == "host":
        for rail, (own, far) in enumerate(plan.rails(node.name)):
            # What a rail's address sends leaves by that rail; else all rails would share the main table's one.
            lines += [f"route add 10.0.0.0/8 via {far.address} dev {own.name} table {100 + rail}", f"rule add from {own.address} table {100 + rail}"]
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
