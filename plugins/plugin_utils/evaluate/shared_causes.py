# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What findings of many hosts share: a leaf, or a gate group, of which all have them and others have none."""

from __future__ import annotations

import typing as t
from collections import Counter

from ..pod.plan import Plan
from .explaining_checks import FOLLOWS
from .shared_cause_texts import OF_GROUP, OF_LEAVES, SharedCause
from .verdicts import FindingRecord, VerdictRecord, place_of

# Of how many hosts all must have the same finding at one leaf for the leaf to be named.
LEAST_HOSTS = 3
# The check whose findings a gate group may share.
OF_GROUPS = "write_bw_per_rail"


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
            OF_GROUP.write((one for host in hosts for one in slow[host] if one["severity"] == "fail"), group=group, hosts=len(hosts), other=well[0])


def _name_shared_leaf(plan: Plan, judged: t.Sequence[VerdictRecord], shared: SharedCause, known: t.Container[str]) -> None:
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
            shared.write(mine, leaf=leaf, hosts=len(hosts), other=well[0])
            left = [(one, on) for one, on in left if leaf not in on]


def _is_own(finding: FindingRecord) -> bool:
    """Whether a finding is of a rail at a leaf, and says of no other place that it began there."""
    return bool(finding.get("leaf")) and not finding.get("began_at")
