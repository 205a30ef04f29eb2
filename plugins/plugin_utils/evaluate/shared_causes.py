# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What findings of many hosts share: a leaf, or a gate group, of which all have them and others have none."""

from __future__ import annotations

import typing as t

from ..pod.plan import Plan
from .verdicts import FindingRecord, VerdictRecord

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
# The checks whose findings are of single rails, with cause and fix where those of a leaf share it.
OF_LEAVES = {
    "write_bw_per_rail": (LEAF_SLOW, LEAF_SLOW_FIX), "right_class": (LEAF_MAPS, LEAF_MAPS_FIX), "losses_under_load": (LEAF_LOSES, LEAF_LOSES_FIX),
}  # fmt: skip


def name_shared_leaves(plan: Plan, records: t.Sequence[VerdictRecord]) -> None:
    """Name the leaf in findings of rails where those of all its hosts have them and other leaves' rails of the same hosts have none.

    What the findings are on is known (``add_places``). records: of one layer.
    """
    for check, (cause, fix) in OF_LEAVES.items():
        _name_shared_leaf(plan, [record for record in records if record["check"] == check and record["verdict"] in ("pass", "warn", "fail")], cause, fix)


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


def _name_shared_leaf(plan: Plan, judged: t.Sequence[VerdictRecord], cause: str, fix: str) -> None:
    hosts_of: dict[str, set[str]] = {}
    judged_hosts = {record["host"] for record in judged}
    for rail in plan.rails():
        if rail["leaf"] and rail["host"] in judged_hosts:
            hosts_of.setdefault(rail["leaf"], set()).add(rail["host"])
    slow: dict[str, list[FindingRecord]] = {}
    for finding in (one for record in judged for one in record["findings"]):
        leaf = finding.get("leaf")
        if finding["severity"] == "fail" and leaf is not None:
            slow.setdefault(leaf, []).append(finding)
    for leaf, findings in slow.items():
        hosts = {finding["host"] for finding in findings}
        well = [other for other, its in hosts_of.items() if other not in slow and its & hosts]
        if len(hosts) >= LEAST_HOSTS and hosts == hosts_of.get(leaf) and well:
            for finding in findings:
                finding["cause"], finding["fix"] = cause.format(leaf=leaf, hosts=len(hosts)), fix.format(leaf=leaf, other=well[0])
