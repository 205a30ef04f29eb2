# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What findings of many hosts share: a leaf, or a gate group, of which all have them and others have none."""

from __future__ import annotations

import typing as t
from collections import Counter

from ..pod.plan import Plan
from .explaining_checks import FOLLOWS
from .verdicts import FindingRecord, VerdictRecord, place_of

# Of how many hosts all must have the same finding at one leaf for the leaf to be named.
LEAST_HOSTS = 3
LEAF_SLOW = (
    "All {hosts} hosts are slow on {leaf} with each other, or nothing of theirs arrives there, and they pass on other leaves: they share {leaf} there, or a "
    "setting of these rails' NICs."
)
LEAF_SLOW_FIX = (
    "Compare {leaf} with {other}: release, rate and FEC of its ports, buffers, filters (an ACL that drops RoCE, which is UDP to "
    "port 4791, lets pings pass), policers, PFC watchdog and its log; then the firmware and settings of these "
    "rails' NICs with those of the others."
)
LEAF_MAPS = (
    "What all {hosts} hosts receive from {leaf} is in another class than it was sent in, and from other leaves it is in the right one: {leaf} rewrites or does "
    "not trust DSCP, or these rails' NICs map it otherwise."
)
LEAF_MAPS_FIX = (
    "Compare {leaf} with {other}: the trust mode (DSCP) of its ports, its DSCP map and any rewriting or policy on them; then mlnx_qos of these rails' NICs."
)
OF_GROUPS = "write_bw_per_rail"
GROUP_SLOW = (
    "All rails of all {hosts} hosts of {group} are slow, and those of {other} pass: it is what hosts of {group} share, such as a BIOS profile that saves "
    "power, their image and kernel command line, their power supply, or leaves of their own."
)
GROUP_SLOW_FIX = (
    "Compare a host with one of {other}: BIOS profile (maximum performance, C-states, PCIe and NUMA settings), kernel command line, CPU governor, NIC firmware "
    "and settings; then the leaves of both."
)
LEAF_LOSES = (
    "Under load all {hosts} hosts have packets that are lost or damaged on {leaf}, and none on other leaves: {leaf} drops what it should keep (buffers, "
    "headroom, PFC), or damages it where a wrong ICRC is counted (errors of its packet memory), or a setting of these rails' NICs differs."
)
LEAF_LOSES_FIX = (
    "Compare {leaf} with {other}: its drop counters, buffers, PFC and ECN of the RoCE priority, and parity or ECC errors of its memory in its log, with which "
    "it is taken out of the paths and replaced; then the firmware and settings of these rails' NICs with those of the others."
)
LEAF_LOSES_PINGS = (
    "All {hosts} hosts lose pings on {leaf}, and none that do not pass it: {leaf} drops them or its links to the spines do, whether it counts them or not, and "
    "not {hosts} hosts."
)
LEAF_LOSES_PINGS_FIX = (
    "Look at {leaf}: drops and errors of its ports, parity or ECC errors of its memory in its log, its load and what it filters or polices, compared with "
    "{other}; see whether pings between two hosts on it are lost too, else shut one of its uplinks after the other and ping again. Where it counts nothing, "
    "take it out of the paths and reset or replace it."
)
LEAF_LOSES_FLOWS = (
    "Of all {hosts} hosts large packets are lost on {leaf}, and none that do not pass it: one of its uplinks, or the port of a spine to it, has a smaller MTU "
    "or loses packets, whether it counts them or not."
)
LEAF_LOSES_FLOWS_FIX = (
    "Compare MTU, drops and errors of every uplink of {leaf}, and of the spines' ports to it, with those of {other}. Where nothing differs, shut one uplink "
    "after the other and run layer routing again: without the bad one all flows are answered (one bad uplink of four loses a quarter)."
)
LEAF_LATE = (
    "All {hosts} hosts that measured it have a longer latency on {leaf}, and none on other leaves: {leaf} forwards another way (store and forward, a detour), "
    "its ports have another rate or error correction, or a queue of it is not empty; or these rails' NICs are set up otherwise."
)
LEAF_LATE_FIX = (
    "Compare {leaf} with {other}: its forwarding mode (cut-through), release, rate and FEC of its ports, and its queues while the pod is idle; then ASPM, "
    "firmware and settings of these rails' NICs with those of the others."
)
LEAF_DAMAGES = (
    "The NICs of all {hosts} hosts receive damaged frames (CRC) from {leaf}, and none from other leaves, and nothing says that {leaf} received them so: it "
    "damages them itself (its memory, its ASIC), or sends badly on all of these ports (drivers and tuning of its lanes, its modules), and not {hosts} cables."
)
LEAF_DAMAGES_FIX = (
    "Look at {leaf} and compare it with {other}: parity and ECC errors in its log, output errors of its ports, media settings and release, the kind of its "
    "modules; reset or replace it. Touch cables and optics of the hosts only if another leaf's port at the same cable is clean."
)
SLOT_SLOW = (
    "The NIC of this rail pauses {leaf} on all {hosts} hosts, and no other rail of theirs does: what they share is this NIC's place in the host (its slot, "
    "riser or PCIe switch, the socket and memory beside it, a BIOS setting of that slot) or its firmware and settings, and not one host."
)
SLOT_SLOW_FIX = (
    "Compare this rail with another of the same host: pcie_link, nic_pcie_alike, acs_as_expected, nic_gpu_affinity, firmware and mlxconfig of the NIC, BIOS "
    "settings of its slot; then what the host does beside the NIC (GPUs, memory) there. {leaf} and {other} need no change."
)


class _OfLeaf(t.NamedTuple):
    """Cause and fix where the findings of a leaf share it, and their severity."""

    cause: str
    fix: str
    severity: str = "fail"


# The checks whose findings are of single rails.
OF_LEAVES = {
    "write_bw_per_rail": _OfLeaf(LEAF_SLOW, LEAF_SLOW_FIX),
    "right_class": _OfLeaf(LEAF_MAPS, LEAF_MAPS_FIX),
    "losses_under_load": _OfLeaf(LEAF_LOSES, LEAF_LOSES_FIX),
    "crc_clean": _OfLeaf(LEAF_DAMAGES, LEAF_DAMAGES_FIX),
    "slow_receiver": _OfLeaf(SLOT_SLOW, SLOT_SLOW_FIX),
    "rails_reachable": _OfLeaf(LEAF_LOSES_PINGS, LEAF_LOSES_PINGS_FIX),
    "path_carries_full_size": _OfLeaf(LEAF_LOSES_FLOWS, LEAF_LOSES_FLOWS_FIX),
    "write_latency": _OfLeaf(LEAF_LATE, LEAF_LATE_FIX, "warn"),
}


def name_shared_leaves(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Name the leaf in findings of rails where those of all its hosts have them and other leaves' rails of the same hosts have none.

    What the findings are on is known (``add_places``). records: of one layer.
    """
    for check, shared in OF_LEAVES.items():
        judged = [record for record in records if record["check"] == check and record["verdict"] in ("pass", "warn", "fail")]
        _name_shared_leaf(plan, judged, shared, _found_at(FOLLOWS.get(check, ()), records))


def _found_at(checks: t.Container[str], records: t.Iterable[VerdictRecord]) -> set[str]:
    """The nodes at which, or at the other end of whose links, some checks have findings."""
    found = [one for record in records if record["check"] in checks for one in record["findings"] if one["severity"] in ("warn", "fail")]
    return {node for one in found for node in (one["host"], *place_of(one).peers) if node}


def name_shared_groups(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Name the gate group in findings of slow rails where all rails of all its hosts have them, and no host of another group has any.

    What the findings are on is known (``add_places``). records: of one layer.
    """
    judged = [record for record in records if record["check"] == OF_GROUPS and record["verdict"] in ("pass", "warn", "fail")]
    slow = {record["host"]: record["findings"] for record in judged if record["verdict"] == "fail"}
    rails: dict[str, int] = {}
    for rail in plan.rails():
        rails[rail["host"]] = rails.get(rail["host"], 0) + 1
    whole = {host for host, its in slow.items() if host and len({one.get("rail") for one in its if one["severity"] == "fail"} - {None}) == rails.get(host)}
    by_group = {group: {record["host"] for record in judged if record["host"] in hosts} for group, hosts in plan.groups.items()}
    well = [group for group, hosts in by_group.items() if hosts and not hosts & slow.keys()]
    for group, hosts in by_group.items():
        if len(hosts) >= LEAST_HOSTS and hosts <= whole and well:
            for finding in (one for host in hosts for one in slow[host] if one["severity"] == "fail"):
                finding["cause"], finding["fix"] = GROUP_SLOW.format(group=group, hosts=len(hosts), other=well[0]), GROUP_SLOW_FIX.format(other=well[0])


def _name_shared_leaf(plan: Plan, judged: t.Sequence[VerdictRecord], shared: _OfLeaf, known: t.Container[str]) -> None:
    """Known: leaves of which something is found that explains what their hosts have."""
    bad = [one for record in judged for one in record["findings"] if _is_own(one) and one["severity"] == shared.severity]
    if not bad:
        return
    hosts_of: dict[str, set[str]] = {}
    leaf_of: dict[str, str] = {}
    judged_hosts = {record["host"] for record in judged}
    for rail in plan.rails():
        if rail["leaf"] and rail["host"] in judged_hosts:
            hosts_of.setdefault(rail["leaf"], set()).add(rail["host"])
        if rail["address"]:
            leaf_of[rail["address"]] = rail["leaf"]
    # A packet to another rail passes that rail's leaf, too, where the finding names it by its address.
    left = [(one, {str(one["leaf"]), *(leaf_of[peer] for peer in place_of(one).peers if leaf_of.get(peer))}) for one in bad]
    # The leaf that most of them pass explains them first, and others what is left.
    for leaf, _number in Counter(leaf for _one, on in left for leaf in sorted(on)).most_common():
        mine = [one for one, on in left if leaf in on]
        hosts = {one["host"] for one in mine if one["leaf"] == leaf}
        elsewhere = {leaf, *(other for one, on in left for other in on if leaf not in on)}
        well = [other for other, its in hosts_of.items() if other not in elsewhere and its & hosts]
        if len(hosts) >= LEAST_HOSTS and hosts == hosts_of.get(leaf) and well and leaf not in known:
            for one in mine:
                one["cause"], one["fix"] = shared.cause.format(leaf=leaf, hosts=len(hosts)), shared.fix.format(leaf=leaf, other=well[0])
            left = [(one, on) for one, on in left if leaf not in on]


def _is_own(finding: FindingRecord) -> bool:
    """Whether a finding is of a rail at a leaf, and says of no other place that it began there."""
    return bool(finding.get("leaf")) and not finding.get("began_at")
