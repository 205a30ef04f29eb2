# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a host's own kernel does not send an echo request: what each of its errors comes from."""

from __future__ import annotations

import typing as t

from ...readings.rows import Peers, Rows
from .._once import once_for_all_nodes


class NotSent(t.NamedTuple):
    """What an error of the kernel comes from, and what to do on the host."""

    cause: str
    fix: str


NO_ROUTE = NotSent(
    "The host itself has no route from this rail's address and netdev to the other one, so that nothing is sent: its routes by source (ip rule and the table "
    "that a rule names) are gone or were never made, as after a restart of systemd-networkd or NetworkManager, which remove what is not theirs.",
    "On the host run ip route get TARGET from ADDRESS oif NETDEV, and compare ip rule and ip route show table all with a host that is well; make rules and "
    "routes in what configures the NICs (netplan routing-policy, RoutingPolicyRule of systemd-networkd, or ManageForeignRoutingPolicyRules=no there).",
)
NO_ADDRESS = NotSent(
    "The host has not this address on this netdev (any more), so that nothing is sent: a lease ended, the NIC was renamed or replaced, or what configures it "
    "did not run.",
    "Compare ip address show NETDEV with pod_rails (address_plan of layer 0), and configure the NIC again.",
)
FILTERED = NotSent(
    "The host's own firewall or a filter of its kernel refuses what this rail sends (nftables or iptables OUTPUT, a network policy of Kubernetes, eBPF).",
    "On the host look at nft list ruleset, iptables -S OUTPUT and bpftool net for rules of this netdev or address, and let the rails' networks pass.",
)
NO_ROOM = NotSent(
    "The kernel had no room for what was to be sent: the NIC's transmit queue is stuck or its link is lost, or the host's table of neighbors is full.",
    "Look at ip -s link show NETDEV and tc -s qdisc show dev NETDEV for drops, at the kernel's log for a timeout of the NIC's queues (hardware_log), and at "
    "ip neigh and gc_thresh3.",
)
BY_ERROR: dict[str, NotSent] = {
    "Network is unreachable": NO_ROUTE,
    "No route to host": NO_ROUTE,
    "Cannot assign requested address": NO_ADDRESS,
    "No such device": NO_ADDRESS,
    "Operation not permitted": FILTERED,
    "Permission denied": FILTERED,
    "No buffer space available": NO_ROOM,
}
OTHER = NotSent(
    "The host's own kernel refused to send it.",
    "Ping the same pair by hand on the host (ping -I NETDEV -I ADDRESS), and look at its routes by source, its firewall and the kernel's log.",
)


def why_not_sent(error: str) -> NotSent:
    """What an error of the kernel comes from."""
    return BY_ERROR.get(error, OTHER)


@once_for_all_nodes
def senders_of_nothing(pings_of_peers: Peers) -> frozenset[str]:
    """The hosts whose kernel did not send some of their pings: what is asked of them has no answer either."""
    return frozenset(host for host, rows in pings_of_peers.items() if _any_not_sent(rows))


def _any_not_sent(rows: Rows) -> bool:
    return any(row["error"] is not None for row in rows)
