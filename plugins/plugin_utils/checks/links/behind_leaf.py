# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 1, links: what the NICs behind a leaf receive or lose alike, which is the leaf's doing and not each cable's."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...pod.rail_ports import leaves_of
from ...pod.types import PodRail
from ...readings.rows import Peers, Rows
from ...text.counting import counted
from ...text.times import epoch_seconds
from .. import CannotTell, Finding, NotApplicable, check
from .._kernel_events import logged_since
from .._once import once_for_all_nodes
from ..place import at_node
from ._lost_together import Cluster, Link, links_of, lost_together
from .errors import MANY_LINKS, RAW_RATES, bit_errors_of, first_rate
from .lost_links import watched

# Of fewer NICs nothing is said: two bad cables may well be at one leaf.
LEAST_NICS = 3
Nic = tuple[str, str]
CAUSE = (
    "Most NICs behind {leaf} receive many bit errors, and most others of the pod do not: {leaf} sends badly, and not {number} cables, optics or NICs. Its "
    "transmitters are not tuned for these modules (pre-emphasis, media settings, often since an update), or its power, temperature or a line card is at fault."
)
FIX = (
    "Before any cable compare {leaf} with another leaf: release, log since its last boot (SONiC: pre-emphasis and media settings in syslog), the settings of "
    "its ports' transmitters (media_settings.json, FEC), temperatures and power; go back to the release before, or set the ports down and up once they are "
    "corrected."
)


LOST = (
    "Links of {number} NICs behind {leaf} were lost together, {others}: {leaf} or one of its line cards restarted, lost power, or was set anew, "
    "and not {number} cables or NICs failed."
)
LOST_FIX = (
    "Read the log of {leaf}{when}: restart and its reason (show reboot-cause, show system reset-reason), line cards, power supplies, a daemon of its ports "
    "(syncd, xcvrd) that ended, a change of configuration. Where it has nothing, look at what was run on all of these hosts at that time."
)


@once_for_all_nodes
def _rates(link_quality_of_peers: Peers) -> dict[Nic, float | None]:
    """The bit error rate before FEC of each NIC that reports on its link; None where it does not report that rate."""
    return {(host, device): rate for host, rows in link_quality_of_peers.items() for device, rate in _of_host(rows)}


def _of_host(rows: Rows) -> t.Iterator[tuple[str, float | None]]:
    for device in dict.fromkeys(row["device"] for row in rows if row["device"]):
        yield device, first_rate(bit_errors_of(rows, device), *RAW_RATES)


@check(
    cause="A leaf sends so that the NICs behind it receive many bit errors, whatever cable they have.",
    fix="Compare the leaf's release, transmitter settings and log with those of a leaf that is well, before any cable.",
    fabric="roce",
    kind="switch",
)
def hosts_receive_cleanly(
    link_quality_of_peers: Peers, pod_leaf_rails: list[PodRail], pod_node: str, pod_pre_fec_ber_warn: float, pod_pre_fec_ber_max: float
) -> t.Iterator[Finding]:  # fmt: skip
    """Most NICs behind a leaf receive at most {pod_pre_fec_ber_warn} bit errors before FEC (more than {pod_pre_fec_ber_max} at most of them: fail)."""
    # A bond receives from two leaves.
    behind = {(rail["host"], rail["device"]) for rail in pod_leaf_rails if leaves_of(rail) == [pod_node]}
    every = _rates(link_quality_of_peers)
    if len(behind & every.keys()) < LEAST_NICS:
        raise NotApplicable(f"fewer than {LEAST_NICS} NICs behind it report on their links")
    rates, others = ([rate for nic, rate in every.items() if rate is not None and (nic in behind) is its] for its in (True, False))
    if len(rates) < LEAST_NICS:
        raise CannotTell("the bit error rate before FEC of the NICs behind it: not reported")
    bad, elsewhere = ([rate for rate in its if rate > pod_pre_fec_ber_warn] for its in (rates, others))
    if not _most(bad, rates) or not others or _most(elsewhere, others):
        # Where most of the pod is so, it is not this leaf.
        return
    failing = [rate for rate in rates if rate > pod_pre_fec_ber_max]
    words = f"{len(bad)} of {len(rates)} receive more, up to {max(bad):g}; of the pod's other NICs {len(elsewhere)} of {len(others)}"
    expected = f"at most {pod_pre_fec_ber_warn:g} before FEC at most NICs behind it"
    named = {"leaf": pod_node, "number": len(bad)}
    yield Finding(at_node(pod_node), expected, words, None if _most(failing, rates) else "warn", cause=CAUSE.format(**named), fix=FIX.format(**named))


@check(
    cause="A leaf, or one of its line cards, restarted, lost power or was set anew, so that many hosts lost their links to it at once.",
    fix="Read the leaf's log for that time: restart, line card, power, a configuration change.",
    fabric="roce",
    kind="switch",
    needs="soak",
)
def hosts_keep_links(
    kernel_log_of_peers: Peers, kernel_log_before_of_peers: Peers, pod_leaf_rails: list[PodRail], pod_node: str, pod_flaps_warn: int, pod_flaps_max: int,
    pod_flaps_settle_minutes: int, host_clock_of_peers: Peers | None = None, interface_errors_of_peers: Peers | None = None,
    interface_errors_before_of_peers: Peers | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Hosts behind a leaf do not lose their links to it together, neither in the soak nor {pod_flaps_max} times in 24 h ({pod_flaps_warn}: warn)."""
    behind = {(rail["host"], str(rail["netdev"])) for rail in pod_leaf_rails if leaves_of(rail) == [pod_node]}
    if len(behind) < MANY_LINKS:
        raise NotApplicable(f"fewer than {MANY_LINKS} NICs behind it")
    _must_be_told(kernel_log_of_peers, kernel_log_before_of_peers, behind)
    lost = [cluster for cluster in lost_together(kernel_log_of_peers) if _is_of(cluster, behind)]
    fresh, cut = _lost_in_soak(kernel_log_of_peers, kernel_log_before_of_peers)
    in_soak = [cluster for cluster in lost if fresh & set(cluster)]
    if in_soak:
        yield _lost_at(pod_node, links_of(in_soak[0]) & behind, links_of(in_soak[0]), _when(kernel_log_of_peers, in_soak[0]))
        return
    for cluster in lost:
        if {host for host, _netdev in links_of(cluster)} <= cut:
            found = _lost_at(pod_node, links_of(cluster) & behind, links_of(cluster), _when(kernel_log_of_peers, cluster))
            yield replace(found, actual=f"{found.actual}, perhaps in the soak: logs lost lines", severity="unknown", judged=True)
            return
    counted_by_nics = _counted_in_soak(interface_errors_of_peers or {}, interface_errors_before_of_peers or {})
    mine = counted_by_nics & behind
    if len(mine) >= MANY_LINKS and _most(mine, behind) and _most(mine, counted_by_nics):
        yield _lost_at(pod_node, mine, counted_by_nics, " for the time of the soak")
        return
    since = {host: watched(rows, (host_clock_of_peers or {}).get(host, []), pod_flaps_settle_minutes)[0] for host, rows in kernel_log_of_peers.items()}
    recent = [cluster for cluster in lost if all((begin := since.get(host)) is not None and at >= begin for at, (host, _netdev) in cluster)]
    if len(recent) >= pod_flaps_warn:
        links = links_of(recent[-1])
        found = _lost_at(pod_node, links & behind, links, _when(kernel_log_of_peers, recent[-1]))
        words = f"{found.actual}, {counted(len(recent), 'time')} in 24 h"
        level = None if len(recent) >= pod_flaps_max else "warn"
        yield replace(found, expected=f"fewer than {pod_flaps_warn} such losses in 24 h", actual=words, severity=level)


def _is_of(cluster: Cluster, behind: set[Link]) -> bool:
    """Whether links that were lost together are of several hosts, and most of them behind one leaf."""
    links = links_of(cluster)
    return len(links & behind) >= MANY_LINKS and _most(links & behind, links) and len({host for host, _netdev in links & behind}) > 1


def _must_be_told(logs: Peers, logs_before: Peers, behind: set[Link]) -> None:
    """Whether enough is told of the links that hosts behind a leaf lost to know which ones were lost together."""
    hosts = {host for host, _netdev in behind}
    lost = [(host, row) for host in hosts for row in logs.get(host, []) if row["event"] == "link_down"]
    if sum(row["device"] is None for _host, row in lost) >= MANY_LINKS:
        raise CannotTell("the netdev of lost links of the hosts behind it: not reported")
    if len(lost) >= MANY_LINKS and all(epoch_seconds(row["time"]) is None for _host, row in lost):
        if any(epoch_seconds(row["time"]) is not None for host in hosts for row in logs_before.get(host, [])):
            raise CannotTell("the times of lost links of the hosts behind it: reported in one of two readings only")
        raise NotApplicable("the logs of the hosts behind it have no times of their lost links, which link_flaps judges host by host")


@once_for_all_nodes
def _lost_in_soak(logs: Peers, logs_before: Peers) -> tuple[set[tuple[float | None, Link]], set[str]]:
    """The losses that a kernel's log has and its first reading has not, and the hosts of which that is not known."""
    fresh = {host: logged_since(logs_before.get(host, []), rows) for host, rows in logs.items() if host in logs_before}
    lost = [(host, row) for host, its in fresh.items() if its.complete for row in its.rows if row["event"] == "link_down" and row["device"]]
    return {(epoch_seconds(row["time"]), (host, row["device"])) for host, row in lost}, {host for host, its in fresh.items() if not its.complete}


@once_for_all_nodes
def _counted_in_soak(errors: Peers, errors_before: Peers) -> set[Link]:
    """The ports that counted a lost link in the soak."""
    then = {(host, row["port"]): row["link_losses"] for host, rows in errors_before.items() for row in rows}
    now = {(host, row["port"]): row["link_losses"] for host, rows in errors.items() for row in rows}
    return {link for link, count in now.items() if count is not None and (before := then.get(link)) is not None and count > before}


def _when(logs: Peers, cluster: Cluster) -> str:
    at, (host, _netdev) = cluster[0]
    return f" at {next(row['time'] for row in logs[host] if epoch_seconds(row['time']) == at)}"


def _lost_at(leaf: str, mine: set[Link], all_of_them: set[Link], when: str) -> Finding:
    number, hosts = len(mine), len({host for host, _netdev in mine})
    beside = f"and {len(all_of_them - mine)} elsewhere" if all_of_them - mine else "and none elsewhere"
    words = f"{number} links of {counted(hosts, 'host')} lost together{when}"
    named = {"number": number, "leaf": leaf, "others": beside, "when": when}
    return Finding(at_node(leaf), "no links lost together", words, cause=LOST.format(**named), fix=LOST_FIX.format(**named))


def _most(some: t.Sized, every: t.Sized) -> bool:
    return 2 * len(some) > len(every)
