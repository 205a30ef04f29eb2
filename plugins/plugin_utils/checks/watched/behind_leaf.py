# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of several hosts that are lost at one leaf under load."""

from __future__ import annotations

import typing as t

from ...pod.types import NearCable, PodRail
from ...readings.rows import Peers
from .. import LOADED, Finding, NotApplicable, check
from .._at_one_leaf import LEAST_HOSTS, Behind, Nic
from .._counters import IB_LINK_LOST, LINK_LOST, growth_of_hosts, pick
from .._once import once_for_all_nodes
from ._layers import SINCE

CAUSE = (
    "Links of {number} hosts to {leaf} were lost under load, at its ports {ports}, and most others of these hosts were not: what they share is {leaf}, and not "
    "{number} NICs or cables. It or one of its line cards restarted, is too hot or lacks power under load, or its ports were set anew."
)
FIX = (
    "Read the log of {leaf} for the time of the load, and what its ports {ports} have in common: restart and its reason (show reboot-cause, show system "
    "reset-reason), line cards, power supplies, temperatures, a daemon of its ports (syncd, xcvrd) that ended, a change of configuration. Where it has "
    "nothing, look at what was run on all of these hosts."
)


@once_for_all_nodes
def _lost(counters_idle: Peers, counters: Peers) -> dict[tuple[str, str], bool | None]:
    """Whether each netdev that is reported lost its link between two readings; None where it does not count that, or its counters went back."""
    grown = growth_of_hosts(counters_idle, counters, "netdev")
    lost = {(host, netdev): pick(its, LINK_LOST) for host, nics in grown.items() for netdev, its in nics.items()}
    return {end: None if number is None else number > 0 for end, number in lost.items()}


@once_for_all_nodes
def _lost_ports(counters_idle: Peers, counters: Peers) -> dict[Nic, bool | None]:
    """The same of each InfiniBand device; a link that is trained again counts, too."""
    grown = growth_of_hosts(counters_idle, counters, "device")
    known = {(host, device): [its[name] for name in IB_LINK_LOST if name in its] for host, ports in grown.items() for device, its in ports.items()}
    return {end: any(counts) if counts else None for end, counts in known.items()}


@check(
    cause="The leaf or one of its line cards restarted or was set anew under load, so that several hosts lost their links to it.",
    fix="Read the leaf's log for the time of the load, before any NIC or cable.",
    fabric="roce",
    kind="switch",
    layers=LOADED,
    needs="load",
)
def hosts_keep_links_under_load(
    nic_counters_idle_of_peers: Peers, nic_counters_of_peers: Peers, pod_leaf_rails: list[PodRail], pod_remote_rails: list[PodRail],
    pod_cables: list[NearCable], pod_node: str,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load several hosts do not lose their links to one leaf alone."""
    of_netdevs = _lost(nic_counters_idle_of_peers, nic_counters_of_peers)
    behind = Behind.of(pod_node, pod_leaf_rails, pod_remote_rails, pod_cables)
    lost: dict[Nic, bool | None] = {
        (rail["host"], rail["device"]): of_netdevs.get((rail["host"], str(rail["netdev"]))) for rail in (*behind.rails, *behind.others)
    }
    yield from _at_leaf(behind, lost, "links_under_load")


@check(
    cause="The leaf or one of its ASICs restarted or was set anew under load, so that several hosts lost their links to it.",
    fix="Read the leaf's log for the time of the load, before any adapter or cable.",
    fabric="infiniband",
    kind="switch",
    layers=LOADED,
    needs="load",
)
def ib_hosts_keep_links_under_load(
    rdma_port_counters_idle_of_peers: Peers, rdma_port_counters_of_peers: Peers, pod_leaf_rails: list[PodRail], pod_remote_rails: list[PodRail],
    pod_cables: list[NearCable], pod_node: str,
) -> t.Iterator[Finding]:  # fmt: skip
    """Under load several hosts do not lose their InfiniBand links to one leaf alone."""
    behind = Behind.of(pod_node, pod_leaf_rails, pod_remote_rails, pod_cables)
    yield from _at_leaf(behind, _lost_ports(rdma_port_counters_idle_of_peers, rdma_port_counters_of_peers), "ib_ports_under_load")


def _at_leaf(behind: Behind, lost: t.Mapping[Nic, bool | None], by_host: str) -> t.Iterator[Finding]:
    """What several hosts lost at the leaf; by_host: the check that judges what is less.

    Raises NotApplicable where too few hosts at it count lost links.
    """
    if behind.hosts(lost) < LEAST_HOSTS:
        raise NotApplicable(f"fewer than {LEAST_HOSTS} hosts with a rail at this switch count lost links, which {by_host} judges host by host")
    yield from behind.shared(lost, f"the link to {{nic}} kept {SINCE}", "lost at {nic}", CAUSE, FIX)
